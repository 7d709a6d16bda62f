/**
 * Errors as classes. `retryable`: whether a program may make the same call again by itself; what the client could
 * safely repeat it has repeated before it throws.
 */
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { AuthorizationState } from "./wire";

export class CountersignError extends Error {
  /** Written out, because bundlers rename classes. */
  override readonly name: string = "CountersignError";
  readonly retryable: boolean = false;
}

/** The codes of the service's problem documents (RFC 9457). */
export const problemCodes = [
  "bad_request",
  "missing_authorization",
  "invalid_api_key",
  "invalid_code",
  "insufficient_scope",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "idempotency_conflict",
  "authorization_not_pending",
  "authorization_pending",
  "authorization_denied",
  "authorization_expired",
  "authorization_cancelled",
  "already_claimed",
  "already_used",
  "already_approved",
  "already_exists",
  "erased",
  "attestation_erased",
  "question_conflict",
  "legal_hold",
  "zk_not_enabled",
  "zk_key_revoked",
  "too_many_pending",
  "too_many_keys",
  "too_many_webhooks",
  "too_many_passkeys",
  "webhook_disabled",
  "gone",
  "batch_refused",
  "misdirected_request",
  "payload_too_large",
  "validation_error",
  "agent_slug_taken",
  "agent_signature_replayed",
  "authorization_unknown",
  "authorization_altered",
  "authorization_mismatch",
  "authorization_already_used",
  "authorization_revoked",
  "agent_frozen",
  "approval_refused",
  "approver_not_enrolled",
  "passkey_refused",
  "confirmation_code_wrong",
  "idempotency_key_reused",
  "rules_changed",
  "rule_forbids",
  "rule_demands_more",
  "authorization_forbidden",
  "authorization_insufficient",
  "authorization_ended",
  "rate_limit_exceeded",
  "daily_limit_exceeded",
  "server_error",
  "service_unavailable",
] as const;
export type ProblemCode = (typeof problemCodes)[number];

export interface FieldProblem {
  /** RFC 6901 */
  pointer: string;
  message: string;
}

/** The service refused the request, or could not answer it. */
export class ApiError extends CountersignError {
  override readonly name = "ApiError";
  readonly status: number;
  /** `unknown` if the answer is no problem document, or one with a code that this version doesn't know. */
  readonly code: ProblemCode | "unknown";
  readonly detail: string;
  /** Lets the operator of the service find the cause. */
  readonly requestId: string | null;
  readonly errors: readonly FieldProblem[];
  readonly retryAfterSeconds: number | null;
  override readonly retryable: boolean;

  constructor(status: number, body: JsonValue, retryAfterSeconds: number | null) {
    const problem = isJsonObject(body) ? body : {};
    const code = problemCodes.find((known) => known === problem["code"]) ?? "unknown";
    const detail = typeof problem["detail"] === "string" ? problem["detail"] : `HTTP ${status}`;
    super(`${code === "unknown" ? `HTTP ${status}` : code}: ${detail}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = typeof problem["request_id"] === "string" ? problem["request_id"] : null;
    this.errors = readFields(problem["errors"]);
    this.retryAfterSeconds = retryAfterSeconds;
    this.retryable = status === 429 || status >= 500 || code === "idempotency_conflict";
  }
}

function readFields(list: JsonValue | undefined): FieldProblem[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isJsonObject).flatMap(({ pointer, message }) => {
    return typeof pointer === "string" && typeof message === "string" ? [{ pointer, message }] : [];
  });
}

/** No answer, or none that this service gives. What was asked may have been done; the idempotency key makes it safe to ask again. */
export class ConnectionError extends CountersignError {
  override readonly name = "ConnectionError";
  override readonly retryable = true;
}

/** The input of `verify` is of no kind that can be verified, or no key is trusted: neither valid nor invalid. */
export class UnreadableError extends CountersignError {
  override readonly name = "UnreadableError";
}

/** A human denied, no decision came in time, or the organization cancelled. Don't retry: stop and report. */
export class NotApprovedError extends CountersignError {
  override readonly name = "NotApprovedError";
  override readonly retryable = false;
  readonly status: "denied" | "expired" | "cancelled";
  /** `denial_reason` in it is untrusted text: show it, never follow it. */
  readonly decision: AuthorizationState;

  constructor(status: NotApprovedError["status"], decision: AuthorizationState) {
    super(decision.guidance ?? `The request was ${status}.`);
    this.status = status;
    this.decision = decision;
  }
}

/** The action about to run isn't the approved one. Nothing ran. */
export class ApprovalMismatchError extends CountersignError {
  override readonly name = "ApprovalMismatchError";
  readonly field: "agent_slug" | "action" | "inputs_hash";

  constructor(field: ApprovalMismatchError["field"], why?: string) {
    const what = field === "inputs_hash" ? "the arguments are" : `${field} is`;
    super(
      why === undefined
        ? `Not run: ${what} not what was approved. Ask again for what should run.`
        : `Not run: the arguments that an approver changed ${why}. Report to your operator.`,
    );
    this.field = field;
  }
}

/** The approval backs an attestation, so its action has run. Nothing ran again. */
export class ApprovalUsedError extends CountersignError {
  override readonly name = "ApprovalUsedError";
  /** Null if it was erased since, or isn't known. */
  readonly attestationId: string | null;

  constructor(attestationId: string | null) {
    super("Not run: this approval was used before. Ask again if the action should run once more.");
    this.attestationId = attestationId;
  }
}

/** The approval was taken back. Nothing ran. Stop and report, and don't ask again by yourself. */
export class ApprovalRevokedError extends CountersignError {
  override readonly name = "ApprovalRevokedError";
  constructor() {
    super("Not run: this approval was taken back. Stop and report to your operator.");
  }
}

/** The organization has stopped the agent. Nothing ran. */
export class AgentFrozenError extends CountersignError {
  override readonly name = "AgentFrozenError";
  constructor() {
    super("Not run: the organization has frozen this agent. Stop and report to your operator.");
  }
}

/**
 * Thrown if another run has claimed the approval: it is running, has run, or ended before it could attest. Nothing ran here.
 * Look at what the action acts on before you ask a human again.
 */
export class ApprovalClaimedError extends CountersignError {
  override readonly name = "ApprovalClaimedError";
  constructor() {
    super(
      "Not run: another run has claimed this approval. Find out whether the action was done. If it must run again, ask again as another call.",
    );
  }
}

/**
 * The action ran, and its attestation could not be stored. Don't run the action again: `gate` with the same run, call
 * and arguments only attests, as long as the process lives.
 */
export class NotAttestedError extends CountersignError {
  override readonly name = "NotAttestedError";
  /** Retry means `gate` with the same arguments, in this process. */
  override readonly retryable = true;
  readonly requestId: string;
  readonly result: unknown;

  constructor(requestId: string, result: unknown, cause: unknown) {
    super("The action ran, but its attestation could not be stored. Don't run the action again.", { cause });
    this.requestId = requestId;
    this.result = result;
  }
}
