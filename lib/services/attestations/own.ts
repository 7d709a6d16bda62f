/** An organization's own attestations, private ones included: for its keys and for the portal. */

import { and, desc, eq, inArray } from "drizzle-orm";
import type { PageQuery } from "#lib/api/http/cursor";
import { isOwnerOf, type MemberPrincipal, type Principal } from "#lib/api/http/principal";
import type { AttestationFilters } from "#lib/api/schemas/portal-attestations";
import type { PresentationRequest } from "#lib/api/schemas/presentation";
import type {
  ListAttestationsQuery,
  OwnAttestation,
  OwnAttestationsResponse,
} from "#lib/api/schemas/receipts";
import { agents, apiKeys, attestations, authorizationRequests } from "#lib/db/schema";
import { isUuid } from "#lib/protocol/encoding/uuid";
import { disclosureMessages } from "#lib/protocol/presentation/disclosure-messages";
import type { ZkProof } from "#lib/protocol/presentation/presentation";
import { readNames } from "#lib/services/accounts/approver-names";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { isTestKey } from "#lib/services/keys/test-keys";
import { type AttestationFilter, describeOwn, ofOrganization, readAttestations } from "./list";
import { createPresentation } from "./presentations";
import { attestationNotFound, readAttestation } from "./stored-receipt";
import { verifyAttestationById } from "./verify";

const dayMs = 86_400_000;

const readOwn = (
  context: Context,
  { organizationId }: Principal,
  filter: AttestationFilter,
  page: PageQuery,
) => readAttestations(context, ofOrganization(organizationId), filter, page);

/** GET /v1/attestations */
export async function listAttestations(
  context: Context,
  principal: Principal,
  query: ListAttestationsQuery,
): Promise<OwnAttestationsResponse> {
  const { agent_slug: agentSlug, human_approval_method: approval, q: action, warnings, from, to } = query;
  const filter = { agentSlug, approval, action, warnings, from, to };
  const { shown, nextCursor } = await readOwn(context, principal, filter, query);
  const names = await readNames(context.database.db, principal.organizationId);
  const rows = shown.map((listed) => describeOwn(context.settings.baseUrl, listed, names));
  return { attestations: rows, next_cursor: nextCursor };
}

/** The portal's filters, as its address bar has them: whole days, and a search for a part of the action or an id. */
export function toFilter(filters: AttestationFilters): AttestationFilter {
  const { q, agent, visibility, approval, warnings, from, until } = filters;
  const search = q?.trim() || undefined;
  return {
    ...(search !== undefined && isUuid(search) ? { id: search } : { action: search }),
    agentSlug: agent,
    isPublic: visibility === undefined ? undefined : visibility === "public",
    approval,
    warnings: warnings === undefined ? undefined : warnings === "true",
    from: from === undefined ? undefined : new Date(`${from}T00:00:00Z`),
    to: until === undefined ? undefined : new Date(Date.parse(`${until}T00:00:00Z`) + dayMs),
  };
}

/** Those of the attestations that a test key made. */
async function findTests(context: Context, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await context.database.db
    .select({ id: attestations.id })
    .from(attestations)
    .innerJoin(apiKeys, eq(apiKeys.id, attestations.api_key_id))
    .where(and(inArray(attestations.id, ids), isTestKey));
  return new Set(rows.map(({ id }) => id));
}

/** `isTest`: made with a test key. */
type ShownAttestation = OwnAttestation & { isTest: boolean };

export async function listOwnAttestations(
  context: Context,
  person: MemberPrincipal,
  filters: AttestationFilters,
  page: PageQuery,
): Promise<{ rows: ShownAttestation[]; nextCursor: string | null }> {
  await requireRole(context.database.db, person, "member");
  const { shown, nextCursor } = await readOwn(context, person, toFilter(filters), page);
  const tests = await findTests(
    context,
    shown.map(({ row }) => row.id),
  );
  const names = await readNames(context.database.db, person.organizationId);
  const rows = shown.map((listed) => ({
    ...describeOwn(context.settings.baseUrl, listed, names),
    isTest: tests.has(listed.row.id),
  }));
  return { rows, nextCursor };
}

/** The request behind the attestation's approval, and that of the standing approval whose use it was. */
async function findBacking({ database: { db } }: Context, id: string) {
  const [found] = await db
    .select({ requestId: authorizationRequests.id, grantId: authorizationRequests.grant_id })
    .from(attestations)
    .innerJoin(authorizationRequests, eq(authorizationRequests.id, attestations.authorization_id))
    .where(eq(attestations.id, id));
  return found ?? null;
}

/** The owner's full view; an attestation of another organization, public or not, is not here. */
export async function readOwnAttestation(context: Context, person: MemberPrincipal, id: string) {
  await requireRole(context.database.db, person, "member");
  const stored = await readAttestation(context, id);
  if (!isOwnerOf(person, stored)) throw attestationNotFound();
  return {
    verification: await verifyAttestationById(context, id, person),
    names: await readNames(context.database.db, person.organizationId),
    approval: await findBacking(context, id),
    isTest: (await findTests(context, [id])).size > 0,
    /** Name and JSON text of each message that can be disclosed; null if there is nothing to present. */
    messages:
      stored.payload === null || stored.bbs_signature === null
        ? null
        : disclosureMessages(stored.payload).map((message) => JSON.parse(message) as [string, unknown]),
  };
}

/** For the filter's suggestions. */
export async function listAgentSlugs(context: Context, person: MemberPrincipal): Promise<string[]> {
  const rows = await context.database.db
    .select({ slug: agents.slug })
    .from(agents)
    .where(eq(agents.organization_id, person.organizationId))
    .orderBy(desc(agents.id))
    .limit(100);
  return rows.map(({ slug }) => slug);
}

export async function presentOwnAttestation(
  context: Context,
  person: MemberPrincipal,
  id: string,
  wanted: PresentationRequest,
): Promise<ZkProof> {
  await requireRole(context.database.db, person, "member");
  return createPresentation(context, person, id, wanted);
}
