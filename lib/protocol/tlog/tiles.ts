/**
 * Growing the tree (c2sp.org/tlog-tiles). The sequencer keeps only the right edge: the partial tile of every
 * level with its interior hashes. Appending costs one hash per leaf plus O(log n); nothing that is passed in
 * is changed, so a batch whose transaction fails is simply dropped.
 */
import {
  consistencyRanges,
  emptyRoot,
  HASH_BYTES,
  inclusionRanges,
  isTreeSize,
  type LeafRange,
  nodeHash,
  type PerfectNodeReader,
  perfectNodes,
  rangeHasher,
} from "./merkle";

/*
 * Paths and widths of hash tiles and entry bundles (c2sp.org/tlog-tiles):
 *
 *     tile/0/x001/234.p/112      a partial tile of 112 leaf hashes
 *     tile/1/000                 the first full tile of level 1
 *     tile/entries/x001/234      a full entry bundle
 */

/** Hashes of a full tile, entries of a full bundle. */
export const TILE_WIDTH = 256;
const MAX_LEVEL = 63;

export type TilePath = {
  level: number | "entries";
  index: number;
  /** 1 to 256; 256 is a full tile, written without `.p/`. */
  width: number;
};

/** Encodes without a leading slash; throws RangeError if there is no such path. */
export function encodeTilePath({ level, index, width }: TilePath): string {
  if (level !== "entries" && !isIntegerWithin(level, 0, MAX_LEVEL)) throw new RangeError("tile level");
  if (!isIntegerWithin(index, 0, Number.MAX_SAFE_INTEGER)) throw new RangeError("tile index");
  if (!isIntegerWithin(width, 1, TILE_WIDTH)) throw new RangeError("tile width");
  let digits = String(index % 1000).padStart(3, "0");
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    digits = `x${String(rest % 1000).padStart(3, "0")}/${digits}`;
  }
  return `tile/${level}/${digits}${width === TILE_WIDTH ? "" : `.p/${width}`}`;
}

/** Undefined for every text but the one that {@link encodeTilePath} writes, so that caches hold one copy. */
export function parseTilePath(path: string): TilePath | undefined {
  const match = /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path);
  if (match === null) return undefined;
  const [, levelText = "", indexText = "", widthText] = match;
  const tile: TilePath = {
    level: levelText === "entries" ? levelText : Number(levelText),
    index: Number(indexText.replaceAll(/[x/]/g, "")),
    width: widthText === undefined ? TILE_WIDTH : Number(widthText),
  };
  try {
    return encodeTilePath(tile) === path ? tile : undefined;
  } catch {
    return undefined;
  }
}

/** Hashes that the tile holds in a tree of this size: 0 if it does not exist, 256 if it is full. */
export function tileWidth(level: number, index: number, size: number): number {
  const hashesOfLevel = Math.floor(size / TILE_WIDTH ** level);
  return Math.min(TILE_WIDTH, Math.max(0, hashesOfLevel - index * TILE_WIDTH));
}

/**
 * True if a tree of this size has the tile or bundle at this width: the full one, or a partial one that this or any
 * earlier size had. A response is a prefix of the current tile, so an earlier width stays immutable.
 */
export function treeHasTile({ level, index, width }: TilePath, size: number): boolean {
  return width <= tileWidth(level === "entries" ? 0 : level, index, size);
}

/** The partial tiles of a tree, lowest level first: what must be loaded to append to it. */
export function rightEdgeTiles(size: number): { level: number; index: number; width: number }[] {
  const tiles = [];
  for (let level = 0, hashes = size; hashes > 0; level++, hashes = Math.floor(hashes / TILE_WIDTH)) {
    const width = hashes % TILE_WIDTH;
    if (width > 0) tiles.push({ level, index: Math.floor(hashes / TILE_WIDTH), width });
  }
  return tiles;
}

function isIntegerWithin(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

/** A stored row: all hashes of the tile so far, 32 bytes each. A later row of the same tile is only longer. */
export type Tile = { level: number; index: number; hashes: Uint8Array };

/** rows[0] are the tile's hashes, rows[r] the nodes r levels above them. */
type TileNodes = { readonly level: number; readonly index: number; readonly rows: Uint8Array[][] };

export type RightEdge = {
  readonly size: number;
  readonly root: Uint8Array;
  /** Indexed by level; undefined if the level has no partial tile. */
  readonly tiles: readonly (TileNodes | undefined)[];
};

export type AppendedBatch = {
  edge: RightEdge;
  changedTiles: Tile[];
  /** Proves leaves of this batch against the new size; interior hashes are not computed again. */
  proveAppended: (index: number) => Uint8Array[];
};

const ROWS = 8;

export function emptyRightEdge(): RightEdge {
  return { size: 0, root: emptyRoot(), tiles: [] };
}

/**
 * Loads from the stored rows that `rightEdgeTiles(size)` names, in any order; a row longer than needed counts by its prefix.
 * Throws RangeError if one is missing or too short. Compare `root` with the head's before signing anything that is built on it.
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

/*
 * Proofs and earlier roots from stored or downloaded tiles (c2sp.org/tlog-tiles, RFC 6962 section 2.1).
 * Each tile that is needed is read once, all at the same time.
 */

/** The stored row, which may be longer than asked for; undefined if there is none. */
export type TileReader = (level: number, index: number) => Promise<Uint8Array | undefined>;

/** Proves from the leaf's sibling upwards. Throws RangeError if the tiles do not hold the tree. */
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

function tileOfNode(
  height: number,
  nodeIndex: number,
): { level: number; index: number; start: number; count: number } {
  const count = 2 ** (height % 8);
  const first = nodeIndex * count;
  const index = Math.floor(first / TILE_WIDTH);
  return { level: Math.floor(height / 8), index, start: first - index * TILE_WIDTH, count };
}
