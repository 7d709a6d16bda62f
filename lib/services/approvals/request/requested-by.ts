/** Who asks, as the page will show it: read once, when the request is made, and hashed with it. */

import { sql } from "drizzle-orm";
import type { KeyPrincipal } from "#lib/api/http/principal";
import { type Executor, rowsOf } from "#lib/db/client";
import { type AgentPast, countedUpTo, type RequestedBy } from "#lib/protocol/approval/requested-by";
import type { ShownNames } from "#lib/protocol/approval/shown-content";
import { readIdentity } from "#lib/services/accounts/organization-identity";
import type { FoundAgent } from "#lib/services/agents/agents";
import { byPeople } from "#lib/services/approvals/rows";

/** Each count walks one index and ends at the bound, however long the agent's record is. */
const countAtMost = (rows: ReturnType<typeof sql>) =>
  sql`(SELECT count(*)::int FROM (${rows} LIMIT ${countedUpTo}) AS counted)`;

async function readPast(tx: Executor, agent: FoundAgent | null): Promise<AgentPast> {
  const nothing = { known_since: null, attestations: 0, requests: 0, denied: 0 };
  if (agent === null) return nothing;
  const { id, created_at } = agent;
  const requests = sql`SELECT FROM authorization_requests WHERE agent_id = ${id}`;
  const [counts] = await rowsOf<Omit<AgentPast, "known_since">>(
    tx,
    sql`SELECT ${countAtMost(sql`SELECT FROM attestations WHERE agent_id = ${id}`)} AS attestations,
      ${countAtMost(requests)} AS requests,
      ${countAtMost(sql`${requests} AND status = 'denied' AND ${sql.raw(byPeople("decided_by"))}`)} AS denied`,
  );
  return { ...nothing, ...counts, known_since: created_at.toISOString() };
}

export interface Asker {
  names: Omit<ShownNames, "group_names">;
  requestedBy: RequestedBy;
}

export async function readAsker(
  tx: Executor,
  { organizationId }: Pick<KeyPrincipal, "organizationId">,
  agent: FoundAgent | null,
  requester: string | null,
): Promise<Asker> {
  const organization = await readIdentity(tx, organizationId);
  if (organization === null) throw new Error("a key's organization is gone");
  return {
    names: { agent_name: agent?.name ?? null, organization_name: organization.name },
    requestedBy: {
      requester,
      organization_mark: organization.mark,
      organization_domains: organization.domains,
      agent_past: await readPast(tx, agent),
    },
  };
}
