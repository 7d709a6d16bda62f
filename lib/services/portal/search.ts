/** Searches the portal: keys and agents by name, everything that has an id by its whole id. */

import { and, desc, eq, ilike, or } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { SearchHit } from "#lib/api/schemas/portal";
import { agents, apiKeys, attestations, authorizationRequests, requestLog } from "#lib/db/schema";
import { isUuid } from "#lib/protocol/encoding/bytes";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { containing } from "#lib/services/attestations/list";

const most = 5;

type Find = (context: Context, organizationId: string, text: string) => Promise<SearchHit[]>;

const findKeys: Find = async ({ database: { db } }, organizationId, text) => {
  const isIt = isUuid(text) ? eq(apiKeys.id, text) : ilike(apiKeys.name, containing(text));
  const rows = await db
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), isIt))
    .orderBy(desc(apiKeys.id))
    .limit(most);
  return rows.map(({ id, name }) => ({ kind: "Key", label: name, href: `/portal/requests?key=${id}` }));
};

const findAgents: Find = async ({ database: { db } }, organizationId, text) => {
  const isIt = or(ilike(agents.slug, containing(text)), ilike(agents.name, containing(text)));
  const rows = await db
    .select({ slug: agents.slug })
    .from(agents)
    .where(and(eq(agents.organization_id, organizationId), isIt))
    .orderBy(desc(agents.id))
    .limit(most);
  return rows.map(({ slug }) => ({ kind: "Agent", label: slug, href: `/portal/agents/${slug}` }));
};

const findAttestation: Find = async ({ database: { db } }, organizationId, text) => {
  if (!isUuid(text)) return [];
  const rows = await db
    .select({ id: attestations.id })
    .from(attestations)
    .where(and(eq(attestations.organization_id, organizationId), eq(attestations.id, text)));
  return rows.map(({ id }) => ({ kind: "Attestation", label: id, href: `/portal/attestations/${id}` }));
};

const findAuthorization: Find = async ({ database: { db } }, organizationId, text) => {
  const { id, organization_id: owner } = authorizationRequests;
  const rows = await db
    .select({ id })
    .from(authorizationRequests)
    .where(and(eq(owner, organizationId), eq(id, text)));
  return rows.map((row) => ({
    kind: "Authorization",
    label: row.id,
    href: `/portal/authorizations/${row.id}`,
  }));
};

const findRequest: Find = async ({ database: { db } }, organizationId, text) => {
  const rows = await db
    .select({ id: requestLog.id })
    .from(requestLog)
    .where(and(eq(requestLog.organization_id, organizationId), eq(requestLog.id, text)));
  return rows.map(({ id }) => ({ kind: "Request", label: id, href: `/portal/requests?id=${id}` }));
};

export async function searchOrganization(
  context: Context,
  person: MemberPrincipal,
  text: string,
): Promise<SearchHit[]> {
  await requireRole(context.database.db, person, "read");
  const finds = [findKeys, findAgents, findAttestation, findAuthorization, findRequest];
  const found = await Promise.all(finds.map((find) => find(context, person.organizationId, text)));
  return found.flat();
}
