import { describe, expect, it } from "vitest";
import { findPause, readRetryAfter } from "./deliver";

const hours = (...count: number[]) => count.map((hour) => hour * 3_600);
const failed = { status: 500, retryAfterSeconds: null };

describe("the schedule", () => {
  it("is that of Standard Webhooks, and ends after ten attempts", () => {
    const pauses = Array.from({ length: 10 }, (_, i) => findPause({ ...failed, attempts: i + 1 }, 0.5));
    expect(pauses).toEqual([5, 300, 1800, ...hours(2, 5, 10, 14, 20, 24), null]);
    expect(findPause({ ...failed, attempts: 11 }, 0.5)).toBeNull();
  });

  it("is spread, so that those who fail together do not come back together", () => {
    const second = { ...failed, attempts: 2 };
    expect([findPause(second, 0), findPause(second, 1)]).toEqual([270, 330]);
  });

  it.each([429, 502, 504])("is slower after %i", (status) => {
    expect(findPause({ ...failed, status, attempts: 1 }, 0.5)).toBe(60);
    expect(findPause({ ...failed, status, attempts: 2 }, 0.5)).toBe(600);
  });

  it("waits for Retry-After, at most a day", () => {
    expect(findPause({ attempts: 1, status: 503, retryAfterSeconds: 120 }, 0.5)).toBe(120);
    expect(findPause({ attempts: 2, status: 503, retryAfterSeconds: 1 }, 0.5)).toBe(300);
    expect(findPause({ attempts: 1, status: 503, retryAfterSeconds: 999_999 }, 0.5)).toBe(86_400);
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-22T10:00:00Z");
  it.each([
    ["120", 120],
    ["Sun, 22 Nov 2026 10:02:00 GMT", 120],
    ["Sun, 22 Nov 2026 09:00:00 GMT", 0],
    ["soon", null],
    [undefined, null],
  ])("%s is %s", (header, seconds) => expect(readRetryAfter(header, now)).toBe(seconds));
});
