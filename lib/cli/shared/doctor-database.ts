/** The PostgreSQL of DATABASE_URL: reachable, durable, large enough, of this version, and in time. Changes nothing. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Database, migrationsFolder } from "#lib/db/client";
import { CannotStart, type MigrationState, readMigrationState, refusals } from "#lib/db/migrations";
import { openAsItIs, openReplicaDatabase } from "#lib/db/postgres/client";
import { explainDatabase } from "#lib/db/postgres/first-connection";
import { watchReplica } from "#lib/db/postgres/replica";
import { createWakeups } from "#lib/db/pubsub";
import type { Env } from "#lib/env";
import { attestationWrites } from "#lib/log/sequencer/sequencer";
import { explainNobody } from "#lib/services/accounts/sign-up";
import { type Area, explain, type Finding, openArea, reasonOf, unreadable } from "./findings";

const oldestVersion = 150_000;
const slowMs = 10;
/** Expiry goes by the database's clock, statements by this machine's. */
const toleratedMs = 1_000;
/**
 * Connections of a process: lib/db/postgres/client.ts's clients, and the one that listens. One of several has fewer.
 */
const connectionsOfProcess = { alone: 20, beside: 14 };

interface Facts {
  version: number;
  fsync: string;
  synchronous_commit: string;
  full_page_writes: string;
  max_connections: number;
  encoding: string;
  is_replica: boolean;
  is_superuser: boolean;
  is_encrypted: boolean | null;
  is_local: boolean;
}

const readFacts = `SELECT current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('full_page_writes') AS full_page_writes,
    (SELECT least(current_setting('max_connections')::int, nullif(rolconnlimit, -1), nullif(datconnlimit, -1))
      FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()) AS max_connections,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
    (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS is_encrypted,
    coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true) AS is_local`;

function judgeServer(facts: Facts, env: Env, { ok, warning, fault }: Area): void {
  const major = Math.floor(facts.version / 10_000);
  if (facts.version < oldestVersion) fault(`PostgreSQL ${major} is too old`, "Upgrade it to 15 or newer.");
  else ok(`PostgreSQL ${major}`);
  if (facts.encoding !== "UTF8")
    fault(`the database's encoding is ${facts.encoding}`, "Create it with ENCODING 'UTF8'.");
  if (facts.is_replica)
    fault("DATABASE_URL leads to a read-only replica", "Give it the address of the primary server.");
  for (const name of ["fsync", "synchronous_commit", "full_page_writes"] as const)
    if (facts[name] === "off")
      fault(`${name} is off, so a crash loses what was acknowledged`, `Set ${name} = on in postgresql.conf.`);
  if (facts.is_superuser)
    warning("the service's role is a superuser", "Create a role of its own that owns its database alone.");
  if (facts.is_encrypted === false && !facts.is_local)
    warning("the connection isn't encrypted", "Add ?sslmode=verify-full to DATABASE_URL.");
  const { alone, beside } = connectionsOfProcess;
  const needed = env.processCount === 1 ? alone : (env.processCount + 1) * beside;
  if (needed > facts.max_connections)
    warning(
      `this server may open ${needed} connections, and ${facts.max_connections} are allowed`,
      "Raise max_connections or the limit of this role or database, or lower PROCESSES.",
    );
  else ok(`${needed} of ${facts.max_connections} connections at most`);
}

async function examineSpeed({ query }: Database, { ok, warning }: Area): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    const startMs = performance.now();
    await query("SELECT 1", []);
    times.push(performance.now() - startMs);
  }
  const medianMs = times.sort((a, b) => a - b)[3] ?? 0;
  const says = `a round trip takes ${medianMs.toFixed(1)} ms`;
  if (medianMs > slowMs)
    warning(says, "Run the service near its database: an attestation waits for several.");
  else ok(says);
}

async function examineClock({ query }: Database, clock: () => Date): Promise<Finding[]> {
  const area = openArea("clock");
  const beforeMs = clock().getTime();
  const { rows } = await query("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now", []);
  const afterMs = clock().getTime();
  const theirsMs = Number(rows[0]?.["now"]);
  const differenceMs = Math.floor(Math.max(beforeMs - theirsMs, theirsMs - afterMs, 0));
  const says = `this machine's clock and the database's differ by ${differenceMs} ms`;
  if (differenceMs > toleratedMs) area.fault(says, "Set both by NTP (chrony or systemd-timesyncd).");
  else area.ok(says);
  return area.found;
}

