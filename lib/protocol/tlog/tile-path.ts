/**
 * Where hash tiles and entry bundles lie and how wide they are (c2sp.org/tlog-tiles):
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

/** Without a leading slash; throws RangeError if there is no such path. */
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
