/** Opens database, key files and fork guard of these settings, for the service and the command lines. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import path from "node:path";
import { type Database, openDatabase } from "#lib/db/client";
import { makePrivateParent } from "#lib/db/embedded/private-folder";
import { throwRefused } from "#lib/db/postgres/start-failures";
import { CannotStart } from "#lib/db/start";
import type { Env } from "#lib/env";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { openStore } from "#lib/log/object-storage/open-store";
import { requireConditions } from "#lib/log/object-storage/probe";
import { type OpenForkGuard, openForkGuard } from "#lib/log/sequencer/fork-guard";
import { createHeadLock, type HeadLock } from "#lib/log/sequencer/head-lock";
import { type KeySource, readFirstOrigin } from "#lib/log/signing/first-keys";
import { openSecretFiles, type SecretFiles } from "#lib/log/signing/key-files";
import { createKeySource } from "#lib/log/signing/key-source";
import { createKeyWrapping } from "#lib/log/signing/key-wrapping";
import { logger } from "#lib/logger";
import { createRandom } from "./random";

export interface OpenedLog {
  database: Database;
  files: SecretFiles;
  source: KeySource;
  guard: OpenForkGuard;
  store: ObjectStore | null;
  lock: HeadLock | null;
  /** The origin of log 1; later logs are named after it. */
  firstOrigin: string;
}

/** Everything works there; who wonders why it is slow finds this line. */
const poolerAdvice =
  "DATABASE_URL leads to a connection pooler. Countersign works through it, but slower, because no statement is prepared. Give it the server's own address if you can.";
const listenAdvice =
  "Waiting requests look for a change once a second: set DATABASE_LISTEN_URL to the server's own address, and they learn of it at once.";

const names = ["keys", "log-guard", "pglite"];
/** Other files that may be there: the embedded database's lock, and a volume's file system. */
const others = ["countersign.pid", "lost+found"];

/** Closes the folders that a start writes to, as far as they exist; the others are made in them. */
async function requireWritable(dataDir: string): Promise<void> {
  try {
    await makePrivateParent(dataDir, [...names, ...others]);
    for (const name of ["", ...names]) await requireFolder(path.join(dataDir, name));
  } catch (error) {
    const { code, path: at = dataDir } = error as NodeJS.ErrnoException;
    const says = `the folder ${path.resolve(at)} can't be used (${code})`;
    const mend =
      "Make it a folder that belongs to the user who runs Countersign, or set DATA_DIR to another.";
    throw new CannotStart({ says, mend }, error);
  }
}

/** A path that ends in a slash is a folder's. */
async function requireFolder(folder: string): Promise<void> {
  await access(`${folder}${path.sep}`, constants.R_OK | constants.W_OK | constants.X_OK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    },
  );
}

/** While it is asked, the head's row is locked: it must not take long. */
async function openLock(env: Env, origin: string, isWriter: boolean): Promise<HeadLock | null> {
  const store = await openStore(env.LOG_STORE, env, { patienceMs: 2_500, attempts: 2 });
  if (store === null) return null;
  if (isWriter) await requireConditions(store);
  return createHeadLock({ store, origin, random: createRandom(), logger });
}

/** `isWriter`: not for a process that leaves appending to another, which has tried the store. */
export async function openLog(env: Env, isWriter = true): Promise<OpenedLog> {
  await requireWritable(env.DATA_DIR);
  const { DATABASE_URL: databaseUrl, DATABASE_LISTEN_URL: listenUrl, DATA_DIR: dataDir, processCount } = env;
  const database = await openDatabase({ databaseUrl, listenUrl, dataDir, processCount });
  if (database.isPooled) logger.warn(database.listen ? poolerAdvice : `${poolerAdvice} ${listenAdvice}`);
  try {
    const wrapping = createKeyWrapping(env);
    const files = openSecretFiles(path.join(env.DATA_DIR, "keys"), wrapping);
    const durable = database.kind === "embedded";
    const firstOrigin =
      env.LOG_ORIGIN ?? (await readFirstOrigin(database)) ?? `${new URL(env.baseUrl).host}/log`;
    return {
      database,
      files,
      source: createKeySource(env, files, wrapping),
      store: await openStore(env.LOG_STORE, env),
      lock: await openLock(env, firstOrigin, isWriter),
      guard: await openForkGuard(path.join(env.DATA_DIR, "log-guard"), { durable, now: new Date() }),
      firstOrigin,
    };
  } catch (error) {
    await database.close();
    return throwRefused(error, databaseUrl);
  }
}
