/** Reading the log's tables: heads, tiles, entries. */
import { and, asc, eq, gt, gte, isNull, lt } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { logCheckpoints, logLeaves, logs, logTiles } from "#lib/db/schema";
import { bytesEqual, hexDecode } from "#lib/protocol/encoding/bytes";
import { parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { TILE_WIDTH } from "#lib/protocol/tlog/tile-path";
import type { TileReader } from "#lib/protocol/tlog/tile-proofs";
import type { OldEntries } from "./old-entries";

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

/** Requires that the database has signed each of these heads: then they are of one history. */
export async function holdsCheckpoints(
  executor: Executor,
  heads: readonly { logId: number; size: number; rootHex: string }[],
): Promise<boolean> {
  for (const { logId, size, rootHex } of heads) {
    const isIt = and(eq(logCheckpoints.log_id, logId), eq(logCheckpoints.size, size));
    if ((await executor.$count(logCheckpoints, and(isIt, eq(logCheckpoints.root, hexDecode(rootHex))))) !== 1)
      return false;
  }
  return true;
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

/** Reads a leaf that the database has dropped. Throws RangeError if the store has another one, or there is no store. */
export async function readOldEntry(
  executor: Executor,
  old: OldEntries | null,
  logId: number,
  index: number,
  payloadHash: Uint8Array,
): Promise<Uint8Array> {
  const name = `leaf ${index} of log ${logId}`;
  if (old === null) throw new RangeError(`${name} is missing; LOG_STORE may have it`);
  const readTile = tileReader(executor, logId);
  const bundle = await old.readBundle(logId, Math.floor(index / TILE_WIDTH), readTile);
  const entry = bundle[index % TILE_WIDTH];
  if (entry === undefined || !bytesEqual(parseLogLeaf(entry).payloadHash, payloadHash))
    throw new RangeError(`${name} is not that of its payload`);
  return entry;
}

/** The leaves' bytes from `start`, at most `count`. `old`: of those that the database has no longer; null without a store. */
export async function readEntries(
  executor: Executor,
  old: OldEntries | null,
  logId: number,
  start: number,
  count: number,
): Promise<Uint8Array[]> {
  const rows = await executor
    .select({ data: logLeaves.data, index: logLeaves.leaf_index, payloadHash: logLeaves.payload_hash })
    .from(logLeaves)
    .where(
      and(
        eq(logLeaves.log_id, logId),
        gte(logLeaves.leaf_index, start),
        lt(logLeaves.leaf_index, start + count),
      ),
    )
    .orderBy(asc(logLeaves.leaf_index));
  const entries: Uint8Array[] = [];
  for (const { data, index, payloadHash } of rows)
    entries.push(data ?? (await readOldEntry(executor, old, logId, index, payloadHash)));
  return entries;
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
