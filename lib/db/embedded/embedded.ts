/**
 * The embedded database: PGlite, its files in a folder, on a thread of its own (./worker.ts), so that no request
 * waits while it works. The driver and the statements are PostgreSQL's.
 */

import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import postgres from "postgres";
import type { Database } from "#lib/db/client";
import { bringUpToDate, logIfSlow, migrationsFolder } from "#lib/db/migrations";
import { openClients, openPostgres } from "#lib/db/postgres/client";
import { createWaitingList, type Exchange, shareSession } from "#lib/db/postgres/multiplexed-session";
import { overdueMs } from "#lib/db/postgres/time-limits";
import { type Logger, logger } from "#lib/logger";
import { lockFolder, makePrivateFolder } from "./data-folder";

/*
 * The thread of the embedded database (./worker.ts), replaced by another when it ends or does not answer: on a
 * full disk the database has been seen to turn in a loop that nothing inside of it ends. What it has committed is in its
 * files, whichever way it ended.
 */

interface Thread {
  exchange(messages: Uint8Array, limitMs: number): Promise<Uint8Array>;
  /** Asks it to close its files; ends it if it does not. */
  close(): Promise<void>;
  failed: Promise<unknown>;
  exited: Promise<void>;
}

export interface ThreadTimes {
  startMs: number;
  endMs: number;
}

export interface ThreadOptions {
  file: string;
  folder: string;
  times: ThreadTimes;
  logger: Logger;
  /** Called when the database neither answers nor can be replaced. */
  giveUp(reason: unknown): void;
}

async function startThread({ file, folder, times, giveUp }: ThreadOptions): Promise<Thread> {
  const worker = new Worker(file, { workerData: { folder } });
  let failure: unknown = null;
  let settle: { resolve(answer: Uint8Array): void; reject(reason: unknown): void } | null = null;
  let fail = (_reason: unknown) => {};
  const failed = new Promise<unknown>((resolve) => {
    fail = (reason) => {
      failure ??= reason;
      resolve(failure);
      settle?.reject(failure);
    };
  });
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on("error", fail);
  worker.on("exit", () => fail(new Error("the embedded database's thread has ended")));

  async function end(reason: unknown): Promise<void> {
    fail(reason);
    const isEnded = await Promise.race([worker.terminate().then(() => true), sleep(times.endMs, false)]);
    if (!isEnded) giveUp(new Error("the embedded database's thread cannot be ended", { cause: reason }));
  }

  function hear(limitMs: number, what: string): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const overdue = () => void end(new Error(`the embedded database ${what} in ${limitMs / 1000} seconds`));
      // An answer that came while this thread was busy is read before it is judged.
      const judge = () => setImmediate(() => settle?.resolve === answered && overdue());
      const timer = setTimeout(judge, limitMs);
      const answered = (answer: Uint8Array) => {
        settle = null;
        clearTimeout(timer);
        resolve(answer);
      };
      settle = {
        resolve: answered,
        reject: (reason) => {
          clearTimeout(timer);
          reject(reason);
        },
      };
    });
  }

  worker.on("message", (answer: Uint8Array) => settle?.resolve(answer));
  await hear(times.startMs, "did not open its files");
  return {
    failed,
    exited,
    exchange: (messages, limitMs) => {
      if (failure !== null) return Promise.reject(failure);
      const answer = hear(limitMs, "did not answer a statement");
      // Copy: a transfer takes the whole underlying buffer from this thread.
      const copy = new Uint8Array(messages);
      worker.postMessage(copy, [copy.buffer]);
      return answer;
    },
    close: async () => {
      if (failure !== null) return;
      worker.postMessage(null);
      const isClosed = await Promise.race([
        exited.then(() => true),
        sleep(times.endMs, false, { ref: false }),
      ]);
      if (!isClosed) await end(new Error("the embedded database did not close its files"));
    },
  };
}

export interface KeptThread {
  /** A statement that takes longer than the limit ends the thread. While another is started, the answer waits for it. */
  exchange(limitMs: number): Exchange;
  close(): Promise<void>;
}

