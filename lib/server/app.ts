/** Builds the one context of this process from the settings. */

import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import { createHealthCheck } from "#lib/api/http/health";
import { createIdempotencyLeases } from "#lib/api/http/idempotency";
import { invalidKeyPolicy } from "#lib/api/http/pipeline";
import { createRateLimiter } from "#lib/api/http/rate-limit";
import { createRequestLog } from "#lib/api/http/request-log";
import { openResponseCache } from "#lib/api/http/response-cache";
import { logIfSlow } from "#lib/db/migrations";
import { throwRefused } from "#lib/db/postgres/first-connection";
import { openReplica } from "#lib/db/postgres/replica";
import { createWakeups } from "#lib/db/pubsub";
import { openSharedClock } from "#lib/db/shared-clock";
import { type Env, readEnv } from "#lib/env";
import { createTimedCache } from "#lib/jobs/bounded-memo";
import { createFairQueue } from "#lib/jobs/fair-queue";
import { requestGuarded } from "#lib/jobs/guarded-request";
import type * as pictureWorker from "#lib/jobs/picture-worker";
import { createZkPool, type WorkerThreads } from "#lib/jobs/zk-worker-pool";
import { logMadeKeys } from "#lib/log/keys/key-events";
import { createOldEntries } from "#lib/log/reading/compact";
import { createStaticTiles } from "#lib/log/reading/export-tiles";
import { requireOwnHistory } from "#lib/log/reading/history";
import { openLogList } from "#lib/log/reading/log-list";
import { openSigningThread } from "#lib/log/sequencer/entry";
import { createLogSequencer, createReadiness } from "#lib/log/sequencer/sequencer";
import { openSigners, reloadSigners } from "#lib/log/signing/first-keys";
import type * as logWorker from "#lib/log/signing/log-worker";
import { createSigningKeys } from "#lib/log/signing/signing-keys";
import { startPostQuantum, stopPostQuantum } from "#lib/log/witness/post-quantum";
import { logger } from "#lib/logger";
import { originOfLog } from "#lib/protocol/tlog/log-leaf";
import { type Calls, workRemotely } from "#lib/server/processes/ipc";
import { domainProbe } from "#lib/services/accounts/domains";
import type { Context } from "#lib/services/approvals/context";
import {
  authenticate,
  authenticateFromCache,
  createCallers,
  createInvalidKeyThrottle,
} from "#lib/services/keys/authenticate";
import { createRulesEngine } from "#lib/services/policies/engine";
import { startBackground } from "./background";
import { type OpenedLog, openLog, openMailer, openTime, openWorldId, serviceShare } from "./open-parts";
import { createRandom, openSecrets } from "./secrets";
import { type App, keepApp } from "./singleton";

const random = createRandom();

/** A call may hang for ten seconds, so no owner gets all of them. */
const worldCallShares = {
  slots: 16,
  maxWaiting: 64,
  maxPerOwner: 32,
  maxRunningPerOwner: 4,
  refusal: "too many proofs are waiting for World; this one will be tried again",
};

/** Milliseconds for which attestations use an agent that was read before; it is compared again when they are stored. */
const agentLifetimeMs = 20_000;
const unaskedLifetimeMs = 600_000;

export const zkWorkerFile = path.resolve("dist/zk-worker.mjs");

export interface AppOptions {
  peerSecret?: string;
  writer?: Calls;
  /** Threads for proofs: shared by several apps of one process, and left open by each. */
  proofThreads?: WorkerThreads;
}

const openRedis = async (url: string | undefined) =>
  url === undefined ? null : (await import("./redis")).openRedis(url);

/** Few at once: who looks at a link's card can wait or ask again, and nothing is kept of one (it may be erased). */
const createPicturePool = () =>
  createZkPool<typeof pictureWorker>({
    workerFile: path.resolve("dist/picture-worker.mjs"),
    maxThreads: 1,
    maxQueued: 16,
    busyDetail: "too many images are being rendered right now",
  });

const createLogPool = () =>
  createZkPool<typeof logWorker>({
    workerFile: path.resolve("dist/log-worker.mjs"),
    maxThreads: 1,
    // Idle threads take 20 MB; while the log grows this one has a job each second.
    idleSeconds: 5,
  });

