/**
 * Machines that share PostgreSQL and a store: what one of them acknowledged, all know, whatever the store does meanwhile; a
 * database that lost it is refused everywhere, until an operator goes on in a new log.
 */
import { cpSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { examineLog } from "#lib/cli/shared/doctor-keys";
import { parseEnv } from "#lib/env";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { exportTiles } from "#lib/log/reading/export-tiles";
import { readOpenHead } from "#lib/log/reading/reader";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import type { TestApp } from "#support/app";
import { expectExit } from "#support/commands";
import { copyTestDatabase, createTestDatabase, databaseKinds } from "#support/databases";
import { attest, checkWholeLog, closeHomes, makeHome, run, start } from "#support/operator-commands";
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

  const publish = ({ app: { context } }: TestApp) =>
    exportTiles({ db: context.database.db, old: null }, undefined, context.store as ObjectStore, "trust");

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

  it("refuse a standby that lost an acknowledged batch, until a new log is begun", async () => {
    const home: Record<string, string> = { ...(await makeHome("postgres")), ...settings() };
    const first = await start("postgres", home);
    const { key } = await first.createKey();
    await attest(first, key);
    await first.app.close();
    const standby = await copyTestDatabase(String(home["DATABASE_URL"]));
    const again = await start("postgres", home);
    const lost = (await attest(again, key)).body;
    await publish(again);
    await again.app.close();

    const machine: Record<string, string> = { ...(await makeMachine(home, standby.url)), ...settings() };
    await expect(start("postgres", machine)).rejects.toThrow(/refuses to sign.*lock says.*new-epoch/s);
    expect((await run("keys", ["rotate", "attestation"], { ...machine, ...s3.credentials })).out).toMatch(
      /refuses to sign/,
    );
    // Only the lock knows: without it this machine would go on.
    const blind = await start("postgres", { ...machine, LOG_STORE: "" });
    const findings = await examineLog(parseEnv(machine), blind.app.context.database);
    expect(findings.map((one) => JSON.stringify(one)).join()).toMatch(/lock says that log 1 at size/);
    await blind.app.close();

    expectExit(await run("log", ["new-epoch"], { ...machine, ...s3.credentials }), 0);
    const after = await start("postgres", machine);
    const { body } = await attest(after, key);
    expect(body.log).toMatchObject({ origin: "localhost:3000/log/2", index: 1 });
    const [, size, root] = lost.log.checkpoint.split("\n");
    const epoch = (await after.call("GET", "/v1/log/statements?from=1&limit=100")).body.statements.at(-1);
    expect(JSON.parse(epoch.payload).predicate.previous).toEqual({
      origin: "localhost:3000/log",
      size: Number(size),
      root,
    });
    expect(readLock()).toMatchObject({ out: { logId: 2, size: 2 }, next: null });
    // Entries lost here are still published, and the new log is published beside them.
    expect(await publish(after)).toEqual([
      { origin: "localhost:3000/log", from: Number(size), size: Number(size), files: 0, repaired: 0 },
      expect.objectContaining({ origin: "localhost:3000/log/2", size: 2 }),
    ]);
    await after.app.close();
    // The primary comes back: it is the older one now.
    await expect(start("postgres", home)).rejects.toThrow(/refuses to sign/);
    await standby.drop();
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

  it("say that nobody knows if the store went after the commit, and note it when it is back", async () => {
    const test = await start("postgres", { ...(await makeHome("postgres")), ...settings() });
    const { key } = await test.createKey();
    await attest(test, key);
    let puts = 0;
    s3.fault = (method) => {
      if (method === "PUT") puts += 1;
      return puts > 1 ? "cut" : null;
    };
    const headers = { "idempotency-key": "once" };
    const request = { agent_slug: "rotating-bot", action: "act", inputs_hash: "x" };
    const unknown = await test.call("POST", "/v1/attest", { key, headers, body: request });
    expect([unknown.status, unknown.body.detail]).toEqual([503, expect.stringContaining("may or may not")]);
    expect(readLock().next).not.toBeNull();
    s3.fault = () => null;
    await expect.poll(() => readLock().next, { timeout: 60_000 }).toBeNull();
    const answer = await test.call("POST", "/v1/attest", { key, headers, body: request });
    expect([answer.status, readLock().out.size]).toEqual([201, answer.body.log.tree_size]);
    expect((await checkWholeLog(test, "/log")).size).toBe(answer.body.log.tree_size);
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