export async function keepThread(options: ThreadOptions): Promise<KeptThread> {
  const { logger, giveUp } = options;
  let isClosing = false;
  let current = Promise.resolve(await startThread(options));

  async function replace({ exited }: Thread, reason: unknown): Promise<Thread> {
    logger.error({ err: reason }, "the embedded database's thread has ended and is started again");
    await exited;
    const next = await startThread(options);
    watch(next);
    return next;
  }
  function watch(thread: Thread): void {
    void thread.failed.then((reason) => {
      if (isClosing) return;
      current = replace(thread, reason);
      current.catch(giveUp);
    });
  }
  watch(await current);

  return {
    exchange: (limitMs) => async (messages) => (await current).exchange(messages, limitMs),
    close: async () => {
      isClosing = true;
      const thread = await current.catch(() => null);
      await thread?.close();
    },
  };
}

const times: ThreadTimes = { startMs: 60_000, endMs: 5_000 };
/** A migration of a large database may take its time. */
const migrationMs = 600_000;
const lookMs = 500;

const ownOptions = {
  // PGHOST and the like, which the driver reads too, name another server.
  host: "embedded",
  user: "postgres",
  database: "postgres",
  ssl: false,
  // The prepared statements of a closed connection would stay in the session.
  idle_timeout: 0,
  max_lifetime: null,
  // Unlimited: its turn may come only after a migration.
  connect_timeout: 0,
  backoff: (failures: number) => Math.min(0.05 * 2 ** failures, 1),
  onnotice: () => {},
};

/** There is one session: more of them would only wait for each other. */
const connections = { general: 1, plain: 1, others: 1 };

/** Ends the process, because nothing is left that could answer. The service manager restarts it. */
function endProcess(folder: string, reason: unknown): never {
  logger.error({ err: reason }, "the embedded database cannot be started again");
  const cause = reason instanceof Error ? reason.message : String(reason);
  process.stderr.write(
    `Countersign has ended: the embedded database in ${folder} does not answer and could not be started again (${cause}). Its files are as they were at the last commit. If their disk is full, free some space; then start Countersign again.\n`,
  );
  process.exit(1);
}

/** Clients of the thread's one session, in which no statement waits for longer than with PostgreSQL. */
function createOpening(thread: KeptThread, release: () => Promise<void>) {
  const now = () => performance.now();
  const { follow, giveUpSince, wasReachableSince } = createWaitingList(now);
  const timer = setInterval(() => giveUpSince(now() - overdueMs), lookMs).unref();
  const socket = shareSession(thread.exchange(overdueMs)).connect;
  return {
    open: (options: object) => follow(postgres({ ...options, ...ownOptions, socket } as object)),
    wasReachableSince,
    stop: async () => {
      clearInterval(timer);
      await thread.close();
      await release();
    },
  };
}

async function migrateIn(thread: KeptThread, migrationsFolder: string): Promise<void> {
  const socket = shareSession(thread.exchange(migrationMs)).connect;
  const client = postgres({ ...ownOptions, socket, max: 1 } as object);
  await bringUpToDate(client, migrationsFolder);
  await client.end();
}

export async function openEmbedded(folder: string, migrationsFolder: string): Promise<Database> {
  const release = await lockFolder(folder);
  let thread: KeptThread | null = null;
  try {
    const files = path.join(folder, "pglite");
    await makePrivateFolder(files);
    const starting = keepThread({
      file: path.resolve("dist/embedded-worker.mjs"),
      folder: files,
      times,
      logger,
      giveUp: (reason) => endProcess(folder, reason),
    });
    thread = await logIfSlow("the embedded database to open", starting);
    await migrateIn(thread, migrationsFolder);
    return openClients("embedded", createOpening(thread, release), connections);
  } catch (error) {
    await thread?.close();
    await release();
    throw error;
  }
}

export async function openDatabase(from: {
  databaseUrl?: string | undefined;
  listenUrl?: string | undefined;
  dataDir: string;
  /** Default: one, which then has more connections. */
  processCount?: number;
}): Promise<Database> {
  const { databaseUrl, listenUrl, dataDir, processCount = 1 } = from;
  return databaseUrl === undefined
    ? openEmbedded(dataDir, migrationsFolder)
    : openPostgres({ url: databaseUrl, listenUrl }, migrationsFolder, processCount === 1);
}
