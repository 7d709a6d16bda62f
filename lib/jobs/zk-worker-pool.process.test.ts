import { mkdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { threadId } from "node:worker_threads";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ZkKeyPair } from "#lib/protocol/presentation/disclosure";
import { ATTESTATION_ID, testKeyPair, testPayload } from "#support/disclosure";
import { createShare } from "./fair-queue";
import type * as zkWorker from "./zk-worker";
import { createPatientPool, createZkPool, type PoolOptions, type WorkerPool } from "./zk-worker-pool";

/** Jobs that only a test needs: a thread that has the real ones begins with a fifth of a second of computing. */
const testWorker = `
  import { threadId } from "node:worker_threads";
  let calls = 0;
  export const whereAmI = () => threadId;
  export const countCalls = () => ++calls;
  export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms, "slept"));
  export const failAlways = () => { calls++; throw new Error("as asked"); };
`;
type TestJobs = {
  whereAmI: (input: null) => number;
  countCalls: (input: unknown) => number;
  sleep: (ms: number) => Promise<string>;
  failAlways: (input: null) => never;
};

const of = (organization: string) => createShare("other", { organization });
const anyone = of("anyone");
const directory = path.join(os.tmpdir(), `zk-worker-test-${process.pid}`);
const workerFile = path.join(directory, "test-worker.mjs");
const pools: { close(): Promise<void> }[] = [];

function createPool(options: Partial<PoolOptions> = {}): WorkerPool<TestJobs> {
  const pool = createZkPool<TestJobs>({ workerFile, ...options });
  pools.push(pool);
  return pool;
}

beforeAll(async () => {
  await mkdir(directory);
  await writeFile(workerFile, testWorker);
});

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await rm(directory, { recursive: true, force: true });
});

describe("the jobs", () => {
  let keyPair: ZkKeyPair;
  let pool: WorkerPool<typeof zkWorker>;
  beforeAll(async () => {
    keyPair = await testKeyPair();
    const file = path.join(directory, "zk-worker.mjs");
    await build({
      entryPoints: [path.join(import.meta.dirname, "zk-worker.ts")],
      outfile: file,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      logLevel: "error",
    });
    pool = createZkPool<typeof zkWorker>({ workerFile: file });
    pools.push(pool);
  });

  it("issue a proof, derive a presentation and verify both", async () => {
    const pinnedKeys = [keyPair.publicKey];
    // The database hands out a Buffer that shares its memory with others.
    const payload = Buffer.from(testPayload(keyPair.publicKey));
    const { zkProof, credential } = await pool.run("issueZkProof", { keyPair, payload }, anyone);
    const expected = { attestationId: ATTESTATION_ID, audience: "public", payload };
    const report = await pool.run("verifyPresentation", { zkProof, pinnedKeys, expected }, anyone);
    expect(report.ok).toBe(true);
    const presentation = await pool.run(
      "derivePresentation",
      {
        credential,
        disclose: ["human_approved"],
        header: { kind: "audience", audience: "a", nonce: "n", issuedAtSeconds: 1, expiresAtSeconds: 2 },
      },
      anyone,
    );
    const verify = (nonce: string) =>
      pool.run("verifyPresentation", { zkProof: presentation, pinnedKeys, expected: { nonce } }, anyone);
    expect((await verify("n")).disclosed).toEqual([{ index: 18, name: "human_approved", value: true }]);
    expect((await verify("m")).ok).toBe(false);
  });

  it("issue nothing for a payload that names another key", async () => {
    const foreign = await testKeyPair(9);
    const payload = testPayload(foreign.publicKey);
    await expect(pool.run("issueZkProof", { keyPair, payload }, anyone)).rejects.toThrow(
      "does not verify: payload",
    );
    const notOne = new Uint8Array([1, 2, 3]);
    await expect(pool.run("issueZkProof", { keyPair, payload: notOne }, anyone)).rejects.toThrow("canonical");
  });
});

