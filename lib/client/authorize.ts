/** POST /v1/authorize. */
import type { WriteOptions } from "./attest";
import { type Service, send } from "./transport";
import type { AuthorizationRequest, AuthorizeRequest } from "./wire";

export async function authorize(
  service: Service,
  body: AuthorizeRequest,
  { idempotencyKey = service.randomUuid(), signal }: WriteOptions = {},
): Promise<AuthorizationRequest> {
  return send(service, { method: "POST", path: "/v1/authorize", body, idempotencyKey, signal });
}
