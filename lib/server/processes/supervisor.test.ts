import { expect, it } from "vitest";
import { pauseMs } from "./supervisor";

it("replaces a process at once, and one that keeps ending after longer and longer pauses", () => {
  expect([1, 2, 3, 4, 9, 90].map(pauseMs)).toEqual([0, 500, 1000, 2000, 30_000, 30_000]);
});
