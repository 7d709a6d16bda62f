/**
 * A standby of the database, which answers public reads while it is known to be fresh. Every quarter of a second this
 * process notes where the primary's write-ahead log is and which leaf is the log's last, and asks the standby whether it
 * has come so far and has the same leaf. So no clocks are compared, and a standby with another history, left behind by a
 * failover, is not believed, however much it holds.
 */

import type { Database } from "#lib/db/client";
import { inTime } from "#lib/in-time";
import type { Logger } from "#lib/logger";
import { openReplicaDatabase } from "./client";

/** An answer from the standby is never older. */
const maxStaleMs = 5_000;
const pauseMs = 250;
/** A standby that is silent for so long is given up, with what was asked of it. */
const patienceMs = 2_000;

export interface Replica {
  /** Null while it is out of reach, too far behind, promoted, or not of the primary's history. */
  fresh(): Database | null;
  /** Reason why it is not fresh: words while it is only late, an error if something is wrong with it. */
  problem(): unknown;
  /** Resolves when what is committed now shows in every later answer, from the standby too. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

interface Mark {
  askedMs: number;
  lsn: string;
  logId: number;
  size: number;
  leaf: string | null;
}

const lastLeaf = (log: string, size: string) =>
  `(SELECT encode(leaf_hash, 'hex') FROM log_leaves WHERE log_id = ${log} AND leaf_index = ${size} - 1)`;

const markText = `SELECT pg_current_wal_insert_lsn()::text AS lsn, id AS "logId", size, ${lastLeaf("h.id", "h.size")} AS leaf
  FROM logs h WHERE closed_at IS NULL`;

const checkText = `SELECT pg_is_in_recovery() AS "isStandby", pg_last_wal_replay_lsn() >= $1::pg_lsn AS "isThere",
  ${lastLeaf("$2::int", "$3::bigint")} AS leaf`;

const inPatience = <T>(work: Promise<T>) =>
  inTime(work, patienceMs, () => new Error("the replica does not respond"));

interface Given {
  primary: Pick<Database, "query">;
  open: () => Promise<Database>;
  logger: Pick<Logger, "info" | "warn">;
  clockMs: () => number;
}

export function watchReplica({ primary, open, logger, clockMs }: Given): Replica {
  let database: Database | null = null;
  let freshAtMs = Number.NEGATIVE_INFINITY;
  let mark: Mark | null = null;
  let isClosed = false;
  let wasUsed = false;
  let problem: unknown = "it has not answered yet";

  const isFresh = () => clockMs() - freshAtMs <= maxStaleMs;

  async function markPrimary(): Promise<Mark> {
    const askedMs = clockMs();
    const { rows } = await primary.query(markText, []);
    return { askedMs, ...(rows[0] as unknown as Omit<Mark, "askedMs">) };
  }

  async function check(): Promise<void> {
    database ??= await open();
    mark ??= await markPrimary();
    const asked = [mark.lsn, mark.logId, mark.size];
    const { rows } = await inPatience(database.query(checkText, asked));
    const { isStandby, isThere, leaf } = rows[0] ?? {};
    if (isStandby !== true) throw new Error("it is no standby");
    if (isThere !== true) problem = "it is behind";
    else if (leaf !== mark.leaf) throw new Error("it has another history than the primary");
    else freshAtMs = mark.askedMs;
    if (isThere === true || clockMs() - mark.askedMs > maxStaleMs) mark = null;
  }

  /** Closes connections that may hang for as long as the kernel likes, which fails the statements that wait on them. */
  function abandon(): void {
    void database?.close().catch(() => {});
    database = null;
    mark = null;
    freshAtMs = Number.NEGATIVE_INFINITY;
  }

  function tell(): void {
    if (isFresh() === wasUsed) return;
    wasUsed = !wasUsed;
    if (wasUsed) logger.info("public reads go to the replica");
    else logger.warn({ err: problem }, "the replica is not used; public reads go to the primary");
  }

  async function watch(): Promise<void> {
    while (!isClosed) {
      await check().catch((error: unknown) => {
        problem = error;
        abandon();
      });
      tell();
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    }
  }

  const watching = watch();
  return {
    fresh: () => (isFresh() ? database : null),
    problem: () => problem,
    caughtUp: async () => {
      const sinceMs = clockMs();
      // No process takes an older answer from it after this time.
      while (freshAtMs <= sinceMs && clockMs() - sinceMs <= maxStaleMs && !isClosed)
        await new Promise((resolve) => setTimeout(resolve, pauseMs / 5));
    },
    close: async () => {
      isClosed = true;
      await watching;
      await database?.close();
    },
  };
}

export const openReplica = (url: string, primary: Database, logger: Logger): Replica =>
  watchReplica({
    primary,
    open: () => openReplicaDatabase(url),
    logger,
    clockMs: () => performance.now(),
  });
