/**
 * Counts leaves that are neither in an agent's record nor a statement of the service's own. The database refuses them
 * (`log_leaves_place`), so there are some only if that constraint was taken away. They keep the sum from ever being
 * right again, and no snapshot can be signed.
 */
import { sql } from "drizzle-orm";
import { type Executor, rowsOf } from "#lib/db/client";
import { kindsOfRecords } from "#lib/log/sequencer/append";

const lostLeaves = `(
  SELECT log_id, leaf_index, kind FROM log_leaves
    WHERE agent_id IS NULL AND kind IN ${kindsOfRecords}
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
  /** Null if all is as it must be. */
  problem: string | null;
}

async function findProblem(executor: Executor, lost: number, counted: Omit<SumCheck, "problem">) {
  const { leaves, entries, statements } = counted;
  if (lost > 0) {
    const named = await nameLost(executor);
    const more = lost > named.length ? ` and ${lost - named.length} more` : "";
    return `${lost} in no record: ${named.join(", ")}${more}`;
  }
  return entries + statements === leaves ? null : "they don't add up";
}

export async function checkSum(executor: Executor): Promise<SumCheck> {
  const [row] = await rowsOf<Omit<SumCheck, "problem"> & { lost: number }>(
    executor,
    sql`SELECT (SELECT coalesce(sum(size), 0)::int FROM logs) AS leaves,
      (SELECT coalesce(sum(sequence), 0)::int FROM agent_records) AS entries,
      (SELECT count(*)::int FROM log_leaves WHERE kind NOT IN ${sql.raw(kindsOfRecords)}) AS statements,
      (${sql.raw(countLostText)}) AS lost`,
  );
  const { lost, ...counted } = row ?? { leaves: 0, entries: 0, statements: 0, lost: 0 };
  return { ...counted, problem: await findProblem(executor, lost, counted) };
}
