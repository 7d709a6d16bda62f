/**
 * Proofs and earlier roots from stored or downloaded tiles (c2sp.org/tlog-tiles, RFC 6962 section 2.1).
 * Each tile that is needed is read once, all at the same time.
 */
import { nodeHash } from "./merkle";
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  type PerfectNodeReader,
  perfectNodes,
  rangeHasher,
} from "./subtree-ranges";
import { TILE_WIDTH } from "./tile-path";
import { splitHashes } from "./tiles";

/** The stored row, which may be longer than asked for; undefined if there is none. */
export type TileReader = (level: number, index: number) => Promise<Uint8Array | undefined>;

/** From the leaf's sibling upwards. Throws RangeError if the tiles do not hold the tree. */
export async function proveInclusion(
  index: number,
  size: number,
  readTile: TileReader,
): Promise<Uint8Array[]> {
  return await hashRanges(inclusionRanges(index, size), readTile);
}

/** Empty from size 0 and between equal sizes. Throws RangeError if the tiles do not hold the tree. */
export async function proveConsistency(
  oldSize: number,
  newSize: number,
  readTile: TileReader,
): Promise<Uint8Array[]> {
  return await hashRanges(consistencyRanges(oldSize, newSize), readTile);
}

/** The root that the tree had at this size: equal to a remembered root exactly if that tree is a prefix. */
export async function rootAtSize(size: number, readTile: TileReader): Promise<Uint8Array> {
  const [root] = await hashRanges([[0, size]], readTile);
  return root as Uint8Array;
}

async function hashRanges(ranges: readonly LeafRange[], readTile: TileReader): Promise<Uint8Array[]> {
  const hashRange = rangeHasher(await readNodes(ranges, readTile));
  return ranges.map(hashRange);
}

/** Reads the tiles under the ranges, and answers their nodes, hashing each interior node once. */
async function readNodes(ranges: readonly LeafRange[], readTile: TileReader): Promise<PerfectNodeReader> {
  const widths = new Map<string, { level: number; index: number; width: number }>();
  for (const node of ranges.flatMap(perfectNodes)) {
    const { level, index, start, count } = tileOfNode(node.height, node.index);
    const needed = Math.max(start + count, widths.get(`${level}/${index}`)?.width ?? 0);
    widths.set(`${level}/${index}`, { level, index, width: needed });
  }
  const known = new Map<string, Uint8Array>();
  await Promise.all(
    [...widths.values()].map(async ({ level, index, width }) => {
      const row = await readTile(level, index);
      if (row === undefined) throw new RangeError(`tile ${level}/${index} is missing`);
      for (const [i, hash] of splitHashes(row, width).entries()) {
        known.set(`${level * 8}/${index * TILE_WIDTH + i}`, hash);
      }
    }),
  );
  const readNode: PerfectNodeReader = (height, index) => {
    const name = `${height}/${index}`;
    const hash = known.get(name);
    if (hash !== undefined) return hash;
    if (height % 8 === 0) throw new RangeError(`node ${index} at height ${height} was not read`);
    const computed = nodeHash(readNode(height - 1, index * 2), readNode(height - 1, index * 2 + 1));
    known.set(name, computed);
    return computed;
  };
  return readNode;
}

/** The tile that holds a perfect node, and which of its hashes lie under the node. */
function tileOfNode(
  height: number,
  nodeIndex: number,
): { level: number; index: number; start: number; count: number } {
  const count = 2 ** (height % 8);
  const first = nodeIndex * count;
  const index = Math.floor(first / TILE_WIDTH);
  return { level: Math.floor(height / 8), index, start: first - index * TILE_WIDTH, count };
}
