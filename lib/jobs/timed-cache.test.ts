import { expect, it } from "vitest";
import { createTimedCache } from "./bounded-memo";

it("goes by the clock that it is given, and forgets what was used least recently when it is full", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const cache = createTimedCache<{ n: number }>(() => new Date(nowMs), 1_000);
  cache.set("kept", { n: 0 });
  nowMs += 999;
  expect(cache.get("kept")).toEqual({ n: 0 });
  // Reading is no reason to last longer.
  nowMs += 2;
  expect(cache.get("kept")).toBeUndefined();
  cache.set("used", { n: 1 });
  for (let n = 0; n < 20_000; n += 1) {
    cache.set(`other ${n}`, { n });
    expect(cache.get("used")).toBeDefined();
  }
  expect([cache.size, cache.get("other 0")]).toEqual([10_000, undefined]);
});
