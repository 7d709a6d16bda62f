/**
 * Examinations of `npm run doctor`: the settings (doctor-settings.ts), the database and its replica, the secrets at hand and
 * their files, and whether they and the fork guard belong to this database. Changes nothing.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import {
  CannotStart,
  type MigrationState,
  migrationsFolder,
  readMigrationState,
  refusals,
} from "#lib/db/migrations";
import { openAsItIs, openReplicaDatabase } from "#lib/db/postgres/client";
import { explainDatabase } from "#lib/db/postgres/first-connection";
import { watchReplica } from "#lib/db/postgres/replica";
import { createWakeups } from "#lib/db/pubsub";
import { logLeaves, logs } from "#lib/db/schema";
import type { Env } from "#lib/env";
import { openStore, storeAdvice } from "#lib/log/object-storage/object-store";
import { requireOwnHistory } from "#lib/log/reading/history";
import { openLogList } from "#lib/log/reading/log-list";
import { readOpenHead } from "#lib/log/reading/reader";
import { checkSum } from "#lib/log/records/record-snapshot";
import { ForkGuardError, readForkGuard } from "#lib/log/sequencer/fork-guard";
import { createHeadLock, type HeadLock, HeadLockAway, lockName } from "#lib/log/sequencer/head-lock";
import { attestationWrites } from "#lib/log/sequencer/sequencer";
import { openSecretFiles, publicHalf, readFirstOrigin, requireOrigin } from "#lib/log/signing/first-keys";
import { authSecretFile, createKeySource } from "#lib/log/signing/key-source";
import { createKeyWrapping } from "#lib/log/signing/key-wrapping";
import { activeKeyId } from "#lib/log/signing/signing-keys";
import { logger } from "#lib/logger";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { formatCount } from "#lib/protocol/text/display-text";
import { readExportState } from "#lib/server/telemetry/audit-events";
import { explainNobody } from "#lib/services/accounts/organizations";
import { countUnknownApprovals } from "#lib/services/approvals/decision/revoke";
import {
  type Area,
  examineAuthSecret,
  examineOutside,
  examineSettings,
  type Finding,
  nameError,
  type Outside,
  openArea,
  readSettings,
} from "./doctor-settings";
import { describeRevived, describeUnknown } from "./open-service";

const unreadable = "Let the role of DATABASE_URL own the database and all that is in it.";

/** Message of the service's own errors; of others' the code, as above. */
function explain(problem: unknown): string {
  if (typeof problem === "string") return problem;
  return problem instanceof Error && !("code" in problem) ? problem.message : nameError(problem);
}

const purposes = ["attestation", "log", "zk"] as const;
const beforeStart = "Do what the message says before you start.";

async function examineModes(folder: string, { ok, fault }: Area): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const places = names.length === 0 ? [] : [folder, ...names.map((name) => path.join(folder, name))];
  const open: string[] = [];
  for (const place of places) if (((await stat(place)).mode & 0o077) !== 0) open.push(place);
  for (const place of open)
    fault(
      `others on this machine may read ${place}`,
      `chmod go-rwx ${place}, and think about rotating the keys.`,
    );
  if (places.length > 0 && open.length === 0) ok(`only this user may read ${folder}`);
}

/** Null: it can't be read, or a running service has it to itself. */
type Stored = Database | "empty" | null;

/** The ids of the active keys; null without a database that says so. */
async function readActive(stored: Stored, { fault }: Area) {
  if (stored === null || stored === "empty") return null;
  try {
    const ids = await Promise.all(purposes.map((purpose) => activeKeyId(stored.db, purpose)));
    return new Map(purposes.map((purpose, i) => [purpose, ids[i] ?? null]));
  } catch (error) {
    fault(`the database doesn't say which are active (${nameError(error)})`, unreadable);
    return null;
  }
}

