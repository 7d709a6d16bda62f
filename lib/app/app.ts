/**
 * Builds the one context of this process from the settings. Kept on globalThis, because the production server
 * and Next's bundle are two copies of this code that must share one database, one sequencer and one limiter.
 */

import { hkdfSync } from "node:crypto";
import path from "node:path";
import type { Redis } from "ioredis";
import { domainProbe } from "#lib/accounts/domain-proof";
import type { Context } from "#lib/approvals/context";
import { openReplica } from "#lib/db/replica";
import { createWakeups } from "#lib/db/wakeups";
import { originOfLog } from "#lib/domain/log-epochs";
import type { Secrets } from "#lib/door/context";
import { createHealthCheck } from "#lib/door/health";
import { unknownKeyPolicy } from "#lib/door/limits";
import { createRateLimiter } from "#lib/door/rate-limit";
import { createRequestLog } from "#lib/door/request-log";
import type { Door } from "#lib/door/route";
import { type Env, readEnv } from "#lib/env";
import { authenticate, recall } from "#lib/keys/authenticate";
import { createCallers } from "#lib/keys/callers";
import { createUnknownKeys } from "#lib/keys/unknown-keys";
import { requireOwnHistory } from "#lib/log/history";
import { logMadeKeys } from "#lib/log/key-events";
import { openLogList } from "#lib/log/log-list";
import { createLogSequencer } from "#lib/log/sequencer";
import { createStaticTiles } from "#lib/log/static-tiles";
import { logger } from "#lib/logger";
import { createMailboxMailer } from "#lib/mail/mailbox";
import type { Mailer } from "#lib/mail/mailer";
import { openSigners, reloadSigners } from "#lib/signing/first-keys";
import type { SecretFiles } from "#lib/signing/key-files";
import { authSecretFile } from "#lib/signing/key-source";
import { createSigningKeys } from "#lib/signing/signing-keys";
import type { LocalWorldId } from "#lib/stand-in/world-id";
import { measure } from "#lib/steps";
import { createFairQueue } from "#lib/workers/fair-queue";
import type * as pictureWorker from "#lib/workers/picture-worker";
import { createShortMemory } from "#lib/workers/short-memory";
import { createZkPool, type WorkerPool, type WorkerThreads } from "#lib/workers/zk-worker-pool";
import { appSlot } from "./app-slot";
import { startBackground } from "./background";
import { type OpenedLog, openLog } from "./open-log";
import { openTime } from "./open-time";
import type { Calls } from "./process-calls";
import { createRandom } from "./random";
import { openWorldId } from "./world-id";
import { appendInWriter, workInWriter } from "./writer-calls";

/** The door with the whole context behind it. */
export interface App extends Door<Context> {
  /** The stand-in, if nothing is configured. Its bridge and wallet keep their state in this process's memory. */
  localWorldId: LocalWorldId | null;
  /** Draws the links' cards, off the request thread. */
  pictures: WorkerPool<typeof pictureWorker>;
  /** Before it stops: it answers as before, asks everyone to go elsewhere, and lets nobody wait. */
  leave(): void;
  close(): Promise<void>;
}

const random = createRandom();

/** Made with the first keys only: a second instance with a secret of its own would refuse the first one's links. */
async function readAuthSecret(env: Env, files: SecretFiles): Promise<string> {
  const secret = env.AUTH_SECRET ?? (await files.read(authSecretFile));
  if (secret !== null) return secret;
  throw new Error(
    `Countersign cannot start: AUTH_SECRET is not set and the file ${files.describe(authSecretFile)} is missing, but this database is in use. ` +
      "Restore the file, or set AUTH_SECRET to the other processes' value. If it is lost, set AUTH_SECRET to a new one: that ends sessions, e-mail codes and open approval links, and webhook endpoints must be rotated.",
  );
}

function deriveSecrets(authSecret: string): Secrets {
  const derive = (use: string) =>
    new Uint8Array(hkdfSync("sha256", authSecret, "", `countersign/${use}`, 32));
  return {
    emailCode: derive("email-code"),
    approvalLink: derive("approval-link"),
    approverLink: derive("approver-link"),
    mcpState: derive("mcp-state"),
    webhookKeys: derive("webhook-keys"),
    session: Buffer.from(derive("session")).toString("base64"),
  };
}

/** A call may hang for ten seconds, so nobody has all of them. */
const worldCallShares = {
  slots: 16,
  maxWaiting: 64,
  maxPerOwner: 32,
  maxRunningPerOwner: 4,
  refusal: "too many proofs are waiting for World; this one will be tried again",
};

/** How long an attestation may be made from an agent that was read before; it is compared again when it is stored. */
const agentLifetimeMs = 20_000;

/** The file of the threads that make and check costly proofs. */
export const zkWorkerFile = path.resolve("dist/zk-worker.mjs");

/** What is different in a server of several processes, or with several apps in one. */
export interface AppOptions {
  /** The same in all of them. */
  peerSecret?: string;
  /** In all but the writer: the way to it. */
  writer?: Calls;
  /** For proofs: shared by several apps of one process, and left open by each. */
  proofThreads?: WorkerThreads;
}

type Clocked = { database: Context["database"]; clock: () => Date };

function measureMails({ send }: Mailer): Mailer {
  return { send: (mail) => measure("mail", "send a mail", () => send(mail)) };
}

