/**
 * Calls that nobody is asked about: attested after they ran, at their end in the background too. With what the calls that
 * wait for a human (call.ts) and the gate of MCP servers need as well: the service, and which tools are asked about.
 */

import { attest } from "#lib/client/api/attest";
import { CountersignError } from "#lib/client/api/errors";
import { sealInputs } from "#lib/client/api/inputs";
import type { Service } from "#lib/client/api/transport";
import type { Attestation, AttestRequest } from "#lib/client/api/wire";
import { readVisibility } from "#lib/client/cli/attest";
import { type Command, connect, readAgentKey, readText, requireKey } from "#lib/client/cli/io";
import type { GatedAction } from "#lib/client/gate/gate";
import { canonicalHash } from "#lib/protocol/encoding/canonical-json";
import { describeToolCall, toRecordedText } from "#lib/protocol/record/title";
import { single, UsageError } from "#lib/protocol/text/command-words";
import type { Agent, DialectName } from "./agents";
import { needsHuman, readPattern, type ToolCall, type ToolPattern } from "./dialects";
import { keepRecord, openSpool, readTrouble, type Spool, sendRecords } from "./record";
import { listTasks, removeTask, writeTask } from "./tools";

/** Throws if the agent could replace this program, or read its key, by what it does in its working folder. */
export async function openService(command: Command, call: ToolCall): Promise<Service> {
  const { io, line } = command;
  const keyFile = single(line, "key-file");
  // A call that has run must be attested, wherever the agent has gone meanwhile.
  const guarded = call.outcome === null ? [io.machine.programPath, keyFile] : [];
  const outside = guarded.map((path) => requireOutside(command, call, path));
  const [text] = await Promise.all([keyFile === undefined ? io.apiKey : readText(io, keyFile), ...outside]);
  const apiKey = text?.trim() || undefined;
  const withKey = { ...command, io: { ...io, apiKey } };
  requireKey(withKey);
  return connect(withKey);
}

async function requireOutside(
  { io: { machine } }: Command,
  { folder }: ToolCall,
  path: string | undefined,
): Promise<void> {
  if (path === undefined) return;
  const working = new Set([...machine.workingFolders, ...(folder === undefined ? [] : [folder])]);
  const requireOne = async (one: string) => {
    if (await machine.isInside(path, one))
      throw new CountersignError(
        `${path} is inside the agent's working folder ${one}, where the agent can change it. See: countersign hook install`,
      );
  };
  await Promise.all([...working].map(requireOne));
}

export function print({ io }: Command, answer: object | null): void {
  if (answer !== null) io.print(`${JSON.stringify(answer)}\n`);
}

export const unknownEnd = { outcome: "unknown", folder: undefined, input: null, isSubagent: false } as const;

export interface Reach {
  /** None: every call needs a human. */
  ask: readonly ToolPattern[];
  record: readonly ToolPattern[];
  isAsking: boolean;
}

/** Matches nothing: who only records asks nobody. */
const nobody: ToolPattern = { tool: () => false, text: null };

/** `dialect`: null for names of tools as they are. */
export function readReach({ line: { values, flags } }: Command, dialect: DialectName | null): Reach {
  const read = (rules: readonly string[] = []) => rules.map((rule) => readPattern(rule, dialect));
  const [ask, record] = [[...read(values.match), ...read(values.ask)], read(values.record)];
  if (flags.has("before") && record.length === 0)
    throw new UsageError("--before needs --record: it records calls before they run too");
  const isAsking = ask.length > 0 || record.length === 0;
  return { ask: isAsking ? ask : [nobody], record, isAsking };
}

export const isRecorded = ({ record }: Reach, { tool, input }: ToolCall) =>
  record.length > 0 && needsHuman(record, tool, input);

/** Marks the beginning before the call; a call that can't be recorded must not run. */
export async function recordCall(command: Command, agent: Agent, call: ToolCall): Promise<void> {
  const { io } = command;
  const service = await openService(command, call);
  const at = service.now().toISOString();
  const record = describeRecord(command, call, readAgent(command), at);
  if (io.keepsNothing) return attestRecord(service, call, record);
  const spool = await keepAndSend(command, service, record);
  await noteTask(command, call, () =>
    describeRecord(command, { ...call, outcome: "unknown" }, readAgent(command), ""),
  );
  const trouble = call.outcome === null ? null : await readTrouble(spool);
  if (trouble === null) return;
  io.tell(`${trouble}\n`);
  print(command, agent.note?.(trouble) ?? null);
}

