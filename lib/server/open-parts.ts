/**
 * Opens what the settings choose: database, key files and fork guard, for the command lines too; and for the service how it
 * sends mail, its sources of time bounds, and World ID.
 */
import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import path from "node:path";
import type { Database } from "#lib/db/client";
import { makePrivateParent } from "#lib/db/embedded/data-folder";
import { openDatabase } from "#lib/db/embedded/embedded";
import { CannotStart } from "#lib/db/migrations";
import { throwRefused } from "#lib/db/postgres/first-connection";
import type { LocalWorldId } from "#lib/emulators/world-id";
import type { Env } from "#lib/env";
import { measure } from "#lib/instrumentation";
import { createShare } from "#lib/jobs/fair-queue";
import { type ObjectStore, openStore, requireConditions } from "#lib/log/object-storage/object-store";
import { type OpenForkGuard, openForkGuard } from "#lib/log/sequencer/fork-guard";
import { createHeadLock, type HeadLock } from "#lib/log/sequencer/head-lock";
import {
  type KeySource,
  openSecretFiles,
  readFirstOrigin,
  type SecretFiles,
} from "#lib/log/signing/first-keys";
import { createKeySource } from "#lib/log/signing/key-source";
import { createKeyWrapping } from "#lib/log/signing/key-wrapping";
import { createNotBefore, createTimeStamps } from "#lib/log/time/time-stamps";
import { createWitnesses } from "#lib/log/witness/witnesses";
import { logger } from "#lib/logger";
import { type Certificate, parseCertificates } from "#lib/protocol/encoding/certificate";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";
import type { Mailer } from "#lib/services/accounts/context";
import type { Context } from "#lib/services/approvals/context";
import {
  createNoWorldId,
  readV4VerifyingKey,
  type WorldIdProvider,
} from "#lib/services/approvals/world-id/provider";
import { createMailboxMailer } from "#lib/services/notifications/mailbox";
import { createRandom } from "./secrets";

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

/** Advice for operators who wonder why it is slow; everything works there. */
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

/* Transports of mail, by the settings. */

type Tools = Pick<Context, "database" | "clock" | "random" | "logger">;

/** Modules for some settings are loaded only with them: a start that loads all of them takes longer by a fifth. */
async function chooseMailer(env: Env, { database, clock, random, logger }: Tools): Promise<Mailer> {
  const { RESEND_API_KEY: resendKey, SMTP_URL: smtpUrl, MAIL_FROM: from = "" } = env;
  if (resendKey === undefined && smtpUrl === undefined)
    return createMailboxMailer({ database, clock, random, print: (line) => logger.info(line) });
  const { createResendMailer, createSmtpMailer } = await import("#lib/services/notifications/transports");
  if (resendKey !== undefined) return createResendMailer(resendKey, from, env.RESEND_BASE_URL);
  return createSmtpMailer(String(smtpUrl), from);
}

export async function openMailer(env: Env, tools: Tools): Promise<Mailer> {
  const { send } = await chooseMailer(env, tools);
  return { send: (mail) => measure("mail", "send a mail", () => send(mail)) };
}

/* Opens sources of time bounds: witnesses, beacons and time-stamp authorities, none of them on a request's path. */

/** The service's own work, which weighs like one client's. */
export const serviceShare = createShare("other", { organization: "service" });

