/** Many who ask whether the service lives, and a database that dies or falls silent. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createHealthCheck } from "./health";

let asked: { resolve: (answer: { rows: [] }) => void; reject: (error: Error) => void }[] = [];
const query = () =>
  new Promise<{ rows: [] }>((resolve, reject) => {
    asked.push({ resolve, reject });
  });
let tried = 0;
let trouble: Error | null = null;
async function tryAll() {
  tried += 1;
  if (trouble !== null) throw trouble;
}
const create = (kind: "postgres" | "embedded" = "postgres") =>
  createHealthCheck({ kind, query }, tryAll, () => Date.now());
const outcome = (answer: Promise<void>) =>
  answer.then(
    () => "up",
    (error: { errorName?: string; message: string }) => error.errorName ?? error.message,
  );

beforeEach(() => {
  asked = [];
  tried = 0;
  trouble = null;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

it("asks the database once for all who ask within half a second of the answer", async () => {
  const health = create();
  const first = Array.from({ length: 100 }, () => outcome(health.check()));
  expect(asked).toHaveLength(1);
  asked[0]?.resolve({ rows: [] });
  expect(new Set(await Promise.all(first))).toEqual(new Set(["up"]));
  vi.advanceTimersByTime(499);
  expect(await outcome(health.check())).toBe("up");
  expect(asked).toHaveLength(1);
  vi.advanceTimersByTime(1);
  const later = outcome(health.check());
  expect(asked).toHaveLength(2);
  asked[1]?.reject(new Error("gone"));
  expect(await later).toBe("gone");
});

it("tells a failure on for no longer than half a second either", async () => {
  const health = create();
  const first = outcome(health.check());
  asked[0]?.reject(new Error("gone"));
  expect([await first, await outcome(health.check())]).toEqual(["gone", "gone"]);
  vi.advanceTimersByTime(500);
  const later = outcome(health.check());
  asked[1]?.resolve({ rows: [] });
  expect(await later).toBe("up");
});

it("waits 1.4 seconds for a silent database, asks nothing on top, and is well when it answers", async () => {
  const health = create();
  const first = outcome(health.check());
  await vi.advanceTimersByTimeAsync(1300);
  const second = outcome(health.check());
  await vi.advanceTimersByTimeAsync(100);
  expect([await first, await second]).toEqual(["service_unavailable", "service_unavailable"]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await outcome(health.check())).toBe("service_unavailable");
  expect(asked).toHaveLength(1);
  asked[0]?.resolve({ rows: [] });
  await vi.advanceTimersByTimeAsync(1000);
  const after = outcome(health.check());
  asked[1]?.resolve({ rows: [] });
  expect([await after, asked.length]).toEqual(["up", 2]);
});

it("gives a question up that is never answered", async () => {
  const health = create();
  expect(await Promise.all([outcome(health.check()), vi.advanceTimersByTimeAsync(30_000)])).toContain(
    "service_unavailable",
  );
  const again = outcome(health.check());
  asked[1]?.resolve({ rows: [] });
  expect(await again).toBe("up");
});

it("has patience with the embedded database, which cannot go away", async () => {
  const answer = outcome(create("embedded").check());
  await vi.advanceTimersByTimeAsync(9000);
  asked[0]?.resolve({ rows: [] });
  expect(await answer).toBe("up");
});

it("tries what costs more once in five seconds for all, and not while the database is gone", async () => {
  const health = create();
  const ask = async () => {
    const answers = Promise.all(Array.from({ length: 50 }, () => outcome(health.check())));
    for (const { resolve } of asked) resolve({ rows: [] });
    return [...new Set(await answers)];
  };
  trouble = new Error("no right to write");
  for (let i = 0; i < 5; i += 1) {
    expect(await ask()).toEqual(["no right to write"]);
    vi.advanceTimersByTime(999);
  }
  expect(tried).toBe(1);
  trouble = null;
  vi.advanceTimersByTime(10);
  expect([await ask(), tried]).toEqual([["up"], 2]);
  vi.advanceTimersByTime(60_000);
  const gone = outcome(health.check());
  asked.at(-1)?.reject(new Error("gone"));
  expect([await gone, tried]).toEqual(["gone", 2]);
});
