/**
 * What was read a moment ago, for work that is checked against the database before it counts. Bounded, and each entry
 * ends by itself, so that nothing rests on it for long.
 */
import { createRecent } from "./recent";

export interface ShortMemory<Value> {
  get(name: string): Value | null;
  set(name: string, value: Value): void;
  forget(name: string): void;
}

const maxEntries = 10_000;

export function createShortMemory<Value>(clock: () => Date, lifetimeMs: number): ShortMemory<Value> {
  const entries = createRecent<{ value: Value; untilMs: number }>(maxEntries);
  return {
    get: (name) => {
      const entry = entries.get(name);
      return entry !== undefined && entry.untilMs > clock().getTime() ? entry.value : null;
    },
    set: (name, value) => entries.set(name, { value, untilMs: clock().getTime() + lifetimeMs }),
    forget: entries.forget,
  };
}