/** The service's own time is the call's then. An event that comes again is attested once. */
async function attestRecord(service: Service, call: ToolCall, record: AttestRequest): Promise<void> {
  const { at: _at, ...metadata } = record.metadata ?? {};
  const id = call.callId ?? service.randomUuid();
  const key = canonicalHash([record.agent_slug, call.sessionId, id, record.inputs_hash ?? "", metadata]);
  await attest(service, { ...record, metadata }, { idempotencyKey: `hook-${key}` });
}

async function keepAndSend(command: Command, service: Service, record: AttestRequest): Promise<Spool> {
  const { io } = command;
  const spool = openSpool(io, service.baseUrl, record.agent_slug);
  if (!(await keepRecord(spool, record)))
    throw new CountersignError(`${record.action}: not recorded. Too many calls wait in ${spool.folder}.`);
  const agentKey = await readAgentKey(command);
  const sendNow = (signal: AbortSignal) => sendRecords(spool, { service, agentKey, signal });
  if (io.inBackground !== undefined) io.inBackground(spool.folder, sendNow);
  // A call that doesn't end leaves its beginning, which is sent after the next call.
  else if (record.metadata?.["outcome"] !== undefined) await sendNow(AbortSignal.timeout(sendTimeoutMs));
  return spool;
}

/** Keeps a command in the background in mind until the agent no longer lists it. */
export async function noteTask(
  command: Command,
  call: ToolCall,
  describe: () => AttestRequest,
): Promise<void> {
  if (call.outcome !== "started" || call.task === undefined || command.io.keepsNothing) return;
  await writeTask(command.io, { session_id: call.sessionId, task: call.task, record: describe() });
}

/** An approval is used once, so the end of what was approved names the attestation that used it instead. */
export const describeEnd = ({ attestation }: GatedAction, started: Attestation): AttestRequest => ({
  ...attestation,
  agent_slug: started.agent_slug,
  action: started.action ?? "",
  inputs_hash: started.inputs_hash ?? "",
  parent: { id: started.attestation_id, payload_hash: started.payload_hash, origin: started.log.origin },
  metadata: { ...started.metadata, outcome: "unknown", moment: "end" },
});

/** Records the end, of which the agent tells no outcome. */
export async function recordEnds(
  command: Command,
  sessionId: string,
  running: readonly string[],
): Promise<void> {
  for (const note of await listTasks(command.io, sessionId)) {
    const { task, record } = note;
    if (running.includes(task) || record.agent_slug !== readAgent(command)) continue;
    const service = await openService(command, { ...unknownEnd, sessionId, callId: task, tool: task });
    if (record.parent) {
      const signal = AbortSignal.timeout(sendTimeoutMs);
      const [idempotencyKey, agentKey] = [`hook-end-${record.parent.id}`, await readAgentKey(command)];
      await attest(service, record, { idempotencyKey, agentKey, signal });
    } else {
      const metadata = { ...record.metadata, moment: "end", at: service.now().toISOString() };
      await keepAndSend(command, service, { ...record, metadata });
    }
    await removeTask(command.io, note);
  }
}

/** An agent waits for it. What is not sent then is sent after a later call. */
const sendTimeoutMs = 5_000;

export function readAgent({ line }: Command): string {
  const agent = single(line, "agent");
  if (agent === undefined) throw new UsageError("hook needs --agent");
  return agent;
}

/** Private unless said. Arguments stay out: of them there are a hash and a title, cut and masked as an approver's. */
export function describeRecord(
  command: Command,
  call: ToolCall,
  agent_slug: string,
  at: string,
): AttestRequest {
  const { line } = command;
  const { tool, action, title } = describeToolCall(call.tool, call.input);
  return {
    agent_slug,
    action,
    inputs_hash: sealInputs(call.input).hash,
    tools_used: [tool],
    is_public: readVisibility(command) ?? false,
    code_hash: single(line, "code-hash"),
    model_id: single(line, "model-id"),
    metadata: {
      ...(title !== undefined && { title }),
      ...(line.flags.has("before") && { moment: call.outcome === null ? "before" : "after" }),
      ...(call.outcome !== null && { outcome: call.outcome }),
      // Time by this machine's clock: the service's own time is later, by hours if it was away.
      at,
      session: toRecordedText(call.sessionId),
      ...(call.callId !== undefined && { call: toRecordedText(call.callId) }),
    },
  };
}
