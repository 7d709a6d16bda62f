/** GET /v1/search: public attestations, found by an index each, never by reading a table through. */

import { maxSearchResults, type SearchResponse, type searchedBy } from "#lib/api/schemas/search";
import { payloadDigestSql } from "#lib/db/schema/attestations";
import { hexDecode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { subjectDigest } from "#lib/protocol/statement/statement";
import { parseSearched, type Searched } from "#lib/protocol/text/searched";
import type { Context } from "#lib/services/approvals/context";
import { describeListed, type ListedRow, toListed } from "./list";
import { listedColumns } from "./list-entries";

type Matched = (typeof searchedBy)[number];

interface Row extends ListedRow {
  slug: string;
  matched: Matched;
}

/** Selects from public attestations; an index answers `where`. */
const select = (matched: Matched, where: string) => `(SELECT ${listedColumns}, g.slug, '${matched}' AS matched
  FROM attestations a JOIN agents g ON g.id = a.agent_id
  WHERE a.is_public AND a.payload IS NOT NULL AND ${where}
  ORDER BY a.log_id DESC, a.leaf_index DESC LIMIT ${maxSearchResults + 1})`;

const texts = {
  attestation_id: select("attestation_id", "a.id = $1"),
  hash: [
    select("payload_hash", "a.payload_hash = $1"),
    select("inputs_hash", `${payloadDigestSql("a.payload")} = $2`),
  ].join(" UNION ALL "),
  request_id: select("request_id", "a.authorization_id = $1"),
  log_index: select("log_index", "a.leaf_index = $1 AND a.log_id IN (SELECT id FROM logs)"),
} as const satisfies Record<Searched["kind"], string>;

function parametersOf(searched: Searched): unknown[] {
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
    context.database.statement<Row>(texts[searched.kind])(...parametersOf(searched)),
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
