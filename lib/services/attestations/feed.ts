/**
 * GET /v1/agent/:slug: an agent's public attestations. One statement has the database digest everything that the answer is
 * made from; what it led to before is the answer. Otherwise each entry whose row has another digest is made again.
 */
import { cutPage, decodeCursor, encodeCursor } from "#lib/api/http/opaque-text";
import { SerializedJson } from "#lib/api/http/problem";
import type { CachedResponse } from "#lib/api/http/response-cache";
import { type FeedEntry, type FeedResponse, maxLookAlikes } from "#lib/api/schemas/identity";
import { arrayLiteral, containing } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { identifyKeys, type PublishedKey } from "#lib/log/signing/signing-keys";
import { formatAmount } from "#lib/protocol/approval/amount";
import { approvalWords } from "#lib/protocol/approval/approval-words";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";
import { escapeHtml, formatCount, toUnlinkedText } from "#lib/protocol/text/display-text";
import { parseNewestKeys, selectNewestKeys } from "#lib/services/agents/agent-changes";
import { agentNotFound, type FoundAgent, isSlug, slugKey } from "#lib/services/agents/agents";
import { describeIdentity } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import type { ListQuery } from "#lib/services/approvals/rows";
import { type AttestationFilter, selectEntries, writeEntries } from "./list";
import { selectUnless } from "./stored-receipt";
import { revokedIds } from "./view";

type FeedQuery = Pick<ListQuery, "limit" | "cursor" | "isByAmount"> &
  Pick<AttestationFilter, "approval" | "action" | "warnings">;

interface Order {
  /** Text of an entry's place, as a cursor has it. */
  place: string;
  cursor: RegExp;
  /** Condition for entries after the place in $2 and $3, null at the beginning. */
  after: string;
  order: string;
}

const newestFirst: Order = {
  place: "a.log_id || '.' || a.leaf_index",
  cursor: /^(\d{1,9})\.(\d{1,15})$/,
  after: "(a.log_id, a.leaf_index) < (coalesce($2::int, 2147483647), coalesce($3::bigint, 0))",
  order: "a.log_id DESC NULLS LAST, a.leaf_index DESC NULLS LAST",
};

/** A walk of the index attestations_amount: of currency after currency the largest first, what has no amount left out. */
const byAmount: Order = {
  place: "amount_place(a.human_authorization) || '.' || a.id",
  cursor: /^([A-Z]{3}\d{19})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
  after: `a.human_authorization IS NOT NULL AND (amount_place(a.human_authorization), a.id)
      > (coalesce($2::text, ''), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))`,
  order: "amount_place(a.human_authorization), a.id",
};

/**
 * $1: slug key. $4 to $6: filters or null; $7: revoked keys, as the text of a list; $8: how many; $9: the digest of what
 * is known.
 */
const writeFeedText = ({ place, after, order }: Order) =>
  selectUnless(
    "$9",
    `SELECT g.*, g.xmin::text AS version, m.manifest, k.proven_at AS key_proven_at, coalesce(r.listed, 0) AS total,
    (${selectNewestKeys("g.id")}) AS newest_keys, page.entries,
    array_to_json(ARRAY(
      SELECT o.slug FROM agents o WHERE slug_skeleton(o.slug_key) = slug_skeleton(g.slug_key) AND o.id <> g.id
      ORDER BY o.id LIMIT ${maxLookAlikes}))::text AS look_alikes
  FROM agents g
  LEFT JOIN tool_manifests m ON m.hash = g.tool_manifest_hash
  LEFT JOIN agent_keys k ON k.agent_id = g.id AND k.retired_at IS NULL
  LEFT JOIN agent_records r ON r.agent_id = g.id
  LEFT JOIN LATERAL (${selectEntries(
    place,
    `WHERE a.agent_id = g.id AND a.is_public AND a.payload IS NOT NULL AND ${after}
    AND ($4::text IS NULL OR a.human_approval_method = $4)
    AND ($5::text IS NULL OR a.action ILIKE $5)
    AND ($6::boolean IS NULL OR $6 = (
      coalesce(cardinality(array_remove(a.warnings, 'reported_by_trace')), 0) > 0 OR a.erased_at IS NOT NULL OR a.key_id = ANY($7::text[])))
  ORDER BY ${order}
  LIMIT $8`,
  )}) page ON true
  WHERE g.slug_key = $1`,
  );

