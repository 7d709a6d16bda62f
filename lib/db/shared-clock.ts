/**
 * The database's time, which all processes share, whatever the clocks of their machines say. It is asked for at the
 * start and from time to time; in between this machine counts, on the monotonic clock.
 */

import { sql } from "drizzle-orm";
import type { Logger } from "#lib/logger";
import { type Database, type Executor, queryRows } from "./client";

export interface SharedClock {
  now: () => Date;
  close(): void;
}

interface Look {
  theirMs: number;
  /** Their time at the middle of the question, by the monotonic clock; and how far from it theirs may have been read. */
  atMs: number;
  uncertainMs: number;
  wallMs: number;
}

const everyMs = 30_000;
/** The machine's two clocks count the same, unless one is set or the machine has slept. */
const toleratedMs = 500;
const worthAWordMs = 5_000;

type Queried = Pick<Database, "kind" | "query">;

async function look({ query }: Queried): Promise<Look> {
  const beforeMs = performance.now();
  const { rows } = await query("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms", []);
  const uncertainMs = (performance.now() - beforeMs) / 2;
  return {
    theirMs: Number(rows[0]?.["ms"]),
    atMs: beforeMs + uncertainMs,
    uncertainMs,
    wallMs: Date.now() - uncertainMs,
  };
}

/** The first look opens a connection, and a machine that starts much is busy: either would put the clock off by half of that. */
async function lookWell(database: Queried): Promise<Look> {
  const looks = [await look(database), await look(database), await look(database)];
  return looks.reduce((best, next) => (next.uncertainMs < best.uncertainMs ? next : best));
}

export async function openSharedClock(database: Queried, logger: Logger): Promise<SharedClock> {
  // The embedded database is in this process, and has its clock.
  if (database.kind === "embedded") return { now: () => new Date(), close: () => {} };
  let known = await lookWell(database);
  let isLooking = false;
  warn();

  function warn(): void {
    const differenceMs = Math.round(known.wallMs - known.theirMs);
    if (Math.abs(differenceMs) > worthAWordMs)
      logger.warn(
        { differenceMs },
        "this machine's clock differs from the database's, which counts: set both by NTP",
      );
  }

  const countedMs = () => known.theirMs + performance.now() - known.atMs;

  async function renew(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      const next = await look(database);
      const offMs = next.theirMs - (known.theirMs + next.atMs - known.atMs);
      // A difference that the question's own time explains changes nothing, so that times stay in order.
      known =
        Math.abs(offMs) > next.uncertainMs
          ? next
          : { ...known, wallMs: next.wallMs - (next.atMs - known.atMs) };
      warn();
    } catch (error) {
      logger.debug({ err: error }, "the database could not be asked for the time");
    } finally {
      isLooking = false;
    }
  }

  const timer = setInterval(() => void renew(), everyMs).unref();
  return {
    now: () => {
      const ms = countedMs();
      const wallMs = known.theirMs + Date.now() - known.wallMs;
      if (Math.abs(wallMs - ms) > toleratedMs) void renew();
      return new Date(ms);
    },
    close: () => clearInterval(timer),
  };
}

/**
 * Database's clock, in whole milliseconds that are over: a column would round it up, past what comes next. `now()` is when a
 * transaction began, which may be long ago if it has waited for a lock.
 */
export const databaseNow = sql`date_trunc('milliseconds', clock_timestamp())`;

/** The same, for what is signed before it is stored. */
export async function readDatabaseTime(executor: Executor): Promise<Date> {
  const [row] = await queryRows<{ ms: string }>(
    executor,
    sql`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS ms`,
  );
  if (!row) throw new Error("the database returned no time");
  return new Date(Number(row.ms));
}
