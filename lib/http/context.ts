/**
 * Builds the one context of this process from the settings. Kept on globalThis, because the production server
 * and Next's bundle are two copies of this code that must share one database, one sequencer and one limiter.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import path from "node:path";
import { Redis } from "ioredis";
import { type Database, openDatabase } from "#lib/db/client";
import { type Env, readEnv } from "#lib/env";
import { logger } from "#lib/logger";
import { openSecretFiles, type SecretFiles } from "#lib/providers/key-files";
import { createLocalSigner } from "#lib/providers/local-signer";
import { createResendMailer, createSmtpMailer } from "#lib/providers/mail-transports";
import type { Mailer } from "#lib/providers/mailer";
import type { LocalWorldId } from "#lib/providers/world-id-local";
import type { Context, Secrets } from "#lib/services/context";
import { type KeySource, openSigners, reloadSigners } from "#lib/services/first-keys";
import { openForkGuard } from "#lib/services/fork-guard";
import { startHousekeeping } from "#lib/services/housekeeping";
import { logMadeKeys } from "#lib/services/key-events";
import { createLogSequencer } from "#lib/services/log-sequencer";
import { createMailboxMailer } from "#lib/services/mailbox";
import { createRateLimiter } from "#lib/services/rate-limit";
import { createSigningKeys, type KeyPurpose } from "#lib/services/signing-keys";
import { startRetryLoop } from "#lib/services/submit-approval";
import { createWakeups } from "#lib/services/wakeups";
import { createZkPool } from "#lib/services/zk-worker-pool";
import { openWorldId } from "./world-id";

/** The context, and what only the doors need. */
export interface App {
  context: Context;
  env: Env;
  /** Lets the production server vouch to Next for a socket's address. */
  peerSecret: string;
  /** The stand-in, where nothing is configured; its bridge and wallet remember in this process's memory. */
  localWorldId: LocalWorldId | null;
  close(): Promise<void>;
}

const random = (length: number) => new Uint8Array(randomBytes(length));

const keyFiles = { attestation: "signing-key", log: "log-signing-key", zk: "zk-signing-key" } as const;
const authSecretFile = "auth-secret";
const keySettings = { attestation: "SIGNING_KEY", log: "LOG_SIGNING_KEY", zk: "ZK_SIGNING_KEY" } as const;

function decodeZkSeed(text: string, name: string): Uint8Array {
  const seed = new Uint8Array(Buffer.from(text.trim(), "base64"));
  if (seed.length !== 32) throw new Error(`${name}: must be the base64 of a 32-byte seed`);
  return seed;
}

function createKeySource(env: Env, files: SecretFiles): KeySource {
  const find = async (purpose: KeyPurpose): Promise<{ text: string; name: string } | null> => {
    const setting = env[keySettings[purpose]];
    if (setting !== undefined) return { text: setting, name: keySettings[purpose] };
    const text = await files.read(keyFiles[purpose]);
    return text === null ? null : { text, name: files.describe(keyFiles[purpose]) };
  };
  return {
    load: async () => {
      const [attestation, log, zk] = await Promise.all([find("attestation"), find("log"), find("zk")]);
      return {
        ...(attestation && { signer: createLocalSigner(attestation.text, attestation.name) }),
        ...(log && { logSigner: createLocalSigner(log.text, log.name) }),
        ...(zk && { zkSeed: decodeZkSeed(zk.text, zk.name) }),
      };
    },
    create: async (missing) => {
      const names = missing.map((purpose): string => keyFiles[purpose]);
      const needsAuthSecret = env.AUTH_SECRET === undefined && (await files.read(authSecretFile)) === null;
      for (const name of needsAuthSecret ? [...names, authSecretFile] : names)
        await files.create(name, Buffer.from(random(32)).toString("base64"));
    },
    describe: (purpose) => `${keySettings[purpose]} or the file ${files.describe(keyFiles[purpose])}`,
  };
}

