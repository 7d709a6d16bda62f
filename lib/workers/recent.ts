/** A Map of bounded size: what was used least recently is forgotten. A Map keeps the order of insertion. */
export interface Recent<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  forget(key: string): void;
  size(): number;
}

export function createRecent<Value>(max: number): Recent<Value> {
  const entries = new Map<string, Value>();
  const set = (key: string, value: Value) => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size > max) entries.delete(entries.keys().next().value ?? "");
  };
  return {
    get: (key) => {
      const known = entries.get(key);
      if (known !== undefined) set(key, known);
      return known;
    },
    set,
    forget: (key) => void entries.delete(key),
    size: () => entries.size,
  };
}
