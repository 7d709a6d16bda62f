/**
 * Runs jobs (lib/services/zk-worker.ts and lib/http/picture-worker.ts) off the request thread, in few threads and with a bounded
 * queue: a caller beyond the bound gets 503 at once instead of a place in a line that only grows.
 */
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { serialize } from "node:v8";
import { Piscina } from "piscina";
import { AppError } from "#lib/errors";
import { createBoundedMemo } from "./bounded-memo";
import type * as zkWorker from "./zk-worker";

type JobTable = Record<string, (input: never) => unknown>;
type Result<Job extends JobTable[string]> = Promise<Awaited<ReturnType<Job>>>;

export interface WorkerPool<Jobs extends JobTable> {
  /** `owner`: the organization that asks; it gets `maxPerOwner` places at most, so that others find some too. */
  run<Name extends keyof Jobs & string>(
    name: Name,
    input: Parameters<Jobs[Name]>[0],
    owner?: string,
  ): Result<Jobs[Name]>;
  /**
   * For pure jobs: the result is remembered under the SHA-256 of the job's name and all of its input. So
   * leave the time out of it. The result is shared: do not change it.
   */
  runRemembered<Name extends keyof Jobs & string>(
    name: Name,
    input: Parameters<Jobs[Name]>[0],
  ): Result<Jobs[Name]>;
  threadCount(): number;
  /** Ends the threads after the jobs that were accepted. */
  close(): Promise<void>;
}

export type ZkPool = WorkerPool<typeof zkWorker>;

export interface PoolOptions {
  /** Absolute path of the bundled worker (dist/zk-worker.mjs). */
  workerFile: string;
  /** Default: a processor is left for requests where there are two, and four threads are enough. */
  maxThreads?: number;
  /** Jobs that may wait while all threads work. */
  maxQueued?: number;
  /** Jobs of one owner that may run or wait. */
  maxPerOwner?: number;
  maxRemembered?: number;
  /** Seconds after which a thread without work ends. */
  idleSeconds?: number;
  /** What the 503 says when the pool is full. */
  busyDetail?: string;
}

/** Starts no thread before the first job. */
export function createZkPool<Jobs extends JobTable = typeof zkWorker>(
  options: PoolOptions,
): WorkerPool<Jobs> {
  const { workerFile, maxThreads = defaultThreads(), maxQueued = 32, maxPerOwner = 12 } = options;
  const { maxRemembered = 1_000, idleSeconds = 60, busyDetail = tooManyProofs } = options;
  const piscina = new Piscina({
    filename: workerFile,
    minThreads: 0,
    maxThreads,
    idleTimeout: idleSeconds * 1_000,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  const memo = createBoundedMemo(maxRemembered);
  const accepted = new Map<Promise<unknown>, string | undefined>();
  const countOf = (owner: string) => [...accepted.values()].filter((other) => other === owner).length;
  let closing = false;

  const pool: WorkerPool<Jobs> = {
    async run(name, input, owner) {
      if (closing) throw new AppError("service_unavailable", "this instance is shutting down");
      if (accepted.size >= maxThreads + maxQueued) throw busy(busyDetail);
      if (owner !== undefined && countOf(owner) >= maxPerOwner) throw busy(busyDetail);
      const job = piscina.run(input, { name });
      accepted.set(job, owner);
      try {
        return await job;
      } finally {
        accepted.delete(job);
      }
    },
    runRemembered(name, input) {
      const key = createHash("sha256")
        .update(serialize([name, input]))
        .digest("base64");
      return memo.get(key, () => pool.run(name, input));
    },
    threadCount: () => piscina.threads.length,
    async close() {
      closing = true;
      // Piscina's own close() drops the jobs that still wait for a thread.
      await Promise.allSettled(accepted.keys());
      await piscina.destroy();
    },
  };
  return pool;
}

const defaultThreads = () => Math.min(4, Math.max(1, availableParallelism() - 1));

const tooManyProofs = "too many proofs are being made or checked at this moment";

const busy = (detail: string) =>
  new AppError("service_unavailable", detail, { headers: { "Retry-After": "2" } });
