/** Statements share one connection, and none waits behind a slow one that was there before it came. */
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { databaseKinds, openTestDatabase } from "#support/databases";
import { shareConnection } from "./batched-reads";

describe("a shared connection", () => {
  function open() {
    let nowMs = 0;
    const answers: (() => void)[] = [];
    const sharing = shareConnection("shared", "others", () => nowMs);
    const ask = () => {
      let taken = "";
      const done = sharing.run((client) => {
        taken = client;
        return new Promise<void>((resolve) => answers.push(resolve));
      });
      return { taken, done };
    };
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { ask, answers, pass };
  }

  it("is taken by everyone while it answers, however long it was idle", async () => {
    const { ask, answers, pass } = open();
    pass(1_000);
    const first = ask();
    pass(15);
    const second = ask();
    answers[0]?.();
    await first.done;
    pass(15);
    expect([first, second, ask()].map(({ taken }) => taken)).toEqual(["shared", "shared", "shared"]);
  });

  it("is left alone when it has given no answer for too long, and taken again after", async () => {
    const { ask, answers, pass } = open();
    const slow = ask();
    pass(21);
    expect(ask().taken).toBe("others");
    answers[0]?.();
    await slow.done;
    expect(ask().taken).toBe("shared");
  });

  it("counts a failure as an answer", async () => {
    let nowMs = 0;
    const sharing = shareConnection("shared", "others", () => nowMs);
    await expect(sharing.run(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    nowMs += 1_000;
    expect(await sharing.run(async (client) => client)).toBe("shared");
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("reading statements of PostgreSQL", () => {
  it("share a connection, and do not wait behind a slow one", async () => {
    const database = await openTestDatabase("postgres");
    try {
      const readPid = database.statement<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const pids = async (count: number) => {
        const rows = await Promise.all(Array.from({ length: count }, () => readPid()));
        return new Set(rows.map(([row]) => row?.pid));
      };
      const [shared] = await pids(1);
      expect(await pids(50)).toEqual(new Set([shared]));
      let slow: Promise<unknown> = Promise.resolve();
      await database.db.transaction(async (tx) => {
        await tx.execute(sql`SELECT pg_advisory_xact_lock(1)`);
        slow = database.statement("SELECT pg_advisory_xact_lock(1)")();
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await pids(1)).not.toEqual(new Set([shared]));
      });
      await slow;
      expect(await pids(1)).toEqual(new Set([shared]));
    } finally {
      await database.close();
    }
  });
});