/** Opens the database; what opens after it closes it again when it fails. */
export async function buildApp(env: Env, options: AppOptions = {}): Promise<App> {
  const opened = await openLog(env, options.writer === undefined);
  try {
    return await buildOn(opened, env, options);
  } catch (error) {
    await opened.database.close();
    return throwRefused(error, env.DATABASE_URL);
  }
}

async function buildOn(opened: OpenedLog, env: Env, options: AppOptions): Promise<App> {
  const { writer, proofThreads } = options;
  const { database, files, source, guard, store, lock, firstOrigin } = opened;
  const sharedClock = await openSharedClock(database, logger);
  const clock = sharedClock.now;
  const signers = await logIfSlow("the signing keys", openSigners(database, source, firstOrigin));
  await logIfSlow("the log's history", requireOwnHistory(database.db, guard, lock));
  const keys = createSigningKeys(database, signers, () => reloadSigners(database, source), clock);
  const redis = await openRedis(env.REDIS_URL);
  const limiter = createRateLimiter(database, redis, clock);
  const logList = await openLogList(env.LOG_LIST, firstOrigin);
  const world = await openWorldId(env, files, random);
  const logPool = createLogPool();
  const sequencer = createLogSequencer({
    database,
    keys,
    guard,
    lock,
    random,
    logger,
    thread: openSigningThread(logPool, serviceShare),
  });
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
    secrets: await openSecrets(env, files),
    mailer: await openMailer(env, { database, clock, random, logger }),
    domainProbe,
    postPush: requestGuarded,
    limiter,
    invalidKeyThrottle: createInvalidKeyThrottle(limiter, invalidKeyPolicy(env), clock),
    callers: createCallers(clock),
    agents: createTimedCache(clock, agentLifetimeMs),
    unasked: createTimedCache(clock, unaskedLifetimeMs),
    replica,
    health: createHealthCheck(database, createReadiness({ database, keys, guard, lock, logger })),
    leaving: { hasBegun: false },
    keys,
    guard,
    lock,
    store,
    logPool,
    oldEntries: store === null ? null : createOldEntries(store),
    log: sequencer,
    wakeups: await logIfSlow("the database's notifications", createWakeups(database)),
    answers: await openResponseCache(database),
    requestLog: createRequestLog(database, logger, { perOrganizationPerDay: env.REQUEST_LOG_PER_DAY }),
    idempotencyLeases: createIdempotencyLeases(database, logger),
    pool: writer === undefined ? pool : workRemotely(pool, writer),
    rules: createRulesEngine({ logger }),
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
  await logIfSlow("witnesses", time.start());
  if (writer === undefined) await logMadeKeys(context);
  const pictures = createPicturePool();
  const stopBackground = writer === undefined ? startBackground(context) : async () => {};
  const isTwice = env.POST_QUANTUM === "on";
  if (writer === undefined && !isTwice) await stopPostQuantum(context);
  const endPostQuantum =
    writer === undefined && isTwice
      ? startPostQuantum(context, (input) => logPool.run("signMlDsa", input, serviceShare))
      : async () => {};
  const close = async () => {
    await stopBackground();
    await endPostQuantum();
    await sequencer.drain();
    await context.requestLog.close();
    context.idempotencyLeases.close();
    writer?.close();
    await time.close();
    await pool.close();
    await pictures.close();
    await logPool.close();
    context.rules.close();
    redis?.disconnect();
    guard.close();
    lock?.close();
    store?.close();
    sharedClock.close();
    await replica?.close();
    await database.close();
  };
  const { peerSecret = Buffer.from(random(16)).toString("hex") } = options;
  return {
    context,
    env,
    peerSecret,
    authenticate: (...asked) => authenticate(context, ...asked),
    authenticateFromCache: (...asked) => authenticateFromCache(context, ...asked),
    localWorldId: world.local,
    pictures,
    handedOver: new Map(),
    pageAnswers: new AsyncLocalStorage(),
    leave: () => {
      context.leaving.hasBegun = true;
      context.wakeups.wakeAll();
    },
    close,
  };
}

/** Builds the process's app (./singleton.ts). One that could not be built is tried again by the next call. */
export function openApp(options?: AppOptions): Promise<App> {
  const building = buildApp(readEnv(), options);
  keepApp(building);
  building.catch(() => keepApp(null));
  return building;
}
