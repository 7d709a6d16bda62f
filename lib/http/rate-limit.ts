/**
 * Limits that hold across processes and restarts. The shared store (Redis, else the database) counts in
 * fixed windows; each process takes small leases from it and spends them in memory, so that a public read
 * costs no write each time and no client ever gets more than the limit. A limit of 100 and less is counted one
 * by one, exactly; above, what another process (or one that died) holds of a lease, at most half a percent of
 * the limit, is not given out again.
 */
import type { Redis } from "ioredis";
import { RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Database } from "#lib/db/client";

export interface LimitPolicy {
  name: string;
  limit: number;
  windowSeconds: number;
}

export interface LimitState {
  allowed: boolean;
  remaining: number;
  /** When the window ends, milliseconds since 1970. */
  resetMs: number;
}

export interface RateLimiter {
  /** `points`: how many requests it counts as; refused whole if they are not left. */
  consume(policy: LimitPolicy, key: string, points?: number): Promise<LimitState>;
  /** The refusal, if this process already knows that nothing is left. Counts nothing and asks no store. */
  spent(policy: LimitPolicy, key: string): LimitState | null;
}

interface Lease {
  available: number;
  /** What the shared store has left besides this lease. */
  sharedRemaining: number;
  resetMs: number;
}

type Store = Pick<RateLimiterPostgres, "consume">;

const maxLease = 50;
const maxLeases = 50_000;

function leaseSize(policy: LimitPolicy): number {
  return Math.max(1, Math.min(maxLease, Math.floor(policy.limit / 200)));
}

async function takeLease(
  store: Store,
  policy: LimitPolicy,
  key: string,
  wanted: number,
  nowMs: number,
): Promise<Lease> {
  const result = await store.consume(key, wanted).catch((refusal: unknown) => {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  });
  const excess = Math.max(0, result.consumedPoints - policy.limit);
  return {
    available: Math.max(0, wanted - excess),
    sharedRemaining: Math.max(0, policy.limit - result.consumedPoints),
    resetMs: nowMs + result.msBeforeNext,
  };
}

export function createRateLimiter(database: Database, redis: Redis | null, clock: () => Date): RateLimiter {
  const stores = new Map<string, Store>();
  const leases = new Map<string, Lease>();
  const pending = new Map<string, Promise<Lease>>();

  function openStore(policy: LimitPolicy): Store {
    const options = { keyPrefix: policy.name, points: policy.limit, duration: policy.windowSeconds };
    const counted = new RateLimiterPostgres({
      ...options,
      storeClient: { query: (q: { text: string; values: unknown[] }) => database.query(q.text, q.values) },
      storeType: "client",
      tableName: "rate_limits",
      tableCreated: true,
      // lib/runtime/housekeeping.ts does it for all of them.
      clearExpiredByTimeout: false,
    });
    if (redis === null) return counted;
    return new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: counted });
  }

  function storeOf(policy: LimitPolicy): Store {
    const store = stores.get(policy.name) ?? openStore(policy);
    stores.set(policy.name, store);
    return store;
  }

  /** At once only one request of a key goes to the store; the others wait for its lease. */
  function renew(policy: LimitPolicy, key: string, name: string, missing: number): Promise<Lease> {
    const running = pending.get(name);
    if (running) return running;
    const nowMs = clock().getTime();
    const promise = takeLease(storeOf(policy), policy, key, Math.max(leaseSize(policy), missing), nowMs)
      .then((lease) => {
        const before = leases.get(name);
        if (before !== undefined && before.resetMs > nowMs) lease.available += before.available;
        if (leases.size >= maxLeases) leases.delete(leases.keys().next().value ?? "");
        leases.set(name, lease);
        return lease;
      })
      .finally(() => pending.delete(name));
    pending.set(name, promise);
    return promise;
  }

  return {
    spent: (policy, key) => {
      const lease = leases.get(`${policy.name}:${key}`);
      const isSpent = lease !== undefined && lease.available === 0 && lease.sharedRemaining === 0;
      if (!isSpent || lease.resetMs <= clock().getTime()) return null;
      return { allowed: false, remaining: 0, resetMs: lease.resetMs };
    },
    consume: async (policy, key, points = 1) => {
      const name = `${policy.name}:${key}`;
      for (;;) {
        let lease = leases.get(name);
        const isOver = lease === undefined || lease.resetMs <= clock().getTime();
        const missing = points - (isOver ? 0 : (lease?.available ?? 0));
        if (lease === undefined || isOver || (missing > 0 && lease.sharedRemaining > 0))
          lease = await renew(policy, key, name, missing);
        const { resetMs } = lease;
        if (lease.available >= points) {
          lease.available -= points;
          return { allowed: true, remaining: lease.available + lease.sharedRemaining, resetMs };
        }
        if (lease.sharedRemaining === 0) return { allowed: false, remaining: lease.available, resetMs };
      }
    },
  };
}
