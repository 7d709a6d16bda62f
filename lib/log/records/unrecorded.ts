/**
 * Whether every leaf is in an agent's record, a statement of the service's own, or older than records. The database refuses
 * other leaves (`log_leaves_place`), but it may hold some that a version without records wrote before it did. They keep the
 * sum from ever being right again, so no snapshot can be signed.
 */
import { sql } from "drizzle-orm";
import { type Executor, rowsOf } from "#lib/db/client";

/** From where on every attestation and decision is in a record: what the first snapshot covers, or the first that is. */
const lostLeaves = `(
  WITH first AS (
    (SELECT log_id, covers_size AS leaf_index FROM agent_heads ORDER BY log_id, covers_size LIMIT 1)
    UNION ALL
    (SELECT log_id, leaf_index FROM log_leaves
      WHERE agent_id IS NOT NULL AND NOT EXISTS (SELECT FROM agent_heads) ORDER BY log_id, leaf_index LIMIT 1)
  )
  SELECT l.log_id, l.leaf_index, l.kind FROM log_leaves l JOIN first
    ON (l.log_id, l.leaf_index) >= (first.log_id, first.leaf_index)
    WHERE l.agent_id IS NULL AND l.kind IN ('attestation', 'decision')
)`;

export const countLostText = `SELECT count(*)::int AS lost FROM ${lostLeaves} AS lost`;

const namedAtMost = 10;

async function nameLost(executor: Executor): Promise<string[]> {
  const rows = await rowsOf<{ log_id: number; leaf_index: number; kind: string; id: string | null }>(
    executor,
    sql`SELECT lost.log_id, lost.leaf_index::int AS leaf_index, lost.kind, coalesce(a.id::text, r.id) AS id
      FROM ${sql.raw(lostLeaves)} AS lost
      LEFT JOIN attestations a ON a.log_id = lost.log_id AND a.leaf_index = lost.leaf_index
      LEFT JOIN authorization_requests r ON r.log_id = lost.log_id AND r.leaf_index = lost.leaf_index
      ORDER BY lost.log_id, lost.leaf_index LIMIT ${namedAtMost}`,
  );
  return rows.map(
    ({ log_id, leaf_index, kind, id }) => `leaf ${leaf_index} of log ${log_id} (${kind} ${id})`,
  );
}

export interface SumCheck {
  leaves: number;
  entries: number;
  statements: number;
  /** Older than records. */
  older: number;
  /** Null if all is as it must be. */
  problem: string | null;
}

async function findProblem(executor: Executor, lost: number, counted: Omit<SumCheck, "problem">) {
  const { leaves, entries, statements, older } = counted;
  if (lost > 0) {
    const named = await nameLost(executor);
    const more = lost > named.length ? ` and ${lost - named.length} more` : "";
    return `${lost} in no record: ${named.join(", ")}${more}`;
  }
  return entries + statements + older === leaves ? null : "they don't add up";
}

export async function checkSum(executor: Executor): Promise<SumCheck> {
  const [row] = await rowsOf<Omit<SumCheck, "problem" | "older"> & { outside: number; lost: number }>(
    executor,
    sql`SELECT (SELECT coalesce(sum(size), 0)::int FROM logs) AS leaves,
      (SELECT coalesce(sum(sequence), 0)::int FROM agent_records) AS entries,
      (SELECT count(*)::int FROM log_leaves WHERE kind NOT IN ('attestation', 'decision')) AS statements,
      (SELECT count(*)::int FROM log_leaves WHERE agent_id IS NULL AND kind IN ('attestation', 'decision')) AS outside,
      (${sql.raw(countLostText)}) AS lost`,
  );
  const { outside, lost, ...counted } = row ?? { leaves: 0, entries: 0, statements: 0, outside: 0, lost: 0 };
  const found = { ...counted, older: outside - lost };
  return { ...found, problem: await findProblem(executor, lost, found) };
}
