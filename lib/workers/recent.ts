/** A Map of bounded size that forgets what was not used for long: two generations, the older of which is dropped. */
export interface Recent<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  size(): number;
}

/** Holds at least the last `max / 2` keys that were used, and never more than `max`. */
export function createRecent<Value>(max: number): Recent<Value> {
  const half = Math.max(1, Math.floor(max / 2));
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  const set = (key: string, value: Value) => {
    if (young.size >= half && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  };
  return {
    get: (key) => {
      const known = young.get(key);
      if (known !== undefined) return known;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
    size: () => young.size + old.size,
  };
}