export const feedTexts = { newest: writeFeedText(newestFirst), amount: writeFeedText(byAmount) };

const feedTypes = ["text", "int", "bigint", "text", "text", "boolean", "text", "int", "text"];

interface Row extends FoundAgent {
  digest: string;
  total: number;
  newest_keys: string | null;
  entries: string | null;
  look_alikes: string;
}

async function readRow(
  { database }: Context,
  slug: string,
  { limit, cursor, isByAmount = false, approval, action, warnings }: FeedQuery,
  published: readonly PublishedKey[],
  known: string | null,
): Promise<Readonly<Row>> {
  if (action?.includes("\0")) throw new AppError("bad_request", "action: must not contain U+0000");
  const wanted = isByAmount ? byAmount.cursor : newestFirst.cursor;
  const [, ...after] =
    cursor === undefined ? [] : decodeCursor(cursor, (text) => wanted.exec(text) ?? undefined);
  if (!isSlug(slug)) throw agentNotFound();
  // A filter may read through many entries: nobody else's page waits for it.
  const isFiltered = isByAmount || [approval, action, warnings].some((filter) => filter !== undefined);
  const read = isFiltered
    ? database.statement<Row>(isByAmount ? feedTexts.amount : feedTexts.newest)
    : database.batched<Row>(feedTexts.newest, feedTypes);
  const [row] = await read(
    slugKey(slug),
    after[0] ?? null,
    after[1] ?? null,
    approval ?? null,
    action === undefined ? null : containing(action),
    warnings ?? null,
    arrayLiteral(revokedIds(published)),
    limit + 1,
    known,
  );
  if (row === undefined) throw agentNotFound();
  return row;
}

/** Pages without a filter and newest first: there are too many others to remember. */
function buildCacheName(slug: string, { limit, cursor, ...filter }: FeedQuery): string | null {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return isFiltered ? null : `${slugKey(slug)} ${limit} ${cursor ?? ""}`;
}

export async function writeAgentFeed(
  context: Context,
  slug: string,
  query: FeedQuery,
): Promise<SerializedJson> {
  const { answers, keys } = context;
  const begun = answers.begin();
  const published = await keys.published();
  const view = identifyKeys(published);
  const name = buildCacheName(slug, query);
  const found = name === null ? undefined : answers.get("feed", name);
  const known: CachedResponse | null = found?.view === view ? found : null;
  const row = await readRow(context, slug, query, published, known?.digest ?? null);
  if (known !== null && row.digest === known.digest) return SerializedJson.again(known.text);
  const listed = await writeEntries(context, row.slug, row.entries, published);
  const { shown, nextCursor } = cutPage(listed.entries, query, ({ place }) => encodeCursor(place));
  const identity = describeIdentity(row, parseNewestKeys(row.id, row.newest_keys));
  const written = SerializedJson.object({
    slug: row.slug,
    name: row.name,
    description: row.description,
    total_attestations: row.total,
    created_at: row.created_at.toISOString(),
    public_key: identity.public_key,
    look_alikes: JSON.parse(row.look_alikes),
    identity,
    attestations: shown.flatMap(({ written: entry }) => entry ?? []),
    next_cursor: nextCursor,
  });
  if (name !== null && listed.isWhole)
    answers.keep(begun, "feed", name, { digest: row.digest, view, text: written.text });
  return written;
}

export async function readAgentFeed(context: Context, slug: string, query: FeedQuery): Promise<FeedResponse> {
  return JSON.parse((await writeAgentFeed(context, slug, query)).text) as FeedResponse;
}

