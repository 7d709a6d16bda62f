/** Starts what is measured and what it is measured against, each a process of its own on a fresh database. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { createMeter } from "./cpu.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const next = path.join(root, "node_modules/next/dist/bin/next");
const noopNext = path.join(root, "bench/noop-next");

/** With BENCH_DATABASE_URL both sides get a database of their own there; without, embedded ones. */
async function createDatabase(name) {
  const adminUrl = process.env.BENCH_DATABASE_URL;
  if (adminUrl === undefined) return { drop: async () => {} };
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const database = `bench_${name}_${process.pid}`;
  await admin.unsafe(`CREATE DATABASE ${database}`);
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    name: database,
    drop: async () => {
      await admin.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await admin.end();
    },
  };
}

function start(args, env = {}, cwd = root) {
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

async function waitFor(url, init) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await fetch(url, init).catch(() => null);
    await answer?.arrayBuffer();
    if (answer && answer.status < 500) return;
    await sleep(100);
  }
  throw new Error(`${url} did not answer within a minute`);
}

/** By webpack: Turbopack, whose root must hold node_modules, takes the product's own instrumentation along. */
async function buildNoopNext() {
  if (existsSync(path.join(noopNext, ".next/BUILD_ID"))) return;
  console.log("building the no-op Next application, once");
  const build = spawn(process.execPath, [next, "build", "--webpack"], {
    cwd: noopNext,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise((resolve) => build.once("exit", resolve));
  if (code !== 0) throw new Error("the no-op Next application does not build");
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
    "KEYED_PER_MINUTE",
    "KEYED_PER_ORGANIZATION_PER_MINUTE",
  ].map((name) => [`LIMIT_${name}`, "10000000"]),
);

function startBaselines(ports, folder, databaseUrl) {
  const fastify = ["bench/fastify-baseline.mjs", String(ports.fastify), path.join(folder, "fastify")];
  return [
    start([...fastify, ...(databaseUrl ? [databaseUrl] : [])]),
    start([next, "start", "-p", String(ports.next)], {}, noopNext),
  ];
}

/** `withBaselines`: also what the service is measured against. */
export async function startServers(firstPort, withBaselines) {
  if (withBaselines) await buildNoopNext();
  const folder = await mkdtemp(path.join(os.tmpdir(), "countersign-bench-"));
  const ports = { app: firstPort, fastify: firstPort + 1, next: firstPort + 2 };
  const databases = [await createDatabase("app"), await createDatabase("fastify")];
  const [ours, theirs] = databases.map(({ url }) => url);
  const baseUrl = `http://localhost:${ports.app}`;
  const children = [
    start(["dist/server.mjs"], {
      PORT: String(ports.app),
      PUBLIC_BASE_URL: baseUrl,
      DATA_DIR: path.join(folder, "app"),
      LOG_LEVEL: "error",
      // So that a case can play clients of many addresses.
      TRUSTED_PROXY_HOPS: "1",
      ...(ours && { DATABASE_URL: ours }),
      ...noLimit,
    }),
    ...(withBaselines ? startBaselines(ports, folder, theirs) : []),
  ];
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop()));
    await Promise.all(databases.map(({ drop }) => drop()));
    await rm(folder, { recursive: true, force: true });
  };
  const baselines = () => [
    waitFor(`http://127.0.0.1:${ports.fastify}/`),
    waitFor(`http://127.0.0.1:${ports.next}/noop`, { method: "POST", body: "{}" }),
  ];
  try {
    await Promise.all([waitFor(`${baseUrl}/v1/health`), ...(withBaselines ? baselines() : [])]);
    const meters = Object.fromEntries(
      Object.keys(ports).map((name, i) => [name, createMeter(children[i]?.pid, databases[i]?.name)]),
    );
    return { ports, meters, key: await getApiKey(baseUrl), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
