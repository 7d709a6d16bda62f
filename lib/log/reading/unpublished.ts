/** How far LOG_STORE is behind the log, by the store's own checkpoint. */

import type { Database } from "#lib/db/client";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { readLogs } from "#lib/log/signing/log-keys";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { storeOfLog } from "./old-entries";

export interface Unpublished {
  entries: number;
  /** Since the first checkpoint that the store has nothing of; 0 if it has all. */
  seconds: number;
}

/** Zero for a store whose checkpoint isn't this log's. */
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
