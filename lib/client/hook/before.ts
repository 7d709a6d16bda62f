/** Before a call: a human is asked, and the call is allowed, denied or deferred. However it ends, nothing is left behind. */

import { type ApprovedAuthorization, claim, waitForDecision } from "#lib/client/api/authorize";
import { ApprovalClaimedError, CountersignError, NotApprovedError } from "#lib/client/api/errors";
import type { Service } from "#lib/client/api/transport";
import { factsOf } from "#lib/client/cli/attest";
import { formatFacts } from "#lib/client/cli/io";
import { confirmApproval, type GatedAction } from "#lib/client/gate/gate";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { single } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { type Asked, askForCall, cancel, describeCall, type Hook } from "./call";
import type { Answer } from "./dialects";
import { writeNote } from "./tools";

/** How long a request that is on its way may still arrive, so that it can be cancelled. */
const graceMs = 5_000;
/** Link and code decide: only the hook's user may read them. */
const forOneself = { file: 0o600, folder: 0o700 };

interface Limits {
  /** Somebody ends this process, or its time is over. */
  end: AbortSignal;
  isLate(): boolean;
  /** The grace is over too. */
  last: AbortSignal;
}

export async function decide(hook: Hook): Promise<Answer> {
  const action = await describeCall(hook);
  const decided = new AbortController();
  try {
    return await askHuman(hook, action, limit(hook, decided.signal));
  } finally {
    decided.abort();
  }
}

function limit({ service, timeoutSeconds, command }: Hook, decided: AbortSignal): Limits {
  const [late, last] = [new AbortController(), new AbortController()];
  const end = AbortSignal.any([late.signal, command.io.machine.listenForEnd()]);
  const after = (ms: number, act: () => void) => void service.sleep(ms, decided).then(act, () => undefined);
  after(timeoutSeconds * 1_000, () =>
    late.abort(new CountersignError(`No answer within ${timeoutSeconds} seconds.`)),
  );
  end.addEventListener("abort", () => after(graceMs, () => last.abort(end.reason)));
  return { end, isLate: () => end.reason === late.signal.reason, last: last.signal };
}

async function askHuman(hook: Hook, action: GatedAction, limits: Limits): Promise<Answer> {
  const asked = await askForCall(hook, { ...action, signal: limits.last }).catch((error: unknown) => {
    throw limits.end.aborted ? limits.end.reason : error;
  });
  const shown = formatFacts("A tool call is waiting for a human.", factsOf(asked.request));
  let isDeferred = false;
  try {
    // Rules and standing approvals have decided by now: there is nobody to show it to.
    if (describeUnasked(asked.request.decided_by, asked.request.status) === null)
      await showToOperator(hook, asked, shown);
    return await waitForHuman(hook, asked, limits.end);
  } catch (error) {
    if (error instanceof NotApprovedError) return explainDenial(error);
    isDeferred = canDefer(hook) && limits.end.aborted && limits.isLate();
    if (isDeferred) return { permission: "defer", reason: "No human has decided yet.", message: shown };
    await cancel(hook, asked.request.request_id);
    if (limits.end.aborted && limits.isLate()) return denyLate(hook);
    throw error;
  } finally {
    // The person who decides about a deferred call still needs the link.
    if (!isDeferred) await clearShown(hook, asked);
  }
}

/** Entry points of Claude Code that end a run with a deferred call. In a terminal it would run at once. */
const deferringEntries = ["sdk-cli", "sdk-ts", "sdk-py"];

/** A subagent drops a call that is deferred. */
function canDefer({ isDeferring, call, command: { io } }: Hook): boolean {
  const entry = io.machine.readVariable("CLAUDE_CODE_ENTRYPOINT") ?? "";
  return isDeferring && !call.isSubagent && deferringEntries.includes(entry);
}

async function waitForHuman(
  { service, call, command }: Hook,
  { action, request, isRepeat }: Asked,
  signal: AbortSignal,
): Promise<Answer> {
  await waitForDecision(service, request.request_id, { signal });
  const approved = await confirmApproval(service, request.request_id, { ...action, signal }, call.input);
  await claimForThisRun(service, request.request_id, signal);
  const { callId } = call;
  const isNoted =
    callId !== undefined &&
    (await writeNote(command.io, {
      agent_slug: action.agent_slug,
      session_id: call.sessionId,
      call_id: callId,
      tool: call.tool,
      request_id: request.request_id,
      inputs_hash: approved.authorization.inputs_hash ?? "",
    }));
  // Its end would pass for the first call's, and not be attested.
  if (isRepeat && !isNoted)
    throw new CountersignError(
      "Not run: the agent repeats a call's number, and no note can tell the two apart.",
    );
  signal.throwIfAborted();
  return { permission: "allow", reason: reasonOf(approved.authorization), input: approved.copy };
}

/** Rules and standing approvals are never called a human's approval. */
const reasonOf = ({ decided_by, status }: ApprovedAuthorization) =>
  describeUnasked(decided_by, status) ?? "A human approved exactly this call.";

/** A session that two processes have resumed has the same call twice: one of them may run it. */
async function claimForThisRun(service: Service, requestId: string, signal: AbortSignal): Promise<void> {
  try {
    await claim(service, requestId, `hook-${service.randomUuid()}`, { signal });
  } catch (error) {
    if (!(error instanceof ApprovalClaimedError)) throw error;
    const why = "Another process runs this call, or this hook is installed twice: see hook install.";
    throw new CountersignError(`${error.message} ${why}`, { cause: error });
  }
}

/** The model gets the fixed sentence alone: what a human wrote is text that it could take for an instruction. */
function explainDenial({ message, decision }: NotApprovedError): Answer {
  const { denial_reason } = decision;
  const who = decision.decided_by?.kind === "people" ? "The human wrote: " : "";
  const said = denial_reason ? `${who}${toVisibleText(denial_reason)}` : undefined;
  return { permission: "deny", reason: message, message: said };
}

function denyLate({ timeoutSeconds, isDeferring }: Hook): Answer {
  const reason = `No human decided within ${timeoutSeconds} seconds. Stop and report to your operator. Do not retry the same action by yourself.`;
  const message = isDeferring ? deferringElsewhere : undefined;
  return { permission: "deny", reason, message };
}

export const deferringElsewhere =
  "--defer defers calls of claude -p and the Agent SDK. In a terminal or a subagent, a call that nobody has decided in time is denied.";

/** One file for each waiting call, so that none of them overwrites or removes another's. */
function fileOf({ command: { line } }: Hook, { request }: Asked): string | undefined {
  const folder = single(line, "output");
  return folder === undefined ? undefined : `${folder}/${encodeURIComponent(request.request_id)}.txt`;
}

/** Standard error is shown by agents that stream it. `--output` is for a status line, or a terminal beside. */
async function showToOperator(hook: Hook, asked: Asked, shown: string): Promise<void> {
  const { io } = hook.command;
  io.tell(shown);
  const file = fileOf(hook, asked);
  if (file !== undefined) await io.machine.writeFile(file, shown, forOneself);
}

async function clearShown(hook: Hook, asked: Asked): Promise<void> {
  const file = fileOf(hook, asked);
  if (file !== undefined) await hook.command.io.machine.remove(file);
}
