import { describe, expect, it } from "vitest";
import { formatRelative } from "./format-relative";

describe("relative time", () => {
  it.each([
    [0, "now"],
    [-59, "59 seconds ago"],
    [-60, "1 minute ago"],
    [-3_599, "59 minutes ago"],
    [-86_400, "yesterday"],
    [7_200, "in 2 hours"],
    [-70_000_000, "2 years ago"],
  ])("%i seconds are %s", (seconds, words) => {
    expect(formatRelative(1_000_000_000_000 + seconds * 1_000, 1_000_000_000_000)).toBe(words);
  });
});
