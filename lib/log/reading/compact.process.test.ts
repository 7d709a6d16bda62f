/** Old entries that only the store has: every answer stays as it was, and nothing is believed that the database can't confirm. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type ObjectStore, openStore } from "#lib/log/object-storage/object-store";
import { checkStoredRecords } from "#lib/log/records/record-snapshot";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { checkWholeLog } from "#support/operator-commands";
import { startS3, type TestS3 } from "#support/s3";
import { compactLogs, createOldEntries } from "./compact";
import { exportTiles } from "./export-tiles";
import { checkStoredLogs } from "./history";

const bundle = "of-the/log/tile/entries/000";

describe("a compacted log", () => {
  let s3: TestS3;
  let test: TestApp;
  let store: ObjectStore;
  let key: string;
  let ids: string[];

  beforeAll(async () => {
    s3 = await startS3();
    for (const [name, value] of Object.entries(s3.credentials)) vi.stubEnv(name, value);
  });
  afterAll(async () => {
    await s3.kill();
    vi.unstubAllEnvs();
  });

  const entry = (n: number) => ({ agent_slug: `old-bot-${n % 3}`, action: `old ${n}`, inputs_hash: "x" });
  const attest = (n: number) => test.call("POST", "/v1/attest", { key, body: entry(n) });
  const attestBatch = async (count: number, from: number) => {
    const attestations = Array.from({ length: count }, (_, i) => entry(from + i));
    const { body } = await test.call("POST", "/v1/attest/batch", { key, body: { attestations } });
    return body.results.map((result: { body: object }) => result.body);
  };
  beforeEach(async () => {
    s3.objects.clear();
    test = await startTestApp(anyKind, {
      ...{ ...s3.settings, LOG_STORE_SECONDS: "3600", LIMIT_ATTEST_PER_MINUTE: "100000" },
    });
    ({ key } = await test.createKey());
    const made = await Promise.all(Array.from({ length: 6 }, (_, i) => attestBatch(90, 90 * i)));
    ids = made
      .flat()
      .toSorted((a, b) => a.log.index - b.log.index)
      .map((body) => body.attestation_id);
    store = (await openStore(s3.settings.LOG_STORE, s3.settings)) as ObjectStore;
  });
  afterEach(async () => {
    s3.fault = () => null;
    store.close();
    await test.close();
  });

  const publish = () =>
    exportTiles({ db: test.app.context.database.db, old: null }, undefined, store, "trust");
  const compact = (before = new Date(Date.now() + 60_000)) =>
    compactLogs(test.app.context.database, store, before);
  const countHeld = async () => {
    const { rows } = await test.query(
      "SELECT count(data)::int AS held, count(*)::int AS leaves FROM log_leaves",
      [],
    );
    return rows[0] as { held: number; leaves: number };
  };
  /** Responses to outsiders about an attestation and the log around it. */
  async function readAll() {
    const id = ids[3] as string;
    const paths = [
      ...[`/v1/verify/${id}`, `/v1/verify/${id}/bundle`, `/v1/agent/old-bot-0/record?from=1&limit=50`],
      ...["/log/tile/entries/000", "/log/tile/entries/000.p/7", "/log/tile/entries/001", "/log/tile/0/000"],
    ];
    const answers: unknown[] = [];
    for (const path of paths) {
      const { status, body } = await test.call("GET", path);
      answers.push([path, status, JSON.stringify(body).replace(/"verified_at":"[^"]*"/, "")]);
    }
    return answers;
  }

  it("answers everything as before, from half the rows' bytes, and passes every check", async () => {
    await publish();
    // Until readers get the newest checkpoint, which is that of the last whole second, by the database's clock.
    await sleep(2_000);
    const before = await readAll();
    expect(before.map((answer) => (answer as unknown[])[1])).toEqual(before.map(() => 200));
    const [done] = await compact();
    // More than these are old and published, but no whole bundle.
    expect(done).toMatchObject({ leaves: 512, reached: 512 });
    const { held, leaves } = await countHeld();
    expect(leaves - held).toBe(512);
    expect(await readAll()).toEqual(before);
    expect((await compact())[0]?.leaves).toBe(0);
    const { database, oldEntries } = test.app.context;
    expect((await checkStoredLogs(database.db, oldEntries))[0]?.check.ok).toBe(true);
    expect((await checkStoredRecords(database.db)).problem).toBeNull();
    expect((await checkWholeLog(test)).ok).toBe(true);
    // Without the store nobody takes the rows for whole.
    expect((await checkStoredLogs(database.db, null).catch(() => [])).some(({ check }) => check.ok)).toBe(
      false,
    );
    expect((await attest(999)).status).toBe(201);
    await publish();
    expect((await test.call("GET", `/v1/verify/${ids[300]}`)).body.valid).toBe(true);
  });

  it("drops nothing that is young, not published, missing or changed in the store", async () => {
    expect((await compact())[0]?.leaves).toBe(0);
    await publish();
    expect((await compact(new Date(Date.now() - 3_600_000)))[0]).toMatchObject({ leaves: 0, reached: 0 });
    for (const name of [bundle, "of-the/log/tile/0/001"]) {
      const held = s3.objects.get(name);
      if (held === undefined) throw new Error(`${name} is not published`);
      s3.objects.set(name, { ...held, bytes: Buffer.from(held.bytes).fill(1, 40, 41) });
      await expect(compact()).rejects.toThrow("differs from the database");
      s3.objects.delete(name);
      await expect(compact()).rejects.toThrow("is missing");
      s3.objects.set(name, held);
    }
    // Bundles before the wrong one were compacted.
    const { held, leaves } = await countHeld();
    expect(leaves - held).toBe(256);
  });

  it("believes no entry of the store that the database can't confirm, and says so when the store is away", async () => {
    await publish();
    await compact();
    const { database } = test.app.context;
    const held = s3.objects.get(bundle);
    if (held === undefined) throw new Error("not published");
    const check = async () => {
      const fresh = createOldEntries(store);
      test.app.context.oldEntries = fresh;
      const verified = await test.call("GET", `/v1/verify/${ids[5]}`);
      const outcome = await checkStoredLogs(database.db, fresh).then(
        ([log]) => (log?.check.ok ? "ok" : "fault"),
        (error: Error) => error.message,
      );
      return [verified.status, verified.body.valid ?? false, outcome];
    };
    s3.objects.set(bundle, { ...held, bytes: Buffer.from(held.bytes).fill(0x20, 30, 31) });
    expect(await check()).toEqual([
      200,
      false,
      expect.stringContaining("is not that of the database's tile"),
    ]);
    s3.objects.delete(bundle);
    expect(await check()).toEqual([200, false, expect.stringContaining("is missing in s3://")]);
    s3.objects.set(bundle, held);
    s3.fault = (_, name) => (name.startsWith("tile/entries") ? "error" : null);
    expect(await check()).toEqual([503, false, expect.stringContaining("did not respond")]);
    s3.fault = () => null;
    expect(await check()).toEqual([200, true, "ok"]);
  });

  it("lets the database change nothing else of a leaf", async () => {
    const { query } = test.app.context.database;
    for (const change of [
      "data = NULL, leaf_hash = NULL, payload_hash = sha256('x')",
      "sequence = 9, data = NULL, leaf_hash = NULL",
      "data = 'x'",
      "leaf_hash = sha256('x')",
    ])
      await expect(query(`UPDATE log_leaves SET ${change} WHERE leaf_index = 7`, [])).rejects.toThrow(
        /append-only/,
      );
    await expect(query("UPDATE log_leaves SET data = NULL WHERE leaf_index = 7", [])).rejects.toThrow();
    await expect(query("DELETE FROM log_leaves WHERE leaf_index = 7", [])).rejects.toThrow(/append-only/);
    const { held, leaves } = await countHeld();
    expect(held).toBe(leaves);
  });
});
