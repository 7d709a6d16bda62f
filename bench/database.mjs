/**
 * The PostgreSQL of both sides: one that the benchmark starts itself, with fsync, on the disk of the temporary folder,
 * or the one of BENCH_DATABASE_URL. With it come pgbench and its one-row INSERT.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { findBinaries, startCluster, withoutFsync } from "#ci/postgres";
import { parsePgbench } from "./figures.mjs";
import { createRecords } from "./records.mjs";

const settings = ["max_connections=500"];

/** Inserts as many bytes as Fastify stores. */
const insertRecord = `INSERT INTO records (id, payload, signature, created_at)
  VALUES (gen_random_uuid(), decode(repeat('7b', 300), 'hex'), decode(repeat('5a', 64), 'hex'), now());`;

function openCluster() {
  const url = process.env.BENCH_DATABASE_URL;
  if (url) return { url, stop: async () => {} };
  return startCluster(process.env.BENCH_FSYNC === "off" ? [...settings, ...withoutFsync] : settings);
}

/** Settings that decide about its speed, as the server itself reports them. */
async function describe(admin) {
  const names = ["server_version", "fsync", "synchronous_commit", "full_page_writes"];
  const shown = [];
  for (const name of names) shown.push(Object.values((await admin.unsafe(`SHOW ${name}`))[0])[0]);
  const [version, ...values] = shown;
  return `PostgreSQL ${version.split(" ")[0]}, ${names
    .slice(1)
    .map((name, i) => `${name} ${values[i]}`)
    .join(", ")}`;
}

async function writeScript() {
  const folder = await mkdtemp(path.join(os.tmpdir(), "countersign-pgbench-"));
  await writeFile(path.join(folder, "insert.sql"), insertRecord);
  return folder;
}

/** Beside the server's other programs; Debian has it in the same package. */
const findPgbench = () => path.join(findBinaries() ?? "", "pgbench");

export async function openDatabases() {
  const cluster = await openCluster();
  const admin = postgres(cluster.url, { max: 1, onnotice: () => {} });
  const folder = await writeScript();
  const made = [];

  /** Gives its name and address. */
  async function create(name) {
    const database = `bench_${name}_${process.pid}`;
    await admin.unsafe(`CREATE DATABASE ${database}`);
    made.push(database);
    const url = new URL(cluster.url);
    url.pathname = `/${database}`;
    return { name: database, url: url.href };
  }

  let forPgbench;
  async function createForPgbench() {
    const { url } = await create("pgbench");
    const sql = postgres(url, { max: 1 });
    await sql.unsafe(createRecords);
    await sql.end();
    return url;
  }

  /** Runs one-row INSERTs, each a transaction, with prepared statements, for about that many seconds. */
  async function runPgbench(clients, seconds) {
    forPgbench ??= createForPgbench();
    const { hostname, port, username, password, pathname } = new URL(await forPgbench);
    const threads = Math.min(clients, os.cpus().length);
    // A fixed number: the duration includes the clients' logins, the rate doesn't.
    const transactions = Math.ceil((seconds * Math.min(6000, 600 * clients)) / clients);
    const run = [`-c${clients}`, `-j${threads}`, `-t${transactions}`];
    const { stdout } = await promisify(execFile)(
      findPgbench(),
      ["-n", "-Mprepared", ...run, "-f", path.join(folder, "insert.sql")],
      {
        env: {
          ...process.env,
          PGHOST: hostname,
          PGPORT: port || "5432",
          PGUSER: decodeURIComponent(username),
          PGPASSWORD: decodeURIComponent(password),
          PGDATABASE: pathname.slice(1),
        },
      },
    );
    return parsePgbench(stdout);
  }

  return {
    description: await describe(admin),
    create,
    runPgbench,
    /** Runs one statement in one of the databases. */
    async run(name, text) {
      const url = new URL(cluster.url);
      url.pathname = `/${name}`;
      const sql = postgres(url.href, { max: 1 });
      await sql.unsafe(text).finally(() => sql.end());
    },
    /** Counts connections to a database: open ones, and those that run a statement or hold a transaction. */
    async countConnections(name) {
      const [row] = await admin`
        SELECT count(*)::int AS open, count(*) FILTER (WHERE state <> 'idle')::int AS busy
        FROM pg_stat_activity WHERE datname = ${name}`;
      return row;
    },
    async stop() {
      for (const name of made) await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.end();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
