/** Reading the log's tables: heads, tiles, entries. */
import { and, asc, eq, gt, gte, isNull, lt } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import type { Database, Executor } from "#lib/db/client";
import { logCheckpoints, logLeaves, logs, logTiles } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { bytesEqual, concatBytes, hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { encodeEntryBundle, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import {
  HASH_BYTES,
  inclusionRanges,
  nodeHash,
  type PerfectNodeReader,
  rangeHasher,
} from "#lib/protocol/tlog/merkle";
import {
  parseTilePath,
  splitHashes,
  TILE_WIDTH,
  type TileReader,
  treeHasTile,
} from "#lib/protocol/tlog/tiles";

/** Entries that the database has dropped, from the store (./compact.ts). */
export interface OldEntries {
  /**
   * Reads all 256 entries of a full bundle. Throws RangeError if the store's are missing or not those of the tile, and
   * service_unavailable if the store doesn't answer.
   */
  readBundle(logId: number, index: number, readTile: TileReader): Promise<readonly Uint8Array[]>;
}

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

/** A width that the tree does not have yet may exist a moment later, so no cache may keep the answer. */
export function notInLog(): AppError {
  return new AppError("not_found", "the log has nothing at this path", {
    headers: { "cache-control": "no-store" },
  });
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

/**
 * Time at which the leaf came into the log: every commit signs a checkpoint, and the first that covers the leaf was its own.
 */
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

/*
 * A leaf's proof from the stored tiles. The statement that reads the leaf has the database hash the tiles of its proof,
 * and a tile's nodes are remembered under the digest of the bytes that they follow from: a changed tile has another
 * digest, is read and hashed again, and shows in the proof.
 */

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

/** Name under which the log's own second signatures are stored beside witnesses': no key has it. */
export const POST_QUANTUM_LINE = "log ml-dsa-44";

/** Seconds after which readers get the newest checkpoint without a second signature. */
export const postQuantumPatienceSeconds = 120;

/** SQL of the newest checkpoint over leaf `index` that has the log's second signature; no row if there is none. */
export const selectSignedTwice = ({ logId, size }: Record<"logId" | "size", string>, index: string): string =>
  `SELECT k.size, k.note, s.line FROM log_cosignatures s
    JOIN log_checkpoints k ON k.log_id = s.log_id AND k.size = s.size
    WHERE s.log_id = ${logId} AND s.witness = '${POST_QUANTUM_LINE}' AND s.size > ${index}
      AND (s.size = ${size} OR s.created_at > now() - interval '${postQuantumPatienceSeconds} seconds')
    ORDER BY s.size DESC LIMIT 1`;

/**
 * SQL of the checkpoint that readers get for leaf `index`: the newest that the log has signed twice if it covers the leaf,
 * else the newest at the last whole second, else the newest of all. So a proof stays the same for a second, however fast
 * the log grows. For a lateral join.
 */
export function selectSettled(head: Record<"logId" | "size" | "note", string>, index: string): string {
  const { logId, size, note } = head;
  return `SELECT coalesce(twice.size, settled.size, ${size}) AS size, coalesce(twice.note, settled.note, ${note}) AS note,
      twice.line AS cosignatures
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (${selectSignedTwice(head, index)}) AS twice ON true
    LEFT JOIN LATERAL (
      SELECT k.size, k.note FROM log_checkpoints k
      WHERE k.log_id = ${logId} AND k.size > ${index} AND k.created_at <= date_trunc('second', clock_timestamp())
        AND twice.size IS NULL
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
  /** Start of each row, in nodes; the last is the end. */
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

const nameTile = (level: number, index: number) => `${level}/${index}`;

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
  const byName = new Map(rows.map((row) => [nameTile(row.level, row.tile_index), row.hashes]));
  return tiles.map(({ level, index, bytes }) => {
    const hashes = byName.get(nameTile(level, index));
    if (hashes === undefined) throw new RangeError(`tile ${level}/${index} is missing`);
    const seen = hashes.subarray(0, bytes);
    const nodes = growNodes(seen);
    remembered.set(hexEncode(sha256(seen)), nodes);
    return nodes;
  });
}

/** Reads under way of each database: entries beside each other ask for the same tiles at once. */
const underWay = new WeakMap<Database, Map<string, Promise<TileNodes[]>>>();

function readTilesOnce(database: Database, logId: number, tiles: SeenTile[]): Promise<TileNodes[]> {
  const reads = underWay.get(database) ?? new Map<string, Promise<TileNodes[]>>();
  underWay.set(database, reads);
  const asked = JSON.stringify([logId, tiles]);
  const read = reads.get(asked) ?? readTiles(database, logId, tiles).finally(() => reads.delete(asked));
  reads.set(asked, read);
  return read;
}

async function findNodes(database: Database, logId: number, tiles: SeenTile[]) {
  const known = new Map(
    tiles.map((tile) => [nameTile(tile.level, tile.index), remembered.get(tile.digestHex)] as const),
  );
  const unknown = tiles.filter(({ level, index }) => known.get(nameTile(level, index)) === undefined);
  if (unknown.length > 0) {
    const read = await readTilesOnce(database, logId, unknown);
    for (const [i, { level, index }] of unknown.entries()) known.set(nameTile(level, index), read[i]);
  }
  return known;
}

/** Hashes of the last proof: that of the leaf beside it has all but one of them. */
let lastHasher: { tiles: string; hashRange: ReturnType<typeof rangeHasher> } | undefined;

/** `tiles`: the column of {@link selectTiles}. Throws RangeError if they do not hold the tree. */
export async function proveStored(
  database: Database,
  logId: number,
  index: number,
  size: number,
  tiles: string | null,
): Promise<Uint8Array[]> {
  const ranges = inclusionRanges(index, size);
  // The same digests are the same nodes, in whichever tree.
  if (lastHasher !== undefined && lastHasher.tiles === tiles) return ranges.map(lastHasher.hashRange);
  const seen = parseTiles(tiles);
  const nodes = await findNodes(database, logId, seen);
  const readNode: PerfectNodeReader = (height, position) => {
    const row = height % rowsOfTile;
    const perTile = TILE_WIDTH / 2 ** row;
    const name = nameTile(Math.floor(height / rowsOfTile), Math.floor(position / perTile));
    const tile = nodes.get(name);
    const at = (tile?.starts[row] ?? 0) + (position % perTile);
    if (tile === undefined || at >= (tile.starts[row + 1] ?? 0))
      throw new RangeError(`tile ${name} is missing or too short`);
    return tile.bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES);
  };
  const hashRange = rangeHasher(readNode);
  const isAsSeen = seen.every(
    ({ level, index: at, digestHex }) => nodes.get(nameTile(level, at)) === remembered.get(digestHex),
  );
  if (tiles !== null && isAsSeen) lastHasher = { tiles, hashRange };
  return ranges.map(hashRange);
}
