/**
 * Drops from the database what the store has of old leaves (`npm run log -- compact`): the entry's bytes and its hash, which is
 * in the tile. A leaf's row stays with its place in its record and its payload's hash, and tiles stay, because everything
 * that comes from the store is compared with them.
 *
 * A bundle is dropped only if the store's objects, read back now, have byte for byte what the database has.
 */

import { and, desc, eq, gte, isNotNull, lt, lte, sql } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import type { Database } from "#lib/db/client";
import { logCheckpoints, logLeaves } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { type ObjectStore, within } from "#lib/log/object-storage/object-store";
import { readLogs } from "#lib/log/signing/signing-keys";
import { bytesEqual, concatBytes, utf8Decode } from "#lib/protocol/encoding/bytes";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import { encodeTilePath, TILE_WIDTH, type TileReader } from "#lib/protocol/tlog/tiles";
import { type OldEntries, readTilePath } from "./reader";

/*
 * Entries that were dropped from the database (`npm run log -- compact`), from the store: a whole bundle at a time, compared
 * with the leaf hashes that the database keeps (its tile), and kept in memory as long as there is room.
 */

/** Bundles have some 140 kB. */
const maxBytes = 16_000_000;

/** Store of one log in a store that has others beside it. */
export const storeOfLog = (store: ObjectStore, logId: number) =>
  within(store, logId === 1 ? "" : String(logId));

async function load(store: ObjectStore, logId: number, index: number, readTile: TileReader) {
  const name = encodeTilePath({ level: "entries", index, width: TILE_WIDTH });
  const found = await storeOfLog(store, logId)
    .read(name)
    .catch((cause: unknown) => {
      throw new AppError("service_unavailable", "the log's store did not respond; try again shortly", {
        cause,
      });
    });
  if (found === null) throw new RangeError(`${name} of log ${logId} is missing in ${store.name}`);
  const entries = decodeEntryBundle(found.bytes);
  const tile = await readTile(0, index);
  const wanted = tile?.subarray(0, TILE_WIDTH * HASH_BYTES);
  if (wanted === undefined || !bytesEqual(concatBytes(...entries.map(leafHash)), wanted))
    throw new RangeError(`${name} of log ${logId} in ${store.name} is not that of the database's tile`);
  return { entries, bytes: found.bytes.length };
}

export function createOldEntries(store: ObjectStore): OldEntries {
  type Bundle = Awaited<ReturnType<typeof load>>;
  const bundles = new LRUCache<string, Bundle>({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes });
  const loading = new Map<string, Promise<Bundle>>();
  return {
    readBundle: async (logId, index, readTile) => {
      const name = `${logId}/${index}`;
      const known = bundles.get(name);
      if (known !== undefined) return known.entries;
      const begun = loading.get(name) ?? load(store, logId, index, readTile);
      loading.set(name, begun);
      try {
        const bundle = await begun;
        bundles.set(name, bundle);
        return bundle.entries;
      } finally {
        loading.delete(name);
      }
    },
  };
}

type Log = Awaited<ReturnType<typeof readLogs>>[number];

export interface Compacted {
  origin: string;
  leaves: number;
  /** Number of the log's leaves dropped so far: whole bundles that are old enough and published. */
  reached: number;
}

async function readPublishedSize(store: ObjectStore, log: Log): Promise<number> {
  const found = await store.read("checkpoint");
  if (found === null) return 0;
  const verdict = verifyCheckpoint(utf8Decode(found.bytes), log.key);
  if (!verdict.ok) throw new Error(`${store.name} does not hold the log ${log.origin} (${verdict.problem}).`);
  return verdict.checkpoint.size;
}

async function readSizeAt({ db }: Database, log: Log, before: Date): Promise<number> {
  const [last] = await db
    .select({ size: logCheckpoints.size })
    .from(logCheckpoints)
    .where(and(eq(logCheckpoints.log_id, log.id), lte(logCheckpoints.created_at, before)))
    .orderBy(desc(logCheckpoints.size))
    .limit(1);
  return last?.size ?? 0;
}

