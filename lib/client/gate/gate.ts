/**
 * Ask once, wait, fetch the decision again, compare what is about to run with what was approved, claim the approval, run,
 * attest. Whatever breaks on the way, nothing runs without an approval, and nothing is asked, run or attested twice.
 */
import { attest } from "#lib/client/api/attest";
import {
  type ApprovedAuthorization,
  authorizeOnce,
  cancel,
  claim,
  readAmended,
  requireApproval,
  requireFit,
  type WaitOptions,
  waitForAmended,
} from "#lib/client/api/authorize";
import {
  ApiError,
  ApprovalClaimedError,
  ApprovalMismatchError,
  ApprovalUsedError,
  CountersignError,
  NotAttestedError,
} from "#lib/client/api/errors";
import { type AgentKey, sealInputs } from "#lib/client/api/inputs";
import type { Service } from "#lib/client/api/transport";
import type {
  Attestation,
  AttestRequest,
  AuthorizationRequest,
  AuthorizationState,
  AuthorizeRequest,
} from "#lib/client/api/wire";
import { canonicalHash, isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  type AttestationExtras,
  requireAttestable,
  requireFunction,
  requireIds,
  requireRun,
} from "./gate-checks";
import { amendInputs, showInputs } from "./shown-inputs";

/* Attests a run on an approval: its outcome, whatever happened to the approval meanwhile. */

/**
 * Outcome of an action, as `outcome` in the metadata of its attestation: `failed` may have done half of it, `started` goes on
 * in the background, and `unknown` is what nobody told.
 */
export type Outcome = "completed" | "failed" | "started" | "unknown";

type Reported =
  | {
      [name in
        | "isError"
        | "status"
        | "tool_call_id"
        | "messages"
        | "update"
        | "task"
        | "resultType"]?: unknown;
    }
  | null
  | undefined;

const list = (value: unknown): Reported[] => (Array.isArray(value) ? value : []);

/** LangGraph's ToolNode and Command hold messages. */
const listReports = (result: Reported): Reported[] => [
  result,
  ...list(result?.messages),
  ...list((result?.update as Reported)?.messages),
];

const isToolError = (report: Reported): boolean =>
  report?.isError === true || (report?.status === "error" && typeof report.tool_call_id === "string");

/** MCP's answer to a call that goes on as a task, in the protocol of 2025 and as its later extension. */
const isTask = (result: Reported): boolean =>
  result?.resultType === "task" ||
  typeof (result?.task as { taskId?: unknown } | null | undefined)?.taskId === "string";

/** Results by which tools report errors that they handled: MCP's `isError`, LangChain's messages of status `error`. */
export function readOutcome(result: unknown): Outcome {
  try {
    const results = [result].flat() as Reported[];
    if (results.flatMap(listReports).some(isToolError)) return "failed";
    return isTask(result as Reported) ? "started" : "completed";
  } catch {
    // A getter of the result's own.
    return "unknown";
  }
}

/** Ignores the action's abort signal: it has run. */
export async function attestRun(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  result: unknown,
  outcome: Outcome = readOutcome(result),
): Promise<Attestation> {
  const { human_authorization } = authorization;
  const ended = withMetadata(action, { outcome, ...describeAmended(authorization) });
  try {
    return await attestAs(service, ended, authorization, { human_authorization });
  } catch (error) {
    const stopped = error instanceof ApiError ? stoppedWhileRunning[error.code] : undefined;
    if (stopped === undefined) throw new NotAttestedError(authorization.request_id, result, error);
    return attestStopped(service, ended, authorization, stopped, result);
  }
}

/** Hash of the inputs that were asked for, beside the attested one of those that ran. */
function describeAmended({
  amends,
  human_authorization: { original_request },
}: ApprovedAuthorization): JsonObject {
  const asked = isJsonObject(original_request) ? original_request["inputs_hash"] : undefined;
  return amends && asked !== undefined ? { asked_inputs_hash: asked } : {};
}

function withMetadata(action: GatedAction, more: JsonObject): GatedAction {
  const metadata = { ...action.attestation?.metadata, ...more };
  return { ...action, attestation: { ...action.attestation, metadata } };
}

/** A failed action may have done half of its work, so it is attested too, as a failure that the hook sees is. */
async function attestFailure(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  failure: unknown,
): Promise<Attestation> {
  return attestRun(service, action, authorization, undefined, "failed").catch((notAttested: unknown) => {
    const message = failure instanceof Error ? failure.message : String(failure);
    throw new AggregateError([failure, notAttested], `${message} (and its attestation could not be stored)`, {
      cause: failure,
    });
  });
}

