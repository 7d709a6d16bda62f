/** Wakes waiting requests when something changes, in this process or another that shares the database. */
import { sql } from "drizzle-orm";
import type { Database } from "./client";
import { CannotStart } from "./migrations";

const channel = "countersign_wakeups";

/** Milliseconds between polls for other processes' changes by waiting requests, where LISTEN is missing. */
const lookAgainMs = 1_000;

const start = "start";

/** Milliseconds that the first notification, which this process sends to itself, may take. */
const longestMs = 10_000;

export interface Wait {
  /** Resolves when it has been woken (to true), ended, or its time is over: look, then wait again. */
  over: Promise<boolean>;
  /** May come again, and after it is over. */
  end(): void;
}

export interface Wakeups {
  notify(name: string): Promise<void>;
  /** Waits until `name` is notified, for `timeoutMs` at most. */
  wait(name: string, timeoutMs: number): Wait;
  wakeAll(): void;
}

/** The addresses of the servers that listen to this database, on this channel or another: one connection of each process does. */
export async function findListeners({ kind, query }: Database): Promise<string[]> {
  if (kind === "embedded") return [];
  const { rows } = await query(
    `SELECT DISTINCT coalesce(host(client_addr), 'a socket') AS address FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'listen "countersign%' ORDER BY address`,
    [],
  );
  return rows.map(({ address }) => String(address));
}

/** Adds and removes each of many waiters for the same name at constant cost. */
function createWaiting() {
  const waiting = new Map<string, Set<(isWoken: boolean) => void>>();
  const wake = (name: string) => {
    for (const finish of waiting.get(name) ?? []) finish(true);
  };
  return {
    wake,
    wakeAll: () => {
      for (const name of waiting.keys()) wake(name);
    },
    wait: (name: string, timeoutMs: number): Wait => {
      const together = waiting.get(name) ?? new Set();
      waiting.set(name, together);
      let finish = (_isWoken: boolean) => {};
      const over = new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => finish(false), timeoutMs);
        finish = (isWoken) => {
          if (!together.delete(finish)) return;
          if (together.size === 0) waiting.delete(name);
          clearTimeout(timer);
          resolve(isWoken);
        };
        together.add(finish);
      });
      return { over, end: () => finish(false) };
    },
  };
}

const sendTo = (database: Database, name: string) =>
  database.db.execute(sql`SELECT pg_notify(${channel}, ${name})`);

/** Behind a pooler two addresses are in use, and nothing else would say that they lead to two databases. */
async function requireHearing(database: Database, { over }: Wait): Promise<void> {
  await sendTo(database, start);
  if (await over) return;
  throw new CannotStart({
    says: "nothing that is sent through DATABASE_URL is heard at DATABASE_LISTEN_URL",
    mend: "It must be the address of the same database on the server itself, not of a pooler.",
  });
}

export async function createWakeups(database: Database, hearMs = longestMs): Promise<Wakeups> {
  const { wake, wakeAll, wait } = createWaiting();
  const { listen } = database;
  // Notifications sent while this process didn't listen are lost, so all waiting requests look.
  await listen?.(channel, wake, wakeAll);
  if (listen !== null && database.isPooled) await requireHearing(database, wait(start, hearMs));
  return {
    wakeAll,
    notify: async (name) => {
      if (listen === null) wake(name);
      else await sendTo(database, name);
    },
    wait: (name, timeoutMs) => wait(name, listen === null ? Math.min(timeoutMs, lookAgainMs) : timeoutMs),
  };
}
