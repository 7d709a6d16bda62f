/** The database goes and comes back: what is in flight gets 503, nothing is half-written, no restart is needed. */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import { sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { startTestApp, type TestAnswer, type TestApp } from "#support/app";
import { layWire, type Wire } from "#support/cut-connections";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { measureMs, shortestMs } from "#support/shortest";

describe.skipIf(!databaseKinds.includes("postgres"))("the database goes and comes back", () => {
  let wire: Wire;
  let test: TestApp;
  let key: string;
  let directUrl: string;
  let drop = async () => {};
  // An agent that is known already would not be looked up.
  const bodyOf = (action: string) => ({ agent_slug: action.replaceAll(" ", "-"), action, inputs_hash: "x" });
  const attest = (action: string, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest", { key, headers, body: bodyOf(action) });
  const count = async (table: string, condition: string) => {
    const { rows } = await test.query(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`, []);
    return rows[0]?.["n"];
  };
  /** Past the wire. */
  const countDirectly = async (table: string, condition: string) => {
    const direct = postgres(directUrl, { max: 1 });
    const [row] = await direct.unsafe(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`);
    await direct.end();
    return row?.["n"];
  };

  beforeAll(async () => {
    const database = await createTestDatabase();
    directUrl = database.url;
    wire = await layWire(directUrl);
    test = await startTestApp("postgres", { DATABASE_URL: wire.url, LIMIT_ATTEST_PER_MINUTE: "100000" });
    ({ key } = await test.createKey());
    drop = async () => {
      await test.close();
      await wire.close();
      await database.drop();
    };
  });
  afterAll(() => drop());

  /** The first answer of a service that has its database again. */
  const attestWhenBack = (action: string, headers: Record<string, string> = {}) =>
    vi.waitFor(
      async () => {
        const answer = await attest(action, headers);
        expect(answer.status).not.toBe(503);
        return answer;
      },
      { timeout: 60_000 },
    );

  it("answers 503 with Retry-After meanwhile, then goes on by itself", async () => {
    expect((await attest("there")).status).toBe(201);
    wire.cut();
    const { status, headers } = await attest("gone");
    expect([status, headers.get("retry-after")]).toEqual([503, expect.any(String)]);
    await wire.mend();
    expect((await attestWhenBack("back")).status).toBe(201);
  });

  it("is reported by the health check within two seconds, and so is its return", async () => {
    const health = async () => (await test.call("GET", "/v1/health")).status;
    // Probes that come every few milliseconds, as those of many balancers do.
    const watch = async (status: number) => {
      while ((await health()) !== status) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const mend = async () => {
      await wire.mend();
      await watch(200);
    };
    const notice = async (leave: () => void) => {
      await mend();
      leave();
      return measureMs(() => watch(503));
    };
    expect(await shortestMs(2_000, () => notice(wire.cut))).toBeLessThan(2_000);
    expect(await shortestMs(4_000, () => notice(wire.stall))).toBeLessThan(4_000);
    const measureCheck = () => measureMs(async () => expect(await health()).toBe(503));
    expect(await shortestMs(1_500, measureCheck)).toBeLessThan(1_500);
    await mend();
  });

  it("tells nothing of a commit whose answer is lost, and an Idempotency-Key finds it again", async () => {
    const headers = { "idempotency-key": "cut-1" };
    expect((await attest("before")).status).toBe(201);
    const cut = wire.cutAt("committed", "told to nobody");
    const lost = await attest("told to nobody", headers);
    await cut;
    expect(lost.status).toBe(503);
    expect(JSON.stringify(lost.body)).not.toMatch(/signature|checkpoint/);
    const again = await attestWhenBack("told to nobody", headers);
    expect(again.status).toBe(201);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await count("attestations", "action = 'told to nobody'")).toBe(1);
    const { body } = await test.call("GET", `/v1/verify/${again.body.attestation_id}`);
    expect(body.valid).toBe(true);
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
  });

  /** An attestation that waits for a lock when the database goes; resolves with its 503. */
  async function failUnderway(
    action: string,
    headers: Record<string, string>,
    locked = "TABLE tool_manifests IN ACCESS EXCLUSIVE MODE",
  ): Promise<TestAnswer> {
    expect((await attestWhenBack("before it goes")).status).toBe(201);
    const direct = postgres(directUrl, { max: 2 });
    const holder = await direct.reserve();
    await holder`BEGIN`;
    await holder.unsafe(`LOCK ${locked}`);
    const failing = attest(action, headers);
    const waiting = () =>
      direct`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await vi.waitFor(async () => expect((await waiting()).length).toBeGreaterThan(0), { timeout: 60_000 });
    wire.cut();
    const failed = await failing;
    await holder`ROLLBACK`;
    holder.release();
    await direct.end();
    return failed;
  }

  it("holds no Idempotency-Key that it doesn't know it has, because the answer to that was cut", async () => {
    const headers = { "idempotency-key": "reserved-1" };
    expect((await attestWhenBack("before it is cut")).status).toBe(201);
    const reservation = sha256(canonicalBytes(bodyOf("reserved unheard")));
    const cut = wire.cutAt("committed", reservation);
    expect((await attest("reserved unheard", headers)).status).toBe(503);
    await cut;
    expect((await attestWhenBack("reserved unheard", headers)).status).toBe(201);
    expect(await count("attestations", "action = 'reserved unheard'")).toBe(1);
  });

  it("holds no Idempotency-Key of work that it ended: sent again, it is answered at once", async () => {
    const headers = { "idempotency-key": "ended-1" };
    expect((await failUnderway("sent twice", headers)).status).toBe(503);
    await wire.mend();
    expect((await attestWhenBack("sent twice", headers)).status).toBe(201);
    expect(await count("attestations", "action = 'sent twice'")).toBe(1);
  });

  it("records once what was sent twice, if the statement of the first outlived its connection", async () => {
    const headers = { "idempotency-key": "orphan-1" };
    // The service has sent the statement that stores, and the server goes on with it.
    const failed = await failUnderway("sent to an orphan", headers, "TABLE logs IN ACCESS EXCLUSIVE MODE");
    expect([failed.status, JSON.stringify(failed.body)]).toEqual([
      503,
      expect.stringMatching(/may or may not/),
    ]);
    await wire.mend();
    expect((await attestWhenBack("sent to an orphan", headers)).status).toBe(201);
    await vi.waitFor(
      async () => expect(await countDirectly("pg_stat_activity", "wait_event_type = 'Lock'")).toBe(0),
      { timeout: 60_000 },
    );
    expect(await count("attestations", "action = 'sent to an orphan'")).toBe(1);
    expect((await attest("after the orphan")).status).toBe(201);
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
  });

  it("gives such a key back for other processes too, as soon as the database answers", async () => {
    expect((await failUnderway("sent once", { "idempotency-key": "ended-2" })).status).toBe(503);
    expect(await countDirectly("idempotency_keys", "key = 'ended-2'")).toBe(1);
    await wire.mend();
    await vi.waitFor(async () => expect(await countDirectly("idempotency_keys", "key = 'ended-2'")).toBe(0), {
      timeout: 60_000,
    });
  });
});
