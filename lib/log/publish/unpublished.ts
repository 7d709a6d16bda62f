/** How far LOG_STORE is behind the log, by the store's own checkpoint. */
import { utf8Decode } from "#lib/core/encoding/bytes";
import { verifyCheckpoint } from "#lib/core/tlog/checkpoint";
import type { Database } from "#lib/db/client";
import type { ObjectStore } from "#lib/log/store/object-store";
import { readLogs } from "#lib/signing/log-keys";
import { storeOfLog } from "./old-entries";

export interface Unpublished {
  entries: number;
  /** Since the first checkpoint that the store has nothing of; 0 if it has all. */
  seconds: number;
}

/** Of the open log. What isn't this log's checkpoint counts as none. */
export async function readUnpublished(
  { db, query }: Pick<Database, "db" | "query">,
  store: ObjectStore,
): Promise<Unpublished> {
  const log = (await readLogs(db)).find(({ closed_at }) => closed_at === null);
  if (log === undefined) return { entries: 0, seconds: 0 };
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
