/** Which files an exported tree has, and which of those in a store are not what the database has. */

import type { Executor } from "#lib/db/client";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { decodeEntryBundle } from "#lib/protocol/tlog/entry-bundle";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import {
  encodeTilePath,
  parseTilePath,
  TILE_WIDTH,
  type TilePath,
  tileWidth,
  treeHasTile,
} from "#lib/protocol/tlog/tile-path";
import { tileReader } from "./reader";

/** The tiles and bundles of a tree of `size` that one of `from` did not have. */
export function* tilesBetween(from: number, size: number): Generator<TilePath> {
  for (let level = 0, span = 1; Math.floor(size / span) > 0; level += 1, span *= TILE_WIDTH) {
    const first = Math.floor(Math.floor(from / span) / TILE_WIDTH);
    for (let index = first; tileWidth(level, index, size) > 0; index += 1) {
      const width = tileWidth(level, index, size);
      if (width === tileWidth(level, index, from)) continue;
      yield { level, index, width };
      if (level === 0) yield { level: "entries", index, width };
    }
  }
}

export interface WrongFile {
  name: string;
  problem: string;
}

interface Exported {
  executor: Executor;
  logId: number;
  store: ObjectStore;
  /** Size of the store's checkpoint, and of the one to publish. */
  from: number;
  size: number;
}

/** The file that a tree of `from` needs, and the partial ones that smaller trees left beside it. */
async function listFiles(tile: TilePath, { store, size }: Exported): Promise<Set<string>> {
  const partial = `${encodeTilePath({ ...tile, width: TILE_WIDTH })}.p`;
  const widths = await store.list(partial);
  const isOfTree = (name: string) => {
    const parsed = parseTilePath(name);
    return parsed !== undefined && treeHasTile(parsed, size);
  };
  return new Set([encodeTilePath(tile), ...widths.map((width) => `${partial}/${width}`).filter(isOfTree)]);
}

/** `hashes`: the stored tile; of a bundle the one of its leaves. */
function isRight(bytes: Uint8Array, { level, width }: TilePath, hashes: Uint8Array): boolean {
  const wanted = hashes.subarray(0, width * HASH_BYTES);
  if (level !== "entries") return bytesEqual(bytes, wanted);
  try {
    const found = decodeEntryBundle(bytes).map(leafHash);
    return bytesEqual(Buffer.concat(found), wanted);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

async function findProblem(store: ObjectStore, name: string, hashes: Uint8Array): Promise<string | null> {
  const found = await store.read(name);
  if (found === null) return "is missing";
  return isRight(found.bytes, parseTilePath(name) as TilePath, hashes) ? null : "differs from the database";
}

/** Reads every file of the store's tree once, and the stored hashes: entries are compared by their hashes. */
export async function findWrongFiles(exported: Exported): Promise<WrongFile[]> {
  const readTile = tileReader(exported.executor, exported.logId);
  const wrong: WrongFile[] = [];
  let hashes: Uint8Array = new Uint8Array();
  for (const tile of tilesBetween(0, exported.from)) {
    // A bundle follows the tile of its leaves.
    if (tile.level !== "entries") hashes = (await readTile(tile.level, tile.index)) ?? new Uint8Array();
    for (const name of await listFiles(tile, exported)) {
      const problem = await findProblem(exported.store, name, hashes);
      if (problem !== null) wrong.push({ name, problem });
    }
  }
  return wrong;
}