const ofBundle = (log: Log, bundle: number) =>
  and(
    eq(logLeaves.log_id, log.id),
    gte(logLeaves.leaf_index, bundle * TILE_WIDTH),
    lt(logLeaves.leaf_index, (bundle + 1) * TILE_WIDTH),
    isNotNull(logLeaves.data),
  );

async function requirePublished({ db }: Database, store: ObjectStore, log: Log, bundle: number) {
  for (const level of ["entries", 0] as const) {
    const name = encodeTilePath({ level, index: bundle, width: TILE_WIDTH });
    const [found, wanted] = [await store.read(name), await readTilePath(db, null, log.id, name)];
    if (found === null || !bytesEqual(found.bytes, wanted))
      throw new Error(
        `${name} in ${store.name} ${found === null ? "is missing" : "differs from the database"}; nothing of it was dropped. Run \`npm run log -- export-tiles --repair\`.`,
      );
  }
}

async function compactLog(
  database: Database,
  store: ObjectStore,
  log: Log,
  before: Date,
): Promise<Compacted> {
  const published = await readPublishedSize(store, log);
  // The last leaf stays: a replica is compared by it.
  const droppable = Math.min(published, await readSizeAt(database, log, before), log.size - 1);
  const bundles = Math.max(0, Math.floor(droppable / TILE_WIDTH));
  let leaves = 0;
  for (let bundle = 0; bundle < bundles; bundle += 1) {
    const held = await database.db.$count(logLeaves, ofBundle(log, bundle));
    if (held === 0) continue;
    await requirePublished(database, store, log, bundle);
    await database.db.update(logLeaves).set({ data: null, leaf_hash: null }).where(ofBundle(log, bundle));
    leaves += held;
  }
  return { origin: log.origin, leaves, reached: bundles * TILE_WIDTH };
}

/** Compacts every log of the service. An interrupted run has dropped whole bundles, and the next one goes on from there. */
export async function compactLogs(
  database: Database,
  store: ObjectStore,
  before: Date,
): Promise<Compacted[]> {
  const compacted: Compacted[] = [];
  for (const log of await readLogs(database.db))
    compacted.push(await compactLog(database, storeOfLog(store, log.id), log, before));
  // Behind a pooler each statement is in a transaction, which can't: then autovacuum does it.
  if (compacted.some(({ leaves }) => leaves > 0))
    await database.db.execute(sql`VACUUM (ANALYZE) log_leaves`).catch(() => {});
  return compacted;
}

/* Lag of LOG_STORE behind the log, by the store's own checkpoint. */

export interface Unpublished {
  entries: number;
  /** Seconds since the first checkpoint of which the store has nothing; 0 if it has all. */
  seconds: number;
}

async function readOfLog(
  { query }: Pick<Database, "query">,
  store: ObjectStore,
  log: Awaited<ReturnType<typeof readLogs>>[number],
): Promise<Unpublished> {
  const found = await storeOfLog(store, log.id).read("checkpoint");
  const verdict = found === null ? null : verifyCheckpoint(utf8Decode(found.bytes), log.key);
  const published = verdict?.ok ? verdict.checkpoint.size : 0;
  const { rows } = await query(
    `SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS seconds
     FROM log_checkpoints WHERE log_id = $1 AND size > $2 ORDER BY size LIMIT 1`,
    [log.id, published],
  );
  return { entries: Math.max(log.size - published, 0), seconds: Number(rows[0]?.["seconds"] ?? 0) };
}

/** Sums all logs: one that can't be published holds up no other, and would be missed. */
export async function readUnpublished(
  database: Pick<Database, "db" | "query">,
  store: ObjectStore,
): Promise<Unpublished> {
  let all: Unpublished = { entries: 0, seconds: 0 };
  for (const log of await readLogs(database.db)) {
    const { entries, seconds } = await readOfLog(database, store, log);
    all = { entries: all.entries + entries, seconds: Math.max(all.seconds, seconds) };
  }
  return all;
}
