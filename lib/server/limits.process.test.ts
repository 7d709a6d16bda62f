/** Limits, exact in one process and shared by several, in the database or in Redis (docs/wire.md, Limits). */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createRateLimiter } from "#lib/api/http/rate-limit";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind, databaseKinds } from "#support/databases";
import { findPort } from "#support/ports";
import { setupTestApp } from "#support/setup-app";
import { pingRedis } from "./redis";

const attestBody = { agent_slug: "limited", action: "a", inputs_hash: "b" };
const allowed = (answers: { status: number }[], status = 200) =>
  answers.filter((answer) => answer.status === status).length;

/** A second process on the same database and folder, as far as limits go. */
async function startSecond(test: TestApp): Promise<TestApp> {
  return startTestApp("postgres", { ...test.env });
}

describe("limits", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_FEED_PER_MINUTE: "10",
    LIMIT_VERIFY_PER_MINUTE: "1000",
    LIMIT_PUBLIC_READ_PER_MINUTE: "100000",
  });

  it("lets exactly 100 attestations a minute through, and says so in the headers", async () => {
    const { key: own } = await test.createKey("hundred@example.com");
    const attest = () =>
      test.call("POST", "/v1/attest", { key: own, body: { ...attestBody, agent_slug: "h" } });
    const first = await attest();
    expect(first.headers.get("ratelimit-policy")).toBe('"attest";q=100;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"attest";r=99;t=([1-9]|[1-5]\d|60)$/);
    expect(first.headers.get("x-ratelimit-limit")).toBe("100");
    expect(first.headers.get("x-ratelimit-remaining")).toBe("99");
    expect(Number(first.headers.get("x-ratelimit-reset"))).toBeGreaterThan(Date.now() / 1000);
    const answers = await Promise.all(Array.from({ length: 110 }, attest));
    expect(allowed(answers, 201)).toBe(99);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({
      code: "rate_limit_exceeded",
      error: "Rate limit exceeded",
      status: 429,
    });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused?.body.retry_after).toBe(Number(refused?.headers.get("retry-after")));
    expect(refused?.headers.get("x-ratelimit-remaining")).toBe("0");
    expect((await test.call("POST", "/v1/attest", { key, body: attestBody })).status).toBe(201);
  });

  it("lets exactly 1,000 verifications a minute of one client through, for few writes", async () => {
    const writes = async () =>
      Number(
        (await test.query("SELECT points FROM rate_limits WHERE key = 'verify:10.1.1.1'", [])).rows[0]?.[
          "points"
        ] ?? 0,
      );
    const id = "019a0000-0000-7000-8000-000000000000";
    const call = () => test.call("GET", `/v1/verify/${id}`, { ip: "10.1.1.1" });
    for (let i = 0; i < 3; i += 1) await call();
    expect(await writes()).toBe(5);
    const answers = await Promise.all(Array.from({ length: 1010 }, call));
    expect(allowed(answers, 404)).toBe(997);
    expect(allowed(answers, 429)).toBe(13);
  });

  it("writes once for half a percent of a limit, however high it is", async () => {
    const call = () => test.call("GET", "/v1/pubkey", { ip: "10.1.1.2" });
    for (let i = 0; i < 100; i += 1) await call();
    const { rows } = await test.query(
      "SELECT points FROM rate_limits WHERE key = 'public_read:10.1.1.2'",
      [],
    );
    expect(rows).toEqual([{ points: 500 }]);
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("limits of several processes", () => {
  it("hold together over two apps on one PostgreSQL, and after a restart", async () => {
    const first = await startTestApp("postgres", { LIMIT_ATTEST_PER_DAY: "90" });
    let second = await startSecond(first);
    try {
      const { key } = await first.createKey();
      const attest = (app: TestApp) => app.call("POST", "/v1/attest", { key, body: attestBody });
      let done = 0;
      for (const app of [first, second, second]) {
        const answers = await Promise.all(Array.from({ length: 15 }, () => attest(app)));
        done += allowed(answers, 201);
      }
      expect(done).toBe(45);
      await second.app.close();
      second = await startSecond(first);
      const rest = [
        ...(await Promise.all(Array.from({ length: 40 }, () => attest(second)))),
        ...(await Promise.all(Array.from({ length: 40 }, () => attest(first)))),
      ];
      expect(allowed(rest, 201)).toBe(45);
      expect(rest.filter(({ body }) => body.code === "daily_limit_exceeded").length).toBe(10);
      expect(rest.filter(({ body }) => body.code === "rate_limit_exceeded").length).toBe(25);
      const read = (app: TestApp) => app.call("GET", "/v1/verify/x", { ip: "10.9.9.9" });
      const reads = [];
      for (let i = 0; i < 510; i += 1) reads.push(await read(first), await read(second));
      expect(allowed(reads, 404)).toBeLessThanOrEqual(1000);
      expect(allowed(reads, 404)).toBeGreaterThanOrEqual(995);
    } finally {
      await second.app.close();
      await rm(second.dataDir, { recursive: true, force: true });
      await first.close();
    }
  });

  it("hold whatever the clock of one machine says", async () => {
    const test = await startTestApp("postgres");
    const { database, clock } = test.app.context;
    const policy = { name: "clocks", limit: 3, windowSeconds: 60 };
    const machine = () => createRateLimiter(database, null, clock);
    const minuteAhead = vi.spyOn(Date, "now");
    try {
      expect(await machine().consume(policy, "ada", 3)).toMatchObject({ allowed: true, remaining: 0 });
      minuteAhead.mockReturnValue(clock().getTime() + 61_000);
      expect(await machine().consume(policy, "ada")).toMatchObject({ allowed: false });
      await machine().consume(policy, "grace", 3);
      minuteAhead.mockRestore();
      const refused = await machine().consume(policy, "grace");
      expect(refused.allowed).toBe(false);
      expect(refused.resetMs).toBeLessThanOrEqual(clock().getTime() + 60_000);
    } finally {
      minuteAhead.mockRestore();
      await test.close();
    }
  });
});

/** .ci/test.mjs names one always. */
const redisServer = [
  process.env["TEST_REDIS_SERVER"],
  "/usr/bin/redis-server",
  "/usr/local/bin/redis-server",
].find((file) => file !== undefined && existsSync(file));

describe("limits in Redis", () => {
  it.skipIf(redisServer === undefined)(
    "are shared, and counted in the database while Redis is silent or away",
    async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "countersign-redis-"));
      const port = await findPort();
      const redis = spawn(
        redisServer ?? "",
        ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
        { stdio: "ignore" },
      );
      const test = await startTestApp(anyKind, {
        REDIS_URL: `redis://127.0.0.1:${port}`,
        LIMIT_FEED_PER_MINUTE: "20",
      });
      try {
        const rows = async () => (await test.query("SELECT key FROM rate_limits", [])).rows.length;
        const call = (ip: string) => test.call("GET", "/v1/agent/nobody", { ip });
        await expect
          .poll(
            async () => {
              const before = await rows();
              await call(`10.2.${Math.floor(Math.random() * 255)}.${Math.floor(Math.random() * 255)}`);
              return (await rows()) - before;
            },
            { timeout: 60_000 },
          )
          .toBe(0);
        const answers = await Promise.all(Array.from({ length: 30 }, () => call("10.0.0.2")));
        expect(allowed(answers, 404)).toBe(20);
        redis.kill("SIGSTOP");
        const silent = await Promise.all(Array.from({ length: 30 }, () => call("10.0.0.4")));
        expect(allowed(silent, 404)).toBe(20);
        redis.kill("SIGKILL");
        await new Promise((resolve) => redis.once("exit", resolve));
        const without = await Promise.all(Array.from({ length: 30 }, () => call("10.0.0.3")));
        expect(allowed(without, 404)).toBe(20);
        expect(allowed(without, 429)).toBe(10);
      } finally {
        redis.kill("SIGKILL");
        await test.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it("are said to be without a Redis that takes connections and says nothing", async () => {
    const silent = createServer((socket) => void socket.resume().on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    await expect(pingRedis(`redis://127.0.0.1:${port}`)).rejects.toThrow();
    silent.close();
  });
});
