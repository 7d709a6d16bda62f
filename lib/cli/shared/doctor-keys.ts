/** The secrets at hand, their files, and whether they and the fork guard belong to this database. Changes nothing. */
import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { CannotStart } from "#lib/db/migrations";
import { logLeaves, logs } from "#lib/db/schema";
import type { Env } from "#lib/env";
import { storeAdvice } from "#lib/log/object-storage/object-store";
import { openStore } from "#lib/log/object-storage/open-store";
import { requireOwnHistory } from "#lib/log/reading/history";
import { openLogList } from "#lib/log/reading/log-list";
import { readOpenHead } from "#lib/log/reading/reader";
import { checkSum } from "#lib/log/records/check-records";
import { ForkGuardError, readForkGuard } from "#lib/log/sequencer/fork-guard";
import { createHeadLock, type HeadLock, HeadLockAway, lockName } from "#lib/log/sequencer/head-lock";
import { openSecretFiles, publicHalf, readFirstOrigin, requireOrigin } from "#lib/log/signing/first-keys";
import { authSecretFile, createKeySource } from "#lib/log/signing/key-source";
import { createKeyWrapping } from "#lib/log/signing/key-wrapping";
import { activeKeyId } from "#lib/log/signing/signing-keys";
import { logger } from "#lib/logger";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { countUnknownApprovals } from "#lib/services/approvals/decision/revoke";
import { examineAuthSecret } from "./doctor-settings";
import { type Area, explain, type Finding, openArea, reasonOf, unreadable } from "./findings";
import { describeRevived, describeUnknown } from "./open-service";

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
    fault(`the database doesn't say which are active (${reasonOf(error)})`, unreadable);
    return null;
  }
}

export async function examineKeys(env: Env, stored: Stored): Promise<Finding[]> {
  const area = openArea("keys");
  const folder = path.join(env.DATA_DIR, "keys");
  if (process.platform !== "win32") await examineModes(folder, area);
  const wrapping = createKeyWrapping(env);
  const files = openSecretFiles(folder, wrapping);
  const source = createKeySource(env, files, wrapping);
  const activeIds = await readActive(stored, area);
  const add = activeIds?.get("log") ? area.fault : area.warning;
  const sayMissing = (what: string, mend: string) =>
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
      sayMissing("AUTH_SECRET", `Restore ${files.describe(authSecretFile)}, or set AUTH_SECRET.`);
    else if (activeIds !== null && stored !== null && stored !== "empty")
      await examineAuthSecret(env, files, stored, area);
  });
  for (const purpose of purposes)
    await examineKey(async () => {
      const [found, next] = [await source.load([purpose]), await source.loadNext([purpose])];
      const half = await publicHalf(found, purpose);
      const active = activeIds?.get(purpose) ?? null;
      if (half === null) sayMissing(`the ${purpose} key`, `Restore ${source.describe(purpose)}.`);
      else if (active === null) area.ok(`the ${purpose} key can be read`);
      else if (half.keyId === active) area.ok(`the ${purpose} key ${active} is the active one`);
      else if ((await publicHalf(next, purpose))?.keyId === active)
        area.warning(`a rotation of the ${purpose} key is not finished`, "The next start finishes it.");
      else area.fault(`the ${purpose} key is not this database's`, `Restore ${source.describe(purpose)}.`);
    });
  return area.found;
}

/** Lock of all machines, if there is a store: it is read, and not made. */
async function lookAtLock(env: Env, database: Database): Promise<Pick<HeadLock, "require"> | null> {
  const store = await openStore(env.LOG_STORE, env);
  const origin = await readFirstOrigin(database);
  if (store === null || origin === null) return null;
  const lock = createHeadLock({ store, origin, random: randomBytes, logger });
  return { require: (head) => lock.requireSince(async () => head).finally(() => lock.close()) };
}

/** Before the first start, which makes the lock. */
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
    fault(`the store ${store.name} can't be read (${reasonOf(error)})`, storeAdvice);
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

/** Findings about a database that lacks the newest signed entries. */
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

/** Examines if this machine may go on signing this log. */
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
      area.fault(`${error.message} (${reasonOf(error.cause)})`, storeAdvice);
    else area.fault(`the log can't be read (${reasonOf(error)})`, "Run npm run log -- check.");
  }
  return area.found;
}
