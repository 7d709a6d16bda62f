/** GET /v1/agent/:slug/record: every entry of an agent's record, private and erased ones by their hash alone. */
import type { RecordEntry, RecordQuery, RecordResponse } from "#lib/api/schemas/record";
import type { Database } from "#lib/db/client";
import { readRecordSnapshot } from "#lib/log/records/record-snapshot";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { emptyRecord } from "#lib/protocol/record/agent-record";
import { publicUrl } from "#lib/protocol/statement/product";
import { agentNotFound, findPublicAgent, isSlug, slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import type { NeighbourReport } from "#lib/verifier/checks/warning-rows";

interface Row {
  head_sequence: number;
  head_link: Uint8Array | null;
  sequence: number | null;
  kind: RecordEntry["kind"];
  payload_hash: Uint8Array;
  log_origin: string;
  log_index: number;
  attestation_id: string | null;
  is_public: boolean | null;
  is_erased: boolean | null;
}

/** $1: agent. $2: the first sequence. $3: how many. One statement, so that entries and head are of one moment. */
const pageText = `SELECT record.sequence AS head_sequence, record.link AS head_link, leaf.sequence, leaf.kind,
    leaf.payload_hash, logs.origin AS log_origin, leaf.leaf_index AS log_index, a.id AS attestation_id, a.is_public,
    a.payload IS NULL AND a.erased_at IS NOT NULL AS is_erased
  FROM agent_records record
  LEFT JOIN log_leaves leaf ON leaf.agent_id = record.agent_id AND leaf.sequence BETWEEN $2 AND $2 + $3 - 1
  LEFT JOIN logs ON logs.id = leaf.log_id
  LEFT JOIN attestations a ON a.log_id = leaf.log_id AND a.leaf_index = leaf.leaf_index
  WHERE record.agent_id = $1
  ORDER BY leaf.sequence`;

function describeVisibility({ is_public, is_erased }: Row): RecordEntry["visibility"] {
  if (is_erased) return "erased";
  return is_public ? "public" : "private";
}

function describeEntry(baseUrl: string, slug: string, row: Row & { sequence: number }): RecordEntry {
  const { sequence, kind, payload_hash, log_origin, log_index, attestation_id: id } = row;
  const visibility = describeVisibility(row);
  return {
    sequence,
    kind,
    payload_hash: hexEncode(payload_hash),
    log_origin,
    log_index,
    visibility,
    ...(visibility === "public" &&
      id !== null && { attestation_id: id, public_url: publicUrl(baseUrl, slug, id) }),
  };
}

/** $1: the agent's slug key. */
const summaryText = `SELECT record.sequence AS length, (
    SELECT count(*)::int FROM authorization_requests r
    WHERE r.organization_id = agents.organization_id AND r.agent_id = agents.id
      AND r.attestation_id IS NULL AND r.unattested_at IS NOT NULL
  ) AS unattested FROM agents
  JOIN agent_records record ON record.agent_id = agents.id
  WHERE agents.slug_key = $1`;

export interface RecordSummary {
  length: number;
  /** Approvals that a run has claimed, and that no attestation followed within an hour. */
  unattested: number;
}

export async function readRecordSummary({ database }: Context, slug: string): Promise<RecordSummary> {
  const nothing = { length: 0, unattested: 0 };
  if (!isSlug(slug)) return nothing;
  const [row] = await database.statement<RecordSummary>(summaryText)(slugKey(slug));
  return row ?? nothing;
}

export async function readAgentRecord(
  context: Context,
  slug: string,
  { from, limit }: RecordQuery,
): Promise<RecordResponse> {
  const agent = await findPublicAgent(context.database, slug);
  if (agent === null) throw agentNotFound();
  // Read before the entries, so that they lead to its row and beyond.
  const snapshot = await readRecordSnapshot(context, agent.id);
  const rows = await context.database.statement<Row>(pageText)(agent.id, from, limit);
  const { baseUrl } = context.settings;
  const entries = rows.flatMap(({ sequence, ...row }) =>
    sequence === null ? [] : describeEntry(baseUrl, agent.slug, { sequence, ...row }),
  );
  const [first] = rows;
  const head = first?.head_link
    ? { sequence: first.head_sequence, link: hexEncode(first.head_link) }
    : { sequence: 0, link: hexEncode(emptyRecord(agent.id).link) };
  const last = entries.at(-1)?.sequence ?? head.sequence;
  return {
    slug: agent.slug,
    agent_id: agent.id,
    entries,
    head,
    ...(snapshot && { snapshot }),
    next: last < head.sequence ? last + 1 : null,
  };
}

/* The public reports of the same agent around one of them: what is usual for it is measured by these. */

const shown = 50;

interface NeighbourRow extends Omit<NeighbourReport, "recorded_at"> {
  is_before: boolean;
  log_id: number;
  leaf_index: number;
  created_at: Date;
}

const place = ["log_id", "leaf_index"] as const;
const own = (column: string) => `(SELECT ${column} FROM own)`;

/** Ordered like an index and compared with single values, so that fifty rows are read and not all of the agent's. */
const side = (isBefore: boolean) => `SELECT ${isBefore} AS is_before, a.log_id, a.leaf_index, a.action,
    a.human_approval_method, a.agent_signature_hash IS NOT NULL AS is_signed, a.created_at
  FROM attestations a
  WHERE a.agent_id = ${own("agent_id")} AND a.is_public
    AND (a.log_id, a.leaf_index) ${isBefore ? "<" : ">"} (${place.map(own).join(", ")})
  ORDER BY ${place.map((column) => `a.${column} ${isBefore ? "DESC NULLS LAST" : "ASC NULLS FIRST"}`).join(", ")}
  LIMIT ${shown}`;

/** $1: id. */
export const neighboursSql = `WITH own AS MATERIALIZED (SELECT agent_id, log_id, leaf_index FROM attestations WHERE id = $1)
  (${side(true)}) UNION ALL (${side(false)})`;

/** Nearest first on both sides. */
export async function readNeighbours(
  database: Database,
  id: string,
): Promise<{ before: NeighbourReport[]; after: NeighbourReport[] }> {
  const rows = await database.statement<NeighbourRow>(neighboursSql)(id);
  const on = (isBefore: boolean) =>
    rows
      .filter(({ is_before }) => is_before === isBefore)
      .toSorted((a, b) => (a.log_id - b.log_id || a.leaf_index - b.leaf_index) * (isBefore ? -1 : 1))
      .map(({ action, human_approval_method, is_signed, created_at }) => ({
        action,
        human_approval_method,
        is_signed,
        recorded_at: created_at.toISOString(),
      }));
  return { before: on(true), after: on(false) };
}
