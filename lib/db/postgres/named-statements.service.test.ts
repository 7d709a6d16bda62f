/** Statements keep their names within bounds, and do the same named or not. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "#lib/db/client";
import { databaseKinds, openTestDatabase } from "#support/databases";
import { createNaming } from "./client";

describe("the naming of statements", () => {
  it("names the first texts and no more, and never several statements at once", () => {
    const isNamed = createNaming(2);
    expect(["a", "b", "c", "a; b", "b", "a"].map(isNamed)).toEqual([true, true, false, false, true, true]);
  });
});

describe.runIf(databaseKinds.includes("postgres"))("named statements", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase("postgres");
  });
  afterAll(() => database.close());

  it("are parsed once per connection, in transactions and savepoints too", async () => {
    const prepared = await database.db.transaction(async (tx) => {
      for (let i = 0; i < 3; i += 1) {
        await tx.execute(sql`SELECT ${i}::int + 1 AS next`);
        await tx.transaction((inner) => inner.execute(sql`SELECT ${i}::int + 2 AS next`));
      }
      return tx.execute(
        sql`SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%' ORDER BY 1`,
      );
    });
    expect((prepared as unknown as { statement: string }[]).map(({ statement }) => statement)).toEqual([
      "SELECT $1::int + 1 AS next",
      "SELECT $1::int + 2 AS next",
    ]);
  });

  it("without parameters are named too, and several in one text still run", async () => {
    await database.db.execute(sql.raw("CREATE TABLE probe (n int); INSERT INTO probe VALUES (1), (2)"));
    const rows = await database.db.execute(sql`SELECT sum(n)::int AS total FROM probe`);
    expect(rows).toMatchObject([{ total: 3 }]);
  });
});
