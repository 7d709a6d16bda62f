/** Reading the log's tables: heads, tiles, entries. */
import { and, asc, eq, gt, gte, isNull, lt } from "drizzle-orm";
import type { TileReader } from "#lib/core/tlog/tile-proofs";
import type { Executor } from "#lib/db/client";
import { logCheckpoints, logLeaves, logs, logTiles } from "#lib/db/schema";

export async function readOpenHead(executor: Executor) {
  const [head] = await executor.select().from(logs).where(isNull(logs.closed_at));
  if (!head) throw new Error("the database has no open log");
  return head;
}

export async function findHead(executor: Executor, logId: number) {
  const [head] = await executor.select().from(logs).where(eq(logs.id, logId));
  return head ?? null;
}

export async function readHead(executor: Executor, logId: number) {
  const head = await findHead(executor, logId);
  if (head === null) throw new Error(`the database has no log ${logId}`);
  return head;
}

export function tileReader(executor: Executor, logId: number): TileReader {
  return async (level, index) => {
    const [row] = await executor
      .select({ hashes: logTiles.hashes })
      .from(logTiles)
      .where(and(eq(logTiles.log_id, logId), eq(logTiles.level, level), eq(logTiles.tile_index, index)));
    return row?.hashes;
  };
}

/** The leaves' bytes from `start`, at most `count`. */
export async function readEntries(
  executor: Executor,
  logId: number,
  start: number,
  count: number,
): Promise<Uint8Array[]> {
  const rows = await executor
    .select({ data: logLeaves.data })
    .from(logLeaves)
    .where(
      and(
        eq(logLeaves.log_id, logId),
        gte(logLeaves.leaf_index, start),
        lt(logLeaves.leaf_index, start + count),
      ),
    )
    .orderBy(asc(logLeaves.leaf_index));
  return rows.map(({ data }) => data);
}

/** When the leaf came into the log: every commit signs a checkpoint, and the first that covers the leaf was its own. */
export async function readCommitTime(executor: Executor, logId: number, index: number): Promise<Date> {
  const [first] = await executor
    .select({ at: logCheckpoints.created_at })
    .from(logCheckpoints)
    .where(and(eq(logCheckpoints.log_id, logId), gt(logCheckpoints.size, index)))
    .orderBy(asc(logCheckpoints.size))
    .limit(1);
  if (!first) throw new Error(`no checkpoint of log ${logId} covers leaf ${index}`);
  return first.at;
}
