/** Health is 503 while every attestation fails, whatever the reason, and 200 again when it is gone. */
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterEach, describe, expect, it } from "vitest";
import { type Happening, happened } from "#lib/instrumentation";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { startTestApp, type TestApp } from "#support/app";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { createReadiness, emptyProbe } from "./sequencer";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const body = { agent_slug: "ready", action: "a", inputs_hash: "b" };
const health = async (test: TestApp) => (await test.call("GET", "/v1/health")).status;
/** The shared answer is five seconds old at most. */
const becomes = (test: TestApp, status: number) =>
  expect.poll(() => health(test), { interval: 200 }).toBe(status);

describe.skipIf(!databaseKinds.includes("postgres"))("on PostgreSQL", () => {
  /** The service's role owns its database and isn't a superuser, whom no right can be taken away. */
  async function open() {
    const { url, drop } = await createTestDatabase({ empty: true });
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    const role = `${new URL(url).pathname.slice(1)}_role`;
    await admin.unsafe(
      `CREATE ROLE ${role} LOGIN PASSWORD 'pw'; ALTER DATABASE ${role.slice(0, -5)} OWNER TO ${role}`,
    );
    closers.push(async () => {
      await drop();
      await createTestDatabase({ empty: true }).then(async (other) => {
        const last = postgres(other.url, { max: 1 });
        await last.unsafe(`DROP ROLE ${role}`);
        await last.end();
        await other.drop();
      });
    });
    const limited = Object.assign(new URL(url), { username: role, password: "pw" });
    const test = await startTestApp("postgres", { DATABASE_URL: limited.href });
    closers.push(
      () => admin.end(),
      () => test.close(),
    );
    const { key } = await test.createKey();
    return { test, admin, key, role };
  }

  it("is 503 while the service has no right to write one of the tables", async () => {
    const { test, admin, key, role } = await open();
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
    expect(await health(test)).toBe(200);
    const { context } = test.app;
    const ready = createReadiness(context);
    for (const [table, right] of [
      ["attestations", "INSERT"],
      ["log_leaves", "INSERT"],
      ["log_checkpoints", "INSERT"],
      ["logs", "UPDATE"],
      ["agent_records", "UPDATE"],
      ["daily_usage", "INSERT"],
    ]) {
      await admin.unsafe(`REVOKE ${right} ON ${table} FROM ${role}`);
      await expect(ready(), table).rejects.toMatchObject({ errorName: "service_unavailable" });
      await admin.unsafe(`GRANT ${right} ON ${table} TO ${role}`);
      await ready();
    }
    await admin.unsafe(`REVOKE INSERT ON log_leaves FROM ${role}`);
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBeGreaterThanOrEqual(500);
    await becomes(test, 503);
    const answer = await test.call("GET", "/v1/health");
    expect(answer.body.code).toBe("service_unavailable");
    expect(JSON.stringify(answer.body)).not.toMatch(/log_leaves|permission/);
    await admin.unsafe(`GRANT INSERT ON log_leaves TO ${role}`);
    await becomes(test, 200);
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  });

  it("takes a new page of the disk with each try, and keeps no row", async () => {
    const { test, admin } = await open();
    const ready = createReadiness(test.app.context);
    // Readers of the table may prune a page of it, which the next row would take again.
    const sizeOf = async () =>
      Number((await admin`SELECT pg_relation_size('write_probe') AS bytes`)[0]?.["bytes"]);
    await admin.unsafe("ALTER TABLE write_probe SET (autovacuum_enabled = false)");
    await admin.unsafe("TRUNCATE write_probe");
    for (const pages of [1, 2, 3]) {
      await ready();
      expect(await sizeOf()).toBe(pages * 8192);
    }
    const [kept] =
      await admin`SELECT (SELECT count(*)::int FROM write_probe) AS rows, relpersistence AS logged
      FROM pg_class WHERE relname = 'write_probe'`;
    expect(kept).toEqual({ rows: 0, logged: "u" });
  });
});

describe.each(databaseKinds)("on a database (%s)", (kind) => {
  it("is not ready with another key than the active one, or a log that is older than what was signed", async () => {
    const test = await startTestApp(kind);
    closers.push(() => test.close());
    const { database, keys, guard } = test.app.context;
    const told: string[] = [];
    const logger = {
      error: (_: unknown, line: string) => void told.push(line),
      info: (line: string) => void told.push(line),
    } as never;
    let reloads = 0;
    const other = createLocalSigner(randomBytes(32).toString("base64"), "another");
    const held = {
      signer: keys.signer,
      logSigner: keys.logSigner,
      reload: async () => {
        reloads += 1;
      },
    };
    let kept = guard.current();
    const ready = createReadiness({
      lock: null,
      database,
      keys: held,
      guard: { ...guard, current: () => kept },
      logger,
    });
    const counted: string[] = [];
    const onHappened = (one: unknown) => void counted.push((one as Happening).kind);
    happened.subscribe(onHappened);
    closers.push(() => happened.unsubscribe(onHappened));
    const fails = () => expect(ready()).rejects.toMatchObject({ errorName: "service_unavailable" });
    await ready();
    for (const name of ["signer", "logSigner"] as const) {
      held[name] = other;
      await fails();
      held[name] = keys[name];
      await ready();
    }
    expect(reloads).toBe(2);
    // The new key is at hand after all.
    held.signer = other;
    held.reload = async () => {
      held.signer = keys.signer;
    };
    await ready();
    const signed = guard.current();
    kept = signed && { ...signed, size: signed.size + 1 };
    expect(counted).not.toContain("fork guard refused");
    await fails();
    await fails();
    expect(counted.filter((one) => one === "fork guard refused")).toHaveLength(2);
    kept = signed;
    await ready();
    expect(told).toHaveLength(6);
    expect(told.slice(-2)).toEqual([
      expect.stringMatching(/can't be stored/),
      expect.stringMatching(/can be stored again/),
    ]);
    await emptyProbe(database);
    const { rows } = await database.query("SELECT pg_relation_size('write_probe')::int AS bytes", []);
    if (kind === "embedded") expect(rows).toEqual([{ bytes: 0 }]);
  });
});
