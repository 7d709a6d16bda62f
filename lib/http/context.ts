/**
 * Builds the one context of this process from the settings. Kept on globalThis, because the production server
 * and Next's bundle are two copies of this code that must share one database, one sequencer and one limiter.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import path from "node:path";
import { Redis } from "ioredis";
import { type Env, readEnv } from "#lib/env";
import { logger } from "#lib/logger";
import type { SecretFiles } from "#lib/providers/key-files";
import { createResendMailer, createSmtpMailer } from "#lib/providers/mail-transports";
import type { Mailer } from "#lib/providers/mailer";
import type { LocalWorldId } from "#lib/providers/world-id-local";
import type { Context, Secrets } from "#lib/services/context";
import { createFairQueue } from "#lib/services/fair-queue";
import { openSigners, reloadSigners } from "#lib/services/first-keys";
import { createHealthCheck } from "#lib/services/health";
import { startHousekeeping } from "#lib/services/housekeeping";
import { logMadeKeys } from "#lib/services/key-events";
import { requireOwnHistory } from "#lib/services/log-history";
import { createLogSequencer } from "#lib/services/log-sequencer";
import { createMailboxMailer } from "#lib/services/mailbox";
import { createRateLimiter } from "#lib/services/rate-limit";
import { startRetryLoop } from "#lib/services/retry-submissions";
import { createSigningKeys } from "#lib/services/signing-keys";
import { createUnknownKeys } from "#lib/services/unknown-keys";
import { createWakeups } from "#lib/services/wakeups";
import { createWitnesses } from "#lib/services/witnesses";
import { createZkPool, type WorkerPool } from "#lib/services/zk-worker-pool";
import { authSecretFile } from "./key-source";
import { unknownKeyPolicy } from "./limits";
import { type LogRoom, openLogRoom } from "./log-room";
import type * as pictureWorker from "./picture-worker";
import { openWorldId } from "./world-id";

/** The context, and what only the doors need. */
export interface App {
  context: Context;
  env: Env;
  /** Lets the production server vouch to Next for a socket's address. */
  peerSecret: string;
  /** The stand-in, where nothing is configured; its bridge and wallet remember in this process's memory. */
  localWorldId: LocalWorldId | null;
  /** Draws the links' cards, off the request thread. */
  pictures: WorkerPool<typeof pictureWorker>;
  close(): Promise<void>;
}

const random = (length: number) => new Uint8Array(randomBytes(length));

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

/** A call may hang for ten seconds, so nobody has all of them. */
const worldCallShares = {
  slots: 16,
  maxWaiting: 64,
  maxPerOwner: 32,
  maxRunningPerOwner: 4,
  refusal: "too many proofs are waiting for World; this one is tried again",
};

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

/** Few at once: who looks at a link's card can wait or ask again, and nothing is kept of one (it may be erased). */
const createPicturePool = () =>
  createZkPool<typeof pictureWorker>({
    workerFile: path.resolve("dist/picture-worker.mjs"),
    maxThreads: 1,
    maxQueued: 16,
    busyDetail: "too many pictures are being drawn at this moment",
  });

/** Opens the database; what opens after it closes it again when it fails. */
export async function buildApp(env: Env): Promise<App> {
  const room = await openLogRoom(env);
  try {
    return await buildOn(room, env);
  } catch (error) {
    await room.database.close();
    throw error;
  }
}

async function buildOn(room: LogRoom, env: Env): Promise<App> {
  const { database, files, source, guard, firstOrigin } = room;
  const clock = () => new Date();
  const signers = await openSigners(database, source, firstOrigin);
  await requireOwnHistory(database.db, guard);
  const keys = createSigningKeys(database, signers, () => reloadSigners(database, source), clock);
  const redis = openRedis(env.REDIS_URL);
  const limiter = createRateLimiter(database, redis, clock);
  const world = await openWorldId(env, files, random);
  const context: Context = {
    settings: env,
    database,
    clock,
    random,
    logger,
    secrets: deriveSecrets(await readAuthSecret(env, files)),
    mailer: createMailer(env, { database, clock }),
    limiter,
    unknownKeys: createUnknownKeys(limiter, unknownKeyPolicy(env), clock),
    health: createHealthCheck(database),
    keys,
    guard,
    log: createLogSequencer({ database, keys, guard, logger }),
    wakeups: await createWakeups(database),
    pool: createZkPool({ workerFile: path.resolve("dist/zk-worker.mjs") }),
    worldId: world.provider,
    worldCalls: createFairQueue(worldCallShares),
  };
  const witnesses = createWitnesses({ database, policy: env.WITNESSES, logger });
  await witnesses.ask();
  context.log.onCommit(() => witnesses.schedule());
  await logMadeKeys(context);
  const pictures = createPicturePool();
  const retries = startRetryLoop(context);
  const stopHousekeeping = startHousekeeping(context);
  const close = async () => {
    stopHousekeeping();
    await retries.stop();
    await context.log.drain();
    await witnesses.close();
    await context.pool.close();
    await pictures.close();
    redis?.disconnect();
    await database.close();
  };
  const peerSecret = Buffer.from(random(16)).toString("hex");
  return { context, env, peerSecret, localWorldId: world.local, pictures, close };
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
