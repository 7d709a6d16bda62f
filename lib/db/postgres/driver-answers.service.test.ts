/** A failure on a connection changes nothing in the answers of others on it (.ci/patches). */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layWire } from "#support/cut-connections";
import { createTestDatabase, databaseKinds } from "#support/databases";

describe.skipIf(!databaseKinds.includes("postgres"))("a connection's next answer", () => {
  let made: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: postgres.Sql;
  beforeAll(async () => {
    made = await createTestDatabase({ empty: true });
    client = postgres(made.url, { max: 1, onnotice: () => {} });
  });
  afterAll(async () => {
    await client.end();
    await made.drop();
  });

  it("has all of its rows, and no others, after one that failed in the midst of its rows", async () => {
    await expect(client`SELECT 1 / (5 - n) FROM generate_series(1, 10) AS n`).rejects.toThrow(
      "division by zero",
    );
    expect([...(await client`SELECT 'mine' AS whose`)]).toEqual([{ whose: "mine" }]);
  });

  it("has them after a connection that was lost in the midst of rows, too", async () => {
    const wire = await layWire(made.url);
    // The driver's own first query of a connection would begin the count again.
    const options = { max: 1, fetch_types: false, backoff: () => 0.01, onnotice: () => {} };
    const lost = postgres(wire.url, options);
    await lost`SELECT 1`;
    wire.stallMidAnswer();
    const cut = lost`SELECT n, repeat('x', 20) AS filler FROM generate_series(1, 100) AS n`.catch(
      ({ code }) => code,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    wire.leadTo(made.url);
    expect(await cut).toBe("CONNECTION_CLOSED");
    await wire.mend();
    expect([...(await lost`SELECT 'mine' AS whose`)]).toEqual([{ whose: "mine" }]);
    await lost.end();
    await wire.close();
  });

  it("is its own, after a statement under way beside it whose parameters cannot be written", async () => {
    const ask = (whose: string) => client`SELECT ${whose}::text AS whose`;
    const unwritable = {
      toString: () => {
        throw new Error("not written");
      },
    };
    const fail = () => client.unsafe("SELECT $1::text AS whose", [unwritable as never], { prepare: true });
    // Parsed, so that the next one's parameters are written at once.
    await client.unsafe("SELECT $1::text AS whose", ["first"], { prepare: true });
    await ask("first");
    const answers = [ask("one"), fail(), ask("two"), ask("three")];
    const outcomes = (await Promise.allSettled(answers)).map((answer) =>
      answer.status === "fulfilled" ? answer.value[0]?.["whose"] : String(answer.reason),
    );
    expect(outcomes).toEqual(["one", "Error: not written", "two", "three"]);
  });
});
