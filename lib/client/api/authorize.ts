/** Asking for an approval, taking back the question or the approval, and claiming it for one run. */
import type { WriteOptions } from "./attest";
import {
  AgentFrozenError,
  ApiError,
  ApprovalClaimedError,
  ApprovalRevokedError,
  ApprovalUsedError,
} from "./errors";
import { type Service, send, sendForText } from "./transport";
import type {
  AuthorizationRequest,
  AuthorizationState,
  AuthorizeRequest,
  ClaimedAuthorization,
} from "./wire-authorization";

export async function authorize(
  service: Service,
  body: AuthorizeRequest,
  options?: WriteOptions,
): Promise<AuthorizationRequest> {
  return (await authorizeOnce(service, body, options)).request;
}

/** `isReplayed`: the request was made before, and this is how it was then. */
export async function authorizeOnce(
  service: Service,
  body: AuthorizeRequest,
  { idempotencyKey = service.randomUuid(), signal }: WriteOptions = {},
): Promise<{ request: AuthorizationRequest; isReplayed: boolean }> {
  const call = { method: "POST", path: "/v1/authorize", body, idempotencyKey, signal } as const;
  const { text, isReplayed } = await sendForText(service, call);
  return { request: JSON.parse(text) as AuthorizationRequest, isReplayed };
}

const pathOf = (requestId: string) => `/v1/authorize/${encodeURIComponent(requestId)}`;

export type RequestOptions = Pick<WriteOptions, "signal">;

export async function cancel(
  service: Service,
  requestId: string,
  { signal }: RequestOptions = {},
): Promise<AuthorizationState> {
  return send(service, { method: "DELETE", path: pathOf(requestId), signal });
}

export interface ReasonOptions extends RequestOptions {
  /** For your organization; only a salted hash of it is signed and logged. */
  reason?: string | undefined;
}

export async function revoke(
  service: Service,
  requestId: string,
  { reason, signal }: ReasonOptions = {},
): Promise<AuthorizationState> {
  const path = `/v1/authorizations/${encodeURIComponent(requestId)}/revoke`;
  return send(service, { method: "POST", path, body: { reason }, isRepeatable: true, signal });
}

export async function claim(
  service: Service,
  requestId: string,
  run: string,
  { signal }: RequestOptions = {},
): Promise<ClaimedAuthorization> {
  const path = `${pathOf(requestId)}/claim`;
  try {
    return await send(service, { method: "POST", path, body: { run }, isRepeatable: true, signal });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : null;
    if (code === "already_claimed") throw new ApprovalClaimedError();
    if (code === "authorization_already_used") throw new ApprovalUsedError(null);
    if (code === "authorization_revoked") throw new ApprovalRevokedError();
    if (code === "agent_frozen") throw new AgentFrozenError();
    throw error;
  }
}
