/**
 * Publishes the logs to LOG_STORE again and again, in the background of one process at a time. Nobody waits for it: it reads
 * what is committed. The store's own checkpoint says what it has, so the process with the next turn goes on from there.
 */

import type { Database } from "#lib/db/client";
import { oneAtATime, startInterval } from "#lib/jobs/interval";
import { restFor, takeLease } from "#lib/jobs/leases";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import type { Logger } from "#lib/logger";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import { exportTiles } from "./export-tiles";

interface PublisherOptions {
  database: Database;
  store: ObjectStore;
  policy: WitnessPolicySettings | undefined;
  logger: Logger;
  everySeconds: number;
}

const turnName = "publish the log";
/** After it another process may begin, though this one is still at it: both write the same bytes. */
const turnSeconds = 60;

/** Never the reason that a process stays. Returns the function that ends it. */
export function startPublisher(options: PublisherOptions): () => Promise<void> {
  const { database, store, policy, logger, everySeconds } = options;
  const published = new Map<number, string>();
  let isFailing = false;

  async function publish(): Promise<void> {
    if (!(await takeLease(database.db, turnName, Math.max(turnSeconds, everySeconds)))) return;
    try {
      await exportTiles({ db: database.db, old: null }, policy, store, "trust", published);
      if (isFailing) logger.info({ store: store.name }, "the log is published again");
      isFailing = false;
    } finally {
      await restFor(database.db, turnName, everySeconds);
    }
  }

  const tell = (error: unknown) => {
    if (!isFailing)
      logger.warn({ err: error, store: store.name }, "the log can't be published; it is tried again");
    isFailing = true;
  };
  return startInterval(everySeconds * 1_000, oneAtATime(publish), tell);
}
