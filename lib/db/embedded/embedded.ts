/**
 * The embedded database: PGlite, its files in a folder, on a thread of its own (./worker.ts), so that no request
 * waits while it works. The driver and the statements are PostgreSQL's.
 */
import path from "node:path";
import postgres from "postgres";
import type { Database } from "#lib/db/client";
import { bringUpToDate } from "#lib/db/migrations";
import { openClients } from "#lib/db/postgres/client";
import { shareSession } from "#lib/db/postgres/multiplexed-session";
import { createWaitingList } from "#lib/db/postgres/pending-queries";
import { overdueMs } from "#lib/db/postgres/time-limits";
import { waitingFor } from "#lib/db/start";
import { logger } from "#lib/logger";
import { lockFolder } from "./folder-lock";
import { makePrivateFolder } from "./private-folder";
import { type KeptThread, keepThread, type ThreadTimes } from "./thread";

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
  // It may be its turn only after a migration.
  connect_timeout: 0,
  backoff: (failures: number) => Math.min(0.05 * 2 ** failures, 1),
  onnotice: () => {},
};

/** There is one session: more of them would only wait for each other. */
const connections = { general: 1, plain: 1, others: 1 };

/** Nothing is left that could answer anybody. Whatever runs the service starts it again. */
function endProcess(folder: string, reason: unknown): never {
  logger.error({ err: reason }, "the embedded database cannot be started again");
  const cause = reason instanceof Error ? reason.message : String(reason);
  process.stderr.write(
    `Countersign has ended: the embedded database in ${folder} does not answer and could not be started again (${cause}). Its files are as they were at the last commit. If their disk is full, free some space; then start Countersign again.\n`,
  );
  process.exit(1);
}

/** Clients of the thread's one session, in which no statement waits for longer than with PostgreSQL. */
function openingOf(thread: KeptThread, release: () => Promise<void>) {
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

/** Migrates first. */
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
    thread = await waitingFor("the embedded database to open", starting);
    await migrateIn(thread, migrationsFolder);
    return openClients("embedded", openingOf(thread, release), connections);
  } catch (error) {
    await thread?.close();
    await release();
    throw error;
  }
}
