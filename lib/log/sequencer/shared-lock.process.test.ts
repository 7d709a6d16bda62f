/**
 * Machines that share PostgreSQL and a store: what one of them acknowledged, all know, whatever the store does meanwhile; a
 * database that lost it is refused everywhere, until an operator goes on in a new log.
 */
import { cpSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { readOpenHead } from "#lib/log/reading/reader";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import type { TestApp } from "#support/app";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { attest, checkWholeLog, closeHomes, makeHome, start } from "#support/operator-commands";
import { type Fault, startS3, type TestS3 } from "#support/s3";

const locked = "of-the/log/head-lock";

describe.skipIf(!databaseKinds.includes("postgres"))("machines with one store", () => {
  let s3: TestS3;
  beforeAll(async () => {
    s3 = await startS3();
    for (const [name, value] of Object.entries(s3.credentials)) vi.stubEnv(name, value);
  });
  afterAll(async () => {
    await s3.kill();
    vi.unstubAllEnvs();
  });
  beforeEach(() => {
    s3.objects.clear();
    s3.fault = () => null;
    s3.ignoresConditions = false;
  });
  afterEach(closeHomes);

  const readLock = () => JSON.parse(String(s3.objects.get(locked)?.bytes));
  const settings = () => ({ ...s3.settings, LIMIT_ATTEST_PER_MINUTE: "100000", LOG_STORE_SECONDS: "3600" });

  /** A machine's settings: the keys of the first one, and a fork guard of its own. */
  async function makeMachine(home: Record<string, string>, url = home["DATABASE_URL"] ?? "") {
    const other = await makeHome("embedded");
    cpSync(path.join(String(home["DATA_DIR"]), "keys"), path.join(String(other["DATA_DIR"]), "keys"), {
      recursive: true,
    });
    return { ...other, DATABASE_URL: url };
  }

  it("lose nothing that was acknowledged and keep one history, while the store fails in every way", async () => {
    const home: Record<string, string> = { ...(await makeHome("postgres")), ...settings() };
    const one = await start("postgres", home);
    const two = await start("postgres", { ...(await makeMachine(home)), ...settings() });
    const { key } = await one.createKey();
    const faults: Fault[] = ["error", "error after", "cut", "cut after", { delayMs: 40 }];
    let asked = 0;
    s3.fault = (method, name) => {
      asked += 1;
      return name === "head-lock" && asked % 3 > 0
        ? (faults[(asked + method.length) % faults.length] ?? null)
        : null;
    };
    const answers: Awaited<ReturnType<TestApp["call"]>>[] = [];
    const client = async (test: TestApp, name: string) => {
      for (let n = 0; n < 12; n += 1) answers.push(await attest(test, key, { action: `${name} ${n}` }));
    };
    await Promise.all([client(one, "a"), client(two, "b"), client(one, "c"), client(two, "d")]);
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    s3.fault = () => null;
    for (const test of [one, two]) answers.push(await attest(test, key));
    expect(answers.slice(-2).map(({ status }) => status)).toEqual([201, 201]);

    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body);
    expect(made.length).toBeGreaterThan(10);
    const { size } = await checkWholeLog(one, "/log");
    const head = await readOpenHead(one.app.context.database.db);
    expect(readLock()).toMatchObject({ out: { logId: 1, size: head.size }, next: null });
    expect(hexDecode(readLock().out.rootHex)).toEqual(new Uint8Array(head.root));
    expect(new Set(made.map(({ log }) => log.index)).size).toBe(made.length);
    for (const { attestation_id: id, log } of made) {
      expect(log.index).toBeLessThan(size);
      expect((await two.call("GET", `/v1/verify/${id}`)).body.valid).toBe(true);
    }
  });

  it("store nothing while the store is away, say so, answer what is there, and go on by themselves", async () => {
    const test = await start("postgres", { ...(await makeHome("postgres")), ...settings() });
    const { key } = await test.createKey();
    const { body } = await attest(test, key);
    expect((await test.call("GET", "/v1/health")).status).toBe(200);
    await s3.kill();
    const away = await attest(test, key);
    expect([away.status, away.body.detail]).toEqual([503, expect.stringContaining("nothing was recorded")]);
    expect((await test.call("GET", `/v1/verify/${body.attestation_id}`)).body.valid).toBe(true);
    expect((await test.call("GET", "/log/checkpoint")).status).toBe(200);
    await expect
      .poll(async () => (await test.call("GET", "/v1/health")).status, { timeout: 60_000 })
      .toBe(503);
    await s3.revive();
    expect((await attest(test, key)).status).toBe(201);
    await expect
      .poll(async () => (await test.call("GET", "/v1/health")).status, { timeout: 60_000 })
      .toBe(200);
  });

  it("don't start on a store that is away, ignores conditions, or belongs to another service", async () => {
    s3.ignoresConditions = true;
    const home: Record<string, string> = { ...(await makeHome("postgres")), ...settings() };
    const away = start("postgres", { ...home, LOG_STORE_ENDPOINT: "http://127.0.0.1:9" });
    await expect(away).rejects.toThrow(
      /cannot start: the store .* \(LOG_STORE\) can't be used \(ECONNREFUSED\)/,
    );
    await expect(start("postgres", home)).rejects.toThrow(/cannot start: the store .* ignores If-/);
    s3.ignoresConditions = false;
    const { url, drop } = await createTestDatabase();
    const other = await start("postgres", {
      ...(await makeHome("embedded")),
      DATABASE_URL: url,
      ...settings(),
    });
    await other.app.close();
    await expect(start("postgres", { ...home, LOG_ORIGIN: "other.example/log" })).rejects.toThrow(
      /the lock in .* is that of the log localhost:3000\/log/,
    );
    await drop();
  });
});
