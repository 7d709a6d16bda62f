/** Results of pure, costly functions under a key that stands for all the bytes they read; least recently used go first. */
export interface BoundedMemo {
  /** Calls that come while the first one works wait for it. A rejection is not kept. */
  get<Result>(key: string, compute: () => Promise<Result>): Promise<Result>;
  size(): number;
}

export function createBoundedMemo(maxEntries: number): BoundedMemo {
  const entries = new Map<string, Promise<unknown>>();
  return {
    size: () => entries.size,
    get<Result>(key: string, compute: () => Promise<Result>): Promise<Result> {
      const known = entries.get(key);
      if (known !== undefined) {
        // A Map keeps the order of insertion: moving the entry to the end marks it as used.
        entries.delete(key);
        entries.set(key, known);
        return known as Promise<Result>;
      }
      const result = compute();
      entries.set(key, result);
      result.catch(() => {
        if (entries.get(key) === result) entries.delete(key);
      });
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) break;
        entries.delete(oldest);
      }
      return result;
    },
  };
}
