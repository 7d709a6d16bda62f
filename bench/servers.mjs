/**
 * Starts what is measured and what it is measured against, each when it is first asked for, as processes of its own on
 * a fresh database. They run until the end, so that sides can take turns in the same minute; an idle one costs nothing
 * that would show.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findFreePort } from "#ci/postgres";
import { openDatabases } from "./database.mjs";
import { buildPlainNext, next, plainNext } from "./plain-next.mjs";
import { createMeter } from "./usage.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

function start(args, env, cwd) {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return {
    pid: child.pid,
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", resolve);
        if (child.exitCode !== null || !child.kill("SIGTERM")) resolve();
      }),
  };
}

/** Waits until the server answers, even with 404. */
async function waitFor(url, init) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await fetch(url, init).catch(() => null);
    await answer?.arrayBuffer();
    if (answer && answer.status < 500) return;
    await sleep(20);
  }
  throw new Error(`${url} did not answer within a minute`);
}

/** A server that can be stopped and started again as it was; `begin` waits for an answer at `path`. */
async function run({ args, env, cwd = root, port, ready, database }) {
  let child;
  const begin = async (path = ready.path) => {
    child = start(args, env, cwd);
    await waitFor(`http://127.0.0.1:${port}${path}`, ready.init);
  };
  const server = {
    port,
    database,
    baseUrl: `http://localhost:${port}`,
    meter: () => createMeter(child.pid, database)(),
    pid: () => child.pid,
    stop: () => child.stop(),
    begin,
  };
  try {
    await begin();
  } catch (error) {
    await child.stop();
    throw error;
  }
  return server;
}

/** A key, as a developer gets it: by the code in the development mailbox. */
export async function getApiKey(baseUrl, email = "bench@example.com", address = "203.0.113.1") {
  const headers = { "x-forwarded-for": address };
  const post = (target, body) =>
    fetch(`${baseUrl}${target}`, { method: "POST", headers, body: JSON.stringify(body) }).then((a) =>
      a.json(),
    );
  await post("/v1/keys/request", { email });
  const box = await fetch(`${baseUrl}/dev/mailbox`, { headers: { accept: "application/json" } });
  const { messages } = await box.json();
  const code = /\b\d{6}\b/.exec(messages[0].text)[0];
  const { api_key: key } = await post("/v1/keys/verify", { email, code });
  if (typeof key !== "string") throw new Error("no API key");
  return key;
}

const noLimit = Object.fromEntries(
  [
    "ATTEST_PER_MINUTE",
    "ATTEST_PER_ORGANIZATION_PER_MINUTE",
    "ATTEST_PER_DAY",
    "VERIFY_PER_MINUTE",
    "FEED_PER_MINUTE",
    "PUBLIC_READ_PER_MINUTE",
    "READ_AUTHORIZATION_PER_MINUTE",
    "AUTHORIZE_PER_MINUTE",
    "AUTHORIZE_PER_ORGANIZATION_PER_MINUTE",
    "AUTHORIZE_PENDING",
    "AUTHORIZE_PENDING_PER_ORGANIZATION",
    "KEYED_PER_MINUTE",
    "KEYED_PER_ORGANIZATION_PER_MINUTE",
  ].map((name) => [`LIMIT_${name}`, "10000000"]),
);

/** `embedded`: on an embedded database; `processes`: as PROCESSES, else the server's default. */
async function startService({ folder, databases, name, embedded = false, processes }) {
  const port = await findFreePort();
  const database = embedded ? undefined : await databases.create(name);
  const env = {
    PORT: String(port),
    PUBLIC_BASE_URL: `http://localhost:${port}`,
    DATA_DIR: path.join(folder, name),
    LOG_LEVEL: "error",
    // Lets a case play clients of many addresses.
    TRUSTED_PROXY_HOPS: "1",
    DATABASE_URL: database?.url,
    PROCESSES: processes ?? (embedded ? undefined : process.env.PROCESSES),
    ...noLimit,
  };
  const ready = { path: "/v1/health" };
  const server = await run({ args: ["dist/server.mjs"], env, port, ready, database: database?.name });
  return { ...server, key: await getApiKey(server.baseUrl) };
}

async function startFastify({ folder, databases, embedded = false }) {
  const port = await findFreePort();
  const name = embedded ? "fastify_embedded" : "fastify";
  const database = embedded ? undefined : await databases.create(name);
  const args = ["bench/fastify-baseline.mjs", String(port), path.join(folder, name)];
  const env = { DATABASE_URL: database?.url };
  const server = await run({ args, env, port, ready: { path: "/" }, database: database?.name });
  return { ...server, databaseUrl: database?.url };
}

async function startPlainNext({ databaseUrl }) {
  await buildPlainNext();
  const port = await findFreePort();
  const ready = { path: "/noop", init: { method: "POST", body: "{}" } };
  const args = [next, "start", "-p", String(port)];
  return run({ args, env: { DATABASE_URL: databaseUrl }, cwd: plainNext, port, ready });
}

/** Opens servers for the cases by name; the same name gives the same server. */
export async function openServers() {
  const databases = await openDatabases();
  const folder = await mkdtemp(path.join(os.tmpdir(), "countersign-bench-"));
  const started = new Map();
  const once = (name, begin) => {
    if (!started.has(name)) started.set(name, begin());
    return started.get(name);
  };
  const fastify = (options = {}) =>
    once(options.embedded ? "embedded Fastify" : "Fastify", () =>
      startFastify({ folder, databases, ...options }),
    );
  return {
    databases,
    service: (name = "app", options = {}) =>
      once(`service ${name}`, () => startService({ folder, databases, name, ...options })),
    fastify,
    /** Started after Fastify: its page reads the rows that Fastify writes. */
    plainNext: () => once("plain Next", async () => startPlainNext(await fastify())),
    async stop() {
      const ends = await Promise.allSettled(started.values());
      await Promise.all(ends.map(({ value }) => value?.stop()));
      await databases.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
