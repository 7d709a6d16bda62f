/**
 * Drops from the database what the store has of old leaves (`npm run log -- compact`): the entry's bytes and its hash, which is
 * in the tile. A leaf's row stays with its place in its record and its payload's hash, and tiles stay, because everything
 * that comes from the store is compared with them.
 *
 * A bundle is dropped only if the store's objects, read back now, have byte for byte what the database has.
 */
import { and, desc, eq, gte, isNotNull, lt, lte, sql } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { logCheckpoints, logLeaves } from "#lib/db/schema";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { readLogs } from "#lib/log/signing/log-keys";
import { bytesEqual, utf8Decode } from "#lib/protocol/encoding/bytes";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { encodeTilePath, TILE_WIDTH } from "#lib/protocol/tlog/tile-path";
import { storeOfLog } from "./old-entries";
import { readTilePath } from "./public-log";

type Log = Awaited<ReturnType<typeof readLogs>>[number];

export interface Compacted {
  origin: string;
  /** Leaves that were dropped now. */
  leaves: number;
  /** How many of the log's leaves have been dropped so far: whole bundles that are old enough and published. */
  reached: number;
}

async function readPublishedSize(store: ObjectStore, log: Log): Promise<number> {
  const found = await store.read("checkpoint");
  if (found === null) return 0;
  const verdict = verifyCheckpoint(utf8Decode(found.bytes), log.key);
  if (!verdict.ok) throw new Error(`${store.name} does not hold the log ${log.origin} (${verdict.problem}).`);
  return verdict.checkpoint.size;
}

/** The size that the log had then. */
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

/** Every log of the service. What ends in the middle has dropped whole bundles, and goes on the next time. */
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
