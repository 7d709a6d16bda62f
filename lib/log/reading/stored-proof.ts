/**
 * A leaf's proof from the stored tiles. The statement that reads the leaf has the database hash the tiles of its proof,
 * and a tile's nodes are remembered under the digest of the bytes that they follow from: a changed tile has another
 * digest, is read and hashed again, and shows in the proof.
 */

import { LRUCache } from "lru-cache";
import type { Database } from "#lib/db/client";
import { concatBytes, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { HASH_BYTES, nodeHash } from "#lib/protocol/tlog/merkle";
import { inclusionRanges, type PerfectNodeReader, rangeHasher } from "#lib/protocol/tlog/subtree-ranges";
import { TILE_WIDTH } from "#lib/protocol/tlog/tile-path";
import { splitHashes } from "#lib/protocol/tlog/tiles";

/**
 * SQL of the tiles that prove leaf `index` in the tree of `size`: on each level the one above the leaf, and the one at
 * the tree's edge, each as long as it was in that tree. Its one row has for each `level:index:bytes:digest`, which is what
 * {@link proveStored} takes. Each tile is a subquery of its own, because a join that was planned on an empty table reads
 * all tiles of a level.
 */
export function selectTiles(logId: string, index: string, size: string): string {
  const above = `${index} >> (8 * l + 8)`;
  const edge = `${size} >> (8 * l + 8)`;
  const tile = (position: string) => `(SELECT
      concat_ws(':', t.level, t.tile_index, part.bytes, encode(sha256(substring(t.hashes FOR part.bytes)), 'hex'))
      FROM log_tiles t
      CROSS JOIN LATERAL (SELECT least(octet_length(t.hashes), ${TILE_WIDTH * HASH_BYTES},
        ${HASH_BYTES} * ((${size} >> (8 * l)) - ((${position}) << 8)))::int AS bytes) AS part
      WHERE t.log_id = ${logId} AND t.level = l AND t.tile_index = ${position} AND part.bytes > 0)`;
  return `SELECT string_agg(nullif(concat_ws(' ', ${tile(above)}, CASE WHEN ${above} <> ${edge} THEN ${tile(edge)} END), ''), ' ') AS tiles
    FROM generate_series(0, 6) AS l WHERE ${size} >> (8 * l) > 0`;
}

/**
 * SQL of the checkpoint that readers get for leaf `index`: the newest at the last whole second if it covers the leaf, else
 * the newest of all. So a proof stays the same for a second, however fast the log grows. For a lateral join.
 */
export function selectSettled(head: Record<"logId" | "size" | "note", string>, index: string): string {
  const { logId, size, note } = head;
  return `SELECT coalesce(settled.size, ${size}) AS size, coalesce(settled.note, ${note}) AS note
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
      SELECT k.size, k.note FROM log_checkpoints k
      WHERE k.log_id = ${logId} AND k.size > ${index} AND k.created_at <= date_trunc('second', clock_timestamp())
      ORDER BY k.size DESC LIMIT 1
    ) AS settled ON true`;
}

interface SeenTile {
  level: number;
  index: number;
  bytes: number;
  digestHex: string;
}

function parseTiles(text: string | null): SeenTile[] {
  if (text === null) return [];
  return text.split(" ").map((tile) => {
    const [level, index, bytes, digestHex = ""] = tile.split(":");
    return { level: Number(level), index: Number(index), bytes: Number(bytes), digestHex };
  });
}

/** A tile's hashes, then row by row the nodes above them, in one piece: half the memory of as many arrays. */
interface TileNodes {
  bytes: Uint8Array;
  /** Where each row begins, in nodes; the last is the end. */
  starts: number[];
}

const rowsOfTile = 8;

/** Throws RangeError for bytes that are not whole hashes. */
function growNodes(hashes: Uint8Array): TileNodes {
  const rows = [splitHashes(hashes, Math.ceil(hashes.length / HASH_BYTES))];
  while (rows.length < rowsOfTile) {
    const below = rows.at(-1) ?? [];
    const pairs = Array.from({ length: Math.floor(below.length / 2) }, (_, i) =>
      below.slice(2 * i, 2 * i + 2),
    );
    rows.push(pairs.map(([left, right]) => nodeHash(left as Uint8Array, right as Uint8Array)));
  }
  const starts = [0];
  for (const row of rows) starts.push((starts.at(-1) ?? 0) + row.length);
  return { bytes: concatBytes(...rows.flat()), starts };
}

/** The lowest tiles of a million leaves and those above, at 16 kB each: 67 MB if all of them are read. */
const maxRemembered = 4_096;
const remembered = new LRUCache<string, TileNodes>({ max: maxRemembered });

const nameOf = (level: number, index: number) => `${level}/${index}`;

/** Reads these tiles as they were when they were seen: a row only grows, and what came after is left out. */
async function readTiles(database: Database, logId: number, tiles: SeenTile[]): Promise<TileNodes[]> {
  const read = database.statement<{ level: number; tile_index: number; hashes: Uint8Array }>(
    `SELECT t.level, t.tile_index, t.hashes FROM unnest($2::int[], $3::bigint[]) AS seen(level, tile_index)
     JOIN log_tiles t ON t.log_id = $1 AND t.level = seen.level AND t.tile_index = seen.tile_index`,
  );
  const rows = await read(
    logId,
    tiles.map(({ level }) => level),
    tiles.map(({ index }) => index),
  );
  const byName = new Map(rows.map((row) => [nameOf(row.level, row.tile_index), row.hashes]));
  return tiles.map(({ level, index, bytes }) => {
    const hashes = byName.get(nameOf(level, index));
    if (hashes === undefined) throw new RangeError(`tile ${level}/${index} is missing`);
    const seen = hashes.subarray(0, bytes);
    const nodes = growNodes(seen);
    remembered.set(hexEncode(sha256(seen)), nodes);
    return nodes;
  });
}

async function findNodes(database: Database, logId: number, tiles: SeenTile[]) {
  const known = new Map(
    tiles.map((tile) => [nameOf(tile.level, tile.index), remembered.get(tile.digestHex)] as const),
  );
  const unknown = tiles.filter(({ level, index }) => known.get(nameOf(level, index)) === undefined);
  if (unknown.length > 0) {
    const read = await readTiles(database, logId, unknown);
    for (const [i, { level, index }] of unknown.entries()) known.set(nameOf(level, index), read[i]);
  }
  return known;
}

/** `tiles`: the column of {@link selectTiles}. Throws RangeError if they do not hold the tree. */
export async function proveStored(
  database: Database,
  logId: number,
  index: number,
  size: number,
  tiles: string | null,
): Promise<Uint8Array[]> {
  const ranges = inclusionRanges(index, size);
  const nodes = await findNodes(database, logId, parseTiles(tiles));
  const readNode: PerfectNodeReader = (height, position) => {
    const row = height % rowsOfTile;
    const perTile = TILE_WIDTH / 2 ** row;
    const name = nameOf(Math.floor(height / rowsOfTile), Math.floor(position / perTile));
    const tile = nodes.get(name);
    const at = (tile?.starts[row] ?? 0) + (position % perTile);
    if (tile === undefined || at >= (tile.starts[row + 1] ?? 0))
      throw new RangeError(`tile ${name} is missing or too short`);
    return tile.bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES);
  };
  return ranges.map(rangeHasher(readNode));
}
