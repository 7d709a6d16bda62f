/** A start that waits says so, and warns only once that is longer than a first start takes. */
import { afterEach, expect, it, vi } from "vitest";
import { logIfSlow } from "./migrations";

const said: string[] = [];
vi.mock("#lib/logger", () => ({
  logger: {
    info: (line: string) => void said.push(`info ${line}`),
    warn: (line: string) => void said.push(`warn ${line}`),
  },
}));
afterEach(() => vi.useRealTimers());

it("says what a start waits for, as a warning after half a minute", async () => {
  vi.useFakeTimers();
  let end = () => {};
  const waiting = logIfSlow("the database", new Promise<void>((resolve) => (end = resolve)));
  vi.advanceTimersByTime(36_000);
  end();
  await waiting;
  vi.advanceTimersByTime(60_000);
  const levels = [5, 10, 15, 20, 25, 30, 35].map((seconds) => [seconds <= 30 ? "info" : "warn", seconds]);
  expect(said).toEqual(
    levels.map(
      ([level, seconds]) => `${level} Countersign is starting: it has waited ${seconds} s for the database`,
    ),
  );
});
