/**
 * The log's full check of itself: everything is computed again from the entries alone (every leaf hash, every
 * tile of every level, the root) and compared with what is stored. Memory stays at one bundle and the edge.
 */
import { bytesEqual, hexEncode } from "./bytes";
import { HASH_BYTES, leafHash } from "./merkle";
import { TILE_WIDTH, tileWidth } from "./tile-path";
import type { TileReader } from "./tile-proofs";
import { appendLeafHashes, emptyRightEdge, type Tile } from "./tiles";

/** Entries [index·256, index·256 + width), in order; more than asked for count by their prefix. */
export type EntriesReader = (bundleIndex: number, width: number) => Promise<readonly Uint8Array[]>;

export type LogCheck = { ok: true; root: Uint8Array; tiles: number } | { ok: false; problem: string };

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
    if (entries.length < width) {
      return { ok: false, problem: `entry ${bundle * TILE_WIDTH + entries.length} of ${size} is missing` };
    }
    const batch = appendLeafHashes(edge, entries.map(leafHash));
    edge = batch.edge;
    for (const tile of batch.changedTiles) {
      // A tile that a later bundle makes longer is compared then.
      if (tile.hashes.length !== tileWidth(tile.level, tile.index, size) * HASH_BYTES) continue;
      const problem = compareTile(tile, await readTile(tile.level, tile.index));
      if (problem !== undefined) return { ok: false, problem };
      tiles++;
    }
    options.onProgress?.(edge.size);
  }
  if (options.root !== undefined && !bytesEqual(options.root, edge.root)) {
    return {
      ok: false,
      problem: `the root of ${size} entries is ${hexEncode(edge.root)}, not the one claimed`,
    };
  }
  return { ok: true, root: edge.root, tiles };
}

function compareTile({ level, index, hashes }: Tile, stored: Uint8Array | undefined): string | undefined {
  const name = `tile ${level}/${index}`;
  if (stored === undefined) return `${name} is missing`;
  if (stored.length < hashes.length) return `${name} is too short`;
  if (!bytesEqual(stored.subarray(0, hashes.length), hashes)) return `${name} differs from the entries`;
  return undefined;
}
