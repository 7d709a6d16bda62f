/**
 * One door to the database, embedded (PGlite in this process, files under DATA_DIR) or PostgreSQL.
 * Inside a transaction use only `tx`: the embedded database has one session and would wait for itself.
 */
import { PGlite } from "@electric-sql/pglite";
import { type SQL, sql } from "drizzle-orm";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { migrate as migratePglite } from "drizzle-orm/pglite/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as migratePostgres } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { lockFolder } from "./folder-lock";
import * as schema from "./schema";

export type Executor = PgDatabase<PgQueryResultHKT, typeof schema>;

export interface Database {
  kind: "embedded" | "postgres";
  db: Executor;
  /** Plain SQL with $1 parameters, for libraries that bring their own statements. */
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** Calls back with each payload sent by NOTIFY on the channel, by this process or another. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  close(): Promise<void>;
}

const migrationsFolder = "drizzle";

/** Any constant: the key of the advisory lock under which processes migrate and make first keys one by one. */
const startLockKey = 7_267_140_221;

async function openEmbedded(folder: string | null): Promise<Database> {
  const release = folder === null ? async () => {} : await lockFolder(folder);
  const client = await PGlite.create(folder === null ? {} : { dataDir: `${folder}/pglite` });
  const db = drizzlePglite(client, { schema });
  await migratePglite(db, { migrationsFolder });
  return {
    kind: "embedded",
    db,
    query: async (text, values) => ({
      rows: (await client.query<Record<string, unknown>>(text, values)).rows,
    }),
    listen: async (channel, onPayload) => {
      await client.listen(channel, onPayload);
    },
    close: async () => {
      await client.close();
      await release();
    },
  };
}

/** Migrations are applied under an advisory lock: drizzle's own run is not safe when processes start at once. */
async function migrateUnderLock(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    await client`SELECT pg_advisory_lock(${startLockKey})`.catch((cause: Error & { code?: string }) => {
      const problem = cause.code ?? cause.message;
      throw new Error(`Countersign cannot start: the database of DATABASE_URL does not answer (${problem})`, {
        cause,
      });
    });
    await migratePostgres(drizzlePostgres(client), { migrationsFolder });
  } finally {
    await client.end({ timeout: 5 });
  }
}

/** No request waits longer than this for a statement or a lock: the answer is 503, and the pool stays free. */
const statementTimeoutMs = 15_000;

async function openPostgres(url: string): Promise<Database> {
  await migrateUnderLock(url);
  const options = {
    max: 10,
    onnotice: () => {},
    connect_timeout: 5,
    idle_timeout: 300,
    connection: {
      application_name: "countersign",
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
    },
  };
  const client = postgres(url, options);
  /** drizzle changes the serializers of the client it is given, so plain statements have one of their own. */
  const plain = postgres(url, { ...options, max: 4 });
  return {
    kind: "postgres",
    db: drizzlePostgres(client, { schema }),
    query: async (text, values) => ({ rows: await plain.unsafe(text, values as never[]) }),
    listen: async (channel, onPayload) => {
      await plain.listen(channel, onPayload);
    },
    close: async () => {
      await Promise.all([client.end({ timeout: 5 }), plain.end({ timeout: 5 })]);
    },
  };
}

/** `dataDir: null` with no URL: an embedded database in memory, for tests. */
export async function openDatabase(from: {
  databaseUrl?: string | undefined;
  dataDir: string | null;
}): Promise<Database> {
  return from.databaseUrl === undefined ? openEmbedded(from.dataDir) : openPostgres(from.databaseUrl);
}

/** Runs `work` in one transaction while no other starting process of this database is inside. */
export async function withStartLock<T>(database: Database, work: (tx: Executor) => Promise<T>): Promise<T> {
  return database.db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${startLockKey})`);
    return work(tx);
  });
}

/** The rows of a plain statement; both drivers wrap them differently. Cast in SQL what must not be text. */
export async function rowsOf<T>(executor: Executor, statement: SQL): Promise<T[]> {
  const result: unknown = await executor.execute(statement);
  return (Array.isArray(result) ? result : (result as { rows: T[] }).rows) as T[];
}
