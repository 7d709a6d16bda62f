/**
 * A transaction whose connection is gone asks nothing any more, however long its work goes on: what the driver's next
 * session answers belongs to others (.ci/patches).
 */
import { type AddressInfo, createServer } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { layWire, type Wire } from "#support/cut-connections";
import { createTestDatabase, databaseKinds } from "#support/databases";

/** A promise, and what resolves it. */
function createSignal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { give: () => give(), given };
}

const howItEnds = (work: Promise<unknown>) =>
  work.then(
    () => "answered",
    (error: { code?: string }) => error.code ?? String(error),
  );

describe.skipIf(!databaseKinds.includes("postgres"))("a transaction whose connection is gone", () => {
  let made: Awaited<ReturnType<typeof createTestDatabase>>;
  let wire: Wire;
  let client: postgres.Sql;
  let direct: postgres.Sql;
  beforeAll(async () => {
    made = await createTestDatabase({ empty: true });
    wire = await layWire(made.url);
    // One connection, which all have by turns.
    client = postgres(wire.url, { max: 1, backoff: () => 0.01, onnotice: () => {} });
    direct = postgres(made.url, { max: 1 });
    await direct`CREATE TABLE entries (name text)`;
  });
  beforeEach(() => direct`DELETE FROM entries`);
  afterAll(async () => {
    await client.end();
    await direct.end();
    await wire.close();
    await made.drop();
  });

  const names = async () => (await direct`SELECT name FROM entries ORDER BY name`).map(({ name }) => name);

  /** Begins a transaction whose work goes on when allowed, with a statement, and then succeeds or fails. */
  function begin(isBad: boolean, how: "begin" | "beginPipelined" = "begin") {
    const [started, mayGoOn, over] = [createSignal(), createSignal(), createSignal()];
    let late = "";
    const ends = howItEnds(
      client[how]("", async (tx) => {
        await tx`INSERT INTO entries VALUES ('lost')`;
        started.give();
        await mayGoOn.given;
        late = await howItEnds(tx`INSERT INTO entries VALUES ('late')`);
        // COMMIT or ROLLBACK is asked in the same turn.
        setTimeout(over.give, 50);
        if (isBad) throw new Error("changed its mind");
      }),
    );
    return { started, mayGoOn, over, ends, late: () => late };
  }

  it.each([
    [false, "begin"],
    [true, "begin"],
    [true, "beginPipelined"],
  ] as const)("is in nobody's way who has the connection now (it ends badly: %s, %s)", async (isBad, how) => {
    const lost = begin(isBad, how);
    await lost.started.given;
    wire.leadTo(made.url);
    expect(await lost.ends).toBe("CONNECTION_CLOSED");
    await client.begin(async (tx) => {
      await tx`INSERT INTO entries VALUES ('first')`;
      lost.mayGoOn.give();
      await lost.over.given;
      await tx`INSERT INTO entries VALUES ('second')`;
      // Nobody else has ended this session's transaction.
      expect(await names()).toEqual([]);
    });
    expect(lost.late()).toBe("CONNECTION_CLOSED");
    expect(await names()).toEqual(["first", "second"]);
  });

  it("takes nobody's answer while the connection opens again", async () => {
    const lost = begin(true);
    await lost.started.given;
    wire.leadTo(made.url);
    expect(await lost.ends).toBe("CONNECTION_CLOSED");
    wire.delay(20);
    const answers = ["one", "two", "three"].map((name) => client`SELECT ${name} AS name`);
    for (const answer of answers) answer.catch(() => {});
    // The connection is there, and the server has not answered yet.
    await new Promise((resolve) => setTimeout(resolve, 30));
    lost.mayGoOn.give();
    await lost.over.given;
    wire.delay(0);
    expect((await Promise.all(answers)).map((rows) => rows[0]?.["name"])).toEqual(["one", "two", "three"]);
    expect(lost.late()).toBe("CONNECTION_CLOSED");
    expect(await names()).toEqual([]);
  });

  it("asks nothing after its BEGIN failed, but for what left with it", async () => {
    let answers: string[] = [];
    let late = "";
    const ends = client.beginPipelined("isolation level of nobody", async (tx) => {
      const asked = [tx`SELECT ${1}::int`, tx`INSERT INTO entries VALUES (${"second"})`];
      answers = await Promise.all(asked.map((one) => howItEnds(one)));
      late = await howItEnds(tx`INSERT INTO entries VALUES ('late')`);
    });
    expect(await howItEnds(ends)).toBe("42601");
    await expect.poll(() => late).toBe("42601");
    // The driver asks how the first one's answer will look, and the second waited for that.
    expect(answers).toEqual(["answered", "42601"]);
    await client.beginPipelined("", (tx) => tx`INSERT INTO entries VALUES ('next')`);
    expect(await names()).toEqual(["next"]);
  });

  it("ends what it had in its own line", async () => {
    let waiting: Promise<string>[] = [];
    const ends = howItEnds(
      client.begin(async (tx) => {
        waiting = [tx`SELECT pg_sleep(10), ${1}::int`, tx`SELECT ${2}::int`, tx`SELECT ${3}::int`].map(
          (asked) => howItEnds(asked),
        );
        await Promise.all(waiting);
      }),
    );
    const asleep = () => direct`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    await expect.poll(async () => (await asleep()).length).toBe(1);
    wire.leadTo(made.url);
    expect([await ends, ...(await Promise.all(waiting))]).toEqual(Array(4).fill("CONNECTION_CLOSED"));
  });
});

it("a server that closes every connection is tried again after a pause", async () => {
  const tries: number[] = [];
  const server = createServer((socket) => {
    tries.push(performance.now());
    socket.destroy();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = postgres(`postgres://nobody@127.0.0.1:${port}/none`, { max: 1, backoff: () => 0.1 });
  const asked = client`SELECT 1`.catch(() => {});
  await expect.poll(() => tries.length).toBeGreaterThan(4);
  await client.end({ timeout: 0 });
  await asked;
  server.close();
  expect((tries[4] ?? 0) - (tries[0] ?? 0)).toBeGreaterThan(200);
});

it("a connection that is reset in the driver's own first query fails who waits for it, and nothing else", async () => {
  const greeting = Buffer.from("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I", "latin1");
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(greeting);
      socket.once("data", () => socket.resetAndDestroy());
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = postgres(`postgres://nobody@127.0.0.1:${port}/none`, { max: 1 });
  // Unpatched, the driver's own query is rejected too, and nobody catches it.
  expect(await howItEnds(client`SELECT 1`)).toBe("ECONNRESET");
  await new Promise((resolve) => setTimeout(resolve, 20));
  await client.end({ timeout: 0 });
  server.close();
});
