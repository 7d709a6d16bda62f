/**
 * Three processes on one database: they start at once, share one log without a gap or a doubled index, and survive
 * each other.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { checkEverything, startLoad } from "#support/load";
import { fetchApiKey, killStartedProcesses, noLimits, startServerProcess } from "#support/processes";

/** Has each batch say how its statements are planned. */
const noteModes = `
  CREATE TABLE modes (mode text);
  CREATE FUNCTION note_mode() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO modes VALUES (current_setting('plan_cache_mode')); RETURN NULL; END $$;
  CREATE TRIGGER noted AFTER INSERT ON log_leaves FOR EACH STATEMENT EXECUTE FUNCTION note_mode()`;

describe.skipIf(!databaseKinds.includes("postgres"))("three processes on one PostgreSQL", () => {
  let settings: Record<string, string>;
  let drop = async () => {};
  beforeAll(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "countersign-three-"));
    const database = await createTestDatabase({ empty: true });
    settings = { ...noLimits, DATA_DIR: folder, DATABASE_URL: database.url };
    drop = async () => {
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  afterAll(async () => {
    killStartedProcesses();
    await drop();
  });

  it("migrates and makes the first keys once, and sequences concurrent load into one log", async () => {
    const start = () => startServerProcess(settings);
    const servers = await Promise.all([start(), start(), start()]);
    const urls = servers.map(({ url }) => url);
    const [first] = servers;
    const sql = postgres(settings["DATABASE_URL"] ?? "", { max: 1, onnotice: () => {} });
    await sql.unsafe(noteModes);
    const key = await fetchApiKey(urls[0] ?? "");
    const loads = urls.map((url) => startLoad(url, key, 8));
    await Promise.all(loads.map((load) => load.reach(60)));
    await first?.kill();
    await Promise.all(loads.slice(1).map((load) => load.reach(load.receipts.length + 30)));
    await Promise.all(loads.map((load) => load.stop()));
    // No process plans a batch again, be the head in its memory or locked.
    expect([...(await sql`SELECT DISTINCT mode FROM modes`)]).toEqual([{ mode: "force_generic_plan" }]);
    await sql.end();

    expect(loads.flatMap(({ failures }) => failures).every((status) => status === 0)).toBe(true);
    expect(loads[1]?.failures).toEqual([]);
    const receipts = loads.flatMap((load) => load.receipts);
    const { size } = await checkEverything(urls[1] ?? "", receipts);
    // Three key events; and one leaf more at most for each client of the killed process, whose answer was lost.
    expect(size - receipts.length - 3).toBeGreaterThanOrEqual(0);
    expect(size - receipts.length - 3).toBeLessThanOrEqual(8);
  });
});
