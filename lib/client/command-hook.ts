/**
 * `countersign hook`: a coding agent runs it before and after each tool call. Before: ask a human, wait, allow or deny.
 * After: attest. The two are processes of their own, and find the same request by asking again under the same key.
 */
import { utf8Decode } from "#lib/core/encoding/bytes";
import { single, UsageError } from "#lib/core/text/command-words";
import { attestRun, attestStopped } from "./attest-run";
import {
  type Command,
  connect,
  type FlagOption,
  readText,
  requireKey,
  requireWords,
  type ValuedOption,
} from "./command-io";
import type { ApprovedAuthorization } from "./decision";
import { ApprovalRevokedError, ApprovalUsedError, CountersignError } from "./errors";
import { confirmApproval } from "./gate";
import { decide } from "./hook-before";
import { type Asked, askForCall, cancel, describeCall, type Hook, readTimeout } from "./hook-call";
import { answerCheck, checkHook, findCheck } from "./hook-check";
import { findDialect, readDialectName, readEvent, type ToolCall } from "./hook-dialects";
import { installHook } from "./hook-install";
import { needsHuman, readPattern } from "./hook-match";
import { sealInputs } from "./inputs";
import type { Service } from "./transport";

export const hookOptions = [
  ...(["agent", "match", "dialect", "timeout", "defer", "output", "key-file"] as const),
  ...(["context", "expires-in", "level", "approvals", "approver", "requester"] as const),
  ...(["required-approvers", "usable-for"] as const),
  ...(["public", "private", "agent-key", "code-hash", "model-id"] as const),
  ...(["to", "settings", "run-as", "system", "yes", "check"] as const),
] as const satisfies readonly (ValuedOption | FlagOption)[];

export async function runHook(command: Command): Promise<void> {
  const { words, line } = command;
  if (words[0] === "install") return line.flags.has("check") ? checkHook(command) : installHook(command);
  requireWords(command);
  return answerEvent(command);
}

async function answerEvent(command: Command): Promise<void> {
  const { io, line } = command;
  const dialect = findDialect(readDialectName(single(line, "dialect")));
  const isDeferring = line.flags.has("defer");
  if (isDeferring && !dialect.canDefer) throw new UsageError("--defer: only Claude Code can defer a call");
  const patterns = (line.values.match ?? []).map(readPattern);
  const timeoutSeconds = readTimeout(command);
  const call = readEvent(dialect, utf8Decode(await io.readStdin()));
  const check = call.outcome === null ? findCheck(call.input) : undefined;
  if (check !== undefined) {
    const answer = await answerCheck(command, () => openService(command, call), check);
    return print(command, dialect.writeAnswer(answer));
  }
  if (!needsHuman(patterns, call.tool, call.input)) return;
  const service = await openService(command, call);
  const hook: Hook = { command, dialect, call, service, isDeferring, timeoutSeconds };
  if (call.outcome !== null) return attestCall(hook);
  print(command, dialect.writeAnswer(await decide(hook)));
}

function print({ io }: Command, answer: object | null): void {
  if (answer !== null) io.print(`${JSON.stringify(answer)}\n`);
}

/** Throws if the agent could replace this program, or read its key, by what it does in its working folder. */
async function openService(command: Command, call: ToolCall): Promise<Service> {
  const { io, line } = command;
  const keyFile = single(line, "key-file");
  // What has run must be attested, wherever the agent has gone meanwhile.
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

/** The tool has run, whether or not it has failed. Whatever is wrong here can only be said. */
async function attestCall(hook: Hook): Promise<void> {
  const { service, call, dialect, command } = hook;
  const asked = await askForCall(hook, await describeCall(hook));
  let authorization: ApprovedAuthorization;
  try {
    ({ authorization } = await confirmApproval(service, asked.request.request_id, asked.action, call.input));
    // A rule or a standing approval may have approved only what is asked here, after the tool ran.
    if (authorization.claimed_at === null)
      throw new CountersignError("nobody claimed it before the tool ran.");
  } catch (error) {
    // The same hook is registered twice, or the agent repeats the event.
    if (error instanceof ApprovalUsedError) return;
    if (error instanceof ApprovalRevokedError) return attestRevoked(hook, asked);
    await cancel(hook, asked);
    const why = error instanceof Error ? error.message : String(error);
    throw new CountersignError(`${call.tool} ran, but this call has no approval to attest: ${why}`);
  }
  const { public_url } = await attestRun(service, asked.action, authorization, null);
  command.io.tell(`Attested: ${public_url}\n`);
  print(command, dialect.writeNote(`Attested: ${public_url}`));
}

/** The tool was allowed before the approval was taken back: that it ran is what must not get lost. */
async function attestRevoked({ service, call, command }: Hook, { action, request }: Asked): Promise<void> {
  const state = { ...request, inputs_hash: sealInputs(call.input).hash };
  const { public_url } = await attestStopped(
    service,
    action,
    state,
    "taken back before the action ended",
    null,
  );
  command.io.tell(`Attested without its approval, which was taken back: ${public_url}\n`);
}
