/** Guarantee: a process counts by the database's clock, whatever is done to its own. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { logger } from "#lib/logger";
import { openSharedClock, type SharedClock } from "./shared-clock";

const theirs = Date.parse("2026-05-05T12:00:00Z");

describe("the clock that processes share", () => {
  let clock: SharedClock;
  let offMs: number;
  let isAway: boolean;
  let looks: number;
  const startMs = Date.parse("2026-05-05T11:00:00Z");
  /** An hour ahead of this machine. The first look opens a connection. */
  const query = async () => {
    if (isAway) throw new Error("away");
    looks += 1;
    if (looks === 1) vi.advanceTimersByTime(100);
    return { rows: [{ ms: theirs + performance.now() - beganMs + offMs }] };
  };
  let beganMs: number;
  const ahead = () =>
    Math.round((clock.now().getTime() - theirs - (performance.now() - beganMs)) / 10) * 10 || 0;
  /** Without time passing, as when someone sets it. */
  const setMachine = (byMs: number) => vi.setSystemTime(Date.now() + byMs);

  beforeEach(async () => {
    vi.useFakeTimers({ now: startMs, toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    [offMs, isAway, looks, beganMs] = [0, false, 0, performance.now()];
    clock = await openSharedClock({ kind: "postgres", query }, logger);
  });
  afterEach(() => {
    clock.close();
    vi.useRealTimers();
  });

  it("tells the database's time on a machine whose own is another", async () => {
    expect(ahead()).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ahead()).toBe(0);
    expect(looks).toBe(3);
  });

  it.each([-3_600_000, 3_600_000])("goes on when the machine's clock is set by %d ms", async (byMs) => {
    setMachine(byMs);
    expect(ahead()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(looks).toBe(4);
    expect(ahead()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ahead()).toBe(0);
  });

  it("asks again when the machine has slept, whose other clock stood still", async () => {
    offMs = 7_200_000;
    setMachine(7_200_000);
    expect(ahead()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(ahead()).toBe(7_200_000);
  });

  it("follows the database's clock when that is set, and goes on while it is away", async () => {
    isAway = true;
    setMachine(-60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ahead()).toBe(0);
    isAway = false;
    offMs = 5_000;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(ahead()).toBe(5_000);
  });
});
