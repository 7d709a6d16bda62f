/** POST /v1/attest. */
import { type AgentKey, signAgentRequest } from "./sign";
import { type Service, send } from "./transport";
import type { Attestation, AttestRequest } from "./wire";

export interface WriteOptions {
  /**
   * With the same key the service does it once (docs/wire.md, Idempotency). Default: one of this call's own, which covers
   * lost connections, but not a call that you repeat.
   */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface AttestOptions extends WriteOptions {
  /** Signs the request as the agent. */
  agentKey?: AgentKey | undefined;
}

export async function attest(
  service: Service,
  request: AttestRequest,
  { agentKey, idempotencyKey = service.randomUuid(), signal }: AttestOptions = {},
): Promise<Attestation> {
  const body = agentKey === undefined ? request : await signAgentRequest(request, agentKey);
  return send(service, { method: "POST", path: "/v1/attest", body, idempotencyKey, signal });
}
