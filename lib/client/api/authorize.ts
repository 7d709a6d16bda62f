/** Asking for an approval, taking back the question or the approval, and claiming it for one run. */

import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { WriteOptions } from "./attest";
import {
  AgentFrozenError,
  ApiError,
  ApprovalClaimedError,
  ApprovalMismatchError,
  ApprovalRevokedError,
  ApprovalUsedError,
  CountersignError,
  NotApprovedError,
} from "./errors";
import { type Service, send, sendForText } from "./transport";
import type {
  AgentIdentity,
  AuthorizationRequest,
  AuthorizationState,
  AuthorizeRequest,
  ClaimedAuthorization,
} from "./wire";

export async function authorize(
  service: Service,
  body: AuthorizeRequest,
  options?: WriteOptions,
): Promise<AuthorizationRequest> {
  return (await authorizeOnce(service, body, options)).request;
}

/**
 * `isReplayed`: the request was made before, and this is how it was then. `run`: claims, as {@link claim} does, what a
 * standing approval or a rule gives at once.
 */
export async function authorizeOnce(
  service: Service,
  body: AuthorizeRequest,
  { idempotencyKey = service.randomUuid(), signal, run }: WriteOptions & { run?: string | undefined } = {},
): Promise<{ request: AuthorizationRequest; isReplayed: boolean }> {
  const path = run === undefined ? "/v1/authorize" : `/v1/authorize?run=${encodeURIComponent(run)}`;
  const call = { method: "POST", path, body, idempotencyKey, signal } as const;
  const { text, isReplayed } = await sendForText(service, call);
  return { request: JSON.parse(text) as AuthorizationRequest, isReplayed };
}

const buildPath = (requestId: string) => `/v1/authorize/${encodeURIComponent(requestId)}`;

export type RequestOptions = Pick<WriteOptions, "signal">;

/** Posts what the service does once, however often it is asked. */
const post = <Answer>(service: Service, path: string, body: object, { signal }: RequestOptions) =>
  send<Answer>(service, { method: "POST", path, body, isRepeatable: true, signal });

export async function cancel(
  service: Service,
  requestId: string,
  { signal }: RequestOptions = {},
): Promise<AuthorizationState> {
  return send(service, { method: "DELETE", path: buildPath(requestId), signal });
}

export async function answer(
  service: Service,
  requestId: string,
  number: number,
  text: string,
  options: RequestOptions = {},
): Promise<AuthorizationState> {
  return post(service, `${buildPath(requestId)}/answer`, { number, answer: text }, options);
}

export interface ReasonOptions extends RequestOptions {
  /** Shown to your organization; only a salted hash of it is signed and logged. */
  reason?: string | undefined;
}

export async function revoke(
  service: Service,
  requestId: string,
  { reason, ...options }: ReasonOptions = {},
): Promise<AuthorizationState> {
  return post(service, `/v1/authorizations/${encodeURIComponent(requestId)}/revoke`, { reason }, options);
}

export async function claim(
  service: Service,
  requestId: string,
  run: string,
  options: RequestOptions = {},
): Promise<ClaimedAuthorization> {
  try {
    return await post(service, `${buildPath(requestId)}/claim`, { run }, options);
  } catch (error) {
    const refusal = error instanceof ApiError ? refusals[error.code] : undefined;
    throw refusal?.() ?? error;
  }
}

const refusals: Partial<Record<ApiError["code"], () => CountersignError>> = {
  already_claimed: () => new ApprovalClaimedError(),
  authorization_already_used: () => new ApprovalUsedError(null),
  authorization_revoked: () => new ApprovalRevokedError(),
  agent_frozen: () => new AgentFrozenError(),
};

/* Waiting for a human's decision, and the one place that says whether an action may run. */

export interface ApprovedAuthorization extends AuthorizationState {
  status: "approved";
  human_authorization: JsonObject;
}

export type OpenQuestion = NonNullable<AuthorizationState["question"]>;

export interface WaitOptions {
  signal?: AbortSignal | undefined;
  /**
   * Gets an approver's question, once. What it returns is the answer; nothing: answer it elsewhere. The question is a human's
   * text: never an instruction.
   */
  onQuestion?: ((question: OpenQuestion) => string | undefined | Promise<string | undefined>) | undefined;
}

const longPollSeconds = 25;
const usualPauseSeconds = 5;
/** Attempts of, with their pauses, more than two minutes: a restart of the service must not end a wait of hours. */
const tries = 10;

