/**
 * Limits that hold across processes and restarts. The shared store (Redis, else the database) counts in
 * fixed windows; each process takes small leases from it and spends them in memory, so that a public read
 * costs no write each time and no client ever gets more than the limit. A limit of 100 and less is counted one
 * by one, exactly; above, what another process (or one that died) holds of a lease, at most half a percent of
 * the limit, is not given out again.
 */
import type { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
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
  /** Remainder in the shared store besides this lease. */
  sharedRemaining: number;
  resetMs: number;
}

type Counted = Pick<RateLimiterRes, "consumedPoints" | "msBeforeNext">;

const nowMs = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const hasEnded = "kept.expire <= excluded.expire - $3";

/** By the database's clock, or a machine whose own is wrong would end the others' windows. $3: a window's milliseconds. */
const countText = `INSERT INTO rate_limits AS kept (key, points, expire) VALUES ($1, $2, ${nowMs} + $3)
  ON CONFLICT (key) DO UPDATE SET points = CASE WHEN ${hasEnded} THEN 0 ELSE kept.points END + excluded.points,
    expire = CASE WHEN ${hasEnded} THEN excluded.expire ELSE kept.expire END
  RETURNING points, (expire - ${nowMs})::float8 AS ms`;

const maxLease = 50;
const maxLeases = 50_000;

function leaseSize(policy: LimitPolicy): number {
  return Math.max(1, Math.min(maxLease, Math.floor(policy.limit / 200)));
}

export function createRateLimiter(database: Database, redis: Redis | null, clock: () => Date): RateLimiter {
  const stores = new Map<string, RateLimiterRedis>();
  const leases = new Map<string, Lease>();
  const pending = new Map<string, Promise<Lease>>();

  async function countInDatabase(policy: LimitPolicy, key: string, points: number): Promise<Counted> {
    const { rows } = await database.query(countText, [
      `${policy.name}:${key}`,
      points,
      policy.windowSeconds * 1000,
    ]);
    return {
      consumedPoints: Number(rows[0]?.["points"]),
      msBeforeNext: Math.max(0, Number(rows[0]?.["ms"])),
    };
  }

  async function countIn(
    storeClient: Redis,
    policy: LimitPolicy,
    key: string,
    points: number,
  ): Promise<Counted> {
    const { name: keyPrefix, limit, windowSeconds: duration } = policy;
    const store =
      stores.get(keyPrefix) ?? new RateLimiterRedis({ keyPrefix, points: limit, duration, storeClient });
    stores.set(keyPrefix, store);
    return store.consume(key, points).catch((refusal: unknown) => {
      if (refusal instanceof RateLimiterRes) return refusal;
      return countInDatabase(policy, key, points);
    });
  }

  async function takeLease(
    policy: LimitPolicy,
    key: string,
    wanted: number,
    sinceMs: number,
  ): Promise<Lease> {
    const counted = await (redis === null
      ? countInDatabase(policy, key, wanted)
      : countIn(redis, policy, key, wanted));
    const excess = Math.max(0, counted.consumedPoints - policy.limit);
    return {
      available: Math.max(0, wanted - excess),
      sharedRemaining: Math.max(0, policy.limit - counted.consumedPoints),
      resetMs: sinceMs + counted.msBeforeNext,
    };
  }

  /** At once only one request of a key goes to the store; the others wait for its lease. */
  function renew(policy: LimitPolicy, key: string, name: string, missing: number): Promise<Lease> {
    const running = pending.get(name);
    if (running) return running;
    const sinceMs = clock().getTime();
    const promise = takeLease(policy, key, Math.max(leaseSize(policy), missing), sinceMs)
      .then((lease) => {
        const before = leases.get(name);
        if (before !== undefined && before.resetMs > sinceMs) lease.available += before.available;
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
