/** A tool's call and its request: the processes before and after the call find the same one. */

import { attest } from "#lib/client/api/attest";
import {
  type ApprovedAuthorization,
  claim,
  readAmended,
  requireApproval,
  waitForAmended,
} from "#lib/client/api/authorize";
import {
  ApiError,
  ApprovalClaimedError,
  ApprovalRevokedError,
  ApprovalUsedError,
  ConnectionError,
  CountersignError,
  NotApprovedError,
} from "#lib/client/api/errors";
import { sealInputs } from "#lib/client/api/inputs";
import type { Service } from "#lib/client/api/transport";
import type { AuthorizationState } from "#lib/client/api/wire";
import {
  readContext,
  readCount,
  readLevel,
  readRequiredApprovers,
  readUsableFor,
  readVisibility,
  toFacts,
} from "#lib/client/cli/attest";
import { type Command, formatFacts, readAgentKey, type Terminal } from "#lib/client/cli/io";
import {
  type AskedOnce,
  askOnce,
  attestRun,
  attestStopped,
  cancelLatest,
  confirmApproval,
  type GatedAction,
} from "#lib/client/gate/gate";
import { showInputs } from "#lib/client/gate/shown-inputs";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { toField } from "#lib/protocol/approval/shown-content";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { describeToolCall } from "#lib/protocol/record/title";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { type Agent, type Answer, agents } from "./agents";
import { needsHuman, type Prompt, readDialectName, type ToolCall, type TurnEnd } from "./dialects";
import {
  describeEnd,
  isRecorded,
  noteTask,
  openService,
  print,
  type Reach,
  readAgent,
  recordCall,
  recordEnds,
  unknownEnd,
} from "./recorded-call";
import { type CallNote, findNote, listNotes, removeNote, writeNote } from "./tools";

export interface Hook {
  command: Command;
  call: ToolCall;
  service: Service;
  isDeferring: boolean;
  timeoutSeconds: number;
  /** A session that two processes have resumed has the same call twice: one of them may run it. */
  run: string;
}

/** Agents end a hook after ten minutes if they are not configured otherwise, and then run the tool. */
const usualTimeoutSeconds = 570;
const longestExpiryMinutes = 1_440;
/** Calls with the same arguments in one session, for agents that don't number them. */
const maxEqualCalls = 100;
const maxToolName = 128;

export const readTimeout = (command: Command) => readCount(command, "timeout") ?? usualTimeoutSeconds;