async function readAuthorization(
  service: Service,
  requestId: string,
  query: string,
  { signal }: WaitOptions,
): Promise<{ state: AuthorizationState; pauseSeconds: number }> {
  const path = buildPath(requestId) + query;
  const { text, retryAfterSeconds } = await sendForText(service, { method: "GET", path, signal, tries });
  const state = JSON.parse(text) as AuthorizationState;
  return { state, pauseSeconds: Math.max(1, retryAfterSeconds ?? usualPauseSeconds) };
}

/** Throws NotApprovedError if the decision is anything but an approval: then stop and report, and don't ask again by yourself. */
export async function waitForDecision(
  service: Service,
  requestId: string,
  options: WaitOptions = {},
): Promise<ApprovedAuthorization> {
  return waitFor(service, requestId, options, false);
}

/** Goes on with the request that an approver's changes made of it. Only for what then acts as that one says. */
export const waitForAmended = (service: Service, requestId: string, options: WaitOptions = {}) =>
  waitFor(service, requestId, options, true);

/** A conflict: decided, or answered by somebody else, in the meantime. */
function unlessLate(error: ApiError) {
  if (error.status !== 409) throw error;
}

async function waitFor(service: Service, requestId: string, options: WaitOptions, isFollowing: boolean) {
  let asked = 0;
  for (let id = requestId; ; ) {
    const { state, pauseSeconds } = await readAuthorization(service, id, `?wait=${longPollSeconds}`, options);
    const { question } = state;
    if (question && question.number > asked) {
      asked = question.number;
      const text = await options.onQuestion?.(question);
      if (typeof text === "string") await answer(service, id, asked, text, options).catch(unlessLate);
    }
    if (isFollowing && typeof state.amended_by === "string") id = state.amended_by;
    else if (state.status !== "pending") return requireApproved(state);
    else await service.sleep(pauseSeconds * 1_000, options.signal);
  }
}

/** State of the request, or of the one that an approver's changes made of it. */
export async function readAmended(
  service: Service,
  requestId: string,
  options: WaitOptions,
): Promise<AuthorizationState> {
  const { state } = await readAuthorization(service, requestId, "", options);
  return typeof state.amended_by === "string" ? readAmended(service, state.amended_by, options) : state;
}

function requireApproved(state: AuthorizationState): ApprovedAuthorization {
  const { status, human_authorization } = state;
  if (status === "pending") throw new CountersignError("No human has decided yet.");
  if (status !== "approved") throw new NotApprovedError(status, state);
  // Erased with the attestation that it was used for.
  if (human_authorization === undefined) throw new ApprovalUsedError(null);
  if (state.revoked_at !== null) throw new ApprovalRevokedError();
  return { ...state, status, human_authorization };
}

export interface AboutToRun {
  agent_slug: string;
  action: string;
  inputs_hash: string;
}

/**
 * Asks the service for the decision, at the moment of running, and compares it with what is about to run. An "approved"
 * from anywhere else (a framework's state, a message, a webhook) can be forged or out of date. Throws, or the action may run once it is claimed.
 */
export async function requireApproval(
  service: Service,
  requestId: string,
  readAboutToRun: (approved: ApprovedAuthorization) => AboutToRun,
  options: WaitOptions,
): Promise<ApprovedAuthorization> {
  return requireFit(await readAmended(service, requestId, options), readAboutToRun);
}

/** `state`: what the service has just answered. */
export function requireFit(
  state: AuthorizationState,
  readAboutToRun: (approved: ApprovedAuthorization) => AboutToRun,
): ApprovedAuthorization {
  const approved = requireApproved(state);
  // A key without the permission read or hook doesn't see this; the claim that follows finds out.
  if (approved.attestation_id) throw new ApprovalUsedError(approved.attestation_id);
  // Read after the last wait: from here to the action nothing else runs.
  const aboutToRun = readAboutToRun(approved);
  // The service answers the slug as it is registered: slugs are unique without regard to case.
  if (approved.agent_slug.toLowerCase() !== aboutToRun.agent_slug.toLowerCase())
    throw new ApprovalMismatchError("agent_slug");
  for (const field of ["action", "inputs_hash"] as const)
    if (approved[field] !== aboutToRun[field]) throw new ApprovalMismatchError(field);
  return approved;
}

/* The stop button: an agent is frozen by any key of its organization, and goes on by one with the permission `freeze`. */

const freezePath = (slug: string, what: string) => `/v1/identity/${encodeURIComponent(slug)}/${what}`;

export async function freeze(
  service: Service,
  slug: string,
  reason: string,
  options: RequestOptions = {},
): Promise<AgentIdentity> {
  return post(service, freezePath(slug, "freeze"), { reason }, options);
}

export async function unfreeze(
  service: Service,
  slug: string,
  { reason, ...options }: ReasonOptions = {},
): Promise<AgentIdentity> {
  return post(service, freezePath(slug, "unfreeze"), { reason }, options);
}
