/** Collects a request's row for the request log. */
import type { OperationSpec } from "#lib/api/operations/operation";
import type { HttpContext } from "./context";
import type { HttpRequest } from "./messages";
import type { KnownKey } from "./principal";
import type { LoggedRequest } from "./request-log";

export interface Trace {
  key: KnownKey | null;
  /** Once it is valid. */
  body: unknown;
  /** The agents of the attestations that it recorded. */
  attested: readonly string[];
  errorCode: string | null;
}

function agentSlugOf({ body }: Trace): string | null {
  const isNamed = typeof body === "object" && body !== null && "agent_slug" in body;
  return isNamed && typeof body.agent_slug === "string" ? body.agent_slug : null;
}

/** Adds the request to the log, if a known key made it. */
export function logRequest(
  { clock, requestLog }: HttpContext,
  { path }: OperationSpec,
  { method }: HttpRequest,
  trace: Trace,
  answered: Pick<LoggedRequest, "id" | "startMs" | "status">,
): void {
  if (trace.key === null) return;
  const { id, startMs, status } = answered;
  const { keyId, organizationId } = trace.key;
  requestLog.add({
    id,
    organizationId,
    keyId,
    startMs,
    method,
    path,
    status,
    code: trace.errorCode,
    durationMs: clock().getTime() - startMs,
    agentSlug: status < 300 ? agentSlugOf(trace) : null,
    attested: trace.attested,
  });
}
