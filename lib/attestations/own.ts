/** An organization's own attestations, private ones included: search, filters, cursor. */

import { and, desc, eq, gte, ilike, lt, type SQL } from "drizzle-orm";
import { type Person, requireRole } from "#lib/accounts/members";
import { slugKey } from "#lib/agents/agents";
import type { Context } from "#lib/approvals/context";
import type { AttestationFilters } from "#lib/contract/portal-attestations";
import type { PresentationRequest } from "#lib/contract/presentation";
import { agents, attestations } from "#lib/db/schema";
import { base64Encode, hexEncode, utf8Decode } from "#lib/domain/bytes";
import { disclosureMessages } from "#lib/domain/disclosure-messages";
import { isUuid } from "#lib/domain/ids";
import type { ZkProof } from "#lib/domain/presentation";
import type { PublishedKey } from "#lib/signing/signing-keys";
import { eraseContent } from "./erase";
import { createPresentation } from "./presentations";
import { readSignedStatement } from "./signed-statement";
import { describeWarnings, matchesWarnings } from "./stored-warnings";
import { attestationNotFound, readAttestation, verifyAttestationById } from "./verify";
import { isErased } from "./view";

const dayMs = 86_400_000;

/** `%`, `_` and `\` of the search text mean themselves. */
function contains(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

export function whereOf(
  organizationId: string,
  filters: AttestationFilters,
  keys: readonly PublishedKey[],
): SQL | undefined {
  const search = filters.q?.trim();
  const until = filters.until === undefined ? undefined : Date.parse(`${filters.until}T00:00:00Z`) + dayMs;
  return and(
    eq(attestations.organization_id, organizationId),
    filters.agent === undefined ? undefined : eq(agents.slug_key, slugKey(filters.agent)),
    filters.visibility === undefined
      ? undefined
      : eq(attestations.is_public, filters.visibility === "public"),
    filters.approval === undefined ? undefined : eq(attestations.human_approval_method, filters.approval),
    filters.from === undefined
      ? undefined
      : gte(attestations.created_at, new Date(`${filters.from}T00:00:00Z`)),
    until === undefined ? undefined : lt(attestations.created_at, new Date(until)),
    matchesWarnings(filters.warnings === undefined ? undefined : filters.warnings === "true", keys),
    search === undefined || search === ""
      ? undefined
      : isUuid(search)
        ? eq(attestations.id, search)
        : ilike(attestations.action, contains(search)),
  );
}

type Row = { attestation: typeof attestations.$inferSelect; slug: string };

/** Null for what the payload would say where it was erased, or its hash or signature does not hold. */
function describeOwnAttestation({ attestation, slug }: Row, keys: readonly PublishedKey[]) {
  const statement = readSignedStatement(attestation, keys);
  const predicate = statement?.predicate;
  const approval = predicate?.human_approval;
  const text = (name: string) => {
    const value = predicate?.request[name];
    return typeof value === "string" ? value : null;
  };
  return {
    id: attestation.id,
    slug,
    action: text("action"),
    inputsHash: text("inputs_hash"),
    createdAt: attestation.created_at.toISOString(),
    payloadHash: hexEncode(attestation.payload_hash),
    isPublic: attestation.is_public,
    isErased: isErased(attestation),
    hasZkProof: attestation.zk_proof !== null,
    agentAuthenticated: predicate?.verdicts.agent_authenticated ?? null,
    codeHashVerified: predicate?.verdicts.code_hash_verified ?? null,
    toolsAuthorized: predicate?.verdicts.tools_authorized ?? null,
    approvalMethod: approval?.method ?? null,
    approvalEnvironment: approval?.method === "proof_of_personhood" ? approval.environment : null,
    warnings: describeWarnings(attestation, statement, keys),
    logIndex: attestation.leaf_index,
    keyId: attestation.key_id,
    signature: base64Encode(attestation.signature),
    payload: attestation.payload === null || predicate === undefined ? null : utf8Decode(attestation.payload),
  };
}

export type OwnAttestation = ReturnType<typeof describeOwnAttestation>;

/** Newest first. `before`: the id of the last one shown. */
export async function readOwnAttestations(
  context: Context,
  organizationId: string,
  filters: AttestationFilters,
  page: { before: string | undefined; limit: number },
): Promise<OwnAttestation[]> {
  const keys = await context.keys.published();
  const rows = await context.database.db
    .select({ attestation: attestations, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(
      and(
        whereOf(organizationId, filters, keys),
        page.before === undefined ? undefined : lt(attestations.id, page.before),
      ),
    )
    .orderBy(desc(attestations.id))
    .limit(page.limit);
  return rows.map((row) => describeOwnAttestation(row, keys));
}

export async function listOwnAttestations(
  context: Context,
  person: Person,
  filters: AttestationFilters,
  page: { cursor: string | undefined; limit: number },
) {
  await requireRole(context.database.db, person, "member");
  const rows = await readOwnAttestations(context, person.organizationId, filters, {
    before: page.cursor,
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  return { rows: shown, nextCursor: rows.length > page.limit ? (shown.at(-1)?.id ?? null) : null };
}

/** The owner's full view; an attestation of another organization, public or not, is not here. */
export async function readOwnAttestation(context: Context, person: Person, id: string) {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const stored = await readAttestation(db, id);
  if (stored.organization_id !== person.organizationId) throw attestationNotFound();
  return {
    verification: await verifyAttestationById(context, id, person.organizationId, null),
    /** Name and JSON text of each message that can be disclosed; null where there is nothing to present. */
    messages:
      stored.payload === null || stored.bbs_signature === null
        ? null
        : disclosureMessages(stored.payload).map((message) => JSON.parse(message) as [string, unknown]),
  };
}

/** For the filter's suggestions. */
export async function listAgentSlugs(context: Context, person: Person): Promise<string[]> {
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
  person: Person,
  id: string,
  wanted: PresentationRequest,
): Promise<ZkProof> {
  const { organizationId, actor } = person;
  await requireRole(context.database.db, person, "member");
  return createPresentation(context, { id, organizationId, actor, wanted });
}

/** For owners: it cannot be undone. */
export async function eraseOwnAttestation(context: Context, person: Person, id: string): Promise<void> {
  const { organizationId, actor } = person;
  await requireRole(context.database.db, person, "owner");
  await eraseContent(context, { id, organizationId, actor });
}
