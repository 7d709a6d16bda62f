/**
 * Two servers behind nginx on one PostgreSQL, of which the second reaches it through PgBouncer, with limits in Redis. What
 * one knows the other knows, and they are restarted one after the other without a request that fails.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { checkEverything, type KeptReceipt, slugOf } from "#support/load";
import { findNginx, type Nginx, startNginx } from "#support/nginx";
import { startPooler } from "#support/pooler";
import { findPort } from "#support/ports";
import { noLimits } from "#support/processes";
import { type HttpAnswer, obtainKey, type ServerProcess, startServer } from "./server-process";

const found = findNginx();
const isRunnable = databaseKinds.includes("postgres") && process.platform === "linux" && "program" in found;
const why = "reason" in found ? `: skipped, ${found.reason}` : "";
const requestsPerHour = 9;

/** Attestations between the steps of the rolling restart: ROLLING_PAIRS=1000 makes a run of more than 8,000 requests. */
const pairsBetween = Number(process.env["ROLLING_PAIRS"] ?? 10);
const patienceMs = 60_000 + 200 * pairsBetween;
const timeout = 10 * patienceMs;

const json = { accept: "application/json" };

type Sent = { key?: string; body?: unknown; headers?: Record<string, string>; agent?: Agent };

/** Without an agent a connection for this request alone. */
function call(port: number, host: string, method: string, target: string, sent: Sent = {}) {
  const text = sent.body instanceof URLSearchParams ? sent.body.toString() : JSON.stringify(sent.body);
  const headers = {
    host,
    ...(text !== undefined && { "content-type": "application/json", "content-length": String(text.length) }),
    ...(sent.key !== undefined && { authorization: `Bearer ${sent.key}` }),
    ...sent.headers,
  };
  const agent = sent.agent ?? new Agent({ keepAlive: false });
  return new Promise<Pick<HttpAnswer, "status" | "body"> & { cookies: string[]; isClosed: boolean }>(
    (resolve, reject) => {
      const asked = request({ agent, host: "127.0.0.1", port, method, path: target, headers });
      asked.once("error", reject);
      asked.once("response", async (answer) => {
        const body = Buffer.concat(await answer.toArray()).toString();
        const isJson = /json/.test(answer.headers["content-type"] ?? "") && body !== "";
        const cookies = (answer.headers["set-cookie"] ?? []).map((one) => one.split(";")[0] ?? "");
        const isClosed = answer.headers.connection === "close";
        resolve({
          status: answer.statusCode ?? 0,
          body: isJson ? JSON.parse(body) : body,
          cookies,
          isClosed,
        });
      });
      asked.end(text);
    },
  );
}

