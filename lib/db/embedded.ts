/**
 * The embedded database: PGlite, its files in a folder, on a thread of its own (./embedded-worker.ts), so that no request
 * waits while it works. The driver and the statements are PostgreSQL's.
 */
import { once } from "node:events";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import type { Database } from "./client";
import { lockFolder } from "./folder-lock";
import { openClients } from "./postgres-client";
import { type Exchange, shareSession } from "./shared-session";

interface Server {
  exchange: Exchange;
  close(): Promise<void>;
}

/** The file is the bundled worker's. Rejects if the database cannot be opened. */
export async function startServer(file: string, folder: string | null): Promise<Server> {
  const worker = new Worker(file, { workerData: { folder } });
  await once(worker, "message");
  let failure: unknown = null;
  let settle: { resolve(answer: Uint8Array): void; reject(reason: unknown): void } | null = null;
  const fail = (reason: unknown) => {
    failure ??= reason;
    settle?.reject(reason);
  };
  worker.on("message", (answer: Uint8Array) => settle?.resolve(answer));
  worker.on("error", fail);
  worker.on("exit", () => fail(new Error("the embedded database's thread has ended")));
  return {
    exchange: (messages) =>
      new Promise((resolve, reject) => {
        if (failure !== null) return reject(failure);
        settle = { resolve, reject };
        // What is sent leaves this thread with all bytes around it, so it is a copy.
        const copy = new Uint8Array(messages);
        worker.postMessage(copy, [copy.buffer]);
      }),
    close: async () => {
      if (failure !== null) return;
      const ended = once(worker, "exit");
      worker.postMessage(null);
      await ended;
    },
  };
}

const workerFile = path.resolve("dist/embedded-worker.mjs");

const ownOptions = {
  // PGHOST and the like, which the driver reads too, name another server.
  host: "embedded",
  user: "postgres",
  database: "postgres",
  ssl: false,
  // The prepared statements of a closed connection would stay in the session.
  idle_timeout: 0,
  max_lifetime: null,
  // It may be its turn only after a migration.
  connect_timeout: 0,
  onnotice: () => {},
};

/** There is one session: more of them would only wait for each other. */
const connections = { general: 1, plain: 1, others: 1 };

/** `folder: null`: in memory. Migrates first. */
export async function openEmbedded(folder: string | null, migrationsFolder: string): Promise<Database> {
  const release = folder === null ? async () => {} : await lockFolder(folder);
  let server: Server | null = null;
  const stop = async () => {
    await server?.close();
    await release();
  };
  try {
    server = await startServer(workerFile, folder && path.join(folder, "pglite"));
    const socket = shareSession(server.exchange).connect;
    const open = (options: object): postgres.Sql => postgres({ ...options, ...ownOptions, socket } as object);
    const client = open({ max: 1 });
    await migrate(drizzle(client), { migrationsFolder });
    await client.end();
    return openClients("embedded", { open, wasReachableSince: () => true, stop }, connections);
  } catch (error) {
    await stop();
    throw error;
  }
}
