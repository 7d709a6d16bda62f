/**
 * Migrations of this version and of the database. A database that another version has changed is refused: this one would leave
 * out what the newer tables expect, and what it writes could not be put right afterwards.
 */

import { readFileSync } from "node:fs";
import path from "node:path";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import type postgres from "postgres";
import { logger } from "#lib/logger";

export const migrationsFolder = "drizzle";

/* Messages to the operator if a start fails or has to wait, with what to do. */

/** The message is for the operator, who gets no stack. */
export class CannotStart extends Error {
  readonly words: { says: string; mend: string };
  constructor(words: { says: string; mend: string }, cause?: unknown) {
    super(`Countersign cannot start: ${words.says}. ${words.mend}`, { cause });
    this.words = words;
  }
}

const sayEveryMs = 5_000;
/** A first start makes the database meanwhile. */
const usualSeconds = 30;

/** Says what the start waits for if that takes long, and says it again; as a warning only once it is unusual. */
export async function logIfSlow<T>(what: string, work: Promise<T>): Promise<T> {
  const startMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    logger[seconds > usualSeconds ? "warn" : "info"](
      `Countersign is starting: it has waited ${seconds} s for ${what}`,
    );
  }, sayEveryMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** `foreign`: an older history than this version's, or a branch of it, which migrations would not complete. */
export type MigrationState = "empty" | "behind" | "current" | "newer" | "foreign";

/** The times at which migrations were made, which are their names: no two have the same. */
export function compareMigrations(applied: readonly number[], known: readonly number[]): MigrationState {
  const newestApplied = Math.max(...applied);
  const unknown = applied.filter((when) => !known.includes(when));
  const missing = known.filter((when) => !applied.includes(when));
  if (applied.length === 0) return "empty";
  if (unknown.length > 0) return newestApplied > Math.max(...known) ? "newer" : "foreign";
  if (missing.length === 0) return "current";
  // Drizzle applies only migrations newer than the newest applied one.
  return missing.every((when) => when > newestApplied) ? "behind" : "foreign";
}

function readJournal(migrationsFolder: string): { when: number; tag: string }[] {
  const file = path.join(migrationsFolder, "meta/_journal.json");
  return JSON.parse(readFileSync(file, "utf8")).entries;
}

type Query = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

const table = "drizzle.__drizzle_migrations";

export async function readMigrationState(query: Query, migrationsFolder: string): Promise<MigrationState> {
  const { rows } = await query("SELECT to_regclass($1) IS NOT NULL AS is_made", [table]);
  if (rows[0]?.["is_made"] !== true) return "empty";
  const applied = await query(`SELECT created_at::float8 AS at FROM ${table}`, []);
  return compareMigrations(
    applied.rows.map((row) => Number(row["at"])),
    readJournal(migrationsFolder).map(({ when }) => when),
  );
}

/** Reasons for a refusal, also for the doctor. */
export const refusals = {
  newer: {
    says: "a newer version of Countersign has changed this database",
    mend: "Run that version, or restore a backup from before the upgrade: docs/production.md, Upgrade and roll back.",
  },
  foreign: {
    says: "this database was made by another version of Countersign, and this one can't upgrade it",
    mend: "Run the version that made it, or set another database: docs/production.md, Upgrade and roll back.",
  },
} as const;

const readStateBy = (client: postgres.Sql, migrationsFolder: string) =>
  readMigrationState(
    async (text, values) => ({ rows: await client.unsafe(text, values as never[]) }),
    migrationsFolder,
  );

export const isCurrent = async (client: postgres.Sql, migrationsFolder: string) =>
  (await readStateBy(client, migrationsFolder)) === "current";

/**
 * Builds the indexes of missing migrations that say IF NOT EXISTS while servers of the version before go on writing: within
 * the migrations' transaction a large table would keep them waiting. A build that was broken off left an invalid index.
 * Functions of such an index are in its migration.
 */
async function buildIndexes(client: postgres.Sql, migrationsFolder: string): Promise<void> {
  const [newest] = await client.unsafe(`SELECT max(created_at)::float8 AS at FROM ${table}`);
  const missing = readJournal(migrationsFolder).filter(({ when }) => when > newest?.["at"]);
  const texts = missing.map(({ tag }) => readFileSync(path.join(migrationsFolder, `${tag}.sql`), "utf8"));
  const all = texts.join("\n");
  const functions = [...all.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)[\s\S]+?\$\$;$/gm)];
  for (const [text, name = ""] of all.matchAll(/^CREATE INDEX IF NOT EXISTS "(\w+)".+?;/gm)) {
    for (const [made, used] of functions) if (text.includes(`${used}(`)) await client.unsafe(made);
    const broken =
      await client`SELECT FROM pg_index WHERE indexrelid = to_regclass(${name}) AND NOT indisvalid`;
    if (broken.length > 0) await client.unsafe(`DROP INDEX CONCURRENTLY "${name}"`);
    await client.unsafe(text.replace("INDEX", "INDEX CONCURRENTLY"));
  }
}

/** Applies what is missing. One that is current isn't written to, so its role needs no right to create. */
export async function bringUpToDate(client: postgres.Sql, migrationsFolder: string): Promise<void> {
  const state = await readStateBy(client, migrationsFolder);
  if (state === "newer" || state === "foreign") throw new CannotStart(refusals[state]);
  if (state === "current") return;
  const run = async () => {
    if (state === "behind") await buildIndexes(client, migrationsFolder);
    await migrate(drizzle(client), { migrationsFolder });
  };
  await logIfSlow("the database's migrations", run());
}