/** What only some settings need is loaded only with them: a start that loads all takes longer by a fifth. */
async function createMailer(env: Env, { database, clock }: Clocked): Promise<Mailer> {
  const { RESEND_API_KEY: resendKey, SMTP_URL: smtpUrl, MAIL_FROM: from = "" } = env;
  if (resendKey === undefined && smtpUrl === undefined)
    return createMailboxMailer({ database, clock, random, print: (line) => logger.info(line) });
  const { createResendMailer, createSmtpMailer } = await import("#lib/mail/transports");
  if (resendKey !== undefined) return createResendMailer(resendKey, from, env.RESEND_BASE_URL);
  return createSmtpMailer(String(smtpUrl), from);
}

async function openRedis(url: string | undefined): Promise<Redis | null> {
  return url === undefined ? null : (await import("./redis")).openRedis(url);
}

/** Few at once: who looks at a link's card can wait or ask again, and nothing is kept of one (it may be erased). */
const createPicturePool = () =>
  createZkPool<typeof pictureWorker>({
    workerFile: path.resolve("dist/picture-worker.mjs"),
    maxThreads: 1,
    maxQueued: 16,
    busyDetail: "too many images are being rendered right now",
  });

/** Opens the database; what opens after it closes it again when it fails. */
export async function buildApp(env: Env, options: AppOptions = {}): Promise<App> {
  const opened = await openLog(env);
  try {
    return await buildOn(opened, env, options);
  } catch (error) {
    await opened.database.close();
    throw error;
  }
}

async function buildOn(opened: OpenedLog, env: Env, options: AppOptions): Promise<App> {
  const { writer, proofThreads } = options;
  const { database, files, source, guard, firstOrigin } = opened;
  const clock = () => new Date();
  const signers = await openSigners(database, source, firstOrigin);
  await requireOwnHistory(database.db, guard);
  const keys = createSigningKeys(database, signers, () => reloadSigners(database, source), clock);
  const redis = await openRedis(env.REDIS_URL);
  const limiter = createRateLimiter(database, redis, clock);
  const logList = await openLogList(env.LOG_LIST, firstOrigin);
  const world = await openWorldId(env, files, random);
  const sequencer = createLogSequencer({ database, keys, guard, random, logger });
  const pool = createZkPool({ workerFile: zkWorkerFile, ...(proofThreads && { threads: proofThreads }) });
  const time = await openTime({ env, database, clock, random, logger, pool, isAsking: writer === undefined });
  const { DATABASE_REPLICA_URL: replicaUrl } = env;
  const replica = replicaUrl === undefined ? null : openReplica(replicaUrl, database, logger);
  const context: Context = {
    settings: env,
    database,
    clock,
    random,
    logger,
    secrets: deriveSecrets(await readAuthSecret(env, files)),
    mailer: measureMails(await createMailer(env, { database, clock })),
    domainProbe,
    limiter,
    unknownKeys: createUnknownKeys(limiter, unknownKeyPolicy(env), clock),
    callers: createCallers(clock),
    agents: createShortMemory(clock, agentLifetimeMs),
    replica,
    health: createHealthCheck(database),
    leaving: { hasBegun: false },
    keys,
    guard,
    log: writer === undefined ? sequencer : appendInWriter(sequencer, writer),
    wakeups: await createWakeups(database),
    requestLog: createRequestLog(database, logger, { perOrganizationPerDay: env.REQUEST_LOG_PER_DAY }),
    pool: writer === undefined ? pool : workInWriter(pool, writer),
    worldId: world.provider,
    worldCalls: createFairQueue(worldCallShares),
    notBefore: time.notBefore,
    logList,
    staticTiles: createStaticTiles({
      url: env.LOG_TILES_URL,
      clock,
      logger,
      findKey: (id) => keys.logVerifierKey(originOfLog(firstOrigin, id)),
    }),
    timeAuthorities: time.timeAuthorities,
  };
  sequencer.onCommit(time.onCommit);
  await time.start();
  if (writer === undefined) await logMadeKeys(context);
  const pictures = createPicturePool();
  const stopBackground = writer === undefined ? startBackground(context) : async () => {};
  const close = async () => {
    await stopBackground();
    await sequencer.drain();
    await context.requestLog.close();
    writer?.close();
    await time.close();
    await pool.close();
    await pictures.close();
    redis?.disconnect();
    guard.close();
    await replica?.close();
    await database.close();
  };
  const { peerSecret = Buffer.from(random(16)).toString("hex") } = options;
  const desk = { context, env };
  return {
    context,
    env,
    peerSecret,
    authenticate: (...asked) => authenticate(desk, ...asked),
    recall: (...asked) => recall(desk, ...asked),
    localWorldId: world.local,
    pictures,
    leave: () => {
      context.leaving.hasBegun = true;
      context.wakeups.wakeAll();
    },
    close,
  };
}

type Slots = { [appSlot]?: Promise<App> };

/**
 * The process's app; the first call builds it, with its options. One that could not be built is tried again by the next
 * call.
 */
export function getApp(options?: AppOptions): Promise<App> {
  const slots = globalThis as Slots;
  if (slots[appSlot] === undefined) {
    const building = buildApp(readEnv(), options);
    building.catch(() => {
      if (slots[appSlot] === building) delete slots[appSlot];
    });
    slots[appSlot] = building;
  }
  return slots[appSlot];
}
