/**
 * Cache of recent reads, for work that is checked against the database before it counts. Bounded, and each entry ends
 * by itself, so that nothing rests on it for long.
 */
import { LRUCache } from "lru-cache";

export type TimedCache<Value extends object | true> = LRUCache<string, Value>;

export const createTimedCache = <Value extends object | true>(
  clock: () => Date,
  lifetimeMs: number,
): TimedCache<Value> =>
  new LRUCache({
    // By size, because for a number of entries it takes memory for all of them at once: two milliseconds of each start.
    maxSize: 10_000,
    sizeCalculation: () => 1,
    ttl: lifetimeMs,
    ttlResolution: 0,
    perf: { now: () => clock().getTime() },
  });