describe("the pool", () => {
  it("runs in another thread, and starts none before it must", async () => {
    const pool = createPool();
    expect(pool.threadCount()).toBe(0);
    const there = await pool.run("whereAmI", null, anyone);
    expect(there).not.toBe(threadId);
    expect(pool.threadCount()).toBe(1);
  });

  it("lets a thread without work end", async () => {
    const pool = createPool({ idleSeconds: 0.05 });
    await pool.run("whereAmI", null, anyone);
    await expect.poll(() => pool.threadCount()).toBe(0);
    expect(await pool.run("whereAmI", null, anyone)).toBeGreaterThan(0);
  });

  it("answers 503 beyond its bound, and takes jobs again when there is room", async () => {
    const pool = createPool({ maxThreads: 1, maxQueued: 2 });
    const accepted = [1, 2, 3].map(() => pool.run("sleep", 50, anyone));
    await expect(pool.run("sleep", 50, anyone)).rejects.toMatchObject({
      errorName: "service_unavailable",
      headers: { "retry-after": "2" },
    });
    expect(await Promise.all(accepted)).toEqual(["slept", "slept", "slept"]);
    expect(await pool.run("sleep", 1, anyone)).toBe("slept");
  });

  it("leaves room for others when one owner asks for everything", async () => {
    const pool = createPool({ maxThreads: 1, maxQueued: 8, maxPerOwner: 2 });
    const greedy = [1, 2].map(() => pool.run("sleep", 50, of("org-a")));
    await expect(pool.run("sleep", 1, of("org-a"))).rejects.toMatchObject({
      errorName: "service_unavailable",
    });
    const others = [pool.run("sleep", 1, of("org-b")), pool.run("sleep", 1, anyone)];
    expect(await Promise.all([...greedy, ...others])).toEqual(["slept", "slept", "slept", "slept"]);
    expect(await pool.run("sleep", 1, of("org-a"))).toBe("slept");
  });

  it("gives the place of a failed job back", async () => {
    const pool = createPool({ maxThreads: 1, maxQueued: 0 });
    await expect(pool.run("failAlways", null, anyone)).rejects.toThrow("as asked");
    expect(await pool.run("sleep", 1, anyone)).toBe("slept");
  });

  it("finishes what it accepted before it closes, and takes nothing after", async () => {
    const pool = createPool();
    const running = pool.run("sleep", 100, anyone);
    const waiting = pool.run("sleep", 1, anyone);
    await pool.close();
    expect(await Promise.all([running, waiting])).toEqual(["slept", "slept"]);
    expect(pool.threadCount()).toBe(0);
    await expect(pool.run("sleep", 1, anyone)).rejects.toMatchObject({ errorName: "service_unavailable" });
  });
});

describe("a patient pool", () => {
  it("waits for a place, and leaves places to others of its owner", async () => {
    const pool = createPool({ maxThreads: 1, maxQueued: 8, maxPerOwner: 5 });
    const begin = () => {
      const patient = createPatientPool(pool);
      return Array.from({ length: 17 }, (_, i) => patient.runRemembered("sleep", i, anyone));
    };
    const many = begin();
    const mine = pool.run("sleep", 1, anyone);
    await expect(pool.run("sleep", 1, anyone)).rejects.toMatchObject({ errorName: "service_unavailable" });
    expect(new Set(await Promise.all([...many, ...begin(), mine]))).toEqual(new Set(["slept"]));
  });

  it("doesn't wait for one that closes, or after a failure", async () => {
    const pool = createPool();
    const patient = createPatientPool(pool);
    await expect(patient.runRemembered("failAlways", null, anyone)).rejects.toThrow("as asked");
    await pool.close();
    const refused = { errorName: "service_unavailable" };
    await expect(patient.runRemembered("sleep", 1, anyone)).rejects.toMatchObject(refused);
  });
});

describe("remembering", () => {
  it("computes once for equal input, for any difference again", async () => {
    const pool = createPool();
    const bytes = (last: number) => ({ key: Uint8Array.of(1, 2, last), id: "a" });
    expect(await pool.runRemembered("countCalls", bytes(3), anyone)).toBe(1);
    expect(await pool.runRemembered("countCalls", bytes(3), anyone)).toBe(1);
    expect(await pool.runRemembered("countCalls", bytes(4), anyone)).toBe(2);
    expect(await pool.runRemembered("countCalls", { ...bytes(3), id: "b" }, anyone)).toBe(3);
    expect(await pool.runRemembered("countCalls", bytes(3), anyone)).toBe(1);
  });

  it("lets callers at the same moment share one job, even in a full pool", async () => {
    const pool = createPool({ maxQueued: 0 });
    const results = await Promise.all([1, 2, 3].map(() => pool.runRemembered("countCalls", "same", anyone)));
    expect(results).toEqual([1, 1, 1]);
  });
});
