/** Every snapshot of the records' heads again: its rows, its sum, and each row by the leaves that it counts. */
import { and, asc, eq, isNotNull, lt, or, sql } from "drizzle-orm";
import { type Executor, rowsOf } from "#lib/db/client";
import { agentHeads, agentRecords, logLeaves } from "#lib/db/schema";
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { agentTag, buildHeadsTree, decodeHeadRow, findRow, rowAt } from "#lib/protocol/record/agent-heads";
import { addsUp, isOfStatement, parseHeadsStatement } from "#lib/protocol/record/heads-statement";
import { isStatement } from "./agent-heads";

export interface SnapshotsCheck {
  snapshots: number;
  /** Null if all is as it must be. */
  problem: string | null;
}

type Stored = typeof agentHeads.$inferSelect;

/** Below it: leaves of earlier logs, and of its own below its size. */
const isBelow = ({ log_id, covers_size }: Stored) =>
  or(lt(logLeaves.log_id, log_id), and(eq(logLeaves.log_id, log_id), lt(logLeaves.leaf_index, covers_size)));

/** The heads of all records as the leaves below the snapshot lead to them. */
async function readHeadsBelow(executor: Executor, snapshot: Stored) {
  return rowsOf<{ agent_id: string; salt: Uint8Array; sequence: number; link: Uint8Array }>(
    executor,
    sql`SELECT r.agent_id::text AS agent_id, r.salt, counted.sequence::int AS sequence,
        coalesce(next.previous, r.link) AS link
      FROM (SELECT agent_id, max(sequence) AS sequence FROM log_leaves
        WHERE agent_id IS NOT NULL AND ${isBelow(snapshot)} GROUP BY agent_id) AS counted
      JOIN ${agentRecords} r ON r.agent_id = counted.agent_id
      LEFT JOIN log_leaves next ON next.agent_id = counted.agent_id AND next.sequence = counted.sequence + 1`,
  );
}

async function findProblem(executor: Executor, snapshot: Stored, rows: Uint8Array): Promise<string | null> {
  const heads = parseHeadsStatement(snapshot.payload);
  if (heads === null || heads.covers_size !== snapshot.covers_size)
    return "its statement is not that of a snapshot";
  if (!addsUp(heads)) return "its numbers do not add up";
  if (!isOfStatement(buildHeadsTree(rows), heads)) return "its rows are not those of its statement";
  const statements = await executor.$count(logLeaves, and(isStatement, isBelow(snapshot)));
  if (statements !== heads.statements)
    return `${statements} statements are below it, and it counts ${heads.statements}`;
  const below = await readHeadsBelow(executor, snapshot);
  if (below.length !== heads.agents)
    return `${below.length} records are below it, and it has ${heads.agents}`;
  for (const { agent_id, salt, sequence, link } of below) {
    const { index, isThere } = findRow(rows, agentTag(new Uint8Array(salt), agent_id));
    const row = isThere ? decodeHeadRow(rowAt(rows, index)) : null;
    if (row?.sequence !== sequence || !bytesEqual(row.link, new Uint8Array(link)))
      return `it does not have agent ${agent_id} at number ${sequence}`;
  }
  return null;
}

export async function checkStoredSnapshots(executor: Executor): Promise<SnapshotsCheck> {
  const places = await executor
    .select({ log_id: agentHeads.log_id, covers_size: agentHeads.covers_size })
    .from(agentHeads)
    .where(isNotNull(agentHeads.rows))
    .orderBy(asc(agentHeads.log_id), asc(agentHeads.covers_size));
  for (const { log_id, covers_size } of places) {
    const [snapshot] = await executor
      .select()
      .from(agentHeads)
      .where(and(eq(agentHeads.log_id, log_id), eq(agentHeads.covers_size, covers_size)));
    if (!snapshot?.rows) continue;
    const problem = await findProblem(executor, snapshot, snapshot.rows).catch((error: unknown) => {
      if (error instanceof RangeError) return error.message;
      throw error;
    });
    if (problem !== null)
      return { snapshots: places.length, problem: `snapshot at ${covers_size} of log ${log_id}: ${problem}` };
  }
  return { snapshots: places.length, problem: null };
}
