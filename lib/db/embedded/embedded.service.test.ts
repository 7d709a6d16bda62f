/** The embedded database works on a thread of its own, and its one session is shared by the connections of a driver. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Database, queryRows } from "#lib/db/client";
import { isUnreachable } from "#lib/db/postgres/failures";
import { type Exchange, shareSession } from "#lib/db/postgres/multiplexed-session";
import { overdueMs } from "#lib/db/postgres/time-limits";
import { copyEmbeddedTemplate, openTestDatabase } from "#support/databases";
import { openEmbedded } from "./embedded";

describe("the embedded database", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase("embedded");
    await database.query("CREATE TABLE notes (text text NOT NULL)", []);
  });
  afterAll(() => database.close());

  const count = async () =>
    Number((await database.query("SELECT count(*) FROM notes", [])).rows[0]?.["count"]);

  it("lets nobody into a transaction, and everyone in after it", async () => {
    const order: string[] = [];
    let waiting: Promise<unknown>[] = [];
    const before = await count();
    await database.db.transaction(async (tx) => {
      await tx.execute(sql`INSERT INTO notes VALUES ('inside')`);
      const read = database.statement<{ count: number }>("SELECT count(*) FROM notes");
      waiting = [read(), read(), count()].map((answer) => answer.then(() => order.push("other")));
      await tx.execute(sql`SELECT pg_sleep(0.05)`);
      await tx.execute(sql`INSERT INTO notes VALUES ('inside')`);
      order.push("transaction");
    });
    await Promise.all(waiting);
    expect(order).toEqual(["transaction", "other", "other", "other"]);
    expect(await count()).toBe(before + 2);
  });

  it("rolls back what fails, and answers those beside it", async () => {
    const before = await count();
    const divide = database.statement<{ n: number }>("SELECT 1 / $1::int AS n");
    const failing = database.db.transaction(async (tx) => {
      await tx.execute(sql`INSERT INTO notes VALUES ('lost')`);
      throw new Error("changed my mind");
    });
    const answers = await Promise.allSettled([failing, divide(1), divide(0), divide(1), count()]);
    expect(answers.map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect(await count()).toBe(before);
  });

  it("tells who listens, whoever sends", async () => {
    const heard: string[] = [];
    let isHeard = () => {};
    const both = new Promise<void>((resolve) => {
      isHeard = () => heard.length === 2 && resolve();
    });
    await database.listen?.("news", (payload) => {
      heard.push(payload);
      isHeard();
    });
    await database.statement("SELECT pg_notify('news', $1)")("first");
    await database.db.transaction((tx) => tx.execute(sql`SELECT pg_notify('news', 'second')`));
    await both;
    expect(heard).toEqual(["first", "second"]);
  });

  it("takes and gives more than fits into one message of its buffers", async () => {
    const bytes = Uint8Array.from({ length: 5_000_000 }, (_, i) => (i * 7) % 256);
    const echo = database.statement<{ bytes: Uint8Array }>("SELECT $1::bytea AS bytes");
    for (let round = 0; round < 2; round += 1)
      expect(Buffer.compare((await echo(bytes))[0]?.bytes ?? new Uint8Array(), bytes)).toBe(0);
  });

  it("keeps no request waiting while it works", async () => {
    let turns = 0;
    let isOver = false;
    const work = queryRows(database.db, sql`SELECT sum(n) FROM generate_series(1, 1000000) AS n`).finally(
      () => {
        isOver = true;
      },
    );
    while (!isOver) {
      await new Promise((next) => setTimeout(next, 1));
      turns += 1;
    }
    await work;
    expect(turns).toBeGreaterThan(10);
  });
});

/** Timers of a statement's limit go off after a second: until then pg_sleep, which waits in a loop, takes a processor. */
function shortenLimit() {
  const later = globalThis.setTimeout;
  const early = (act: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
    later(act, ms === overdueMs ? 1_000 : ms, ...args);
  return vi.spyOn(globalThis, "setTimeout").mockImplementation(early as typeof setTimeout);
}

describe("an embedded database that fails", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "countersign-embedded-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("leaves its folder to the next one when it does not start", async () => {
    await writeFile(path.join(folder, "pglite"), "no folder");
    await expect(openEmbedded(folder, "drizzle")).rejects.toThrow();
    await rm(path.join(folder, "pglite"));
    await copyEmbeddedTemplate(folder);
    await expect(openEmbedded(folder, path.join(folder, "no-migrations"))).rejects.toThrow(/_journal/);
    const database = await openEmbedded(folder, "drizzle");
    expect((await database.query("SELECT 1 AS one", [])).rows).toEqual([{ one: 1 }]);
    await database.close();
  });

  it("gives up a statement that takes too long, and is there again with what was stored and who listened", async () => {
    const database = await openEmbedded(folder, "drizzle");
    const heard: string[] = [];
    await database.listen?.("news", (payload) => heard.push(payload));
    await database.query("CREATE TABLE kept AS SELECT 'stored' AS text", []);
    const before = performance.now();
    const timers = shortenLimit();
    const sleeping = database.query("SELECT pg_sleep(120)", []);
    const behind = database.statement("SELECT 1")();
    const settled = await Promise.allSettled([sleeping, behind]);
    timers.mockRestore();
    for (const { reason } of settled as PromiseRejectedResult[]) expect(isUnreachable(reason)).toBe(true);
    expect(performance.now() - before).toBeLessThan(60_000);
    expect(database.wasReachableSince(before)).toBe(false);
    const read = database.statement<{ text: string }>("SELECT text FROM kept");
    await expect.poll(() => read().catch(() => []), { timeout: 60_000 }).toEqual([{ text: "stored" }]);
    const tell = () => database.statement("SELECT pg_notify('news', 'again')")();
    await expect.poll(() => tell().then(() => heard[0])).toBe("again");
    await database.close();
  });
});

