/** An organization's own attestations, private ones included: for its keys and for the portal. */

import { and, desc, eq, inArray } from "drizzle-orm";
import { type MemberPrincipal, ownsRow, type Principal } from "#lib/api/http/context";
import type { PresentationRequest } from "#lib/api/schemas/attest";
import type { AttestationFilters, ExportFormat } from "#lib/api/schemas/portal";
import type {
  ListAttestationsQuery,
  OwnAttestation,
  OwnAttestationsResponse,
} from "#lib/api/schemas/receipts";
import { agents, apiKeys, attestations, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { padDecimals } from "#lib/protocol/approval/amount";
import { base64Encode, hexDecode, hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { byteOrderMark, encodeCsvLine } from "#lib/protocol/encoding/csv";
import { disclosureMessages } from "#lib/protocol/presentation/disclosure";
import type { ZkProof } from "#lib/protocol/presentation/presentation";
import { listPeople, type Names } from "#lib/protocol/record/facts";
import { deriveTitle } from "#lib/protocol/record/title";
import { findRequestId, parseSearched } from "#lib/protocol/text/mixed-script";
import { dayMs } from "#lib/protocol/time/time-words";
import { readNames } from "#lib/services/accounts/approvers";
import { recordAct } from "#lib/services/accounts/audit";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { addOpening, listOpenings, type OpeningChoice } from "#lib/services/approvals/read";
import { type ListQuery, parseContext } from "#lib/services/approvals/rows";
import { isTestKey } from "#lib/services/keys/api-keys";
import {
  type AttestationFilter,
  describeOwn,
  factsOfListed,
  type ListedAttestation,
  ofOrganization,
  readAttestations,
} from "./list";
import { createPresentation } from "./presentations";
import { attestationNotFound, readAttestation } from "./stored-receipt";
import { verifyAttestationById } from "./verify";

const readOwn = (
  context: Context,
  { organizationId }: Principal,
  filter: AttestationFilter,
  page: ListQuery,
) => readAttestations(context, ofOrganization(organizationId), filter, page);

export async function listAttestations(
  context: Context,
  principal: Principal,
  query: ListAttestationsQuery,
): Promise<OwnAttestationsResponse> {
  const { agent_slug: agentSlug, human_approval_method: approval, q: action, warnings, from, to } = query;
  const filter = { agentSlug, approval, action, warnings, from, to };
  const { shown, nextCursor } = await readOwn(context, principal, filter, query);
  return { attestations: await describeAll(context, principal, shown), next_cursor: nextCursor };
}

async function describeAll(
  context: Context,
  { organizationId }: Principal,
  shown: readonly ListedAttestation[],
): Promise<OwnAttestation[]> {
  const names = await readNames(context.database.db, organizationId);
  const titles = await readTitles(context, shown);
  return shown.map((listed) =>
    describeOwn(context.settings.baseUrl, listed, names, titles.get(listed.row.id)),
  );
}

/** An id, a hash or an address as somebody pastes it; anything else is a part of the action. */
function toSearch(text: string | undefined): AttestationFilter {
  if (text === undefined) return {};
  const requestId = findRequestId(text);
  if (requestId !== undefined) return { requestId };
  const searched = /\s/.test(text) ? null : parseSearched(text);
  if (searched?.kind === "attestation_id") return { id: searched.id };
  return searched?.kind === "hash" ? { hash: searched.hex } : { action: text };
}

/**
 * The portal's filters, as its address bar has them: whole days, and a search. The portal
 * of a TEST instance says once that every approval is a TEST, so no warning of its lists does.
 */
export function toFilter({ worldId }: Context, filters: AttestationFilters): AttestationFilter {
  const { q, agent, visibility, approval, warnings, from, until } = filters;
  return {
    ...toSearch(q?.trim() || undefined),
    agentSlug: agent,
    isPublic: visibility === undefined ? undefined : visibility === "public",
    approval,
    warnings: warnings === undefined ? undefined : warnings === "true",
    isTestSaid: worldId.environment !== "production",
    from: from === undefined ? undefined : new Date(`${from}T00:00:00Z`),
    to: until === undefined ? undefined : new Date(Date.parse(`${until}T00:00:00Z`) + dayMs),
  };
}

async function findTests(context: Context, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await context.database.db
    .select({ id: attestations.id })
    .from(attestations)
    .innerJoin(apiKeys, eq(apiKeys.id, attestations.api_key_id))
    .where(and(inArray(attestations.id, ids), isTestKey));
  return new Set(rows.map(({ id }) => id));
}

async function readTitles(
  { database: { db } }: Context,
  listed: readonly ListedAttestation[],
): Promise<ReadonlyMap<string, string>> {
  const ids = listed.flatMap(({ row }) => row.authorization_id ?? []);
  const { id, context } = authorizationRequests;
  const rows =
    ids.length === 0
      ? []
      : await db.select({ id, context }).from(authorizationRequests).where(inArray(id, ids));
  const contexts = new Map(rows.map((row) => [row.id, row.context === null ? null : parseContext(row)]));
  return new Map(
    listed.flatMap((one) => {
      const { what, tool, title } = factsOfListed(one);
      const details = contexts.get(one.row.authorization_id ?? "") ?? null;
      if (what === null) return [];
      return [[one.row.id, title ?? deriveTitle({ action: what, tool, context: details })]];
    }),
  );
}

/** `isTest`: made with a test key. */
type ShownAttestation = OwnAttestation & { isTest: boolean };

export async function listOwnAttestations(
  context: Context,
  person: MemberPrincipal,
  filters: AttestationFilters,
  page: ListQuery,
): Promise<{ rows: ShownAttestation[]; nextCursor: string | null }> {
  await requireRole(context.database.db, person, "read");
  const { shown, nextCursor } = await readOwn(context, person, toFilter(context, filters), page);
  const tests = await findTests(
    context,
    shown.map(({ row }) => row.id),
  );
  const rows = await describeAll(context, person, shown);
  return { rows: rows.map((row) => ({ ...row, isTest: tests.has(row.id) })), nextCursor };
}

/** The request behind the attestation's approval, and that of the standing approval whose use it was. */
async function findBacking({ database: { db } }: Context, id: string) {
  const [found] = await db
    .select({
      requestId: authorizationRequests.id,
      grantId: authorizationRequests.grant_id,
      details: authorizationRequests.context,
    })
    .from(attestations)
    .innerJoin(authorizationRequests, eq(authorizationRequests.id, attestations.authorization_id))
    .where(eq(attestations.id, id));
  if (found === undefined) return null;
  const { details: context, ...backing } = found;
  return { ...backing, details: context === null ? null : parseContext({ context }) };
}

/** The owner's full view; an attestation of another organization, public or not, is not here. */
export async function readOwnAttestation(context: Context, person: MemberPrincipal, id: string) {
  await requireRole(context.database.db, person, "read");
  const stored = await readAttestation(context, id);
  if (!ownsRow(person, stored)) throw attestationNotFound();
  const verification = await verifyAttestationById(context, id, person);
  return {
    verification,
    openings: await listOpenings(context, person.organizationId, verification as unknown as JsonObject),
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
  await requireRole(context.database.db, person, "operate");
  return createPresentation(context, person, id, wanted);
}

/* Exports of an organization's own attestations, private ones included, written batch by batch. */

const batchSize = 500;

interface Exported {
  context: Context;
  organizationId: string;
  names: Names;
}

async function findGrants({ context, organizationId }: Exported, listed: readonly ListedAttestation[]) {
  const hashes = listed.flatMap(({ approval }) => {
    const by = approval?.["decided_by"];
    return isJsonObject(by) && by["kind"] === "grant" ? [hexDecode(String(by["request_hash"]))] : [];
  });
  if (hashes.length === 0) return new Map<string, string>();
  const { id, request_hash, organization_id } = authorizationRequests;
  const rows = await context.database.db
    .select({ id, hash: request_hash })
    .from(authorizationRequests)
    .where(and(eq(organization_id, organizationId), inArray(request_hash, hashes)));
  return new Map(rows.map((row) => [hexEncode(row.hash), row.id]));
}

/** Columns of who decided; empty where another kind did. */
function describeDecision(listed: ListedAttestation, names: Names, grants: ReadonlyMap<string, string>) {
  const facts = factsOfListed(listed, names);
  const { decided } = facts;
  const use = decided.kind === "grant" ? decided.use : null;
  const by = listed.approval?.["decided_by"];
  const grant = isJsonObject(by) && use !== null ? grants.get(String(by["request_hash"])) : undefined;
  return {
    approvers: listPeople(facts).join("; "),
    rule: decided.kind === "rule" ? decided.policyIds.join(", ") : "",
    standing_approval: grant ?? "",
    use: use === null ? "" : `${use.use} of ${use.of}`,
  };
}

interface Found {
  grants: ReadonlyMap<string, string>;
  titles: ReadonlyMap<string, string>;
}

interface ExportedRow {
  row: ListedAttestation["row"];
  own: OwnAttestation;
  decision: ReturnType<typeof describeDecision>;
}

const columns = {
  attestation_id: ({ own }) => own.attestation_id,
  timestamp: ({ own }) => own.created_at,
  agent_slug: ({ own }) => own.agent_slug,
  amount: ({ own }) => (own.amount === null ? "" : padDecimals(own.amount)),
  currency: ({ own }) => own.amount?.currency ?? "",
  title: ({ own }) => own.title ?? "",
  action: ({ own }) => own.action,
  tool: ({ own }) => own.tool,
  decided_by: ({ own }) => own.decided,
  approvers: ({ decision }) => decision.approvers,
  rule: ({ decision }) => decision.rule,
  standing_approval: ({ decision }) => decision.standing_approval,
  use: ({ decision }) => decision.use,
  inputs_hash: ({ own }) => own.inputs_hash,
  is_public: ({ own }) => own.is_public,
  agent_authenticated: ({ own }) => own.agent_authenticated,
  code_hash_verified: ({ own }) => own.code_hash_verified,
  tools_authorized: ({ own }) => own.tools_authorized,
  client_gap: ({ own }) => own.client_gap,
  human_approval_method: ({ own }) => own.human_approval_method,
  human_approval_environment: ({ own }) => own.human_approval_environment,
  warnings: ({ own }) => own.warnings.map(({ code }) => code).join(" "),
  has_zk_proof: ({ own }) => own.has_zk_proof,
  log_index: ({ row }) => row.leaf_index,
  payload_hash: ({ own }) => own.payload_hash,
  key_id: ({ row }) => row.key_id,
  signature: ({ row }) => base64Encode(row.signature),
  public_url: ({ own }) => own.public_url,
} satisfies Record<string, (exported: ExportedRow) => unknown>;

function toRecord({ context, names }: Exported, listed: ListedAttestation, { grants, titles }: Found) {
  const { row } = listed;
  const own = describeOwn(context.settings.baseUrl, listed, names, titles.get(row.id));
  const exported = { row, own, decision: describeDecision(listed, names, grants) };
  return Object.fromEntries(Object.entries(columns).map(([name, read]) => [name, read(exported)]));
}

/** Newest first; a new attestation that arrives meanwhile is not in it. */
async function* readAll(exported: Exported, filters: AttestationFilters) {
  const { context, organizationId } = exported;
  const scope = ofOrganization(organizationId);
  const filter = toFilter(context, filters);
  let cursor: string | undefined;
  do {
    const page = { limit: batchSize, cursor };
    const { shown, nextCursor } = await readAttestations(context, scope, filter, page);
    const found = { grants: await findGrants(exported, shown), titles: await readTitles(context, shown) };
    if (shown.length > 0)
      yield shown.map((listed) => ({ listed, record: toRecord(exported, listed, found) }));
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
}

const exactTextNote =
  "Text that a spreadsheet would run as a formula has an apostrophe here. The exact text is in the NDJSON export.";

async function* encodeCsv(exported: Exported, filters: AttestationFilters) {
  yield `${byteOrderMark}${encodeCsvLine(Object.keys(columns))}`;
  for await (const rows of readAll(exported, filters))
    yield rows
      .map(({ record }) => encodeCsvLine(Object.values(record).map((value) => String(value ?? ""))))
      .join("");
  yield encodeCsvLine([exactTextNote]);
}

const readPayload = ({ row: { payload }, statement }: ListedAttestation) =>
  payload === null || statement === null ? null : utf8Decode(payload);

/**
 * Encodes lines that also have `payload`, the exact signed bytes as text; null after erasure, or if what is there isn't signed.
 */
async function* encodeNdjson(exported: Exported, filters: AttestationFilters) {
  for await (const rows of readAll(exported, filters)) {
    const lines = rows.map(({ record, listed }) =>
      JSON.stringify({ ...record, payload: readPayload(listed) }),
    );
    yield `${lines.join("\n")}\n`;
  }
}

export async function exportOwnAttestations(
  context: Context,
  person: MemberPrincipal,
  format: ExportFormat,
  filters: AttestationFilters,
): Promise<AsyncGenerator<string>> {
  const { organizationId } = person;
  await requireRole(context.database.db, person, "take_out");
  await recordAct(context, context.database.db, person, {
    action: "attestations.exported",
    subject: format,
    detail: { filters: JSON.stringify(filters) },
  });
  const exported = { context, organizationId, names: await readNames(context.database.db, organizationId) };
  return format === "csv" ? encodeCsv(exported, filters) : encodeNdjson(exported, filters);
}

/** The receipt with details of its approval opened. Who gives it out writes that into the audit log. */
export async function buildOpenedReceipt(
  context: Context,
  person: MemberPrincipal,
  id: string,
  choice: Exclude<OpeningChoice, "none">,
): Promise<JsonObject> {
  const { organizationId } = person;
  await requireRole(context.database.db, person, "take_out");
  const { organization_id } = await readAttestation(context, id);
  if (organization_id !== organizationId) throw attestationNotFound();
  const answer = (await verifyAttestationById(context, id, person)) as unknown as JsonObject;
  const opened = await addOpening(context, organizationId, answer, choice);
  if (opened.opening === undefined)
    throw new AppError(
      "bad_request",
      choice === "payee"
        ? "the payee of this approval can't be opened alone: it names none, or its details are hashed as a whole; choose all details"
        : "there is no approval whose details could be opened",
    );
  return opened as unknown as JsonObject;
}

/** Opens it as a file for an auditor. */
export async function openOwnAttestation(
  context: Context,
  person: MemberPrincipal,
  id: string,
  choice: Exclude<OpeningChoice, "none">,
): Promise<JsonObject> {
  const opened = await buildOpenedReceipt(context, person, id, choice);
  await recordAct(context, context.database.db, person, {
    action: "attestation.opened",
    subject: id,
    detail: { opened: choice },
  });
  return opened;
}
