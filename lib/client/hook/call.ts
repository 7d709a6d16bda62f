/** One call of a tool, and its request: the processes before and after the call find the same one. */

import { CountersignError } from "#lib/client/api/errors";
import { type Service, send } from "#lib/client/api/transport";
import type { AuthorizationState } from "#lib/client/api/wire";
import {
  readContext,
  readCount,
  readLevel,
  readRequiredApprovers,
  readUsableFor,
  readVisibility,
} from "#lib/client/cli/attest";
import { type Command, connect, readAgentKey, readText, requireKey } from "#lib/client/cli/io";
import { type AskedOnce, askOnce, type GatedAction } from "#lib/client/gate/gate";
import { single, UsageError } from "#lib/protocol/text/command-words";
import type { Dialect, ToolCall } from "./dialects";

export interface Hook {
  command: Command;
  dialect: Dialect;
  call: ToolCall;
  service: Service;
  isDeferring: boolean;
  timeoutSeconds: number;
}

/** Agents end a hook after ten minutes if they are not configured otherwise, and then run the tool. */
const usualTimeoutSeconds = 570;
const longestExpiryMinutes = 1_440;
/** Calls with the same arguments in one session, for agents that don't number them. */
const maxEqualCalls = 100;
const maxToolName = 128;

export const readTimeout = (command: Command) => readCount(command, "timeout") ?? usualTimeoutSeconds;

/** The same before and after the call, but for what is attested, or the request would not be found again. */
export async function describeCall({ command, call, isDeferring }: Hook): Promise<GatedAction> {
  const { line } = command;
  const agent_slug = single(line, "agent");
  if (agent_slug === undefined) throw new UsageError("hook needs --agent");
  if ([...call.tool].length > maxToolName) throw new Error("the tool's name is too long to be attested");
  return {
    agent_slug,
    // The link may end up in a transcript: without the code it decides nothing.
    require_code: true,
    action: `Use the tool ${call.tool}`,
    tool: call.tool,
    context: readContext(line.values.context),
    expires_in_minutes: readCount(command, "expires-in") ?? (isDeferring ? longestExpiryMinutes : undefined),
    required_level: readLevel(single(line, "level")),
    approvals_required: readCount(command, "approvals"),
    approvers: line.values.approver,
    required_approvers: readRequiredApprovers(line.values["required-approvers"]),
    usable_for_seconds: readUsableFor(command),
    requester: single(line, "requester"),
    runId: call.sessionId,
    callId: call.callId ?? "",
    attestation: {
      ...(call.outcome !== null && { metadata: { outcome: call.outcome } }),
      tools_used: [call.tool],
      is_public: readVisibility(command),
      code_hash: single(line, "code-hash"),
      model_id: single(line, "model-id"),
    },
    agentKey: await readAgentKey(command),
  };
}

export interface Asked extends AskedOnce {
  action: GatedAction;
}

const ask = async ({ service, call }: Hook, action: GatedAction, isFirstWanted = true): Promise<Asked> => ({
  action,
  ...(await askOnce(service, action, call.input, { isFirstWanted })),
});

/** Requests that this process itself may make in search of a call that has run: in the places of some that are forgotten. */
const maxMade = 3;

/**
 * A number that an attested call had is a new call's, before it runs. If the agent doesn't number its calls, equal ones of a
 * session are told apart by what became of their requests. A new call takes the first request that is neither used nor
 * claimed. A call that has run takes the first request that is claimed and not attested, or else the first one that could
 * still be approved: then it ran without an approval.
 */
export async function askForCall(hook: Hook, action: GatedAction): Promise<Asked> {
  const hasRun = hook.call.outcome !== null;
  if (hook.call.callId !== undefined) return ask(hook, action, hasRun);
  let open: Asked | undefined;
  let made = 0;
  for (let number = 0; number < maxEqualCalls; number += 1) {
    const asked = await ask(hook, { ...action, callId: `equal-${number}` });
    const { status, attestation_id, claimed_at } = await send<AuthorizationState>(hook.service, {
      method: "GET",
      path: pathOf(asked.request.request_id),
      signal: action.signal,
    });
    const isClaimed = (claimed_at ?? null) !== null;
    const isUsed = status === "approved" && (attestation_id !== null || (isClaimed && !hasRun));
    if (isUsed || status === "expired" || status === "cancelled") continue;
    if (!hasRun || isClaimed || status === "denied") return asked;
    open ??= asked;
    if (asked.isReplayed) continue;
    await cancel(hook, asked.request.request_id);
    made += 1;
    if (made === maxMade) return open;
  }
  if (open !== undefined) return open;
  throw new CountersignError("Too many equal calls in one session.");
}

const cancelTimeoutMs = 5_000;

/** So that people don't approve what can't run any more. If it doesn't work, the request expires. */
export async function cancel({ service }: Hook, requestId: string): Promise<void> {
  const signal = AbortSignal.timeout(cancelTimeoutMs);
  await send(service, { method: "DELETE", path: pathOf(requestId), signal }).catch(() => undefined);
}

const pathOf = (requestId: string) => `/v1/authorize/${encodeURIComponent(requestId)}`;

export const openHook = async (command: Command, dialect: Dialect, call: ToolCall): Promise<Hook> => ({
  command,
  dialect,
  call,
  service: await openService(command, call),
  isDeferring: command.line.flags.has("defer"),
  timeoutSeconds: readTimeout(command),
});

/** Throws if the agent could replace this program, or read its key, by what it does in its working folder. */
export async function openService(command: Command, call: ToolCall): Promise<Service> {
  const { io, line } = command;
  const keyFile = single(line, "key-file");
  // A call that has run must be attested, wherever the agent has gone meanwhile.
  if (call.outcome === null)
    for (const path of [io.machine.programPath, keyFile]) await requireOutside(command, call, path);
  const apiKey = keyFile === undefined ? io.apiKey : (await readText(io, keyFile)).trim() || undefined;
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
  for (const working of [...machine.workingFolders, ...(folder === undefined ? [] : [folder])])
    if (await machine.isInside(path, working))
      throw new CountersignError(
        `${path} is inside the agent's working folder ${working}, where the agent can change it. See: countersign hook install`,
      );
}

export function print({ io }: Command, answer: object | null): void {
  if (answer !== null) io.print(`${JSON.stringify(answer)}\n`);
}
