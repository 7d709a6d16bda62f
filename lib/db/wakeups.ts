/** Wakes waiting requests when something changes, in this process or another that shares the database. */
import { EventEmitter } from "node:events";
import { sql } from "drizzle-orm";
import type { Database } from "./client";

const channel = "countersign_wakeups";

/** Where nobody can listen: who waits looks again this often, for what other processes changed. */
const lookAgainMs = 1_000;

const start = "start";

/** How long the first notification may take, which this process sends to itself. */
const longestMs = 10_000;

export interface Wakeups {
  notify(name: string): Promise<void>;
  /** Resolves when `name` is notified, when `signal` aborts, or after `timeoutMs` at the latest: look, then wait again. */
  wait(name: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  /** Whoever waits looks again. */
  wakeAll(): void;
}

const sendTo = (database: Database, name: string) =>
  database.db.execute(sql`SELECT pg_notify(${channel}, ${name})`);

/** Behind a pooler two addresses are in use, and nothing else would say that they lead to two databases. */
async function requireHearing(database: Database, emitter: EventEmitter, hearMs: number): Promise<void> {
  const isHeard = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), hearMs);
    emitter.once(start, () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  await sendTo(database, start);
  if (await isHeard) return;
  throw new Error(
    "Countersign cannot start: nothing that is sent through DATABASE_URL is heard at DATABASE_LISTEN_URL. " +
      "It must be the address of the same database on the server itself, not of a pooler.",
  );
}

export async function createWakeups(database: Database, hearMs = longestMs): Promise<Wakeups> {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  const { listen } = database;
  const wakeAll = () => {
    for (const name of emitter.eventNames()) emitter.emit(name);
  };
  // What was sent while nobody listened is lost, so everyone looks.
  await listen?.(channel, (name) => emitter.emit(name), wakeAll);
  if (listen !== null && database.isPooled) await requireHearing(database, emitter, hearMs);
  return {
    wakeAll,
    notify: async (name) => {
      if (listen === null) emitter.emit(name);
      else await sendTo(database, name);
    },
    wait: (name, timeoutMs, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          emitter.off(name, done);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, listen === null ? Math.min(timeoutMs, lookAgainMs) : timeoutMs);
        emitter.once(name, done);
        signal?.addEventListener("abort", done);
      }),
  };
}