/** The same before and after the call, but for what is attested, or the request would not be found again. */
async function describeCall({ command, call, isDeferring, timeoutSeconds }: Hook): Promise<GatedAction> {
  const { line } = command;
  const agent_slug = readAgent(command);
  if ([...call.tool].length > maxToolName) throw new Error("the tool's name is too long to be attested");
  return {
    agent_slug,
    // The link may end up in a transcript: without the code it decides nothing.
    require_code: true,
    action: `Use the tool ${call.tool}`,
    tool: call.tool,
    context: readContext(line.values.context),
    // The hook gives up then: the page must not promise people more time.
    expires_in_minutes:
      readCount(command, "expires-in") ??
      (isDeferring ? longestExpiryMinutes : Math.min(Math.ceil(timeoutSeconds / 60), longestExpiryMinutes)),
    required_level: readLevel(single(line, "level")),
    approvals_required: readCount(command, "approvals"),
    ...readAmendable(command, call),
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

/**
 * Arguments that a human may change, of those that the call has, where the agent takes changed ones and they are shown whole.
 * The agent checks them against the tool's schema, as it does with what any hook changes.
 */
function readAmendable({ line }: Command, { callId, input }: ToolCall) {
  const names = line.values.amendable ?? [];
  if (names.length === 0) return {};
  if ((line.values.context ?? []).length > 0)
    throw new UsageError(
      "--amendable can't be together with --context: what is approved are the arguments alone",
    );
  const { takesInput = false } = agents[readDialectName(single(line, "dialect"))];
  if (!takesInput || callId === undefined || !isJsonObject(input)) return {};
  const amendable = listAmendable(names, input);
  return amendable.length > 0 ? { amendable, schema: () => undefined } : {};
}

/** None unless all arguments are shown whole. */
export function listAmendable(names: readonly string[], input: JsonObject): string[] {
  const { context, details } = showInputs(input, {});
  return details.complete ? names.filter((name) => Object.hasOwn(context, name)).map(toField) : [];
}

export interface Asked extends AskedOnce {
  action: GatedAction;
}

const ask = async (
  { service, call, run }: Hook,
  action: GatedAction,
  isFirstWanted = true,
): Promise<Asked> => ({
  action,
  // A call that has run claims nothing any more.
  ...(await askOnce(service, action, call.input, {
    isFirstWanted,
    ...(call.outcome === null && { claimAs: () => run }),
  })),
});

/** Requests that this process itself may make in search of a call that has run: in the places of some that are forgotten. */
const maxMade = 3;

/**
 * A number that an attested call had is a new call's, before it runs. If the agent doesn't number its calls, equal ones of a
 * session are told apart by what became of their requests. A new call takes the first request that is neither used nor
 * claimed. A call that has run takes the first request that is claimed and not attested, or else the first one that could
 * still be approved: then it ran without an approval.
 */
async function askForCall(hook: Hook, action: GatedAction): Promise<Asked> {
  const hasRun = hook.call.outcome !== null;
  if (hook.call.callId !== undefined) return ask(hook, action, hasRun);
  let open: Asked | undefined;
  let made = 0;
  for (let number = 0; number < maxEqualCalls; number += 1) {
    const asked = await ask(hook, { ...action, callId: `equal-${number}` });
    if (asked.request.claimed !== undefined) return asked;
    const { status, attestation_id, claimed_at } = await readAmended(hook.service, asked.request.request_id, {
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

/** Keeps people from approving what can't run any more. If cancelling fails, the request expires. */
async function cancel({ service }: Hook, requestId: string): Promise<void> {
  await cancelLatest(service, requestId, AbortSignal.timeout(cancelTimeoutMs)).catch(() => undefined);
}

export async function openHook(command: Command, call: ToolCall): Promise<Hook> {
  const service = await openService(command, call);
  return {
    command,
    call,
    service,
    isDeferring: command.line.flags.has("defer"),
    timeoutSeconds: readTimeout(command),
    run: `hook-${service.randomUuid()}`,
  };
}

/* Attests, after a call, what ran, with its approval or without. */

/** The tool has run, whether or not it has failed. Whatever is wrong here can only be said. */
export async function attestCall(
  command: Command,
  agent: Agent,
  call: ToolCall,
  reach: Reach,
): Promise<void> {
  const inputs_hash = sealInputs(call.input).hash;
  const note = await findNote(command, call.sessionId, call.callId);
  // Another hook may have rewritten a call that was approved.
  const isRewritten = note !== null && note.inputs_hash !== inputs_hash;
  if (!isRewritten && !needsHuman(reach.ask, call.tool, call.input)) {
    if (isRecorded(reach, call)) await recordCall(command, agent, call);
    return;
  }
  const hook = await openHook(command, call);
  if (isRewritten) return attestUnapproved(hook, await describeCall(hook), note, "its arguments are others");
  const action = await describeCall(hook);
  const { request_id } = note ?? (await askForCall(hook, action)).request;
  let authorization: ApprovedAuthorization;
  try {
    ({ authorization } = await confirmApproval(hook.service, request_id, action, call.input));
    // A rule or a standing approval may have approved only what is asked here, after the tool ran.
    if (authorization.claimed_at === null)
      throw new CountersignError("nobody claimed it before the tool ran.");
  } catch (error) {
    // The same hook is registered twice, or the agent repeats the event.
    if (error instanceof ApprovalUsedError) return;
    if (error instanceof ApprovalRevokedError) {
      await attestRevoked(hook, action, { request_id, inputs_hash });
      return removeNote(command.io, note);
    }
    await cancel(hook, request_id);
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof ApiError || error instanceof ConnectionError)
      throw new CountersignError(`${call.tool} ran, and could not be attested: ${why}`);
    return attestUnapproved(hook, action, null, why);
  }
  const attested = await attestRun(hook.service, action, authorization, null, call.outcome ?? "unknown");
  await removeNote(command.io, note);
  await noteTask(command, call, () => describeEnd(action, attested));
  const { public_url } = attested;
  command.io.tell(`Attested: ${public_url}\n`);
  print(command, agent.note?.(`Attested: ${public_url}`) ?? null);
}

/** Attests an input that ran unapproved, and says so. Throws in any case: somebody must look at it. */
async function attestUnapproved(
  { service, call, command }: Hook,
  action: GatedAction,
  note: CallNote | null,
  why: string,
): Promise<never> {
  const { hash } = sealInputs(call.input);
  const approved = note && { approved_request: note.request_id, approved_inputs_hash: note.inputs_hash };
  const metadata = { ...action.attestation?.metadata, approval: "none", ...approved };
  const { agent_slug, action: text, attestation, agentKey } = action;
  const body = { ...attestation, agent_slug, action: text, inputs_hash: hash, metadata };
  const id = call.callId ?? service.randomUuid();
  const idempotencyKey = `hook-${canonicalHash([agent_slug, call.sessionId, id, hash])}`;
  const said = `${call.tool} ran, and this call has no approval to attest: ${why}`;
  const attested = await attest(service, body, { idempotencyKey, agentKey }).catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    throw new CountersignError(`${said} It could not be attested without one either: ${problem}`);
  });
  await removeNote(command.io, note);
  throw new CountersignError(
    `${said} Another hook may have changed the call. Attested as not approved: ${attested.public_url}`,
  );
}

/** A turn is over, or a call that the event says no more of. */
export async function attestEnd(command: Command, agent: Agent, end: TurnEnd): Promise<void> {
  const { endedSession, endedCall, running } = end;
  if (agent.forgetsCalls || endedCall !== undefined) await attestForgotten(command, endedSession, endedCall);
  if (running !== null) await recordEnds(command, endedSession, running);
}

/** Attests calls of an MCP server that failed and of whose end the agent tells nothing. */
async function attestForgotten(command: Command, sessionId: string, ended?: string): Promise<void> {
  for (const note of await listNotes(command, sessionId)) {
    if (ended !== undefined && note.call_id !== ended) continue;
    const { call_id: callId, tool, request_id, inputs_hash } = note;
    const call: ToolCall = { ...unknownEnd, sessionId, callId, tool };
    const hook = await openHook(command, call);
    const action = await describeCall(hook);
    const aboutToRun = { agent_slug: action.agent_slug, action: action.action, inputs_hash };
    try {
      const authorization = await requireApproval(hook.service, request_id, () => aboutToRun, {});
      const { public_url } = await attestRun(
        hook.service,
        action,
        authorization,
        null,
        call.outcome ?? "unknown",
      );
      command.io.tell(`Attested, with an outcome that nobody told: ${public_url}\n`);
    } catch (error) {
      if (error instanceof ApprovalRevokedError) await attestRevoked(hook, action, note);
      else if (!(error instanceof ApprovalUsedError)) throw error;
    }
    await removeNote(command.io, note);
  }
}

/** Codex explains in it why it asks. */
const withoutReason = (input: JsonValue): JsonValue =>
  isJsonObject(input)
    ? Object.fromEntries(Object.entries(input).filter(([name]) => name !== "description"))
    : input;

/** Yes if the call was approved, is claimed and hasn't ended; else its user is asked. Throws if the approval was stopped. */
export async function answerPrompt(command: Command, prompt: Prompt): Promise<object | null> {
  if (!command.line.flags.has("answer-prompts")) return null;
  const { sessionId, tool, input } = prompt;
  const hashes = [input, withoutReason(input)].map((one) => sealInputs(one).hash);
  for (const note of await listNotes(command, sessionId)) {
    const { inputs_hash, request_id, agent_slug } = note;
    if (note.tool !== tool || !hashes.includes(inputs_hash)) continue;
    const call: ToolCall = { ...unknownEnd, ...prompt, outcome: null, callId: note.call_id };
    const service = await openService(command, call);
    const readAboutToRun = () => ({ agent_slug, action: `Use the tool ${tool}`, inputs_hash });
    const { claimed_at } = await requireApproval(service, request_id, readAboutToRun, {});
    if (!claimed_at) continue;
    const decision = { behavior: "allow" };
    return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
  }
  return null;
}

/** The tool was allowed before the approval was taken back: that it ran is what must not get lost. */
async function attestRevoked(
  { service, command }: Hook,
  action: GatedAction,
  { request_id, inputs_hash }: Pick<CallNote, "request_id" | "inputs_hash">,
): Promise<void> {
  const state = { request_id, inputs_hash, agent_slug: action.agent_slug, action: action.action };
  const why = "taken back before this was attested";
  const { public_url } = await attestStopped(service, action, state, why, null);
  command.io.tell(`Attested without its approval, which was taken back: ${public_url}\n`);
}

/* Asks a human before a call, which is then allowed, denied or deferred. No end of it leaves anything behind. */

/** Milliseconds that a request under way may take to arrive, so that it can be cancelled. */
const graceMs = 5_000;
/** Link and code decide: only the hook's user may read them. */
const forOneself = { file: 0o600, folder: 0o700 };

interface Limits {
  end: AbortSignal;
  isLate(): boolean;
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
  const { title = hook.call.tool } = describeToolCall(hook.call.tool, hook.call.input);
  const { confirmation_code, approval_url } = asked.request;
  // One line: Qwen Code shows two of a status line.
  const summary = `Countersign ${confirmation_code} ${approval_url} ${title}`;
  const describeWaiting = () => formatFacts(summary, toFacts(asked.request));
  let isDeferred = false;
  // Rules and standing approvals have decided by now: there is nobody to show it to.
  const isShown = asked.request.status === "pending";
  let clear = async (): Promise<void> => undefined;
  try {
    if (isShown) clear = await showToOperator(hook, asked, describeWaiting(), summary);
    return await waitForHuman(hook, asked, limits.end);
  } catch (error) {
    if (error instanceof NotApprovedError) return explainDenial(error);
    isDeferred = canDefer(hook) && limits.end.aborted && limits.isLate();
    if (isDeferred)
      return { permission: "defer", reason: "No human has decided yet.", message: describeWaiting() };
    await cancel(hook, asked.request.request_id);
    if (limits.end.aborted && limits.isLate()) return denyLate(hook);
    throw error;
  } finally {
    // The person who decides about a deferred call still needs the link.
    if (!isDeferred) await clear();
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
  { service, call, command, run }: Hook,
  { action, request, isRepeat }: Asked,
  signal: AbortSignal,
): Promise<Answer> {
  const claimNow = async (id = request.request_id) =>
    request.claimed ?? claimForThisRun(service, id, run, signal);
  // A rule or a standing approval has decided already: the claim's answer says it again.
  const isDecided = request.status === "approved";
  if (!isDecided) await waitForAmended(service, request.request_id, { signal });
  const confirmed = { ...action, signal };
  const approved = await confirmApproval(
    service,
    request.request_id,
    confirmed,
    call.input,
    isDecided ? () => claimNow() : undefined,
  );
  const { request_id } = approved.authorization;
  if (!isDecided) await claimNow(request_id);
  const { callId } = call;
  const isNoted =
    callId !== undefined &&
    (await writeNote(command.io, {
      agent_slug: action.agent_slug,
      session_id: call.sessionId,
      call_id: callId,
      tool: call.tool,
      request_id,
      inputs_hash: approved.authorization.inputs_hash ?? "",
    }));
  // A repeat's end would pass for the first call's, and not be attested.
  if (isRepeat && !isNoted)
    throw new CountersignError(
      "Not run: the agent repeats a call's number, and no note can tell the two apart.",
    );
  // Arguments that were changed are those of no request once it has run.
  if (approved.authorization.amends && !isNoted)
    throw new CountersignError("Not run: a human changed this call, and no note can say so after it.");
  signal.throwIfAborted();
  return { permission: "allow", reason: explainDecision(approved.authorization), input: approved.copy };
}

/** Rules, standing approvals and tests are never called a human's approval. */
export function explainDecision({
  decided_by,
  status,
  amends,
  environment,
}: Pick<ApprovedAuthorization, "decided_by" | "status" | "amends" | "environment">): string {
  const isTest = environment !== "production";
  const unasked = describeUnasked(decided_by, status);
  if (unasked !== null) return isTest ? `${unasked} This is a TEST instance.` : unasked;
  if (isTest)
    return amends
      ? "A TEST approval, not a real person's: this call was changed, and runs with other arguments."
      : "A TEST approval, not a real person's, of exactly this call.";
  return amends
    ? "A human changed this call and approved it: it runs with other arguments."
    : "A human approved exactly this call.";
}

async function claimForThisRun(
  service: Service,
  requestId: string,
  run: string,
  signal: AbortSignal,
): Promise<AuthorizationState> {
  try {
    return await claim(service, requestId, run, { signal });
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

/** Finds a file for each waiting call, so that none of them overwrites or removes another's. */
function findShownFile({ command: { line } }: Hook, { request }: Asked): string | undefined {
  const folder = single(line, "output");
  return folder === undefined ? undefined : `${folder}/${encodeURIComponent(request.request_id)}.txt`;
}

const writeTitle = (text: string) => `\x1b]2;${toVisibleText(text)}\x07`;
const notify = (text: string) => `\x1b]9;${toVisibleText(text)}\x07`;
const [keepTitle, formerTitle] = ["\x1b[22;0t", "\x1b[23;0t"];

/**
 * Announces a waiting call where the agent shows nothing of a running hook: by the window's title, which is restored, and a
 * notification. A terminal keeps its titles in a stack: where several calls wait, the first to end restores the title of the
 * last. So each call has a file with its title, and a call that ends shows that of one that still waits.
 */
async function announce(
  { io: { machine, readFile } }: Command,
  { path, write }: Terminal,
  { request_id: id }: { request_id: string },
  summary: string,
): Promise<() => Promise<void>> {
  const folder = `${machine.home}/.countersign/titles/${encodeURIComponent(path)}`;
  const own = `${machine.processId}-${encodeURIComponent(id)}`;
  // Without the file, the title stays as long as no other call ends.
  await machine.writeFile(`${folder}/${own}`, summary, forOneself).catch(() => undefined);
  await write(`${keepTitle}${writeTitle(summary)}${notify(summary)}`);
  return async () => {
    await machine.remove(`${folder}/${own}`);
    let title = "";
    // A process that was killed has left its file.
    for (const name of await machine.listNames(folder))
      if (machine.isRunning(Number.parseInt(name, 10)))
        title = await readFile(`${folder}/${name}`).then(utf8Decode, () => title);
      else await machine.remove(`${folder}/${name}`);
    await write(`${formerTitle}${title === "" ? "" : writeTitle(title)}`);
  };
}

function usesTerminal({ command: { line } }: Hook): boolean {
  const { plugin, statusLine } = agents[readDialectName(single(line, "dialect"))];
  return plugin === undefined && statusLine === undefined;
}

/**
 * Standard error is shown by agents that stream it. `--output` is for a status line, or a terminal beside. The answer ends it,
 * also in the terminal of an agent that has killed its hook.
 */
async function showToOperator(
  hook: Hook,
  asked: Asked,
  shown: string,
  summary: string,
): Promise<() => Promise<void>> {
  const { io } = hook.command;
  io.tell(shown);
  const file = findShownFile(hook, asked);
  if (file !== undefined) await io.machine.writeFile(file, shown, forOneself);
  const terminal = usesTerminal(hook) ? await io.machine.openTerminal() : null;
  const takeBack = terminal && (await announce(hook.command, terminal, asked.request, summary));
  return async () => {
    if (file !== undefined) await io.machine.remove(file);
    await takeBack?.();
  };
}
