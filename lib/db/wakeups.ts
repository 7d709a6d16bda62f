/** Wakes waiting requests when something changes, in this process or another that shares the database. */
import { EventEmitter } from "node:events";
import { sql } from "drizzle-orm";
import type { Database } from "./client";

const channel = "countersign_wakeups";

/** Where nobody can listen: who waits looks again this often, for what other processes changed. */
const lookAgainMs = 1_000;

export interface Wakeups {
  notify(name: string): Promise<void>;
  /** Resolves when `name` is notified, when `signal` aborts, or after `timeoutMs` at the latest: look, then wait again. */
  wait(name: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

export async function createWakeups(database: Database): Promise<Wakeups> {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  const { listen } = database;
  await listen?.(channel, (name) => emitter.emit(name));
  return {
    notify: async (name) => {
      if (listen === null) emitter.emit(name);
      else await database.db.execute(sql`SELECT pg_notify(${channel}, ${name})`);
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
