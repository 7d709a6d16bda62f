/**
 * `countersign hook`: a coding agent runs it before and after each tool call. Before: ask a human, wait, allow or deny.
 * After: attest. The two are processes of their own, and find the same request by asking again under the same key.
 */
import { utf8Decode } from "#lib/domain/bytes";
import { single, UsageError } from "#lib/domain/command-words";
import { toVisibleText } from "#lib/domain/display-text";
import { parseStrictJson } from "#lib/domain/strict-json";
import { factsOf, readContext, readCount, readLevel, readVisibility } from "./command-attest";
import {
  type Command,
  connect,
  type FlagOption,
  formatFacts,
  readAgentKey,
  requireKey,
  requireWords,
  type ValuedOption,
} from "./command-io";
import { type ApprovedAuthorization, waitForDecision } from "./decision";
import { ApprovalUsedError, CountersignError, NotApprovedError } from "./errors";
import { askOnce, attestRun, confirmApproval, type GatedAction } from "./gate";
import { describeArguments } from "./hook-context";
import { type Answer, type Dialect, findDialect, readEvent, type ToolCall } from "./hook-dialects";
import { needsHuman, readPattern } from "./hook-match";
import { type Service, send } from "./transport";
import type { AuthorizationRequest, AuthorizationState } from "./wire";

export const hookOptions = [
  ...(["agent", "match", "dialect", "timeout", "defer", "output"] as const),
  ...(["context", "expires-in", "level", "approvals", "approver", "requester"] as const),
  ...(["public", "private", "agent-key", "code-hash", "model-id"] as const),
] as const satisfies readonly (ValuedOption | FlagOption)[];

/** Agents end a hook after ten minutes if they are not configured otherwise, and then run the tool. */
const usualTimeoutSeconds = 570;
const longestExpiryMinutes = 1_440;
/** Calls with the same arguments in one session, for agents that don't number them. */
const maxEqualCalls = 100;
const maxToolName = 128;

export async function runHook(command: Command): Promise<void> {
  requireWords(command);
  const { io, line } = command;
  const dialect = findDialect(single(line, "dialect") ?? "claude");
  const isDeferring = line.flags.has("defer");
  if (isDeferring && !dialect.canDefer) throw new UsageError("--defer: only Claude Code can defer a call");
  const patterns = (line.values.match ?? []).map(readPattern);
  const timeoutSeconds = readCount(command, "timeout") ?? usualTimeoutSeconds;
  const text = utf8Decode(await io.readStdin());
  const call = readEvent(dialect, text);
  if (!needsHuman(patterns, call.tool, call.input)) return;
  requireKey(command);
  const hook = { command, dialect, call, service: connect(command), isDeferring, timeoutSeconds };
  if (call.moment === "after") return attestCall(hook, await describeCall(hook));
  // What two readers could read in two ways is not what the human approves.
  parseStrictJson(text);
  print(command, dialect.writeAnswer(await decide(hook)));
}

interface Hook {
  command: Command;
  dialect: Dialect;
  call: ToolCall;
  service: Service;
  isDeferring: boolean;
  timeoutSeconds: number;
}

function print({ io }: Command, answer: object | null): void {
  if (answer !== null) io.print(`${JSON.stringify(answer)}\n`);
}

/** The same before and after the call, or the request would not be found again. */
async function describeCall({ command, call, isDeferring }: Hook): Promise<GatedAction> {
  const { line } = command;
  const agent_slug = single(line, "agent");
  if (agent_slug === undefined) throw new UsageError("hook needs --agent");
  if ([...call.tool].length > maxToolName) throw new Error("the tool's name is too long to be attested");
  return {
    agent_slug,
    // The link may end up in a transcript: without the code it decides nothing.
    require_code: true,
    action: `Use the tool ${call.tool}`,
    context: describeArguments(call.input, readContext(line.values.context) ?? {}),
    expires_in_minutes: readCount(command, "expires-in") ?? (isDeferring ? longestExpiryMinutes : undefined),
    required_level: readLevel(single(line, "level")),
    approvals_required: readCount(command, "approvals"),
    approvers: line.values.approver,
    requester: single(line, "requester"),
    runId: call.sessionId,
    callId: call.callId ?? "",
    attestation: {
      tools_used: [call.tool],
      is_public: readVisibility(command),
      code_hash: single(line, "code-hash"),
      model_id: single(line, "model-id"),
    },
    agentKey: await readAgentKey(command),
  };
}

interface Asked {
  action: GatedAction;
  request: AuthorizationRequest;
}

const ask = async ({ service, call }: Hook, action: GatedAction): Promise<Asked> => ({
  action,
  request: await askOnce(service, action, call.input),
});

