/** Wakes waiting requests when something changed, in this process or another one of the same database. */
import { EventEmitter } from "node:events";
import { sql } from "drizzle-orm";
import type { Database } from "./client";

const channel = "countersign_wakeups";

export interface Wakeups {
  notify(name: string): Promise<void>;
  /** Resolves when `name` is notified, after `timeoutMs` or when `signal` aborts, whichever is first. */
  wait(name: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

export async function createWakeups(database: Database): Promise<Wakeups> {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  await database.listen(channel, (name) => emitter.emit(name));
  return {
    notify: async (name) => {
      await database.db.execute(sql`SELECT pg_notify(${channel}, ${name})`);
    },
    wait: (name, timeoutMs, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          emitter.off(name, done);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        emitter.once(name, done);
        signal?.addEventListener("abort", done);
      }),
  };
}
