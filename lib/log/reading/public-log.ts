/** Public files of the log: its newest checkpoint, and tiles and entry bundles as prefixes of stored rows. */
import { and, eq } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { agentHeads } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { findCosignedNote, readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { encodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES } from "#lib/protocol/tlog/merkle";
import { parseTilePath, TILE_WIDTH, treeHasTile } from "#lib/protocol/tlog/tiles";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import type { OldEntries } from "./compact";
import { findHead, readEntries, tileReader } from "./reader";

/** A width that the tree does not have yet may exist a moment later, so no cache may keep the answer. */
function notInLog(): AppError {
  return new AppError("not_found", "the log has nothing at this path", {
    headers: { "cache-control": "no-store" },
  });
}

export async function readCheckpoint(
  executor: Executor,
  logId: number,
  policy: WitnessPolicySettings | undefined,
): Promise<string> {
  const head = await findHead(executor, logId);
  if (head === null) throw notInLog();
  return (await readShownCheckpoint(executor, head, policy)).note;
}

/** Serves notes of former logs too: attestations keep naming the note that they were made after. */
export async function readCosignedNote(executor: Executor, hash: string): Promise<string> {
  const note = /^[0-9a-f]{64}$/.test(hash) ? await findCosignedNote(executor, hash) : null;
  if (note === null) throw notInLog();
  return note;
}

export async function readHeadRows(
  executor: Executor,
  logId: number,
  coversSize: number,
): Promise<Uint8Array> {
  const [snapshot] = await executor
    .select({ rows: agentHeads.rows })
    .from(agentHeads)
    .where(and(eq(agentHeads.log_id, logId), eq(agentHeads.covers_size, coversSize)));
  if (!snapshot?.rows) throw notInLog();
  return snapshot.rows;
}

/** `path` from `tile/` on. Throws not_found for all but the one spelling of what the committed tree has. */
export async function readTilePath(
  executor: Executor,
  old: OldEntries | null,
  logId: number,
  path: string,
): Promise<Uint8Array> {
  const tile = parseTilePath(path);
  const head = tile === undefined ? null : await findHead(executor, logId);
  if (tile === undefined || head === null || !treeHasTile(tile, head.size)) throw notInLog();
  const { level, index, width } = tile;
  if (level === "entries") {
    const entries = await readEntries(executor, old, logId, index * TILE_WIDTH, width);
    if (entries.length !== width) throw new Error(`entries of bundle ${index} of log ${logId} are missing`);
    return encodeEntryBundle(entries);
  }
  const row = await tileReader(executor, logId)(level, index);
  if (row === undefined || row.length < width * HASH_BYTES)
    throw new Error(`tile ${level}/${index} of log ${logId} is missing or too short`);
  return row.slice(0, width * HASH_BYTES);
}