/*
 * An agent's public attestations as JSON Feed and Atom. Feed readers are foreign programs that may take a title for
 * HTML, or make links of what looks like one (a chat that follows the feed): agents' strings go in unlinked, and escaped
 * wherever the format says HTML.
 */

function describeApproval({
  human_approval_method: method,
  human_approval_environment: environment,
}: FeedEntry) {
  if (!isApprovalMethod(method)) return "Human approval: cannot be read.";
  const isTest = environment !== null && environment !== "production";
  return `Human approval: ${isTest ? "TEST, not a real person" : approvalWords[method]}.`;
}

/** People are in the grade already. */
const describeDecision = ({ decided, human_approval_method: method }: FeedEntry): string[] =>
  decided === null || method === "none" || method === "hash" ? [] : [`${decided.replace(/\.$/, "")}.`];

/** A reader that only shows titles must see that something is wrong, so it comes first. */
function writeTitle({ action, amount, warnings }: FeedEntry): string {
  const said = toUnlinkedText(action ?? "(cannot be read)");
  const text = amount === null ? said : `${formatAmount(amount)}: ${said}`;
  return warnings.length === 0 ? text : `[${formatCount(warnings.length, "warning")}] ${text}`;
}

function describeFeed(baseUrl: string, { slug, name, created_at, attestations }: FeedResponse) {
  const page = `${baseUrl}/agent/${slug}`;
  const author = toUnlinkedText(name ?? slug);
  const entries = attestations.map((entry) => {
    const warnings = entry.warnings.map(({ message }) => `Warning: ${message}`);
    const text = `${[describeApproval(entry), ...describeDecision(entry), ...warnings].join(" ")} Payload hash ${entry.payload_hash}. Open the link to verify it.`;
    return {
      url: entry.public_url,
      title: writeTitle(entry),
      date: entry.timestamp ?? created_at,
      html: `<p>${escapeHtml(toUnlinkedText(entry.action ?? ""))}</p><p>${escapeHtml(toUnlinkedText(text))}</p>`,
    };
  });
  return {
    page,
    author,
    title: `${author}: attestations`,
    description: `Public attestations of the agent ${toUnlinkedText(slug)}`,
    updated: attestations[0]?.timestamp ?? created_at,
    entries,
  };
}

/** JSON Feed 1.1 (jsonfeed.org/version/1.1). */
export function writeJsonFeed(baseUrl: string, agent: FeedResponse): string {
  const { page, author, title, description, entries } = describeFeed(baseUrl, agent);
  const feed = {
    version: "https://jsonfeed.org/version/1.1",
    title,
    home_page_url: page,
    feed_url: `${page}/feed.json`,
    description,
    authors: [{ name: author, url: page }],
    items: entries.map(({ url, title, date, html }) => ({
      id: url,
      url,
      title,
      content_html: html,
      date_published: date,
      date_modified: date,
    })),
  };
  return JSON.stringify(feed, null, 2);
}

/** Writes Atom (RFC 4287). An entry's title is of type "html", so its text is escaped for HTML and then for XML. */
export function writeAtomFeed(baseUrl: string, agent: FeedResponse): string {
  const { page, author, title, description, updated, entries } = describeFeed(baseUrl, agent);
  const xml = escapeHtml;
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>${xml(page)}</id>`,
    `<title>${xml(title)}</title>`,
    `<updated>${xml(updated)}</updated>`,
    "<generator>Countersign</generator>",
    `<author><name>${xml(author)}</name><uri>${xml(page)}</uri></author>`,
    `<link rel="alternate" href="${xml(page)}"/>`,
    `<link rel="self" href="${xml(page)}/feed.atom"/>`,
    `<subtitle>${xml(description)}</subtitle>`,
    ...entries.map(
      ({ url, title, date, html }) =>
        `<entry><title type="html">${xml(escapeHtml(title))}</title><id>${xml(url)}</id><link href="${xml(url)}"/><updated>${xml(date)}</updated><content type="html">${xml(html)}</content></entry>`,
    ),
    "</feed>",
  ];
  return lines.join("\n");
}
