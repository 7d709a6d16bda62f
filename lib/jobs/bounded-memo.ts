import { LRUCache } from "lru-cache";

/**
 * Results of pure, costly functions under a key that identifies all the bytes they read. A full memo forgets what the
 * owner with the most entries has used least recently, so that no owner pushes out what others need.
 */
export interface BoundedMemo {
  /** Calls that come while the first one works wait for it. A rejection is not kept. */
  get<Result>(key: string, compute: () => Promise<Result>, owner: string): Promise<Result>;
  size(): number;
}

interface Entry {
  owner: string;
  result: Promise<unknown>;
}

/** A Map keeps the order of insertion, and an entry that is used moves to its end. */
function findLeastNeeded(entries: ReadonlyMap<string, Entry>): string | undefined {
  const counts = new Map<string, number>();
  for (const { owner } of entries.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const most = Math.max(...counts.values());
  for (const [key, { owner }] of entries) if (counts.get(owner) === most) return key;
  return undefined;
}

export function createBoundedMemo(maxEntries: number): BoundedMemo {
  const entries = new Map<string, Entry>();
  return {
    size: () => entries.size,
    get<Result>(key: string, compute: () => Promise<Result>, owner: string): Promise<Result> {
      const known = entries.get(key);
      if (known !== undefined) {
        entries.delete(key);
        entries.set(key, known);
        return known.result as Promise<Result>;
      }
      const result = compute();
      entries.set(key, { owner, result });
      result.catch(() => {
        if (entries.get(key)?.result === result) entries.delete(key);
      });
      while (entries.size > maxEntries) entries.delete(findLeastNeeded(entries) ?? key);
      return result;
    },
  };
}

/*
 * Cache of recent reads, for work that is checked against the database before it counts. Bounded, and each entry ends
 * by itself, so that nothing rests on it for long.
 */

export type TimedCache<Value extends object | true> = LRUCache<string, Value>;

export const createTimedCache = <Value extends object | true>(
  clock: () => Date,
  lifetimeMs: number,
): TimedCache<Value> =>
  new LRUCache({
    // Bounded by size: a bound on entries allocates memory for all of them at once, which takes two milliseconds of each start.
    maxSize: 10_000,
    sizeCalculation: () => 1,
    ttl: lifetimeMs,
    ttlResolution: 0,
    perf: { now: () => clock().getTime() },
  });
