/**
 * Databases for tests. `TEST_DATABASE_URL` (set by .ci/test.mjs) is where PostgreSQL's databases are made;
 * `TEST_DATABASES` (postgres, embedded or both) names the kinds that a run has.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import postgres from "postgres";
import type { Database } from "#lib/db/client";
import { openDatabase } from "#lib/db/embedded/embedded";
import { copyEmbeddedTemplate, ensurePostgresTemplate } from "./database-templates";

export { copyEmbeddedTemplate } from "./database-templates";

export type DatabaseKind = "embedded" | "postgres";

const adminUrl = process.env["TEST_DATABASE_URL"];

const kindsByName: Record<string, DatabaseKind[]> = {
  embedded: ["embedded"],
  postgres: ["postgres"],
  both: ["embedded", "postgres"],
};

/**
 * Parameters of `describe.each`, where the two databases differ; with the kind in parentheses in the title, by which
 * .ci/test.mjs finds it.
 */
export const databaseKinds: DatabaseKind[] =
  kindsByName[adminUrl === undefined ? "embedded" : (process.env["TEST_DATABASES"] ?? "both")] ?? [];

/** Database of tests that would say the same on both: PostgreSQL, which opens ten times as fast, if there is one. */
export const anyKind = databaseKinds.at(-1) as DatabaseKind;

/** Admin connection, one for all tests of a process; it ends when none has used it for a second. */
const admin = postgres(adminUrl ?? "", { max: 1, idle_timeout: 1, onnotice: () => {} });

async function dropDatabase(name: string): Promise<void> {
  await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/**
 * A database of its own on the PostgreSQL of the tests: migrated already, or with nothing in it at all. The template's files
 * are copied as files, because to write each page to the log, the default, takes three times as long.
 */
export async function createTestDatabase({ empty = false } = {}): Promise<{
  url: string;
  drop: () => Promise<void>;
}> {
  const name = `t_${randomBytes(8).toString("hex")}`;
  const from = empty
    ? ""
    : ` TEMPLATE ${await ensurePostgresTemplate(admin, adminUrl ?? "")} STRATEGY FILE_COPY`;
  await admin.unsafe(`CREATE DATABASE ${name}${from}`);
  const url = new URL(adminUrl ?? "");
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => dropDatabase(name),
  };
}

/** A DATA_DIR of its own with a migrated embedded database: to make one takes a start five seconds. */
export async function makeDataDir(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "countersign-data-"));
  await copyEmbeddedTemplate(folder);
  return folder;
}

/** A migrated database of its own, open; to close it takes it away. */
export async function openTestDatabase(kind: DatabaseKind): Promise<Database> {
  const made = kind === "postgres" ? await createTestDatabase() : null;
  const dataDir = made === null ? await makeDataDir() : "";
  const database = await openDatabase({ databaseUrl: made?.url, dataDir });
  const { close } = database;
  return Object.assign(database, {
    close: async () => {
      await close();
      await made?.drop();
      if (made === null) await rm(dataDir, { recursive: true, force: true });
    },
  });
}