async function examineKeys(env: Env, stored: Stored): Promise<Finding[]> {
  const area = openArea("keys");
  const folder = path.join(env.DATA_DIR, "keys");
  if (process.platform !== "win32") await examineModes(folder, area);
  const wrapping = createKeyWrapping(env);
  const files = openSecretFiles(folder, wrapping);
  const source = createKeySource(env, files, wrapping);
  const activeIds = await readActive(stored, area);
  const add = activeIds?.get("log") ? area.fault : area.warning;
  const reportMissing = (what: string, mend: string) =>
    stored === "empty" ? area.ok(`the first start makes ${what}`) : add(`${what} is missing`, mend);
  const examineKey = async (examine: () => Promise<void>) => {
    try {
      await examine();
    } catch (error) {
      area.fault(
        `a key can't be read: ${explain(error)}`,
        "Do what the message says; restore a key that is broken or lost from your backup.",
      );
    }
  };
  await examineKey(async () => {
    if (env.AUTH_SECRET === undefined && (await files.read(authSecretFile)) === null)
      reportMissing("AUTH_SECRET", `Restore ${files.describe(authSecretFile)}, or set AUTH_SECRET.`);
    else if (activeIds !== null && stored !== null && stored !== "empty")
      await examineAuthSecret(env, files, stored, area);
  });
  for (const purpose of purposes)
    await examineKey(async () => {
      const [found, next] = [await source.load([purpose]), await source.loadNext([purpose])];
      const half = await publicHalf(found, purpose);
      const active = activeIds?.get(purpose) ?? null;
      if (half === null) reportMissing(`the ${purpose} key`, `Restore ${source.describe(purpose)}.`);
      else if (active === null) area.ok(`the ${purpose} key can be read`);
      else if (half.keyId === active) area.ok(`the ${purpose} key ${active} is the active one`);
      else if ((await publicHalf(next, purpose))?.keyId === active)
        area.warning(`a rotation of the ${purpose} key is not finished`, "The next start finishes it.");
      else area.fault(`the ${purpose} key is not this database's`, `Restore ${source.describe(purpose)}.`);
    });
  return area.found;
}

async function lookAtLock(env: Env, database: Database): Promise<Pick<HeadLock, "require"> | null> {
  const store = await openStore(env.LOG_STORE, env);
  const origin = await readFirstOrigin(database);
  if (store === null || origin === null) return null;
  const lock = createHeadLock({ store, origin, random: randomBytes, logger });
  return { require: (head) => lock.requireSince(async () => head).finally(() => lock.close()) };
}

async function examineNewStore(env: Env, { ok, fault }: Area): Promise<void> {
  const store = await openStore(env.LOG_STORE, env);
  if (store === null) return;
  try {
    if ((await store.read(lockName)) === null) ok(`the store ${store.name} has no log yet`);
    else
      fault(
        `the store ${store.name} has a log, but the database is empty`,
        "Bring that log's database back. For a new service, choose an empty prefix in LOG_STORE.",
      );
  } catch (error) {
    fault(`the store ${store.name} can't be read (${nameError(error)})`, storeAdvice);
  } finally {
    store.close();
  }
}

/** True if entries were dropped here that LOG_STORE had: they go from a log's first one on. */
async function lacksEntries({ db }: Database): Promise<boolean> {
  const [dropped] = await db
    .select({ log: logs.id })
    .from(logs)
    .innerJoin(logLeaves, and(eq(logLeaves.log_id, logs.id), eq(logLeaves.leaf_index, 0)))
    .where(isNull(logLeaves.data))
    .limit(1);
  return dropped !== undefined;
}

async function examineRestored({ db }: Database, { warning }: Area): Promise<void> {
  const unknown = describeUnknown(await countUnknownApprovals(db));
  const [, ...revived] = await describeRevived(db, null);
  warning(
    `new-epoch would end what may have been used, taken back or denied in what is lost: ${unknown}`,
    `Look for a newer copy first. After new-epoch, look at ${revived.map((line) => line.trim()).join(" ")}`,
  );
}

const remindDays = 30;

/** Reminds the operator to look at whatever a log that went on after a loss brought back. */
async function examineCut({ db }: Database, clock: () => Date, { warning }: Area): Promise<void> {
  const [open] = await db.select().from(logs).where(isNull(logs.closed_at));
  if (!open?.epoch_payload) return;
  const { previous, held } = JSON.parse(utf8Decode(open.epoch_payload)).predicate;
  const isLost = previous.origin !== held.origin || previous.size !== held.size;
  const ageDays = (clock().getTime() - open.created_at.getTime()) / 86_400_000;
  if (!isLost || ageDays > remindDays) return;
  warning(
    `${open.origin} goes on since ${open.created_at.toISOString()} from a database that lacked entries: what was stopped in them works again, but for approvals`,
    "Look at keys, members, passkeys, rules and freezes: docs/operations.md, Backup and restore.",
  );
}

