/** Behind PgBouncer in transaction mode, with its default settings, everything works, if slower. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { startForgetfulPooler, startPooler } from "#support/pooler";
import { queryRows } from "./client";
import { openDatabase } from "./embedded/embedded";

describe.skipIf(!databaseKinds.includes("postgres"))("behind a pooler", () => {
  let direct: Awaited<ReturnType<typeof createTestDatabase>>;
  let pooler: Awaited<ReturnType<typeof startPooler>>;
  beforeAll(async () => {
    direct = await createTestDatabase({ empty: true });
    pooler = await startPooler(direct.url);
  });
  afterAll(async () => {
    await pooler.stop();
    await direct.drop();
  });

  it("two that start at once migrate once, and both know where they are", async () => {
    const open = () => openDatabase({ databaseUrl: pooler.url, dataDir: "" });
    const opened = await Promise.all([open(), open()]);
    const straight = await openDatabase({ databaseUrl: direct.url, dataDir: "" });
    expect([...opened, straight].map(({ isPooled }) => isPooled)).toEqual([true, true, false]);
    await Promise.all([...opened, straight].map(({ close }) => close()));
  });

  it("every statement has its time limit, alone and in a transaction, and none is left to others", async () => {
    const database = await openDatabase({ databaseUrl: pooler.url, dataDir: "" });
    const show = sql`SHOW statement_timeout`;
    const limit = [{ statement_timeout: "15s" }];
    expect(await queryRows(database.db, show)).toEqual(limit);
    expect(await database.db.transaction((tx) => queryRows(tx, show))).toEqual(limit);
    expect((await database.query("SHOW statement_timeout", [])).rows).toEqual(limit);
    const stranger = postgres(pooler.url, { max: 1, prepare: false });
    expect([...(await stranger`SHOW statement_timeout`)]).toEqual([{ statement_timeout: "0" }]);
    await stranger.end();
    await database.close();
  });

  it("what stores a batch is planned once for a connection of the pooler's, and nobody else's statements are", async () => {
    const database = await openDatabase({ databaseUrl: pooler.url, dataDir: "" });
    const show = "SHOW plan_cache_mode";
    expect(await database.statement(show, "write")()).toEqual([{ plan_cache_mode: "force_generic_plan" }]);
    expect(await database.statement("SHOW lock_timeout", "write")()).toEqual([{ lock_timeout: "3s" }]);
    expect(await database.statement(show)()).toEqual([{ plan_cache_mode: "auto" }]);
    await database.close();
  });

  it("two apps attest, verify, and see each other's decisions", async () => {
    const DATA_DIR = await mkdtemp(path.join(tmpdir(), "countersign-pooled-"));
    const settings = { DATABASE_URL: pooler.url, DATA_DIR };
    const one = await startTestApp("postgres", settings);
    const two = await startTestApp("postgres", settings);
    try {
      const { key } = await one.createKey();
      const body = (n: number) => ({ agent_slug: "pooled-bot", action: `act ${n}`, inputs_hash: "x" });
      const sent = Array.from({ length: 24 }, (_, n) => {
        const headers = { "idempotency-key": `pooled-${n}` };
        return (n % 2 === 0 ? one : two).call("POST", "/v1/attest", { key, body: body(n), headers });
      });
      const answers = await Promise.all(sent);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
      const indices = answers.map((answer) => answer.body.log.index as number).sort((a, b) => a - b);
      expect(indices).toEqual(indices.map((_, i) => (indices[0] ?? 0) + i));
      for (const { body: made } of answers.slice(0, 4))
        expect((await two.call("GET", `/v1/verify/${made.attestation_id}`)).body.valid).toBe(true);

      const asked = await ask(one, key);
      const waiting = two.call("GET", `/v1/authorize/${asked.made.request_id}?wait=25`);
      one.use();
      expect((await asked.deny()).status).toBe(200);
      expect((await waiting).body.status).toBe("denied");
    } finally {
      await one.close();
      await two.close();
      await rm(DATA_DIR, { recursive: true, force: true });
    }
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("a start behind a pooler that commits nothing", () => {
  it("is refused in words, and leaves nothing in a database that does", async () => {
    const direct = await createTestDatabase();
    const pooler = await startForgetfulPooler(direct.url);
    const opening = openDatabase({ databaseUrl: pooler.url, dataDir: "" });
    await expect(opening).rejects.toThrow(
      /^Countersign cannot start: what is written through DATABASE_URL is acknowledged and not stored.*Pgpool-II in raw mode/,
    );
    await pooler.stop();
    const database = await openDatabase({ databaseUrl: direct.url, dataDir: "" });
    expect((await database.query("SELECT name FROM leases", [])).rows).toEqual([]);
    await database.close();
    await direct.drop();
  });
});
