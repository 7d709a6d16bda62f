/**
 * Databases that were migrated once, for tests to copy: a migration costs more than most tests, and making an embedded
 * database costs ten times that. A template belongs to the migrations and the version that it was made of.
 */
import { createHash, randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Sql } from "postgres";
import { openDatabase } from "#lib/db/embedded/embedded";

const cacheFolder = path.resolve("node_modules/.cache/countersign");
const manifest = path.resolve("node_modules/@electric-sql/pglite/package.json");

let fingerprint: Promise<string> | undefined;

/** Edition of the templates made here from the migrations: another way to make them needs another number. */
const edition = 2;

async function computeFingerprint(): Promise<string> {
  const names = (await readdir("drizzle", { recursive: true })).filter((name) => /\.(sql|json)$/.test(name));
  const hash = createHash("sha256").update(`${edition}\0`);
  for (const file of [...names.sort().map((name) => path.join("drizzle", name)), manifest])
    hash.update(`${file}\0`).update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

function getFingerprint(): Promise<string> {
  fingerprint ??= computeFingerprint();
  return fingerprint;
}

/** The name of the migrated database on this server. It is made once, stays for the next run, and takes no connection. */
export async function ensurePostgresTemplate(admin: Sql, adminUrl: string): Promise<string> {
  const name = `countersign_template_${await getFingerprint()}`;
  if ((await admin`SELECT 1 FROM pg_database WHERE datname = ${name}`).length > 0) return name;
  // A connection that waits for the migrations would be closed as idle, and its lock would end.
  const holder = await admin.reserve();
  try {
    await holder`SELECT pg_advisory_lock(hashtext(${name}))`;
    if ((await holder`SELECT 1 FROM pg_database WHERE datname = ${name}`).length > 0) return name;
    const unfinished = `t_${randomBytes(8).toString("hex")}`;
    await holder.unsafe(`CREATE DATABASE ${unfinished}`);
    const url = Object.assign(new URL(adminUrl), { pathname: `/${unfinished}` });
    await (await openDatabase({ databaseUrl: url.href, dataDir: "" })).close();
    await holder.unsafe(`ALTER DATABASE ${unfinished} ALLOW_CONNECTIONS false`);
    await holder.unsafe(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
  } finally {
    await holder`SELECT pg_advisory_unlock(hashtext(${name}))`;
    holder.release();
  }
  return name;
}

/**
 * Two that make it at once make the same one; the first to be done gives it its name. What PostgreSQL copies new
 * databases from is half of all files, and nobody connects to it.
 */
async function makeEmbeddedTemplate(template: string): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(path.join(cacheFolder, "unfinished-"));
  try {
    const { query, close } = await openDatabase({ dataDir: folder });
    const { rows } = await query("SELECT oid::text FROM pg_database WHERE datistemplate", []);
    await close();
    for (const { oid } of rows) {
      const unused = path.join(folder, "pglite", "base", String(oid));
      await rm(unused, { recursive: true });
      await mkdir(unused);
    }
    await rename(path.join(folder, "pglite"), template).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** fs.cp looks at each file six times: two seconds for the thousand of a database, which this copies in a fifth of one. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [from, to].map((folder) => path.join(folder, entry.name)) as [string, string];
    if (entry.isDirectory()) copyFolder(source, target);
    else copyFileSync(source, target);
  }
}

/** Puts a migrated embedded database where the service will look for it, unless one is there. */
export async function copyEmbeddedTemplate(dataDir: string): Promise<void> {
  const place = path.join(dataDir, "pglite");
  if (existsSync(place)) return;
  const template = path.join(cacheFolder, `pglite-${await getFingerprint()}`);
  if (!existsSync(template)) await makeEmbeddedTemplate(template);
  copyFolder(template, place);
}