/** Made with the first keys only: a second instance with a secret of its own would refuse the first one's links. */
async function readAuthSecret(env: Env, files: SecretFiles): Promise<string> {
  const secret = env.AUTH_SECRET ?? (await files.read(authSecretFile));
  if (secret !== null) return secret;
  throw new Error(
    `Countersign cannot start: AUTH_SECRET is not set and the file ${files.describe(authSecretFile)} is missing, but this database is in use. ` +
      "Bring the file back, or set AUTH_SECRET to the other instances' value. If it is really lost, set AUTH_SECRET to a new one: sessions, e-mail codes and open approval links end.",
  );
}

function deriveSecrets(authSecret: string): Secrets {
  const derive = (use: string) =>
    new Uint8Array(hkdfSync("sha256", authSecret, "", `countersign/${use}`, 32));
  return {
    emailCode: derive("email-code"),
    approvalLink: derive("approval-link"),
    session: Buffer.from(derive("session")).toString("base64"),
  };
}

type Clocked = { database: Context["database"]; clock: () => Date };

function createMailer(env: Env, { database, clock }: Clocked): Mailer {
  const from = env.MAIL_FROM ?? "";
  if (env.RESEND_API_KEY !== undefined)
    return createResendMailer(env.RESEND_API_KEY, from, env.RESEND_BASE_URL);
  if (env.SMTP_URL !== undefined) return createSmtpMailer(env.SMTP_URL, from);
  return createMailboxMailer({ database, clock, random, print: (line) => logger.info(line) });
}

function openRedis(url: string | undefined): Redis | null {
  if (url === undefined) return null;
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  // Without a listener ioredis prints each failed attempt to connect.
  redis.on("error", (error) =>
    logger.warn({ err: error }, "Redis is out of reach; limits are counted in the database"),
  );
  return redis;
}

/** Opens the database; what opens after it closes it again when it fails. */
export async function buildApp(env: Env): Promise<App> {
  const database = await openDatabase({ databaseUrl: env.DATABASE_URL, dataDir: env.DATA_DIR });
  try {
    return await buildOn(database, env);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function buildOn(database: Database, env: Env): Promise<App> {
  const clock = () => new Date();
  const files = openSecretFiles(path.join(env.DATA_DIR, "keys"));
  const source = createKeySource(env, files);
  const origin = env.LOG_ORIGIN ?? `${new URL(env.baseUrl).host}/log`;
  const signers = await openSigners(database, source, origin);
  const keys = createSigningKeys(database, signers, () => reloadSigners(database, source), clock);
  const guard = await openForkGuard(env.DATA_DIR);
  const redis = openRedis(env.REDIS_URL);
  const world = await openWorldId(env, files, random);
  const context: Context = {
    settings: env,
    database,
    clock,
    random,
    logger,
    secrets: deriveSecrets(await readAuthSecret(env, files)),
    mailer: createMailer(env, { database, clock }),
    limiter: createRateLimiter(database, redis, clock),
    keys,
    guard,
    log: createLogSequencer({ database, keys, guard, logger }),
    wakeups: await createWakeups(database),
    pool: createZkPool({ workerFile: path.resolve("dist/zk-worker.mjs") }),
    worldId: world.provider,
  };
  await logMadeKeys(context);
  const retries = startRetryLoop(context);
  const stopHousekeeping = startHousekeeping(context);
  const close = async () => {
    stopHousekeeping();
    await retries.stop();
    await context.log.drain();
    await context.pool.close();
    redis?.disconnect();
    await database.close();
  };
  const peerSecret = Buffer.from(random(16)).toString("hex");
  return { context, env, peerSecret, localWorldId: world.local, close };
}

const slot = Symbol.for("countersign.app");
type Slots = { [slot]?: Promise<App> };

/** The process's app; the first call builds it. One that could not be built is tried again by the next call. */
export function getApp(): Promise<App> {
  const slots = globalThis as Slots;
  if (slots[slot] === undefined) {
    const building = buildApp(readEnv());
    building.catch(() => {
      if (slots[slot] === building) delete slots[slot];
    });
    slots[slot] = building;
  }
  return slots[slot];
}
