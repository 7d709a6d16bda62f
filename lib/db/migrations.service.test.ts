/** A version with fewer migrations, or others, than the database has had: it refuses to start and changes nothing. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openEmbedded } from "#lib/db/embedded/embedded";
import { openPostgres } from "#lib/db/postgres/client";
import { copyEmbeddedTemplate, createTestDatabase, databaseKinds } from "#support/databases";
import { compareMigrations } from "./migrations";

it.each([
  [[], [1, 2], "empty"],
  [[1], [1, 2], "behind"],
  [[2, 1], [1, 2], "current"],
  [[1, 2, 3], [1, 2], "newer"],
  // All of a version's migrations were made one: it is newer than all that the older version knows.
  [[9], [1, 2], "newer"],
  [[1, 2], [9], "foreign"],
  [[1, 3], [1, 2, 3], "foreign"],
  [[1, 2, 3], [1, 4], "foreign"],
] as const)("what has had %j and what knows %j: %s", (applied, known, state) => {
  expect(compareMigrations(applied, known)).toBe(state);
});

describe("a database that was upgraded", () => {
  let folder = "";
  let older = "";
  /** A version's migrations before the one that `tag` names. */
  function copyBefore(tag: string): string {
    const copy = path.join(folder, `before ${tag}`);
    cpSync("drizzle", copy, { recursive: true });
    const journal = path.join(copy, "meta/_journal.json");
    const { entries, ...rest } = JSON.parse(readFileSync(journal, "utf8"));
    const end = entries.findLastIndex((one: { tag: string }) => one.tag.includes(tag));
    writeFileSync(journal, JSON.stringify({ ...rest, entries: entries.slice(0, end) }));
    return copy;
  }
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-migrations-"));
    older = copyBefore("");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const words = /^Countersign cannot start: a newer version of Countersign has changed this database/;

  it("refuses the version before, on the embedded database", async () => {
    const data = path.join(folder, "data");
    mkdirSync(data);
    await copyEmbeddedTemplate(data);
    await expect(openEmbedded(data, older)).rejects.toThrow(words);
    // Opening leaves it unchanged.
    await (await openEmbedded(data, "drizzle")).close();
  });

  it.skipIf(!databaseKinds.includes("postgres"))("refuses the version before, on PostgreSQL", async () => {
    const { url, drop } = await createTestDatabase({ empty: true });
    const open = (migrations: string) => openPostgres({ url, listenUrl: undefined }, migrations, true);
    await (await open(older)).close();
    await (await open("drizzle")).close();
    await expect(open(older)).rejects.toThrow(words);
    // One that is current is not changed: the role may have no right to create.
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    const role = new URL(url).pathname.slice(1);
    await admin.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'pw';
      GRANT USAGE ON SCHEMA drizzle TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA drizzle TO ${role};
      GRANT INSERT, SELECT, DELETE ON leases TO ${role}`);
    const limited = Object.assign(new URL(url), { username: role, password: "pw" });
    await (await openPostgres({ url: limited.href, listenUrl: undefined }, "drizzle", true)).close();
    await admin.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await admin.end();
    await drop();
  });

  it.skipIf(!databaseKinds.includes("postgres"))("builds an index while others write", async () => {
    const { url, drop } = await createTestDatabase({ empty: true });
    const open = (migrations: string) => openPostgres({ url, listenUrl: undefined }, migrations, true);
    await (await open(copyBefore("index_repeated_inputs"))).close();
    const [admin, writer] = [0, 1].map(() => postgres(url, { max: 1, onnotice: () => {} })) as [
      postgres.Sql,
      postgres.Sql,
    ];
    // Leaves the index of an interrupted build.
    await admin.unsafe(`CREATE INDEX attestations_inputs ON attestations (id);
      UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'attestations_inputs'::regclass`);
    const write = "LOCK TABLE attestations IN ROW EXCLUSIVE MODE";
    let opening: ReturnType<typeof open>[] = [];
    await writer.begin(async (tx) => {
      await tx.unsafe(write);
      opening = [open("drizzle"), open("drizzle")];
      const building = () =>
        admin`SELECT FROM pg_stat_activity WHERE datname = current_database()
          AND query LIKE 'DROP INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`;
      await expect.poll(async () => (await building()).length).toBe(1);
      await admin.begin((other) => other.unsafe(`SET LOCAL lock_timeout = '1s'; ${write}`));
    });
    for (const one of opening) await (await one).close();
    const indexes = await admin`SELECT indexrelid::regclass::text AS name, indisvalid FROM pg_index
      WHERE indexrelid::regclass::text LIKE 'attestations_inputs%'`;
    expect([...indexes]).toEqual([{ name: "attestations_inputs", indisvalid: true }]);
    await Promise.all([admin.end(), writer.end()]);
    await drop();
  });
});
