import { expect, it } from "vitest";
import { createRecent } from "./recent";

it("keeps what is used, forgets what is not, and never holds more than its bound", () => {
  const recent = createRecent<number>(10);
  recent.set("kept", 1);
  for (let i = 0; i < 1_000; i += 1) {
    recent.set(`other ${i}`, i);
    expect(recent.get("kept")).toBe(1);
    expect(recent.get(`other ${i}`)).toBe(i);
    expect(recent.size()).toBeLessThanOrEqual(10);
  }
  expect(recent.get("other 0")).toBeUndefined();
});

it("answers the last value of a key", () => {
  const recent = createRecent<number>(4);
  for (const value of [1, 2, 3, 4, 5]) recent.set("key", value);
  expect([recent.get("key"), recent.size()]).toEqual([5, 1]);
});
