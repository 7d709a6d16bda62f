/** Chance that comes again with its seed. */

export interface Chance {
  /** From 0 to 1. */
  next(): number;
  /** From 0 to `below`, without it. */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** mulberry32: enough to choose faults with, and for nothing else. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  return { next, int, pick: (from) => from[int(from.length)] as (typeof from)[number] };
}
