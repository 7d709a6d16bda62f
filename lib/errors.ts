/** The closed table of errors that may leave the service (docs/wire.md, Errors). */

const table = {
  bad_request: { status: 400, title: "Bad request" },
  missing_authorization: { status: 401, title: "Missing Authorization" },
  invalid_api_key: { status: 401, title: "Invalid API key" },
  invalid_code: { status: 401, title: "Invalid code" },
  insufficient_scope: { status: 403, title: "Insufficient scope" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not found" },
  attestation_not_found: { status: 404, title: "Attestation not found", code: "not_found" },
  agent_not_found: { status: 404, title: "Agent not found", code: "not_found" },
  authorization_not_found: { status: 404, title: "Authorization request not found", code: "not_found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  idempotency_conflict: { status: 409, title: "Conflict" },
  authorization_not_pending: { status: 409, title: "Conflict" },
  authorization_pending: { status: 409, title: "Conflict" },
  authorization_denied: { status: 409, title: "Conflict" },
  authorization_expired: { status: 409, title: "Conflict" },
  authorization_cancelled: { status: 409, title: "Conflict" },
  already_claimed: { status: 409, title: "Conflict" },
  already_used: { status: 409, title: "Conflict" },
  already_approved: { status: 409, title: "Conflict" },
  already_exists: { status: 409, title: "Conflict" },
  erased: { status: 409, title: "Conflict" },
  attestation_erased: { status: 409, title: "Conflict" },
  question_conflict: { status: 409, title: "Conflict" },
  legal_hold: { status: 409, title: "Conflict" },
  zk_not_enabled: { status: 409, title: "Conflict" },
  zk_key_revoked: { status: 409, title: "Conflict" },
  rule_forbids: { status: 409, title: "Conflict" },
  rule_demands_more: { status: 409, title: "Conflict" },
  rules_changed: { status: 409, title: "Conflict" },
  too_many_pending: { status: 409, title: "Conflict" },
  too_many_keys: { status: 409, title: "Conflict" },
  too_many_webhooks: { status: 409, title: "Conflict" },
  too_many_passkeys: { status: 409, title: "Conflict" },
  webhook_disabled: { status: 409, title: "Conflict" },
  gone: { status: 410, title: "Gone" },
  batch_refused: { status: 424, title: "Failed dependency" },
  misdirected_request: { status: 421, title: "Misdirected request" },
  payload_too_large: { status: 413, title: "Payload too large" },
  validation_error: { status: 422, title: "Validation error" },
  agent_slug_taken: { status: 422, title: "Validation error" },
  agent_signature_replayed: { status: 422, title: "Validation error" },
  authorization_unknown: { status: 422, title: "Validation error" },
  authorization_altered: { status: 422, title: "Validation error" },
  authorization_mismatch: { status: 422, title: "Validation error" },
  authorization_already_used: { status: 422, title: "Validation error" },
  authorization_revoked: { status: 422, title: "Validation error" },
  authorization_ended: { status: 422, title: "Validation error" },
  authorization_forbidden: { status: 422, title: "Validation error" },
  authorization_insufficient: { status: 422, title: "Validation error" },
  agent_frozen: { status: 422, title: "Validation error" },
  approval_refused: { status: 422, title: "Validation error" },
  approver_not_enrolled: { status: 422, title: "Validation error" },
  passkey_refused: { status: 422, title: "Validation error" },
  confirmation_code_wrong: { status: 422, title: "Validation error" },
  idempotency_key_reused: { status: 422, title: "Validation error" },
  rate_limit_exceeded: { status: 429, title: "Rate limit exceeded" },
  daily_limit_exceeded: { status: 429, title: "Rate limit exceeded" },
  server_error: { status: 500, title: "Server error" },
  service_unavailable: { status: 503, title: "Service unavailable" },
} as const satisfies Record<string, { status: number; title: string; code?: string }>;

export type ErrorName = keyof typeof table;

export interface FieldError {
  /** RFC 6901 */
  pointer: string;
  message: string;
}

/** RFC 7644, table 9; without one it follows from the error's name. */
export type ScimType = "invalidFilter" | "invalidPath" | "mutability" | "noTarget";

interface ErrorOptions {
  /** Logged, never shown. */
  cause?: unknown;
  errors?: FieldError[];
  headers?: Record<Lowercase<string>, string>;
  scimType?: ScimType | undefined;
}

export function describeError(name: ErrorName): { status: number; title: string; code: string } {
  return { code: name, ...table[name] };
}

export const errorNames = Object.keys(table) as ErrorName[];

const brand = Symbol.for("countersign.AppError");

/**
 * `detail` is shown to the caller as it is. Known by a brand, not by its class: the production server and Next's
 * bundle are two copies of this file, and an error of one reaches the other.
 */
export class AppError extends Error {
  static override [Symbol.hasInstance](this: unknown, value: unknown): boolean {
    // Inherited: an error of the table is not an instance of every class below this one.
    // biome-ignore lint/complexity/noThisInStatic: the class on the right of instanceof, which may be one below
    const asked = this as typeof AppError;
    if (asked !== AppError) return Function.prototype[Symbol.hasInstance].call(asked, value);
    return typeof value === "object" && value !== null && brand in value;
  }

  readonly [brand] = true;
  readonly errorName: ErrorName;
  readonly detail: string;
  readonly errors: FieldError[] | undefined;
  readonly headers: Record<Lowercase<string>, string>;
  readonly scimType: ScimType | undefined;

  constructor(name: ErrorName, detail: string, options: ErrorOptions = {}) {
    super(`${name}: ${detail}`, { cause: options.cause });
    this.name = "AppError";
    this.errorName = name;
    this.detail = detail;
    this.errors = options.errors;
    this.headers = options.headers ?? {};
    this.scimType = options.scimType;
  }

  /** The same error; a header that it has already wins. */
  withHeaders(headers: Record<Lowercase<string>, string>): AppError {
    return new AppError(this.errorName, this.detail, {
      cause: this.cause,
      headers: { ...headers, ...this.headers },
      scimType: this.scimType,
      ...(this.errors === undefined ? {} : { errors: this.errors }),
    });
  }
}

/** A single field that is wrong, in the one form that 422 answers have. */
export function fieldError(name: ErrorName, field: string, message: string): AppError {
  const pointer = `/${field.replaceAll(".", "/")}`;
  return new AppError(name, `${field}: ${message}`, { errors: [{ pointer, message }] });
}
