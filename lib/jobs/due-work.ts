/**
 * Work that waits in a table which several processes read: a few pieces at once, shared between their owners, so that
 * an owner with slow or many ones doesn't keep others waiting. What finds no place stays due.
 */

import { eq, sql } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { leases } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { createFairQueue, type Share } from "./fair-queue";

/** Seconds after which an attempt counts as dead and another process takes over. */
export const leaseSeconds = 60;

export interface DueRow {
  table: string;
  key: Record<string, string | number>;
  dueAt?: string;
  leaseSeconds?: number;
  set?: readonly string[];
  where?: readonly string[];
  select?: string;
}

/**
 * Takes a row for this process, by moving its next attempt behind the time limit of this one. Null if another process is
 * at it, or it has ended. All times are the database's, which its processes share.
 */
export async function claimDue<Claimed extends object>(database: Database, row: DueRow) {
  const { table, key, dueAt = "next_attempt_at", leaseSeconds: seconds = leaseSeconds } = row;
  const { set = ["attempts = attempts + 1"], where = ["status = 'pending'"] } = row;
  const isRow = Object.keys(key).map((name, i) => `${name} = $${i + 1}`);
  const later = `${dueAt} = clock_timestamp() + interval '${seconds} seconds'`;
  const [claimed] = await database.statement<Claimed>(
    `WITH claimed AS (
       UPDATE ${table} SET ${[later, ...set].join(", ")}
       WHERE ${[...isRow, ...where, `${dueAt} <= clock_timestamp()`].join(" AND ")} RETURNING *
     ) ${row.select ?? "SELECT * FROM claimed"}`,
    "write",
  )(...Object.values(key));
  return claimed ?? null;
}

export interface DueWorkOptions<Due, Claimed> {
  slots: number;
  slotsOfOwner: number;
  /**
   * Reads due work except for these, which run or wait here already. A few of each owner come first, however many one
   * has.
   */
  readDue(except: readonly string[]): Promise<Due[]>;
  getName(due: Due): string;
  getShare(due: Due): Share;
  claim(due: Due): Promise<Claimed | null>;
  attempt(claimed: Claimed): Promise<void>;
  onError(error: unknown): void;
}

export interface DueWork {
  /** Tries everything that is due and not being tried; how much was tried. After a stop nothing that waits begins. */
  run(isStopped?: () => boolean): Promise<number>;
  runAll(isStopped: () => boolean): Promise<void>;
}

const maxWaiting = 256;

export function createDueWork<Due, Claimed>(options: DueWorkOptions<Due, Claimed>): DueWork {
  const { readDue, getName, getShare, claim, attempt, onError } = options;
  const queue = createFairQueue({
    slots: options.slots,
    maxWaiting,
    maxPerOwner: maxWaiting,
    maxRunningPerOwner: options.slotsOfOwner,
    refusal: "too much of this work is waiting",
  });
  const taken = new Set<string>();

  async function claimAndAttempt(due: Due): Promise<0 | 1> {
    const claimed = await claim(due);
    if (claimed === null) return 0;
    await attempt(claimed);
    return 1;
  }

  async function take(due: Due, isStopped: () => boolean): Promise<number> {
    const name = getName(due);
    // Two rounds may have read it at the same time.
    if (taken.has(name)) return 0;
    taken.add(name);
    try {
      return await queue.run(getShare(due), async () => (isStopped() ? 0 : claimAndAttempt(due)));
    } catch (error) {
      const isExpected = error instanceof AppError && error.errorName !== "server_error";
      if (!isExpected) onError(error);
      return 0;
    } finally {
      taken.delete(name);
    }
  }

  async function run(isStopped = () => false): Promise<number> {
    const due = await readDue([...taken]);
    const tried = await Promise.all(due.map((one) => take(one, isStopped)));
    return tried.reduce((sum, one) => sum + one, 0);
  }

  return {
    run,
    runAll: async (isStopped) => {
      while ((await run(isStopped)) > 0 && !isStopped());
    },
  };
}

type Work = (isStopped: () => boolean) => Promise<unknown>;

/**
 * Work that a process does again and again by itself. A round doesn't wait for the one before: what hangs holds its own
 * place only. Never the reason that a process stays.
 */
export function startInterval(
  everyMs: number,
  work: Work,
  onError: (error: unknown) => void,
  beginsNow = false,
): () => Promise<void> {
  const rounds = new Set<Promise<unknown>>();
  let isStopped = false;
  const begin = () => {
    const round = work(() => isStopped)
      .catch(onError)
      .finally(() => rounds.delete(round));
    rounds.add(round);
  };
  const timer = setInterval(begin, everyMs).unref();
  if (beginsNow) begin();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await Promise.all(rounds);
  };
}

/** Returns a number from 0 on, below 1. */
export const randomShare = ({ random }: { random: (length: number) => Uint8Array }) =>
  new DataView(random(4).buffer.slice(0)).getUint32(0) / 2 ** 32;

/** A round that is due while another one runs is left out. */
export function oneAtATime(work: Work): Work {
  let isRunning = false;
  return async (isStopped) => {
    if (isRunning) return;
    isRunning = true;
    await work(isStopped).finally(() => {
      isRunning = false;
    });
  };
}

/* Turns to contact somebody outside: one process at a time, and not more often than agreed. */

const inSeconds = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;

/** True for one caller alone; the next one's turn is `seconds` later, or when {@link releaseLease} says. */
export async function takeLease(executor: Executor, name: string, seconds: number): Promise<boolean> {
  const taken = await executor
    .insert(leases)
    .values({ name, next_at: inSeconds(seconds) })
    .onConflictDoUpdate({
      target: leases.name,
      set: { next_at: inSeconds(seconds) },
      setWhere: sql`${leases.next_at} <= now()`,
    })
    .returning({ name: leases.name });
  return taken.length > 0;
}

const firstPauseSeconds = 60;
const longestPauseSeconds = 3_600;

/** Ends the turn. After a failure the next one comes later each time, up to an hour. */
export async function releaseLease(executor: Executor, name: string, isDone: boolean): Promise<void> {
  const pause = sql`least(${longestPauseSeconds}, ${firstPauseSeconds} * 2 ^ least(${leases.failures}, 16))`;
  await executor
    .update(leases)
    .set(
      isDone
        ? { failures: 0, next_at: sql`now()` }
        : {
            failures: sql`${leases.failures} + 1`,
            next_at: sql`now() + make_interval(secs => ${pause})`,
          },
    )
    .where(eq(leases.name, name));
}

/** Delays recurring work: the next turn comes that many seconds after the end of this one, in whichever process. */
export async function restFor(executor: Executor, name: string, seconds: number): Promise<void> {
  await executor
    .update(leases)
    .set({ next_at: inSeconds(seconds) })
    .where(eq(leases.name, name));
}
