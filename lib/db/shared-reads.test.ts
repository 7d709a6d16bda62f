/** Who asks the same at once gets one answer, and never one that was on its way before they asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { type Database, openDatabase } from "./client";
import { createSharedReads } from "./shared-reads";

describe("a shared read", () => {
  interface Asked {
    text: string;
    parameters: unknown[];
    answer: (rows: string) => void;
    fail: (error: Error) => void;
  }

  function open() {
    let nowMs = 0;
    const sent: Asked[] = [];
    const sharedRead = createSharedReads(() => nowMs);
    const ask = (text: string, ...parameters: unknown[]) =>
      sharedRead(text).run(
        parameters,
        () =>
          new Promise<string>((answer, fail) => {
            sent.push({ text, parameters, answer, fail });
          }),
      );
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { ask, sent, pass };
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("is sent at once, and again for all who came since when it has ended", async () => {
    const { ask, sent } = open();
    const answers = [ask("a", 1), ask("a", 1), ask("a", 1)];
    await turn();
    expect(sent).toHaveLength(1);
    sent[0]?.answer("before");
    await turn();
    expect(sent).toHaveLength(2);
    const late = ask("a", 1);
    sent[1]?.answer("after");
    await turn();
    expect(sent).toHaveLength(3);
    sent[2]?.answer("later");
    expect(await Promise.all([...answers, late])).toEqual(["before", "after", "after", "later"]);
    const alone = ask("a", 1);
    expect(sent).toHaveLength(4);
    sent[3]?.answer("alone");
    expect(await alone).toBe("alone");
  });

  it("is shared by those of the same text and parameters alone", async () => {
    const { ask, sent } = open();
    const questions: [string, ...unknown[]][] = [
      ["a", 1],
      ["b", 1],
      ["a", "1"],
      ["a", null],
      ["a", "null"],
      ["a", ["x,y"]],
      ["a", ["x", "y"]],
      ["a", 1, 2],
      ["a"],
    ];
    for (const question of questions) void ask(...question);
    expect(sent.map(({ text, parameters }) => [text, ...parameters])).toEqual(questions);
  });

  it("that fails fails for those who shared it alone", async () => {
    const { ask, sent } = open();
    const first = ask("a");
    const others = [ask("a"), ask("a")];
    sent[0]?.fail(new Error("refused"));
    await expect(first).rejects.toThrow("refused");
    await turn();
    sent[1]?.answer("rows");
    expect(await Promise.all(others)).toEqual(["rows", "rows"]);
  });

  it("keeps nobody waiting who comes after 20 ms without an answer", async () => {
    const { ask, sent, pass } = open();
    const slow = ask("a");
    pass(20);
    const waiting = ask("a");
    expect(sent).toHaveLength(1);
    pass(1);
    const other = ask("a");
    expect(sent).toHaveLength(2);
    sent[1]?.answer("quick");
    expect(await other).toBe("quick");
    sent[0]?.answer("slow");
    expect(await slow).toBe("slow");
    await turn();
    sent[2]?.answer("after it");
    expect(await waiting).toBe("after it");
  });
});

describe.each(databaseKinds)("shared reads of a database (%s)", (kind) => {
  let database: Database;
  let drop = async () => {};
  beforeAll(async () => {
    const made = kind === "postgres" ? await createTestDatabase() : null;
    database = await openDatabase({ databaseUrl: made?.url, dataDir: null });
    await database.query("CREATE TABLE counter AS SELECT 0 AS n", []);
    drop = async () => {
      await database.close();
      await made?.drop();
    };
  });
  afterAll(() => drop());

  it("show what was committed before they were asked, however many ask", async () => {
    // What it shows is from before it sleeps.
    const read = database.statement<{ n: number }>("SELECT n, pg_sleep($1) FROM counter", "shared");
    const reads: Promise<boolean>[] = [];
    for (let n = 1; n <= 30; n += 1) {
      await database.query("UPDATE counter SET n = $1", [n]);
      for (let i = 0; i < 20; i += 1) reads.push(read(0.01).then(([row]) => (row?.n ?? 0) >= n));
    }
    const seen = await Promise.all(reads);
    expect(seen).toHaveLength(600);
    expect(seen).not.toContain(false);
  });
});