export async function examineLog(
  env: Env,
  database: Database | "empty",
  clock = () => new Date(),
): Promise<Finding[]> {
  const area = openArea("log");
  try {
    const guard = await readForkGuard(path.join(env.DATA_DIR, "log-guard"));
    if (database === "empty") {
      await examineNewStore(env, area);
      if (guard.current() !== null)
        area.fault(
          "this machine has signed a log, but the database is empty",
          "Bring that log's database back. For a new service, choose a new DATA_DIR.",
        );
      return area.found;
    }
    await requireOwnHistory(database.db, guard, await lookAtLock(env, database));
    const head = await readOpenHead(database.db);
    const { size, origin } = head;
    if (guard.current() === null)
      area.warning(
        "this machine has signed nothing yet, so its fork guard knows nothing",
        "Fine on a new machine.",
      );
    else area.ok(`the fork guard agrees with the database: ${origin} at size ${size}`);
    const firstOrigin = env.LOG_ORIGIN ?? (await readFirstOrigin(database)) ?? origin;
    requireOrigin(head, firstOrigin);
    if ((await openLogList(env.LOG_LIST, firstOrigin)) !== null) area.ok("the list in LOG_LIST has this log");
    if (env.LOG_STORE === undefined && (await lacksEntries(database)))
      area.fault(
        "LOG_STORE isn't set, but it alone has the entries that were dropped here",
        "Set LOG_STORE to the store that `npm run log -- compact` was run with.",
      );
    await examineCut(database, clock, area);
    const { problem } = await checkSum(database.db);
    if (problem === null) area.ok("every leaf is in a record or is a statement of the service");
    else
      area.fault(
        `the leaves don't add up: ${problem}`,
        "An older version has written to this database: docs/production.md, Upgrade and roll back.",
      );
  } catch (error) {
    if (error instanceof ForkGuardError) {
      area.fault(error.message, beforeStart);
      if (database !== "empty") await examineRestored(database, area);
    } else if (error instanceof CannotStart) area.fault(error.words.says, error.words.mend);
    else if (error instanceof HeadLockAway)
      area.fault(`${error.message} (${nameError(error.cause)})`, storeAdvice);
    else area.fault(`the log can't be read (${nameError(error)})`, "Run npm run log -- check.");
  }
  return area.found;
}

/* The PostgreSQL of DATABASE_URL: reachable, durable, large enough, of this version, and in time. Changes nothing. */

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
      says: `attestations can't be written (${nameError(error)})`,
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
    else fault(`DATABASE_LISTEN_URL can't be used (${nameError(error)})`, "Correct it.");
  } finally {
    await listening?.close();
  }
}

async function examineMembers({ db }: Database, env: Env, { fault }: Area): Promise<void> {
  const nobody = await explainNobody({ settings: env }, db);
  if (nobody !== null) fault(nobody, "Make the first owner: npm run accounts -- add-owner EMAIL.");
}

async function examineExport(database: Database, env: Env, { warning }: Area): Promise<void> {
  if (env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT === undefined) return;
  const { rejected, lastDay, late } = await readExportState(database);
  if (rejected > 0)
    warning(
      `the collector has rejected ${formatCount(rejected, "audit event")} in the last month, on ${lastDay} most recently`,
      "They aren't sent again: read them by GET /v1/audit, and in the service's log why (“rejected audit events”).",
    );
  if (late > 0)
    warning(
      `${formatCount(late, "audit event")} waited for the collector for ten minutes or longer`,
      "The service's log says why (“could not be sent”). They are sent once it takes them.",
    );
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
      says: `the database can't be used (${nameError(error)})`,
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
      await examineExport(database, env, area);
    }
    const { DATABASE_LISTEN_URL: listenUrl } = env;
    if (database.isPooled && listenUrl !== undefined) await examineListening(url, listenUrl, area);
  } catch (error) {
    area.fault(`not all of it can be read (${nameError(error)})`, unreadable);
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

/** Queries the replica as the service does, until it is fresh or something is wrong with it, for `patienceMs` at most. */
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

const examineEmpty = async (env: Env, clock: () => Date) => [
  ...(await examineKeys(env, "empty")),
  ...(await examineLog(env, "empty", clock)),
];

async function examineStored(env: Env, clock: () => Date): Promise<Finding[]> {
  // A running service has the embedded database to itself.
  if (env.DATABASE_URL === undefined)
    return existsSync(path.join(env.DATA_DIR, "pglite")) ? examineKeys(env, null) : examineEmpty(env, clock);
  const { findings, database, isEmpty } = await examineDatabase(env.DATABASE_URL, env, clock);
  if (isEmpty) return [...findings, ...(await examineEmpty(env, clock))];
  if (database === null) return [...findings, ...(await examineKeys(env, null))];
  try {
    const { DATABASE_REPLICA_URL: replica } = env;
    const standby = replica === undefined ? [] : await examineReplica(replica, database);
    const [keys, log] = [await examineKeys(env, database), await examineLog(env, database, clock)];
    return [...findings, ...standby, ...keys, ...log];
  } finally {
    await database.close();
  }
}

export async function examine(
  variables: Record<string, string | undefined>,
  outside: Outside,
): Promise<Finding[]> {
  const env = readSettings(variables);
  if (Array.isArray(env)) return env;
  const stored = await examineStored(env, outside.clock);
  return [...examineSettings(env), ...stored, ...(await examineOutside(env, outside))];
}
