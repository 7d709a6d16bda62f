/** Reads issued at once share a statement, and never one that was on its way before. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "#lib/db/client";
import { databaseKinds, openTestDatabase } from "#support/databases";
import { createBatchedRead } from "./batched-reads";

describe("a batched read", () => {
  interface Sent {
    text: string;
    parameters: unknown[];
    answer: (rows: object[]) => void;
    fail: (error: Error) => void;
  }

  function open() {
    let nowMs = 0;
    const sent: Sent[] = [];
    const send = (text: string, parameters: unknown[]) =>
      new Promise<object[]>((answer, fail) => {
        sent.push({ text, parameters, answer, fail });
      });
    const read = createBatchedRead("one of $1 and $2", ["int", "text"], send, () => nowMs);
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { ask: (...parameters: unknown[]) => read(parameters), sent, pass };
  }

  const turn = async () => {
    // An answer is seen in one turn, and the next statement leaves at its end.
    for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve));
  };

  it("is sent at once and as it is by who comes alone", async () => {
    const { ask, sent } = open();
    const first = ask(1, "a");
    expect(sent).toMatchObject([{ text: "one of $1 and $2", parameters: [1, "a"] }]);
    sent[0]?.answer([{ n: 1 }]);
    expect(await first).toEqual([{ n: 1 }]);
    await turn();
    void ask(1, "a");
    expect(sent).toHaveLength(2);
  });

  it("asks for all who came since when the one on its way has ended, once for those who ask the same", async () => {
    const { ask, sent } = open();
    const first = ask(1, "a");
    const others = [ask(1, "a"), ask(2, null), ask(1, "a"), ask(3, "c")];
    sent[0]?.answer([{ n: "before" }]);
    expect(await first).toEqual([{ n: "before" }]);
    await turn();
    expect(sent).toHaveLength(2);
    expect(sent[1]?.parameters).toEqual([
      [1, 2, 3],
      ["a", null, "c"],
    ]);
    const late = ask(1, "a");
    sent[1]?.answer([
      { asked_by: 3, n: "third" },
      { asked_by: 1, n: "first" },
      { asked_by: 1, n: "first too" },
    ]);
    const ofOne = [
      { asked_by: 1, n: "first" },
      { asked_by: 1, n: "first too" },
    ];
    expect(await Promise.all(others)).toEqual([ofOne, [], ofOne, [{ asked_by: 3, n: "third" }]]);
    await turn();
    expect(sent[2]).toMatchObject({ text: "one of $1 and $2", parameters: [1, "a"] });
    sent[2]?.answer([{ n: "later" }]);
    expect(await late).toEqual([{ n: "later" }]);
  });

  it("asks for all who come in the turn of the event loop in which the one on its way ends", async () => {
    const { ask, sent } = open();
    const first = ask(1, "a");
    const waiting = ask(2, "b");
    sent[0]?.answer([]);
    await first;
    void ask(3, "c");
    expect(sent).toHaveLength(1);
    await turn();
    expect(sent.slice(1)).toMatchObject([
      {
        parameters: [
          [2, 3],
          ["b", "c"],
        ],
      },
    ]);
    sent[1]?.answer([{ asked_by: 1, n: 2 }]);
    expect(await waiting).toMatchObject([{ n: 2 }]);
  });

  it("tells apart what only looks the same", async () => {
    const { ask, sent } = open();
    void ask(0, "first");
    const questions = [
      [1, "1"],
      ["1", "1"],
      [null, "1"],
      ["null", "1"],
      [1, '1","2'],
    ];
    for (const question of questions) void ask(...question);
    sent[0]?.answer([]);
    await turn();
    expect(sent[1]?.parameters[0]).toEqual([1, "1", null, "null", 1]);
  });

  it("asks for 32 in a statement, and sends all that wait at once", async () => {
    const { ask, sent } = open();
    void ask(0, "first");
    for (let i = 0; i < 40; i += 1) void ask(i, "other");
    sent[0]?.answer([]);
    await turn();
    expect(sent.slice(1).map(({ parameters: [numbers] }) => (numbers as number[]).length)).toEqual([32, 8]);
  });

  it("fails for all who shared the statement if the database is gone, and for nobody after", async () => {
    const { ask, sent } = open();
    const first = ask(1, "a");
    const others = [ask(1, "a"), ask(2, "b")];
    sent[0]?.fail(new Error("the first"));
    await expect(first).rejects.toThrow("the first");
    await turn();
    sent[1]?.fail(Object.assign(new Error("gone"), { code: "ECONNRESET" }));
    for (const one of others) await expect(one).rejects.toThrow("gone");
    await turn();
    expect(sent).toHaveLength(2);
    void ask(1, "a");
    expect(sent).toHaveLength(3);
  });

  it("keeps nobody waiting who comes after 20 ms without an answer", async () => {
    const { ask, sent, pass } = open();
    const slow = ask(1, "a");
    pass(20);
    const waiting = ask(1, "a");
    expect(sent).toHaveLength(1);
    pass(1);
    const others = [ask(1, "a"), ask(2, "b")];
    expect(sent).toHaveLength(2);
    sent[1]?.answer([{ n: "quick" }]);
    expect(await Promise.all([waiting, others[0]])).toEqual([[{ n: "quick" }], [{ n: "quick" }]]);
    await turn();
    sent[0]?.answer([{ n: "slow" }]);
    expect(await slow).toEqual([{ n: "slow" }]);
    sent[2]?.answer([{ n: "after it" }]);
    expect(await others[1]).toEqual([{ n: "after it" }]);
  });
});

describe.each(databaseKinds)("batched reads of a database (%s)", (kind) => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(kind);
    await database.query("CREATE TABLE counter AS SELECT 0 AS n", []);
  });
  afterAll(() => database.close());

  it("show what was committed before they were asked, however many ask", async () => {
    // The row is read before it sleeps.
    const text = "SELECT n, pg_sleep($1) FROM counter";
    const read = database.batched<{ n: number }>(text, ["float8"]);
    const reads: Promise<boolean>[] = [];
    for (let n = 1; n <= 30; n += 1) {
      await database.query("UPDATE counter SET n = $1", [n]);
      for (let i = 0; i < 20; i += 1) reads.push(read(0.005).then(([row]) => (row?.n ?? 0) >= n));
    }
    const seen = await Promise.all(reads);
    expect(seen).toHaveLength(600);
    expect(seen).not.toContain(false);
  });

  it("give each its own rows, in their order, and an error to whom the server refuses alone", async () => {
    const text =
      "SELECT i, $2::text AS word, 12 / $1::int AS share FROM generate_series(1, $1::int) AS i ORDER BY i DESC";
    const read = database.batched<{ i: number; word: string | null; share: number }>(text, ["int", "text"]);
    const ask = async (count: number, word: string | null) =>
      (await read(count, word)).map((row) => [row.i, row.word, row.share]);
    const rows = (count: number, word: string | null) =>
      Array.from({ length: count }, (_, at) => [count - at, word, Math.floor(12 / count)]);
    const odd = 'a "quoted", {braced} \\ text';
    const answers = await Promise.all([
      ask(1, "alone"),
      ask(3, odd),
      ask(2, null),
      ask(3, odd),
      ask(1, "null"),
    ]);
    expect(answers).toEqual([rows(1, "alone"), rows(3, odd), rows(2, null), rows(3, odd), rows(1, "null")]);
    const settled = await Promise.allSettled([
      ask(1, "x"),
      ask(2, "y"),
      read("no number", "z"),
      ask(0, "none"),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toMatchObject({ value: rows(2, "y") });
  });
});