/** The rights alone: nothing is written. */
async function examineWriting({ query }: Database, url: string, { ok, fault }: Area): Promise<void> {
  try {
    await query(`DO $$ BEGIN ${attestationWrites}; END $$`, []);
    ok("attestations can be written");
  } catch (error) {
    const { says, mend } = (await explainDatabase(error, url)) ?? {
      says: `attestations can't be written (${reasonOf(error)})`,
      mend: unreadable,
    };
    fault(says, mend);
  }
}

const hearMs = 3_000;

async function examineListening(url: string, listenUrl: string, { ok, fault }: Area): Promise<void> {
  let listening: Database | null = null;
  try {
    listening = await openAsItIs(url, listenUrl);
    await createWakeups(listening, hearMs);
    ok("what is sent through DATABASE_URL is heard at DATABASE_LISTEN_URL");
  } catch (error) {
    if (error instanceof CannotStart) fault(error.words.says, error.words.mend);
    else fault(`DATABASE_LISTEN_URL can't be used (${reasonOf(error)})`, "Correct it.");
  } finally {
    await listening?.close();
  }
}

/** Tables of this version are there. */
async function examineMembers({ db }: Database, env: Env, { fault }: Area): Promise<void> {
  const nobody = await explainNobody({ settings: env }, db);
  if (nobody !== null) fault(nobody, "Make the first owner: npm run accounts -- add-owner EMAIL.");
}

async function examineMigrations({ query }: Database, { ok, warning, fault }: Area) {
  const state = await readMigrationState(query, migrationsFolder);
  if (state === "empty") warning("the database is empty", "The first start makes the tables and keys.");
  else if (state === "behind")
    warning("migrations are missing", "The next start applies them. Back up first.");
  else if (state === "current") ok("all migrations are applied");
  else fault(refusals[state].says, refusals[state].mend);
  return state;
}

export interface Examined {
  findings: Finding[];
  /** Null if it can't be read further. The caller closes it. */
  database: Database | null;
  isEmpty: boolean;
}

export async function examineDatabase(url: string, env: Env, clock: () => Date): Promise<Examined> {
  const area = openArea("database");
  let database: Database;
  try {
    database = await openAsItIs(url);
  } catch (error) {
    const { says, mend } = (await explainDatabase(error, url)) ?? {
      says: `the database can't be used (${reasonOf(error)})`,
      mend: "Check DATABASE_URL, the network and the server.",
    };
    area.fault(says, mend);
    return { findings: area.found, database: null, isEmpty: false };
  }
  if (database.isPooled)
    area.warning(
      "DATABASE_URL leads to a connection pooler, which is slower",
      "Use the server's own address.",
    );
  const clocks: Finding[] = [];
  let state: MigrationState | null = null;
  try {
    const { rows } = await database.query(readFacts, []);
    judgeServer(rows[0] as unknown as Facts, env, area);
    await examineSpeed(database, area);
    clocks.push(...(await examineClock(database, clock)));
    state = await examineMigrations(database, area);
    if (state === "current") {
      await examineWriting(database, url, area);
      await examineMembers(database, env, area);
    }
    const { DATABASE_LISTEN_URL: listenUrl } = env;
    if (database.isPooled && listenUrl !== undefined) await examineListening(url, listenUrl, area);
  } catch (error) {
    area.fault(`not all of it can be read (${reasonOf(error)})`, unreadable);
  }
  const isCurrent = state === "current";
  if (!isCurrent) await database.close();
  return {
    findings: [...area.found, ...clocks],
    database: isCurrent ? database : null,
    isEmpty: state === "empty",
  };
}

/* The standby of DATABASE_REPLICA_URL: whether it follows the primary closely enough to answer public reads. */

const silent = { info: () => {}, warn: () => {} };

/** It is asked as the service asks, until it is fresh or something is wrong with it, for `patienceMs` at most. */
export async function examineReplica(url: string, primary: Database, patienceMs = 6_000): Promise<Finding[]> {
  const area = openArea("replica");
  const clockMs = () => performance.now();
  const untilMs = clockMs() + patienceMs;
  const replica = watchReplica({ primary, open: () => openReplicaDatabase(url), logger: silent, clockMs });
  const isLate = () => replica.fresh() === null && typeof replica.problem() === "string";
  while (isLate() && clockMs() < untilMs) await sleep(50);
  if (replica.fresh() === null)
    area.fault(
      `the replica isn't used: ${explain(replica.problem())}`,
      "Let DATABASE_REPLICA_URL lead to a streaming standby of this database that keeps up. Until then the primary answers.",
    );
  else area.ok("the replica follows the primary");
  await replica.close();
  return area.found;
}