async function readTimeAuthorities(file: string | undefined): Promise<Certificate[]> {
  if (file === undefined) return [];
  try {
    return parseCertificates(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Countersign cannot start: TSA_CERTIFICATES, ${file}: ${why}`);
  }
}

interface Dependencies extends Pick<Context, "database" | "clock" | "random" | "logger" | "pool"> {
  env: Env;
  /** True if this process asks witnesses and authorities; one does for all. */
  isAsking: boolean;
}

export async function openTime({ env, isAsking, pool, ...shared }: Dependencies) {
  const { database, clock, random, logger } = shared;
  if (env.WITNESSES?.witnesses.some(({ keys }) => keys.some(({ type }) => type === 6))) await loadMlDsa();
  const witnesses = createWitnesses({
    database,
    policy: env.WITNESSES,
    logger,
    clock,
    intervalSeconds: env.WITNESS_INTERVAL_SECONDS,
    onCosigned: () => notBefore.refresh(),
  });
  const schedule = () => {
    if (isAsking) witnesses.schedule();
  };
  const notBefore = createNotBefore({
    database,
    policy: env.WITNESSES,
    drandUrl: env.DRAND_URL,
    clock,
    logger,
    maxAgeSeconds: env.NOT_BEFORE_MAX_AGE_SECONDS,
    verifyBeacon: (bound) => pool.runRemembered("verifyBeacon", bound, serviceShare),
    renew: schedule,
  });
  const timeAuthorities = await readTimeAuthorities(env.TSA_CERTIFICATES);
  const timeStamps = createTimeStamps({
    database,
    urls: env.TSA_URLS,
    pinned: timeAuthorities,
    clock,
    random,
    logger,
  });
  return {
    notBefore,
    timeAuthorities,
    onCommit: schedule,
    start: async () => {
      if (isAsking) await witnesses.ask();
      notBefore.start();
      if (isAsking) timeStamps.start();
    },
    close: async () => {
      await timeStamps.close();
      await notBefore.close();
      await witnesses.close();
    },
  };
}

/* World itself as the settings say, none, or the local stand-in with an RP key of its own. */

interface OpenedWorldId {
  provider: WorldIdProvider;
  local: LocalWorldId | null;
}

const localKeyFile = "local-rp-signing-key";

async function readLocalRpKey(files: SecretFiles, random: (length: number) => Uint8Array): Promise<string> {
  const kept = await files.read(localKeyFile);
  if (kept !== null) return kept;
  // Below secp256k1's order, except with a chance of 2^-128.
  const made = Buffer.from(random(32)).toString("hex");
  try {
    await files.create(localKeyFile, made);
    return made;
  } catch (error) {
    // Another process started at the same time and was first.
    const theirs = await files.read(localKeyFile);
    if (theirs === null) throw error;
    return theirs;
  }
}

export async function openWorldId(
  env: Env,
  files: SecretFiles,
  random: (length: number) => Uint8Array,
): Promise<OpenedWorldId> {
  if (env.worldId === "none") return { provider: createNoWorldId(env.baseUrl), local: null };
  const { WORLD_APP_ID: appId, WORLD_RP_ID: rpId, WORLD_RP_SIGNING_KEY: rpSigningKeyHex } = env;
  if (appId === undefined || rpId === undefined || rpSigningKeyHex === undefined) {
    const { createLocalWorldId } = await import("#lib/emulators/world-id");
    const rpKey = await readLocalRpKey(files, random);
    const local = createLocalWorldId({ baseUrl: env.baseUrl, rpSigningKeyHex: rpKey });
    return { provider: local.provider, local };
  }
  const [{ createPortalProvider }, { createWorldChain }] = await Promise.all([
    import("#lib/services/approvals/world-id/portal"),
    import("#lib/services/approvals/world-id/chain"),
  ]);
  const v4Key = env.WORLD_ID_V4_VERIFYING_KEY;
  const rpcUrl = env.WORLD_CHAIN_RPC_URL;
  const provider = createPortalProvider({
    environment: env.WORLD_ENVIRONMENT,
    idkitConfig: { app_id: appId as `app_${string}`, environment: env.WORLD_ENVIRONMENT },
    rpId,
    rpSigningKeyHex,
    portalUrl: env.WORLD_PORTAL_URL.replace(/\/+$/, ""),
    ...(v4Key === undefined ? {} : { v4KeyJson: await readV4VerifyingKey(v4Key) }),
    ...(rpcUrl === undefined ? {} : { chain: createWorldChain({ rpcUrl }) }),
  });
  return { provider, local: null };
}