type RunFacts = Pick<ApprovedAuthorization, "request_id" | "agent_slug" | "action" | "inputs_hash">;

const stoppedWhileRunning: Partial<Record<ApiError["code"], string>> = {
  authorization_revoked: "taken back while the action ran",
  authorization_ended: "over before the action was",
  agent_frozen: "unusable, because the agent was frozen while the action ran",
};

/** Attests a run whose approval was stopped meanwhile, without the approval. */
export async function attestStopped(
  service: Service,
  action: GatedAction,
  state: RunFacts,
  approval: string,
  result: unknown,
): Promise<Attestation> {
  try {
    return await attestAs(service, withMetadata(action, { approval }), state, {}, "-stopped");
  } catch (error) {
    throw new NotAttestedError(state.request_id, result, error);
  }
}

function attestAs(
  service: Service,
  { attestation = {}, agentKey }: GatedAction,
  { request_id, agent_slug, action, inputs_hash }: RunFacts,
  more: Pick<AttestRequest, "human_authorization">,
  suffix = "",
): Promise<Attestation> {
  const body = { ...attestation, agent_slug, action, inputs_hash: inputs_hash ?? "", ...more };
  return attest(service, body, { idempotencyKey: `gate-${request_id}${suffix}`, agentKey });
}

export type ToolSchema =
  | { readonly "~standard": { validate: (inputs: unknown) => unknown } }
  | ((inputs: unknown) => unknown);

async function requireSchema(schema: ToolSchema, inputs: unknown): Promise<void> {
  const validate = typeof schema === "function" ? schema : schema["~standard"].validate;
  const found = await validate(inputs);
  const issues = typeof schema === "function" ? undefined : (found as { issues?: unknown }).issues;
  if (issues !== undefined) throw new ApprovalMismatchError("inputs_hash", "don't fit the tool's schema");
}

/** Question to the human, for a given call of a given run. */
export interface GatedAction extends Omit<AuthorizeRequest, "inputs_hash" | "details"> {
  /** The framework's id of the run or thread. */
  runId: string;
  /**
   * The framework's id of this tool call in it. For the same ids and arguments a human is asked once, until the call has
   * run and is attested: after that an equal call is a new question.
   */
  callId: string;
  /**
   * False: what has run under these ids doesn't run again, such as a delivery that a queue repeats: it throws
   * ApprovalUsedError. The service knows it for 24 hours after the attestation.
   */
  asksAgain?: boolean | undefined;
  /**
   * True: the human approves inputs that nobody has seen, and the service gets only their hash. Otherwise they are shown
   * beside `context`, all of them, and what is too long to be shown can't be approved.
   */
  approveUnseenInputs?: boolean | undefined;
  attestation?: AttestationExtras | undefined;
  /**
   * The tool's own schema (Standard Schema, as Zod's), or a function that throws: with `amendable`, arguments that an
   * approver changed are checked by it before anything is claimed.
   */
  schema?: ToolSchema | undefined;
  /** Signs the attestation, if the agent has registered a key. */
  agentKey?: AgentKey | undefined;
  /** Shows link and code to the person who should decide. Also called if the request was made before: `status` is today's. */
  onRequest?: ((request: AuthorizationRequest) => void | Promise<void>) | undefined;
  /** Gets an approver's question while it waits, and may answer: see WaitOptions. */
  onQuestion?: WaitOptions["onQuestion"];
  /** False: throw if it isn't decided yet, instead of waiting. For runs that end while a human decides. */
  wait?: boolean | undefined;
  /** Aborting it prevents the run and cancels the request. */
  signal?: AbortSignal | undefined;
}

/**
 * The action itself. `inputs` is a copy of exactly what was approved. `key` is the same whenever this approval is used: pass
 * it on as an idempotency key, so that nothing is doubled by whatever repeats it below.
 */
export type Run<Inputs, Result> = (inputs: Inputs, approval: { requestId: string; key: string }) => Result;

export interface Gated<Result> {
  result: Result;
  attestation: Attestation;
  authorization: ApprovedAuthorization;
}

/** Keyed by call: calls under way, and what is left to do for an action that ran and is not attested yet. */
export class GateMemory {
  /** Distinguishes this client from every other one, in any process, that gates the same call. */
  clientId: string | undefined;
  readonly running = new Map<string, Promise<unknown>>();
  readonly unattested = new Map<string, () => Promise<unknown>>();
  /** Ids of requests whose action ran and is attested without their approval, which can be claimed again after a freeze. */
  readonly unbacked = new Set<string>();
}

