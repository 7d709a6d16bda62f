/** Reading the log: heads, tiles, receipts. What is read here is committed, so all of it may leave the process. */
import { and, asc, eq, gte, isNull, lt } from "drizzle-orm";
import type { LogReceipt } from "#lib/contract/attest";
import type { Executor } from "#lib/db/client";
import { logLeaves, logs, logTiles } from "#lib/db/schema";
import { base64Encode } from "#lib/domain/bytes";
import { proveInclusion, type TileReader } from "#lib/domain/tile-proofs";

export async function readOpenHead(executor: Executor) {
  const [head] = await executor.select().from(logs).where(isNull(logs.closed_at));
  if (!head) throw new Error("the database has no open log");
  return head;
}

export async function readHead(executor: Executor, logId: number) {
  const [head] = await executor.select().from(logs).where(eq(logs.id, logId));
  if (!head) throw new Error(`the database has no log ${logId}`);
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

/** Where a leaf stands under the newest checkpoint of its log. */
export async function readReceipt(executor: Executor, logId: number, index: number): Promise<LogReceipt> {
  const head = await readHead(executor, logId);
  const [entry] = await readEntries(executor, logId, index, 1);
  if (!entry) throw new Error(`leaf ${index} of log ${logId} is missing`);
  const proof = await proveInclusion(index, head.size, tileReader(executor, logId));
  return {
    origin: head.origin,
    index,
    tree_size: head.size,
    entry: base64Encode(entry),
    inclusion_proof: proof.map(base64Encode),
    checkpoint: head.checkpoint,
  };
}
