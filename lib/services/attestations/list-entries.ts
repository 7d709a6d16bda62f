/** Entries of lists, each remembered under the digest of its row. */

import { WrittenJson } from "#lib/api/http/written-json";
import { type PublishedKey, versionOf } from "#lib/log/signing/signing-keys";
import type { Context } from "#lib/services/approvals/context";
import { describeListed, type ListedRow, toListed } from "./list";

/** SQL of a {@link ListedRow}. */
export const listedColumns = `a.id, a.log_id, a.leaf_index, a.payload, a.payload_hash, a.signature, a.key_id, a.is_public,
  a.human_authorization, a.zk_proof, a.erased_at`;

const digest = `encode(sha256(record_send(ROW(${listedColumns}))), 'hex')`;

/** SQL of what {@link writeEntries} takes. `which`: from WHERE to LIMIT, newest first. */
export const selectEntries = (which: string) => `SELECT
    json_agg(json_build_array(e.id, e.log_id, e.leaf_index, e.digest) ORDER BY e.log_id DESC, e.leaf_index DESC)::text AS entries
  FROM (SELECT a.id, a.log_id, a.leaf_index, ${digest} AS digest FROM attestations a ${which}) AS e`;

const rowsText = `SELECT ${listedColumns}, ${digest} AS digest FROM attestations a WHERE a.id = ANY($1::uuid[])`;

type Row = ListedRow & { digest: string };

interface Entry {
  log_id: number;
  leaf_index: number;
  /** Null for a row that was erased meanwhile, or is not public any more. */
  written: WrittenJson | null;
}

/** By id. */
async function makeEntries(context: Context, slug: string, ids: string[], keys: readonly PublishedKey[]) {
  const { answers, database, settings } = context;
  const begun = answers.begin();
  const view = viewOf(slug, keys);
  const rows = ids.length === 0 ? [] : await database.statement<Row>(rowsText)(ids);
  const shown = rows.filter(({ payload, is_public }) => payload !== null && is_public);
  return new Map(
    shown.map((row) => {
      const listed = toListed(row, slug, keys);
      const { text } = WrittenJson.of(describeListed(settings.baseUrl, listed));
      const made = { digest: row.digest, view, text };
      if (listed.statement !== null) answers.keep(begun, "entry", row.id, made);
      return [row.id, { ...made, isSigned: listed.statement !== null }] as const;
    }),
  );
}

const viewOf = (slug: string, keys: readonly PublishedKey[]) => `${slug} ${versionOf(keys)}`;

/** As everyone may see them. `isWhole`: each is signed, and made from the row that the list had. */
export async function writeEntries(
  context: Context,
  slug: string,
  listed: string | null,
  keys: readonly PublishedKey[],
): Promise<{ entries: Entry[]; isWhole: boolean }> {
  const view = viewOf(slug, keys);
  const places = (JSON.parse(listed ?? "[]") as [string, number, number, string][]).map(
    ([id, log_id, leaf_index, digest]) => {
      const found = context.answers.get("entry", id);
      const known = found?.digest === digest && found.view === view ? found : null;
      return { id, log_id, leaf_index, digest, known };
    },
  );
  const unknown = places.filter(({ known }) => known === null).map(({ id }) => id);
  const made = await makeEntries(context, slug, unknown, keys);
  const entries = places.map(({ id, log_id, leaf_index, known }) => {
    const text = known?.text ?? made.get(id)?.text;
    return { log_id, leaf_index, written: text === undefined ? null : WrittenJson.again(text) };
  });
  const isWhole = places.every(({ id, digest, known }) => {
    const one = made.get(id);
    return known !== null || (one?.isSigned === true && one.digest === digest);
  });
  return { entries, isWhole };
}