export async function gate<Inputs, Result>(
  service: Service,
  memory: GateMemory,
  action: GatedAction,
  inputs: Inputs,
  run: Run<Inputs, Result>,
): Promise<Gated<Awaited<Result>>> {
  requireFunction(run);
  const key = buildKey(action, inputs);
  const running = memory.running.get(key);
  if (running !== undefined) return (await untilAborted(running, action.signal)) as Gated<Awaited<Result>>;
  const finish = memory.unattested.get(key);
  const call = (finish ?? (() => runApproved(service, memory, key, action, inputs, run)))();
  memory.running.set(key, call);
  return (await call.finally(() => memory.running.delete(key))) as Gated<Awaited<Result>>;
}

type Call = Pick<GatedAction, "agent_slug" | "action" | "runId" | "callId">;

/** The same for the same call of the same run with the same arguments, in any process. */
function buildKey({ agent_slug, action, runId, callId }: Call, inputs: unknown): string {
  requireIds({ runId, callId });
  return `gate-${canonicalHash([agent_slug, action, runId, callId, sealInputs(inputs).hash])}`;
}

async function runApproved<Inputs, Result>(
  service: Service,
  memory: GateMemory,
  key: string,
  action: GatedAction,
  inputs: Inputs,
  run: Run<Inputs, Result>,
): Promise<unknown> {
  memory.clientId ??= service.randomUuid();
  const claimed = await waitForClaim(service, memory.clientId, memory.unbacked, action, inputs);
  const { authorization, copy } = claimed;
  const approval = { requestId: authorization.request_id, key: claimed.key };
  const [ended] = await Promise.allSettled([(async () => requireRun(await run(copy, approval)))()]);
  if (ended.status === "rejected" && isPause(ended.reason)) throw ended.reason;
  // A call with this key must not run the action from here on, whatever becomes of the attestation.
  const finish = async () => {
    const attestation =
      ended.status === "rejected"
        ? await attestFailure(service, action, authorization, ended.reason)
        : await attestRun(service, action, authorization, ended.value);
    if (attestation.human_approval?.method === "none") memory.unbacked.add(authorization.request_id);
    memory.unattested.delete(key);
    if (ended.status === "rejected") throw ended.reason;
    return { result: ended.value, attestation, authorization };
  };
  memory.unattested.set(key, finish);
  return finish();
}

/** LangGraph's `interrupt` throws, and the action is called again when the graph is resumed: it hasn't ended. */
const isPause = (thrown: unknown) =>
  thrown instanceof Error && ["GraphInterrupt", "NodeInterrupt"].includes(thrown.name);

/** `clientId`: the same if this client calls again, so that only what it has begun itself can be begun again. */
async function waitForClaim<Inputs>(
  service: Service,
  clientId: string,
  unbacked: ReadonlySet<string>,
  action: GatedAction,
  inputs: Inputs,
) {
  const { wait = true, signal } = action;
  signal?.throwIfAborted();
  const over = new AbortController();
  let requestId = "";
  const onRequest = async (made: AuthorizationRequest) => {
    requestId = made.request_id;
    signal?.throwIfAborted();
    await untilAborted((async () => action.onRequest?.(made))(), signal);
  };
  try {
    const late = signal && endLater(service, signal, over.signal);
    const claimAs = (key: string) => `${key}-${clientId}`;
    const asked = await askOnce(service, { ...action, onRequest, signal: late }, inputs, { claimAs });
    const { key } = asked;
    const { claimed } = asked.request;
    if (wait && !claimed) await waitForAmended(service, requestId, { signal, onQuestion: action.onQuestion });
    const claimNow = claimed && (async () => claimed);
    const confirmed = await confirmApproval(service, requestId, action, inputs, claimNow);
    const { request_id: approvedId } = confirmed.authorization;
    if (unbacked.has(approvedId)) throw new ApprovalClaimedError();
    if (!claimed) await claim(service, approvedId, claimAs(key), { signal });
    signal?.throwIfAborted();
    return { ...confirmed, key };
  } catch (error) {
    if (!signal?.aborted) throw error;
    // Keeps people from approving what can't run any more. A request decided meanwhile needs no cancelling.
    const limit = AbortSignal.timeout(graceMs);
    if (requestId !== "") await cancelLatest(service, requestId, limit).catch(() => undefined);
    throw signal.reason;
  } finally {
    over.abort();
  }
}

/** Cancels the request, or the one that an approver made of it, which is what people still see. */
export async function cancelLatest(service: Service, requestId: string, signal: AbortSignal): Promise<void> {
  try {
    await cancel(service, requestId, { signal });
  } catch (error) {
    const { request_id } = await readAmended(service, requestId, { signal });
    if (request_id === requestId) throw error;
    await cancel(service, request_id, { signal });
  }
}

