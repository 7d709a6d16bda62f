/**
 * The log's full check of itself: everything is computed again from the entries alone (every leaf hash, every
 * tile of every level, the root) and compared with what is stored. Memory stays at one bundle and the edge.
 */
import { bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { type Fault, fault } from "#lib/protocol/statement/outcome";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import { TILE_WIDTH, tileWidth } from "#lib/protocol/tlog/tile-path";
import type { TileReader } from "#lib/protocol/tlog/tile-proofs";
import { appendLeafHashes, emptyRightEdge, type Tile } from "#lib/protocol/tlog/tiles";

/** Entries [index·256, index·256 + width), in order; more than asked for count by their prefix. */
export type EntriesReader = (bundleIndex: number, width: number) => Promise<readonly Uint8Array[]>;

export type LogCheck = { ok: true; root: Uint8Array; tiles: number } | Fault;

export type LogCheckOptions = {
  /** The root that the head or a checkpoint claims. */
  root?: Uint8Array;
  onProgress?: (checkedLeaves: number) => void;
};

export async function checkLog(
  size: number,
  readTile: TileReader,
  readEntries: EntriesReader,
  options: LogCheckOptions = {},
): Promise<LogCheck> {
  let edge = emptyRightEdge();
  let tiles = 0;
  for (let bundle = 0; edge.size < size; bundle++) {
    const width = tileWidth(0, bundle, size);
    const entries = (await readEntries(bundle, width)).slice(0, width);
    if (entries.length < width)
      return fault("entry_missing", { index: bundle * TILE_WIDTH + entries.length, size });
    const batch = appendLeafHashes(edge, entries.map(leafHash));
    edge = batch.edge;
    for (const tile of batch.changedTiles) {
      // A tile that a later bundle makes longer is compared then.
      if (tile.hashes.length !== tileWidth(tile.level, tile.index, size) * HASH_BYTES) continue;
      const wrong = compareTile(tile, await readTile(tile.level, tile.index));
      if (wrong !== undefined) return wrong;
      tiles++;
    }
    options.onProgress?.(edge.size);
  }
  if (options.root !== undefined && !bytesEqual(options.root, edge.root))
    return fault("log_root_mismatch", { size, root: hexEncode(edge.root) });
  return { ok: true, root: edge.root, tiles };
}

function compareTile({ level, index, hashes }: Tile, stored: Uint8Array | undefined): Fault | undefined {
  const tile = `${level}/${index}`;
  if (stored === undefined) return fault("tile_missing", { tile });
  if (stored.length < hashes.length) return fault("tile_too_short", { tile });
  if (!bytesEqual(stored.subarray(0, hashes.length), hashes)) return fault("tile_mismatch", { tile });
  return undefined;
}
