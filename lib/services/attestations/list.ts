/**
 * The one list of attestations, newest first: GET /v1/attestations, the public feeds, the portal and its exports are
 * this list under other filters. What it says comes from the signed bytes; the columns beside them only find rows.
 */
import { and, count, eq, gte, ilike, isNotNull, lt, or, type SQL, sql } from "drizzle-orm";
import { cutPage, decodeCursor, encodeCursor } from "#lib/api/http/opaque-text";
import { SerializedJson } from "#lib/api/http/problem";
import {
  type FeedEntry,
  maxSearchResults,
  type SearchResponse,
  type searchedBy,
} from "#lib/api/schemas/identity";
import type { OwnAttestation } from "#lib/api/schemas/receipts";
import { containing } from "#lib/db/client";
import { agents, attestations, authorizationRequests } from "#lib/db/schema";
import { payloadDigestSql } from "#lib/db/schema/attestations";
import { identifyKeys, type PublishedKey } from "#lib/log/signing/signing-keys";
import { describeDecided } from "#lib/protocol/approval/decided-words";
import { hexDecode, hexEncode, isUuid, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type Facts, factsOfReceipt, type Names, noNames } from "#lib/protocol/record/facts";
import { type HumanApproval, isBacked, isHumanApproved } from "#lib/protocol/statement/human-approval";
import { publicUrl } from "#lib/protocol/statement/product";
import { type ActionStatement, parseCanonical, subjectDigest } from "#lib/protocol/statement/statement";
import type { Warning } from "#lib/protocol/statement/warnings";
import { parseSearched, type Searched } from "#lib/protocol/text/mixed-script";
import { slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { isAfterCursor, type ListQuery, listOrder, writeCursor } from "#lib/services/approvals/rows";
import { readSignedStatement } from "./stored-receipt";
import { describeWarnings, isErased, matchesWarnings } from "./view";

export interface AttestationFilter {
  id?: string | undefined;
  /** SHA-256 of the payload or of the inputs, in hex. */
  hash?: string | undefined;
  /** The approval that it used. */
  requestId?: string | undefined;
  agentSlug?: string | undefined;
  isPublic?: boolean | undefined;
  approval?: HumanApproval["method"] | undefined;
  action?: string | undefined;
  /** True: only those with warnings; false: only those without. */
  warnings?: boolean | undefined;
  /** True: a TEST approval is no warning. */
  isTestSaid?: boolean | undefined;
  /** Inclusive lower bound; `to` is exclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
}

type AttestationRow = typeof attestations.$inferSelect;

export type ListedRow = Pick<
  AttestationRow,
  | "id"
  | "log_id"
  | "leaf_index"
  | "payload"
  | "payload_hash"
  | "signature"
  | "key_id"
  | "is_public"
  | "human_authorization"
  | "zk_proof"
  | "erased_at"
>;

export interface ListedAttestation<Row extends ListedRow = AttestationRow> {
  row: Row;
  slug: string;
  /** Null after erasure, and if its hash or its signature does not hold: nothing is said of such a payload. */
  statement: ActionStatement | null;
  approval: JsonObject | null;
  warnings: Warning[];
}

/** Order of the indexes: PostgreSQL would put nulls first, and sort all rows for one page. */
const newestFirst = sql`${attestations.id} DESC NULLS LAST`;

/** Selects rows after the one that the cursor names. Ids are UUIDv7, so their order is that of time. */
const isAfter = (cursor: string) =>
  lt(
    attestations.id,
    decodeCursor(cursor, (text) => (isUuid(text) ? text : undefined)),
  );

const hasHash = (hex: string) =>
  or(
    eq(attestations.payload_hash, hexDecode(hex)),
    sql`${sql.raw(payloadDigestSql('"attestations"."payload"'))} = ${utf8Encode(hex)}`,
  );

function matches(filter: AttestationFilter, keys: readonly PublishedKey[]): SQL | undefined {
  const { id, hash, requestId, agentSlug, isPublic, approval, action, from, to } = filter;
  const { warnings, isTestSaid = false } = filter;
  return and(
    id === undefined ? undefined : eq(attestations.id, id),
    hash === undefined ? undefined : hasHash(hash),
    requestId === undefined ? undefined : eq(attestations.authorization_id, requestId),
    agentSlug === undefined ? undefined : eq(agents.slug_key, slugKey(agentSlug)),
    isPublic === undefined ? undefined : eq(attestations.is_public, isPublic),
    approval === undefined ? undefined : eq(attestations.human_approval_method, approval),
    action === undefined ? undefined : ilike(attestations.action, containing(action)),
    from === undefined ? undefined : gte(attestations.created_at, from),
    to === undefined ? undefined : lt(attestations.created_at, to),
    matchesWarnings(warnings, keys, isTestSaid),
  );
}

function readApproval({ predicate }: ActionStatement, stored: Uint8Array | null): JsonObject | null {
  const { human_approval: approval } = predicate;
  if (stored === null || !isBacked(approval)) return null;
  return hexEncode(sha256(stored)) === approval.authorization_hash ? parseCanonical(stored, true) : null;
}

export const factsOfListed = (
  { statement, approval }: ListedAttestation<ListedRow>,
  names: Names = noNames,
): Facts => factsOfReceipt(statement?.predicate ?? null, approval, names);

function toListed<Row extends ListedRow>(
  row: Row,
  slug: string,
  keys: readonly PublishedKey[],
): ListedAttestation<Row> {
  const statement = readSignedStatement(row, keys);
  const approval = statement && readApproval(statement, row.human_authorization);
  return { row, slug, statement, approval, warnings: describeWarnings(row, statement, keys) };
}

/** `scope`: whose, or which part of the log; everything else is a filter. */
export async function readAttestations(
  context: Context,
  scope: SQL | undefined,
  filter: AttestationFilter,
  page: ListQuery,
): Promise<{ shown: ListedAttestation[]; nextCursor: string | null }> {
  const keys = await context.keys.published();
  if (page.isByAmount) return readByAmount(context, and(scope, matches(filter, keys)), page, keys);
  const after = page.cursor === undefined ? undefined : isAfter(page.cursor);
  const rows = await context.database.db
    .select({ row: attestations, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(and(scope, matches(filter, keys), after))
    .orderBy(newestFirst)
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, ({ row }) => encodeCursor(row.id));
  return { shown: shown.map(({ row, slug }) => toListed(row, slug, keys)), nextCursor };
}

/** An attestation's amount is that of its approval: the order is that of requests, whose index costs no attestation. */
async function readByAmount(
  { database: { db } }: Context,
  where: SQL | undefined,
  page: ListQuery,
  keys: readonly PublishedKey[],
) {
  const { id, organization_id, created_at, currency, amount_units } = authorizationRequests;
  const rows = await db
    .select({ row: attestations, slug: agents.slug, request: { id, created_at, currency, amount_units } })
    .from(authorizationRequests)
    .innerJoin(
      attestations,
      and(eq(attestations.authorization_id, id), eq(attestations.organization_id, organization_id)),
    )
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(and(where, isNotNull(attestations.payload), isAfterCursor(page)))
    .orderBy(...listOrder(page))
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, ({ request }) => writeCursor(request, page));
  return { shown: shown.map(({ row, slug }) => toListed(row, slug, keys)), nextCursor };
}

export async function countAttestations(
  context: Context,
  scope: SQL | undefined,
  filter: AttestationFilter,
): Promise<number> {
  const keys = await context.keys.published();
  const [total] = await context.database.db
    .select({ count: count() })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(and(scope, matches(filter, keys)));
  return total?.count ?? 0;
}

export const ofOrganization = (organizationId: string) => eq(attestations.organization_id, organizationId);

function describeListed(
  baseUrl: string,
  listed: ListedAttestation<ListedRow>,
  names: Names = noNames,
): FeedEntry {
  const { row, slug, statement, warnings } = listed;
  const predicate = statement?.predicate;
  const approval = predicate?.human_approval;
  const { amount, tool, decided } = factsOfListed(listed, names);
  const text = (name: string) => {
    const value = predicate?.request[name];
    return typeof value === "string" ? value : null;
  };
  return {
    attestation_id: row.id,
    id: row.id,
    action: text("action"),
    amount,
    tool,
    decided: statement === null ? null : describeDecided(decided),
    inputs_hash: text("inputs_hash"),
    timestamp: predicate?.timestamp ?? null,
    payload_hash: hexEncode(row.payload_hash),
    has_zk_proof: row.zk_proof !== null,
    agent_authenticated: predicate?.verdicts.agent_authenticated ?? null,
    code_hash_verified: predicate?.verdicts.code_hash_verified ?? null,
    tools_authorized: predicate?.verdicts.tools_authorized ?? null,
    client_gap: predicate?.verdicts.client_gap ?? null,
    human_approved: approval ? isHumanApproved(approval) : null,
    human_approval_method: approval?.method ?? null,
    human_approval_environment: approval && isBacked(approval) ? approval.environment : null,
    warnings,
    public_url: publicUrl(baseUrl, slug, row.id),
  };
}

export function describeOwn(
  baseUrl: string,
  listed: ListedAttestation,
  names: Names,
  title: string | undefined,
): OwnAttestation {
  const { row, slug } = listed;
  return Object.assign(describeListed(baseUrl, listed, names), {
    agent_slug: slug,
    is_public: row.is_public,
    status: isErased(row) ? ("erased" as const) : ("recorded" as const),
    erased_at: row.erased_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    title: title ?? null,
  });
}

/* Entries of lists, each remembered under the digest of its row. */

/** SQL of a {@link ListedRow}. */
const listedColumns = `a.id, a.log_id, a.leaf_index, a.payload, a.payload_hash, a.signature, a.key_id, a.is_public,
  a.human_authorization, a.zk_proof, a.erased_at`;

const digest = `encode(sha256(record_send(ROW(${listedColumns}))), 'hex')`;

/** SQL of what {@link writeEntries} takes, in the order of `which`: from WHERE to LIMIT. `place`: text for a cursor. */
export const selectEntries = (place: string, which: string) => `SELECT
    json_agg(json_build_array(e.id, e.place, e.digest))::text AS entries
  FROM (SELECT a.id, ${place} AS place, ${digest} AS digest FROM attestations a ${which}) AS e`;

const rowsText = `SELECT ${listedColumns}, ${digest} AS digest FROM attestations a WHERE a.id = ANY($1::uuid[])`;

type Row = ListedRow & { digest: string };

interface Entry {
  place: string;
  /** Null for a row that was erased meanwhile, or is not public any more. */
  written: SerializedJson | null;
}

async function makeEntries(context: Context, slug: string, ids: string[], keys: readonly PublishedKey[]) {
  const { answers, database, settings } = context;
  const begun = answers.begin();
  const view = nameView(slug, keys);
  const rows = ids.length === 0 ? [] : await database.statement<Row>(rowsText)(ids);
  const shown = rows.filter(({ payload, is_public }) => payload !== null && is_public);
  return new Map(
    shown.map((row) => {
      const listed = toListed(row, slug, keys);
      const { text } = SerializedJson.of(describeListed(settings.baseUrl, listed));
      const made = { digest: row.digest, view, text };
      if (listed.statement !== null) answers.keep(begun, "entry", row.id, made);
      return [row.id, { ...made, isSigned: listed.statement !== null }] as const;
    }),
  );
}

const nameView = (slug: string, keys: readonly PublishedKey[]) => `${slug} ${identifyKeys(keys)}`;

/** Writes entries as everyone may see them. `isWhole`: each is signed, and made from the row that the list had. */
export async function writeEntries(
  context: Context,
  slug: string,
  listed: string | null,
  keys: readonly PublishedKey[],
): Promise<{ entries: Entry[]; isWhole: boolean }> {
  const view = nameView(slug, keys);
  const places = (JSON.parse(listed ?? "[]") as [string, string, string][]).map(([id, place, digest]) => {
    const found = context.answers.get("entry", id);
    const known = found?.digest === digest && found.view === view ? found : null;
    return { id, place, digest, known };
  });
  const unknown = places.filter(({ known }) => known === null).map(({ id }) => id);
  const made = await makeEntries(context, slug, unknown, keys);
  const entries = places.map(({ id, place, known }) => {
    const text = known?.text ?? made.get(id)?.text;
    return { place, written: text === undefined ? null : SerializedJson.again(text) };
  });
  const isWhole = places.every(({ id, digest, known }) => {
    const one = made.get(id);
    return known !== null || (one?.isSigned === true && one.digest === digest);
  });
  return { entries, isWhole };
}

/* GET /v1/search: public attestations, found by an index each, never by reading a table through. */

type Matched = (typeof searchedBy)[number];

interface FoundRow extends ListedRow {
  slug: string;
  matched: Matched;
}

/**
 * Selects from public attestations. An index answers `where`, and `order` is that index's or none's: in another's order, a
 * table without statistics would be read through for what isn't there.
 */
const select = (
  matched: Matched,
  where: string,
  order = "",
) => `(SELECT ${listedColumns}, g.slug, '${matched}' AS matched
  FROM attestations a JOIN agents g ON g.id = a.agent_id
  WHERE a.is_public AND a.payload IS NOT NULL AND ${where} ${order} LIMIT ${maxSearchResults + 1})`;

const inputs = payloadDigestSql("a.payload");

export const searchTexts = {
  attestation_id: select("attestation_id", "a.id = $1"),
  hash: [
    select("payload_hash", "a.payload_hash = $1"),
    select("inputs_hash", `${inputs} = $2`, `ORDER BY a.id DESC`),
  ].join(" UNION ALL "),
  request_id: select("request_id", "a.authorization_id = $1"),
  log_index: select(
    "log_index",
    "a.leaf_index = $1 AND a.log_id IN (SELECT id FROM logs)",
    "ORDER BY a.log_id + 0 DESC",
  ),
} as const satisfies Record<Searched["kind"], string>;

function buildParameters(searched: Searched): unknown[] {
  switch (searched.kind) {
    case "hash":
      return [hexDecode(searched.hex), utf8Encode(searched.hex)];
    case "log_index":
      return [searched.index];
    default:
      return [searched.id];
  }
}

export async function searchPublicly(context: Context, text: string): Promise<SearchResponse> {
  const searched = parseSearched(text);
  if (searched === null) return { results: [], has_more: false };
  const [rows, keys] = await Promise.all([
    context.database.statement<FoundRow>(searchTexts[searched.kind])(...buildParameters(searched)),
    context.keys.published(),
  ]);
  // Match the signed statement: a column or a row may have been changed.
  const found = rows
    .map((row) => ({ row, listed: toListed(row, row.slug, keys) }))
    .filter(({ row, listed: { statement } }) => {
      if (statement === null) return false;
      const { request, attestation_id } = statement.predicate;
      if (row.matched !== "inputs_hash") return attestation_id === row.id;
      const digest = subjectDigest(String(request["inputs_hash"]))["sha256"];
      return searched.kind === "hash" && digest === searched.hex;
    });
  const { baseUrl } = context.settings;
  return {
    results: found.slice(0, maxSearchResults).map(({ row, listed }) => ({
      ...describeListed(baseUrl, listed),
      agent_slug: row.slug,
      log_index: row.leaf_index,
      matched: row.matched,
    })),
    has_more: found.length > maxSearchResults,
  };
}

/* A public attestation to show on the landing page, read from its signed bytes. */

export interface ExampleAttestation {
  id: string;
  slug: string;
  action: string;
  timestamp: string;
  payloadHash: string;
  logIndex: number;
  approval: HumanApproval;
  warnings: Warning[];
  publicUrl: string;
}

/** More than one is read only because a changed row is no example. */
const candidates = 5;

/**
 * The one that is named, or an organization's newest. Null if there is none that is public and whose signature holds.
 * Never anybody's: what a stranger writes is no example of this service's.
 */
export async function readExample(
  context: Context,
  wanted: { id: string } | { organizationId: string },
): Promise<ExampleAttestation | null> {
  const scope = "id" in wanted ? undefined : ofOrganization(wanted.organizationId);
  const { shown } = await readAttestations(
    context,
    and(scope, isNotNull(attestations.payload)),
    { isPublic: true, ...("id" in wanted && { id: wanted.id }) },
    { limit: candidates },
  );
  for (const { row, statement, warnings } of shown) {
    if (statement === null) continue;
    const { predicate } = statement;
    const slug = String(predicate.request["agent_slug"]);
    return {
      id: row.id,
      slug,
      action: String(predicate.request["action"]),
      timestamp: predicate.timestamp,
      payloadHash: hexEncode(row.payload_hash),
      logIndex: row.leaf_index,
      approval: predicate.human_approval,
      warnings,
      publicUrl: publicUrl(context.settings.baseUrl, slug, row.id),
    };
  }
  return null;
}