describe("a shared session", () => {
  const ready = (state: string) => Buffer.from(`Z\x00\x00\x00\x05${state}`, "latin1");
  const startup = Buffer.from("\x00\x00\x00\x09\x00\x03\x00\x00\x00", "latin1");
  const simple = (text: string) => {
    const message = Buffer.from(`Q\x00\x00\x00\x00${text}\x00`, "latin1");
    message.writeUInt32BE(message.length - 1, 1);
    return message;
  };

  /** Says what it was asked; BEGIN leaves it in a transaction, and so does what follows up to ROLLBACK. */
  function createServer() {
    const asked: string[] = [];
    let state = "I";
    const exchange: Exchange = async (messages) => {
      const text = Buffer.from(messages).toString("latin1");
      asked.push(text.replaceAll(/[^\w ]+/g, " ").trim());
      if (text.includes("BEGIN")) state = "T";
      if (text.includes("ROLLBACK")) state = "I";
      return ready(state);
    };
    return { asked, exchange };
  }

  interface Socket {
    write(bytes: Buffer): void;
    destroy(): void;
  }

  function openPair() {
    const { asked, exchange } = createServer();
    const { connect } = shareSession(exchange);
    const [one, other] = [connect(), connect()] as unknown as [Socket, Socket];
    return { asked, one, other };
  }

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it("gives each its turn, and takes what comes meanwhile together", async () => {
    const { asked, one, other } = openPair();
    one.write(startup);
    other.write(simple("c"));
    one.write(simple("a"));
    one.write(simple("b"));
    await settled();
    expect(asked).toEqual(["", "Q c", "Q a Q b"]);
  });

  it("leaves the session to who has asked for half a query", async () => {
    const { asked, one, other } = openPair();
    one.write(Buffer.from("H\x00\x00\x00\x04", "latin1"));
    other.write(simple("c"));
    await settled();
    expect(asked).toEqual(["H"]);
    one.write(Buffer.from("S\x00\x00\x00\x04", "latin1"));
    await settled();
    expect(asked).toEqual(["H", "S", "Q c"]);
  });

  it("rolls back for a connection that went away in its transaction", async () => {
    const { asked, one, other } = openPair();
    one.write(simple("BEGIN"));
    other.write(simple("SELECT 1"));
    await settled();
    expect(asked).toEqual(["Q BEGIN"]);
    one.destroy();
    await settled();
    expect(asked).toEqual(["Q BEGIN", "S Q ROLLBACK", "Q SELECT 1"]);
  });

  it("fails all that is asked when its server has ended", async () => {
    const { connect } = shareSession(() => Promise.reject(new Error("gone")));
    const client = postgres({ socket: connect, max: 1, backoff: 0.01 } as object);
    const answers = await Promise.allSettled([client`SELECT 1`, client`SELECT 2`]);
    expect(answers.map((answer) => answer.status === "rejected" && answer.reason.code)).toEqual([
      "CONNECTION_CLOSED",
      "CONNECTION_CLOSED",
    ]);
    await client.end();
  });
});