/**
 * If the agent doesn't number its calls, equal ones of a session are told apart by what became of their requests: the
 * next call begins where all requests before it are used up or over.
 */
async function askForCall(hook: Hook, action: GatedAction): Promise<Asked> {
  if (hook.call.callId !== undefined) return ask(hook, action);
  for (let number = 0; number < maxEqualCalls; number += 1) {
    const asked = await ask(hook, { ...action, callId: `equal-${number}` });
    const { status, attestation_id } = await send<AuthorizationState>(hook.service, {
      method: "GET",
      path: `/v1/authorize/${encodeURIComponent(asked.request.request_id)}`,
      signal: action.signal,
    });
    const isUsed = status === "approved" && attestation_id !== null;
    if (!isUsed && status !== "expired" && status !== "cancelled") return asked;
  }
  throw new CountersignError("Too many equal calls in one session.");
}

async function decide(hook: Hook): Promise<Answer> {
  const { service, timeoutSeconds } = hook;
  const [deadline, decided] = [new AbortController(), new AbortController()];
  service.sleep(timeoutSeconds * 1_000, decided.signal).then(
    () => deadline.abort(new CountersignError(`No answer within ${timeoutSeconds} seconds.`)),
    () => undefined,
  );
  try {
    const action = { ...(await describeCall(hook)), signal: deadline.signal };
    const asked = await askForCall(hook, action);
    return await waitForHuman(hook, asked, deadline.signal);
  } finally {
    decided.abort();
  }
}

async function waitForHuman(hook: Hook, { action, request }: Asked, signal: AbortSignal): Promise<Answer> {
  const { service, call } = hook;
  const shown = formatFacts("A tool call is waiting for a human.", factsOf(request));
  await showToOperator(hook, shown);
  try {
    await waitForDecision(service, request.request_id, { signal });
    await confirmApproval(service, request.request_id, action, call.input);
    return { permission: "allow", reason: "A human approved exactly this call." };
  } catch (error) {
    if (error instanceof NotApprovedError) return explainDenial(error);
    if (!signal.aborted) throw error;
    return answerLate(hook, request, shown);
  } finally {
    await clearOutput(hook);
  }
}

/** The model gets the fixed sentence alone: what a human wrote is text that it could take for an instruction. */
function explainDenial({ message, decision }: NotApprovedError): Answer {
  const { denial_reason } = decision;
  const said = denial_reason ? `The human wrote: ${toVisibleText(denial_reason)}` : undefined;
  return { permission: "deny", reason: message, message: said };
}

async function answerLate(hook: Hook, request: AuthorizationRequest, shown: string): Promise<Answer> {
  if (hook.isDeferring) return { permission: "defer", reason: "No human has decided yet.", message: shown };
  // Nobody should approve what can't run any more.
  await cancel(hook.service, request.request_id).catch(() => undefined);
  const reason = `No human decided within ${hook.timeoutSeconds} seconds. Stop and report to your operator. Do not retry the same action by yourself.`;
  return { permission: "deny", reason };
}

const cancel = (service: Service, requestId: string) =>
  send(service, { method: "DELETE", path: `/v1/authorize/${encodeURIComponent(requestId)}` });

/** Standard error is shown by agents that stream it. `--output` is for a status line, or a terminal beside. */
async function showToOperator({ command: { io, line } }: Hook, shown: string): Promise<void> {
  io.tell(shown);
  const output = single(line, "output");
  if (output !== undefined) await io.writeFile(output, shown);
}

async function clearOutput({ command: { io, line } }: Hook): Promise<void> {
  const output = single(line, "output");
  if (output !== undefined) await io.writeFile(output, "");
}

/** The tool has run. Whatever is wrong here can only be said. */
async function attestCall(hook: Hook, described: GatedAction): Promise<void> {
  const { service, call, dialect, command } = hook;
  const { action, request } = await askForCall(hook, described);
  let authorization: ApprovedAuthorization;
  try {
    ({ authorization } = await confirmApproval(service, request.request_id, action, call.input));
  } catch (error) {
    // The same hook is registered twice, or the agent repeats the event.
    if (error instanceof ApprovalUsedError) return;
    await cancel(service, request.request_id).catch(() => undefined);
    const why = error instanceof Error ? error.message : String(error);
    throw new CountersignError(`${call.tool} ran, but this call has no approval to attest: ${why}`);
  }
  const { public_url } = await attestRun(service, action, authorization, null);
  command.io.tell(`Attested: ${public_url}\n`);
  print(command, dialect.writeNote(`Attested: ${public_url}`));
}
