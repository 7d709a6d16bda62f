/** A database host that stops answering without closing its connections, and a statement that merely waits. */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layWire, type Wire } from "#support/cut-connections";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { isUnreachable } from "./failures";
import { type HostWatch, type WatchTimes, watchHost } from "./liveness-probe";

describe.skipIf(!databaseKinds.includes("postgres"))("the watch over a database's host", () => {
  let wire: Wire;
  let directUrl: string;
  let drop = async () => {};
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const database = await createTestDatabase({ empty: true });
    directUrl = database.url;
    wire = await layWire(database.url);
    drop = async () => {
      for (const end of ends) await end();
      await wire.close();
      await database.drop();
    };
  });
  afterAll(() => drop());

  function open(times: WatchTimes): { sql: postgres.Sql; watch: HostWatch } {
    const watch = watchHost(times);
    const { socket, backoff } = watch;
    const own = { socket, backoff } as object;
    const sql = watch.follow(postgres(wire.url, { max: 2, connect_timeout: 5, ...own }) as postgres.Sql);
    ends.push(async () => {
      await sql.end({ timeout: 0 });
      watch.close();
    });
    return { sql, watch };
  }
  const failure = (answer: PromiseLike<unknown>) =>
    Promise.resolve(answer).then(
      () => "answered",
      (error: { code: string }) => (isUnreachable(error) ? "unreachable" : error.code),
    );

  /** Until so many wait for an advisory lock of this database: other tests have theirs on the same server. */
  const untilLocked = (holder: postgres.Sql, count: number) =>
    expect
      .poll(
        async () =>
          (
            await holder`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
          ).length,
      )
      .toBe(count);

  it("outlives a connection that fails before the driver listens, as when no file can be opened", async () => {
    const { watch } = open({ silentMs: 50, answerMs: 1_000, longestMs: 60_000, overdueMs: 60_000 });
    const socket = watch.socket({ host: ["127.0.0.1"], port: [1] });
    const closed = new Promise<string>((resolve) => socket.on("close", () => resolve("closed")));
    socket.destroy(Object.assign(new Error("connect EMFILE"), { code: "EMFILE" }));
    expect(await closed).toBe("closed");
  });

  it("leaves a statement alone that waits for a lock while the host answers", async () => {
    const { sql } = open({ silentMs: 50, answerMs: 30_000, longestMs: 60_000, overdueMs: 60_000 });
    const direct = postgres(directUrl, { max: 1 });
    const holder = await direct.reserve();
    await holder`SELECT pg_advisory_lock(1)`;
    const waiting = failure(sql.unsafe("SELECT pg_advisory_lock(1)"));
    await untilLocked(holder, 1);
    // Several looks of the watch, each of which asks the host.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await holder`SELECT pg_advisory_unlock(1)`;
    expect(await waiting).toBe("answered");
    holder.release();
    await direct.end();
  });

  it.each([
    ["a statement", (sql: postgres.Sql) => sql.unsafe("SELECT 1")],
    ["a transaction", (sql: postgres.Sql) => sql.begin((tx) => tx.unsafe("SELECT 1"))],
  ])(
    "cuts %s that a silent host owes, fails others at once, and finds the host again",
    async (_what, run) => {
      const { sql } = open({ silentMs: 50, answerMs: 200, longestMs: 600_000, overdueMs: 600_000 });
      await expect.poll(() => failure(run(sql))).toBe("answered");
      wire.stall();
      // Two connections and a queue of many; the driver itself would wait for all of them.
      const many = Array.from({ length: 20 }, () => failure(run(sql)));
      expect(new Set(await Promise.all(many))).toEqual(new Set(["unreachable"]));
      await wire.mend();
      await expect.poll(() => failure(run(sql))).toBe("answered");
    },
  );

  it("lets no number of failures hold up the next connection for more than a second", () => {
    const { watch } = open({ silentMs: 50, answerMs: 200, longestMs: 600_000, overdueMs: 600_000 });
    expect([0, 3, 10, 100].map(watch.backoff)).toEqual([0.05, 0.4, 1, 1]);
  });

  it("cuts a connection that is silent for longer than any statement may take, though the host answers", async () => {
    const { sql, watch } = open({ silentMs: 50, answerMs: 30_000, longestMs: 1_000, overdueMs: 600_000 });
    const beganMs = performance.now();
    expect(await failure(sql.unsafe("SELECT pg_sleep(60)"))).toBe("unreachable");
    // A statement that has failed stays failed, whatever else is answered now.
    await expect.poll(() => failure(sql.unsafe("SELECT 1"))).toBe("answered");
    expect(watch.wasReachableSince(beganMs)).toBe(false);
    expect(watch.wasReachableSince(performance.now())).toBe(true);
  });

  it("lets nobody wait for long behind statements that wait for a lock, and begins nothing for who has gone", async () => {
    const { sql } = open({ silentMs: 50, answerMs: 30_000, longestMs: 600_000, overdueMs: 2_000 });
    const direct = postgres(directUrl, { max: 1 });
    const holder = await direct.reserve();
    await holder`SELECT pg_advisory_lock(2)`;
    await Promise.all([1, 2].map(() => failure(sql.unsafe("SELECT pg_sleep(0.1)"))));
    // Both connections wait for the lock, and others behind them for a turn.
    const locked = Array.from({ length: 2 }, () => failure(sql.unsafe("SELECT pg_advisory_lock_shared(2)")));
    await untilLocked(holder, 2);
    const behind = Array.from({ length: 4 }, () => failure(sql.unsafe("SELECT 1")));
    let begun = 0;
    const begins = [
      failure(sql.begin(async () => (begun += 1))),
      failure(
        sql.beginPipelined(async (tx) => {
          await tx.unsafe("SELECT 1");
          begun += 1;
        }),
      ),
    ];
    expect(new Set(await Promise.all([...locked, ...behind, ...begins]))).toEqual(new Set(["unreachable"]));
    await holder`SELECT pg_advisory_unlock(2)`;
    holder.release();
    await expect.poll(() => failure(sql.unsafe("SELECT 1"))).toBe("answered");
    const slow = async (tx: postgres.TransactionSql) => {
      await tx.unsafe("SELECT 1");
      return tx.unsafe("SELECT pg_sleep(3)");
    };
    expect(await Promise.all([sql.begin(slow), sql.beginPipelined(slow)].map(failure))).toEqual([
      "answered",
      "answered",
    ]);
    expect(begun).toBe(0);
    await direct.end();
  });
});