/** Milliseconds that a request under way may take to arrive, so that it can be cancelled. */
const graceMs = 5_000;

function endLater(service: Service, signal: AbortSignal, over: AbortSignal): AbortSignal {
  const late = new AbortController();
  const wait = () =>
    void service.sleep(graceMs, over).then(
      () => late.abort(signal.reason),
      () => undefined,
    );
  signal.addEventListener("abort", wait, { once: true, signal: over });
  return late.signal;
}

export async function untilAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true, signal: over.signal });
  });
  return Promise.race([aborted, work]).finally(() => over.abort());
}

export interface AskedOnce {
  request: AuthorizationRequest;
  isReplayed: boolean;
  isRepeat: boolean;
  key: string;
}

/** Equal calls of a run that can be asked for, one after the other. */
const maxRepeats = 100;

/**
 * The request of this call, with its status of now. It is made if there is none yet. An equal call that was attested has
 * run: this one is a new question, under a key made of the used request's. One that was claimed and not attested is still
 * the same call. `isFirstWanted`: the first such request, also if it was used. `claimAs`: claims what a standing approval or
 * a rule gives at once, in the same request, for a call that runs next.
 */
export async function askOnce(
  service: Service,
  action: GatedAction,
  inputs: unknown,
  { isFirstWanted = false, claimAs }: { isFirstWanted?: boolean; claimAs?: (key: string) => string } = {},
): Promise<AskedOnce> {
  const {
    runId: _run,
    callId: _call,
    asksAgain = true,
    approveUnseenInputs = false,
    attestation,
    agentKey,
    onRequest,
    wait: _wait,
    schema,
    onQuestion: _answer,
    signal,
    context,
    ...asked
  } = action;
  requireAttestable(asked, attestation, agentKey);
  if ((asked.amendable?.length ?? 0) > 0 && schema === undefined)
    throw new TypeError("amendable needs schema: the tool's own, for arguments that an approver changes");
  const { hash, copy } = sealInputs(inputs);
  const shown = approveUnseenInputs
    ? { context, details: { complete: false } }
    : showInputs(copy, context ?? {});
  const body = { ...asked, ...shown, inputs_hash: hash };
  const first = buildKey(action, copy);
  let key = first;
  for (let repeats = 0; repeats <= maxRepeats; repeats += 1) {
    const asked = await authorizeOnce(service, body, { idempotencyKey: key, signal, run: claimAs?.(key) });
    const { request } = asked;
    const state = await readReplayed(service, asked, signal);
    if (typeof state?.used_at !== "string" || isFirstWanted) {
      await onRequest?.(request);
      return { ...asked, isRepeat: key !== first, key };
    }
    if (!asksAgain) throw new ApprovalUsedError(state.attestation_id ?? null);
    key = `gate-${canonicalHash([key, request.request_id])}`;
  }
  throw new CountersignError(`Not run: an equal call has run ${maxRepeats} times under these ids.`);
}

/** Brings the status up to date: a stored answer has the one that it had. */
async function readReplayed(
  service: Service,
  { request, isReplayed }: Pick<AskedOnce, "request" | "isReplayed">,
  signal: AbortSignal | undefined,
): Promise<AuthorizationState | null> {
  if (!isReplayed) return null;
  const state = await readAmended(service, request.request_id, { signal });
  request.status = state.status;
  return state;
}

/** Throws, or the action may run with `copy`, which is what was approved. */
export async function confirmApproval<Inputs>(
  service: Service,
  requestId: string,
  { agent_slug, action, signal, schema }: Pick<GatedAction, "agent_slug" | "action" | "signal" | "schema">,
  inputs: Inputs,
  /** Claims it: its answer is the decision at that moment, so that nothing else has to be fetched. */
  claimNow?: () => Promise<AuthorizationState>,
): Promise<{ authorization: ApprovedAuthorization; copy: Inputs }> {
  let sealed = sealInputs(inputs);
  const readAboutToRun = (approved: ApprovedAuthorization) => {
    sealed = sealInputs(amendInputs(inputs, approved));
    return { agent_slug, action, inputs_hash: sealed.hash };
  };
  const authorization =
    claimNow === undefined
      ? await requireApproval(service, requestId, readAboutToRun, { signal })
      : requireFit(await claimNow(), readAboutToRun);
  if (authorization.amends && schema !== undefined) await requireSchema(schema, sealed.copy);
  return { authorization, copy: sealed.copy };
}
