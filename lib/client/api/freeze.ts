/** The stop button: an agent is frozen by any key of its organization, and goes on by one with the scope `freeze`. */
import type { ReasonOptions, RequestOptions } from "./authorize";
import { type Service, send } from "./transport";
import type { AgentIdentity } from "./wire";

const pathOf = (slug: string, what: string) => `/v1/identity/${encodeURIComponent(slug)}/${what}`;

export async function freeze(
  service: Service,
  slug: string,
  reason: string,
  { signal }: RequestOptions = {},
): Promise<AgentIdentity> {
  const path = pathOf(slug, "freeze");
  return send(service, { method: "POST", path, body: { reason }, isRepeatable: true, signal });
}

export async function unfreeze(
  service: Service,
  slug: string,
  { reason, signal }: ReasonOptions = {},
): Promise<AgentIdentity> {
  const path = pathOf(slug, "unfreeze");
  return send(service, { method: "POST", path, body: { reason }, isRepeatable: true, signal });
}
