/**
 * Growing the tree (c2sp.org/tlog-tiles). The sequencer keeps only the right edge: the partial tile of every
 * level with its interior hashes. Appending costs one hash per leaf plus O(log n); nothing that is passed in
 * is changed, so a batch whose transaction fails is simply dropped.
 */
import { emptyRoot, HASH_BYTES, isTreeSize, nodeHash } from "./merkle";
import { inclusionRanges, type PerfectNodeReader, rangeHasher } from "./subtree-ranges";
import { rightEdgeTiles, TILE_WIDTH } from "./tile-path";

/** A stored row: all hashes of the tile so far, 32 bytes each. A later row of the same tile is only longer. */
export type Tile = { level: number; index: number; hashes: Uint8Array };

/** rows[0] are the tile's hashes, rows[r] the nodes r levels above them. */
type TileNodes = { readonly level: number; readonly index: number; readonly rows: Uint8Array[][] };

export type RightEdge = {
  readonly size: number;
  readonly root: Uint8Array;
  /** By level; undefined if the level has no partial tile. */
  readonly tiles: readonly (TileNodes | undefined)[];
};

export type AppendedBatch = {
  edge: RightEdge;
  /** Every tile that the batch made or made longer. */
  changedTiles: Tile[];
  /** For leaves of this batch, against the new size; interior hashes are not computed again. */
  proveAppended: (index: number) => Uint8Array[];
};

const ROWS = 8;

export function emptyRightEdge(): RightEdge {
  return { size: 0, root: emptyRoot(), tiles: [] };
}

/**
 * From the stored rows that `rightEdgeTiles(size)` names, in any order; a row longer than needed counts by
 * its prefix. Throws RangeError if one is missing or too short. Compare `root` with the head's before
 * signing anything that is built on it.
 */
export function loadRightEdge(size: number, stored: readonly Tile[]): RightEdge {
  if (!isTreeSize(size)) throw new RangeError("tree size");
  const tiles: (TileNodes | undefined)[] = [];
  for (const { level, index, width } of rightEdgeTiles(size)) {
    const row = stored.find((tile) => tile.level === level && tile.index === index);
    if (row === undefined) throw new RangeError(`tile ${level}/${index} of a tree of ${size} is missing`);
    const nodes: TileNodes = { level, index, rows: emptyRows() };
    for (const hash of splitHashes(row.hashes, width)) pushHash(nodes, hash);
    tiles[level] = nodes;
  }
  return { size, root: rangeHasher(nodeReader(tiles.filter(isPresent)))([0, size]), tiles };
}

export function appendLeafHashes(edge: RightEdge, leafHashes: readonly Uint8Array[]): AppendedBatch {
  const size = edge.size + leafHashes.length;
  if (!isTreeSize(size)) throw new RangeError("tree size");
  const touched = new Map<string, TileNodes>();
  const tiles = [...edge.tiles];
  for (const [i, hash] of leafHashes.entries()) {
    if (hash.length !== HASH_BYTES) throw new RangeError("not a leaf hash");
    pushToLevel(tiles, touched, 0, edge.size + i, hash);
  }
  const readNode = nodeReader([...tiles.filter(isPresent), ...touched.values()]);
  const hashRange = rangeHasher(readNode);
  return {
    edge: { size, root: hashRange([0, size]), tiles },
    changedTiles: [...touched.values()].map(({ level, index, rows }) => ({
      level,
      index,
      hashes: joinHashes(rows[0] ?? []),
    })),
    proveAppended: (index) => {
      if (index < edge.size) throw new RangeError("not a leaf of this batch");
      return inclusionRanges(index, size).map(hashRange);
    },
  };
}

/** Adds a hash at a level and, if that fills the tile, the tile's hash at the level above. */
function pushToLevel(
  tiles: (TileNodes | undefined)[],
  touched: Map<string, TileNodes>,
  level: number,
  position: number,
  hash: Uint8Array,
): void {
  const index = Math.floor(position / TILE_WIDTH);
  const name = `${level}/${index}`;
  let nodes = touched.get(name);
  if (nodes === undefined) {
    const before = tiles[level];
    nodes = { level, index, rows: before === undefined ? emptyRows() : before.rows.map((row) => [...row]) };
    touched.set(name, nodes);
    tiles[level] = nodes;
  }
  pushHash(nodes, hash);
  const [left, right] = nodes.rows[ROWS - 1] ?? [];
  if (left === undefined || right === undefined) return;
  tiles[level] = undefined;
  pushToLevel(tiles, touched, level + 1, index, nodeHash(left, right));
}

function pushHash({ rows }: TileNodes, hash: Uint8Array): void {
  let carried = hash;
  for (const [height, row] of rows.entries()) {
    row.push(carried);
    if (row.length % 2 === 1 || height === ROWS - 1) return;
    carried = nodeHash(row[row.length - 2] as Uint8Array, carried);
  }
}

function nodeReader(tiles: readonly TileNodes[]): PerfectNodeReader {
  const byName = new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, tile]));
  return (height, index) => {
    const row = height % ROWS;
    const perTile = TILE_WIDTH / 2 ** row;
    const tile = byName.get(`${Math.floor(height / ROWS)}/${Math.floor(index / perTile)}`);
    const hash = tile?.rows[row]?.[index % perTile];
    if (hash === undefined) throw new RangeError(`node ${index} at height ${height} is not in memory`);
    return hash;
  };
}

/** The first `count` hashes of a stored row; throws RangeError if it is too short or not whole hashes. */
export function splitHashes(row: Uint8Array, count: number): Uint8Array[] {
  if (row.length % HASH_BYTES !== 0 || row.length < count * HASH_BYTES) {
    throw new RangeError(`a tile of ${row.length} bytes has not ${count} hashes`);
  }
  return Array.from({ length: count }, (_, i) => row.slice(i * HASH_BYTES, (i + 1) * HASH_BYTES));
}

function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(hashes.length * HASH_BYTES);
  for (const [i, hash] of hashes.entries()) joined.set(hash, i * HASH_BYTES);
  return joined;
}

function emptyRows(): Uint8Array[][] {
  return Array.from({ length: ROWS }, () => []);
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}
