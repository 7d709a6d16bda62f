/** Statements of the hot path say the same on both databases: what goes in, what comes out, and by which plan. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseKinds, openTestDatabase } from "#support/databases";
import { type Database, packList } from "./client";

describe.each(databaseKinds)("a statement (%s)", (kind) => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(kind);
  });
  afterAll(() => database.close());

  it("takes lists of every type of the schema, and gives bigint as number, bytea as bytes", async () => {
    const echo = database.statement<Record<string, unknown>>(
      `SELECT * FROM unnest($1::bytea[], $2::text[], $3::uuid[], $4::boolean[], $5::bigint[], $6::timestamptz[])
       AS given(bytes, words, id, flag, big, at)`,
    );
    const id = "0190b3f0-0000-7000-8000-000000000001";
    const at = new Date("2026-11-22T10:00:00.123Z");
    const bytes = Uint8Array.of(0, 92, 34, 255);
    const rows = await echo(
      [bytes, null],
      ['a "quoted", {braced} \\ text', null],
      [id, null],
      [true, null],
      [2 ** 53 - 1, null],
      [at.toISOString(), null],
    );
    expect(rows.map((row) => ({ ...row, bytes: row["bytes"] && [...(row["bytes"] as Uint8Array)] }))).toEqual(
      [
        { bytes: [...bytes], words: 'a "quoted", {braced} \\ text', id, flag: true, big: 2 ** 53 - 1, at },
        { bytes: null, words: null, id: null, flag: null, big: null, at: null },
      ],
    );
    expect(await echo([], [], [], [], [], [])).toEqual([]);
  });

  it("takes a packed list for what it is made of", async () => {
    const read = database.statement<{ bytes: Uint8Array | null }>(
      "SELECT * FROM unnest($1::bytea[]) AS bytes",
    );
    const elements = [Uint8Array.of(0, 92, 34, 255), null, new Uint8Array(), new Uint8Array(70_000).fill(7)];
    const rows = await read(packList(elements));
    expect(rows.map(({ bytes }) => bytes && [...bytes])).toEqual(elements.map((one) => one && [...one]));
    expect(await read(packList([null]))).toEqual([{ bytes: null }]);
    expect(await read(packList([]))).toEqual([]);
  });

  it("rejects with the server's code, and works again", async () => {
    const divide = database.statement<{ n: number }>("SELECT 1 / $1::int AS n", "write");
    await expect(divide(0)).rejects.toMatchObject({ code: "22012" });
    expect(await divide(1)).toEqual([{ n: 1 }]);
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("a statement of PostgreSQL", () => {
  it("uses an index on a table that was empty when it was planned", async () => {
    const database = await openTestDatabase("postgres");
    const find = database.statement("SELECT id FROM attestations WHERE id = $1", "write");
    await find("0190b3f0-0000-7000-8000-000000000001");
    const explain = database.statement<Record<string, string>>(
      "EXPLAIN SELECT id FROM attestations WHERE id = '0190b3f0-0000-7000-8000-000000000001'",
      "write",
    );
    expect(JSON.stringify(await explain())).toContain("attestations_pkey");
    await database.close();
  });
});
