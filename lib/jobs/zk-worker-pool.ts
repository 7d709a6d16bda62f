/**
 * Runs jobs (./zk-worker.ts and lib/jobs/picture-worker.ts) off the request thread, in few threads. Every job has
 * owners, and the threads are shared between them (./fair-queue.ts). A refused job gets 503 at once instead of a place
 * in a line that only grows.
 */
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { serialize } from "node:v8";
import { Piscina } from "piscina";
import { AppError } from "#lib/errors";
import { measure } from "#lib/instrumentation";
import { type BoundedMemo, createBoundedMemo } from "./bounded-memo";
import { createFairQueue, type Load, type Share } from "./fair-queue";
import type * as zkWorker from "./zk-worker";

type JobTable = Record<string, (input: never) => unknown>;
type Result<Job extends JobTable[string]> = Promise<Awaited<ReturnType<Job>>>;

export interface WorkerPool<Jobs extends JobTable> {
  run<Name extends keyof Jobs & string>(
    name: Name,
    input: Parameters<Jobs[Name]>[0],
    share: Share,
  ): Result<Jobs[Name]>;
  /**
   * Runs pure jobs: the result is remembered under the SHA-256 of the job's name and all of its input. So leave the time out of
   * it. The result is shared: do not change it.
   */
  runRemembered<Name extends keyof Jobs & string>(
    name: Name,
    input: Parameters<Jobs[Name]>[0],
    share: Share,
  ): Result<Jobs[Name]>;
  threadCount(): number;
  load(): Load;
  close(): Promise<void>;
}

export type ZkPool = WorkerPool<typeof zkWorker>;

export interface PoolOptions {
  workerFile: string;
  /** Default: a processor is left for requests if there are two, and four threads are enough. */
  maxThreads?: number;
  maxQueued?: number;
  maxPerOwner?: number;
  idleSeconds?: number;
  busyDetail?: string;
  /** Shared with other pools; they stay when this one closes. Default: threads of its own. */
  threads?: WorkerThreads;
}

export type WorkerThreads = Piscina;

/** Starts no thread before the first job. */
export function openThreads(
  options: Pick<PoolOptions, "workerFile" | "maxThreads" | "idleSeconds">,
): WorkerThreads {
  const { workerFile, maxThreads = defaultThreads(), idleSeconds = 60 } = options;
  return new Piscina({
    filename: workerFile,
    minThreads: 0,
    maxThreads,
    idleTimeout: idleSeconds * 1_000,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
}

export function createZkPool<Jobs extends JobTable = typeof zkWorker>(
  options: PoolOptions,
): WorkerPool<Jobs> {
  const { maxThreads = defaultThreads(), maxQueued = 32, maxPerOwner = 12 } = options;
  const { busyDetail = tooManyProofs } = options;
  const workers = options.threads ?? openThreads(options);
  const memo = createBoundedMemo(1_000);
  const queue = createFairQueue({
    slots: maxThreads,
    maxWaiting: maxQueued,
    maxPerOwner,
    refusal: busyDetail,
  });
  let closing = false;

  const pool: WorkerPool<Jobs> = {
    async run(name, input, share) {
      if (closing) throw new AppError("service_unavailable", "this instance is shutting down");
      const job = queue.run(share, () => workers.run(input, { name }));
      return await measure("job", name, () => job);
    },
    runRemembered(name, input, share) {
      const key = createHash("sha256")
        .update(serialize([name, input]))
        .digest("base64");
      return recall(memo, key, share, () => pool.run(name, input, share));
    },
    threadCount: () => workers.threads.length,
    load: queue.load,
    async close() {
      closing = true;
      // Piscina's own close() drops the jobs that still wait for a thread.
      await queue.drain();
      if (workers !== options.threads) await workers.destroy();
    },
  };
  return pool;
}

const tooManyProofs = "too many proofs are being created or checked right now";

const defaultThreads = () => Math.min(4, Math.max(1, availableParallelism() - 1));

/** The first caller may have had no place left, which says nothing about callers of the same moment. */
async function recall<T>(memo: BoundedMemo, key: string, share: Share, run: () => Promise<T>): Promise<T> {
  for (;;) {
    let isOwn = false;
    const runOwn = () => {
      isOwn = true;
      return run();
    };
    try {
      return await memo.get(key, runOwn, share.owners[0] ?? "");
    } catch (error) {
      if (isOwn || !isRefusal(error)) throw error;
    }
  }
}

/** Fewer than an organization has places: others of it go on meanwhile. */
const patientSlots = 4;
const patienceMs = 500;
const maxWaits = 60;

async function waitForPlace<T>(run: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await run();
    } catch (error) {
      // A pool that closes names no time after which to try again.
      const isFull = isRefusal(error) && "retry-after" in error.headers;
      if (!isFull || waits === maxWaits) throw error;
      await sleep(patienceMs);
    }
  }
}

/** Waits where the pool refuses: an answer that has begun to be sent could only break off. */
export function createPatientPool<Jobs extends JobTable>(pool: WorkerPool<Jobs>): WorkerPool<Jobs> {
  const places = { slots: patientSlots, maxWaiting: Infinity, maxPerOwner: Infinity };
  const queue = createFairQueue({ ...places, refusal: tooManyProofs });
  return {
    ...pool,
    runRemembered: (name, input, share) =>
      queue.run(share, () => waitForPlace(() => pool.runRemembered(name, input, share))),
  };
}

const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.errorName === "service_unavailable";