describe.skipIf(!isRunnable)(`several servers behind nginx${why}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-instances-"));
  const closing: (() => Promise<unknown>)[] = [];
  const servers: ServerProcess[] = [];
  const settings: Record<string, string>[] = [];
  let nginx: Nginx;
  let redis: Redis;
  let key: string;
  const host = () => `localhost:${nginx.port}`;
  /** Straight to one of them, as nginx would. */
  const at = (n: number, method: string, target: string, sent: Sent = {}) => {
    const headers = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "http", ...sent.headers };
    return call(servers[n]?.port ?? 0, host(), method, target, { ...sent, headers });
  };
  const through = (method: string, target: string, sent: Sent = {}) =>
    call(nginx.port, host(), method, target, sent);
  const start = async (n: number) => {
    servers[n] = await startServer("server", path.join(folder, String(n)), settings[n]);
  };

  beforeAll(async () => {
    const database = await createTestDatabase();
    closing.push(database.drop);
    const pooler = await startPooler(database.url);
    closing.push(pooler.stop);
    const redisPort = await findPort();
    const redisArgs = ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
    const store = spawn(process.env["TEST_REDIS_SERVER"] ?? "redis-server", redisArgs, { stdio: "ignore" });
    closing.push(async () => {
      store.kill("SIGKILL");
      await once(store, "exit");
    });
    redis = new Redis(redisPort, "127.0.0.1");
    redis.on("error", () => {});
    closing.push(async () => redis.disconnect());
    const ports = [await findPort(), await findPort()];
    nginx = await startNginx("program" in found ? found.program : "", ports);
    closing.push(nginx.stop);
    const shared = {
      ...noLimits,
      PUBLIC_BASE_URL: nginx.base,
      TRUSTED_PROXY_HOPS: "1",
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      STOP_DELAY_SECONDS: "300",
      LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: String(requestsPerHour),
    };
    settings.push({ ...shared, PORT: String(ports[0]), DATABASE_URL: database.url, PROCESSES: "1" });
    settings.push({
      ...shared,
      PORT: String(ports[1]),
      DATABASE_URL: pooler.url,
      DATABASE_LISTEN_URL: database.url,
      // Each of them is drained.
      PROCESSES: "2",
    });
    await start(0);
    cpSync(path.join(folder, "0", "keys"), path.join(folder, "1", "keys"), { recursive: true });
    await start(1);
    key = await obtainKey(nginx.base);
  });
  afterAll(async () => {
    for (const server of servers) await server.stop("SIGKILL");
    for (const close of closing.toReversed()) await close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("take each other's sessions: the link is asked for at one, opened at the other, and good for both", async () => {
    const html = (await at(0, "GET", "/portal/sign-in")).body as string;
    const hidden = [...html.matchAll(/<input type="hidden" name="(\$ACTION[^"]*)"(?: value="([^"]*)")?/g)];
    const form = new FormData();
    for (const [, name = "", value = ""] of hidden) form.append(name, value.replaceAll("&quot;", '"'));
    form.append("email", "person@example.com");
    const signIn = new Request(nginx.base, { method: "POST", body: form });
    const multipart = {
      origin: nginx.base,
      "content-type": signIn.headers.get("content-type") ?? "",
    };
    await fetch(`${nginx.base}/portal/sign-in`, {
      method: "POST",
      headers: multipart,
      body: await signIn.text(),
    });
    const { messages } = (await through("GET", "/dev/mailbox", { headers: json })).body;
    const { text } = messages.find(({ to }: { to: string }) => to === "person@example.com");
    const link = new URL(/http\S+\/portal\/sign-in\/confirm\?\S+/.exec(text)?.[0] ?? "");
    const verified = await at(1, "POST", "/portal/sign-in/verify", {
      body: link.searchParams,
      headers: { origin: nginx.base, "content-type": "application/x-www-form-urlencoded" },
    });
    expect(verified.status).toBe(303);
    const cookie = verified.cookies.join("; ");
    for (const n of [0, 1]) {
      expect((await at(n, "GET", "/portal", { headers: { cookie } })).status).toBe(200);
      expect((await at(n, "GET", "/portal")).status).not.toBe(200);
    }
  });

  it("are restarted one by one, and no request on a kept connection fails", { timeout }, async () => {
    const receipts: KeptReceipt[] = [];
    const failures: unknown[] = [];
    let isOver = false;
    const runClient = async (client: number) => {
      const agent = new Agent({ keepAlive: true });
      for (let n = 0; !isOver; n += 1) {
        const body = { agent_slug: slugOf(client), action: `${client}/${n}`, inputs_hash: "x" };
        const headers = { "idempotency-key": randomUUID() };
        try {
          const made = await through("POST", "/v1/attest", { key, body, headers, agent });
          const read = await through("GET", `/v1/verify/${made.body.attestation_id}`, { agent });
          if (made.status !== 201 || !read.body.valid)
            failures.push(`${made.status} ${made.body.detail}; ${read.status} ${read.body.detail}`);
          else receipts.push({ ...made.body, id: made.body.attestation_id });
        } catch (error) {
          failures.push(error);
        }
        // Leaves the processors to the servers that start.
        await sleep(10);
      }
      agent.destroy();
    };
    const clients = Promise.all([0, 1, 2, 3, 4, 5].map(runClient));
    const reach = async (more: number) => {
      const wanted = receipts.length + more;
      await vi.waitFor(() => expect(receipts.length + failures.length).toBeGreaterThan(wanted), {
        timeout: patienceMs,
      });
    };
    for (const n of [0, 1]) {
      await reach(pairsBetween);
      const asked = await at(n, "POST", "/v1/authorize", {
        key,
        body: { agent_slug: "w", action: `${n}` },
      });
      const waiting = at(n, "GET", `/v1/authorize/${asked.body.request_id}?wait=25`, { key });
      nginx.takeOut(n);
      const server = servers[n] as ServerProcess;
      server.child.kill("SIGTERM");
      // First it is not ready, and answers everything; the connection is not kept.
      await expect.poll(async () => (await at(n, "GET", "/v1/health")).status).toBe(503);
      const late = { agent_slug: "late", action: "late", inputs_hash: "x" };
      const answer = await at(n, "POST", "/v1/attest", {
        key,
        body: late,
        headers: { connection: "keep-alive" },
      });
      expect([answer.status, answer.isClosed]).toEqual([201, true]);
      expect((await waiting).body.status).toBe("pending");
      // A second signal ends the delay.
      server.child.kill("SIGTERM");
      await server.exited;
      expect(server.child.exitCode, server.output()).toBe(0);
      await reach(pairsBetween);
      await start(n);
      nginx.putBack(n);
    }
    // A reload of nginx would cut about one connection each time.
    for (let times = 0; times < 8; times += 1) {
      nginx.takeOut(times % 2);
      await reach(5);
      nginx.putBack(times % 2);
      await reach(5);
    }
    isOver = true;
    await clients;
    expect(failures).toEqual([]);
    await checkEverything(nginx.base, receipts);
  });
});
