/** The log in LOG_STORE: read by an outsider from there alone, whatever happens to the store and to who publishes. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openStore } from "#lib/log/object-storage/object-store";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { type Fault, startS3, type TestS3 } from "#support/s3";
import { measureMs, shortestMs } from "#support/shortest";
import { readStaticLog } from "#support/tlog-reader";

const stubAll = (variables: Record<string, string>) => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
};
const prefix = "of-the/log/";

async function attestIn(test: TestApp, key: string, action: string) {
  const body = { agent_slug: "store-bot", action, inputs_hash: "x" };
  const answer = await test.call("POST", "/v1/attest", { key, body });
  expect(answer.status).toBe(201);
  return answer.body;
}

describe("the published log", () => {
  let s3: TestS3;
  let test: TestApp;
  let key: string;
  let vkey: string;
  beforeAll(async () => {
    s3 = await startS3();
    stubAll(s3.credentials);
  });
  afterAll(async () => {
    await s3.kill();
    vi.unstubAllEnvs();
  });
  const start = async (more: Record<string, string> = {}) => {
    test = await startTestApp(anyKind, {
      ...{ ...s3.settings, LOG_STORE_SECONDS: "1", LIMIT_ATTEST_PER_MINUTE: "100000" },
      ...more,
    });
    ({ key } = await test.createKey());
    ({ vkey } = (await test.call("GET", "/v1/pubkey")).body.log);
  };
  beforeEach(async () => {
    s3.objects.clear();
    s3.answered.length = 0;
    await start();
  });
  afterEach(async () => {
    s3.fault = () => null;
    await test.close();
  });

  const attest = (action: string) => attestIn(test, key, action);
  const readStore = () => readStaticLog((name) => s3.objects.get(prefix + name)?.bytes, vkey);
  const published = () => (s3.objects.has(`${prefix}checkpoint`) ? readStore().length : 0);
  const untilPublished = (size: number) =>
    vi.waitFor(() => expect(published()).toBeGreaterThanOrEqual(size), { timeout: 60_000, interval: 100 });

  it("follows the log, with every tile that a checkpoint needs before the checkpoint", async () => {
    let wrong = 0;
    s3.fault = () => {
      try {
        published();
      } catch {
        wrong += 1;
      }
      return null;
    };
    const receipts = await Promise.all(Array.from({ length: 300 }, (_, n) => attest(`first ${n}`)));
    await untilPublished(receipts.length);
    const last = await attest("later");
    await untilPublished(last.log.tree_size);
    expect(wrong).toBe(0);
    const entries = readStore();
    for (const { log } of receipts) expect(entries[log.index]?.toString("base64")).toBe(log.entry);
    const tiles = s3.answered.filter((one) => one.startsWith("PUT tile/"));
    expect(new Set(tiles).size).toBe(tiles.length);
    expect(tiles).toEqual(expect.arrayContaining(["PUT tile/0/000", "PUT tile/entries/000"]));
    // Nothing is written while nothing is new.
    const before = s3.answered.length;
    await new Promise((later) => setTimeout(later, 2_500));
    expect(s3.answered.slice(before)).toEqual([]);
  });

  it("is gone on with after the publisher died at any request, and is never half there", async () => {
    const [first] = [await attest("one")];
    await untilPublished(first.log.tree_size);
    for (const fatal of ["tile/0/", "tile/entries/", "checkpoint"]) {
      for (const fault of ["cut", "cut after"] as const) {
        // Read when the publisher first dies: until then it may publish a statement of the service's own.
        let before: number | null = null;
        s3.fault = (method, name) => {
          if (method !== "PUT" || !name.startsWith(fatal)) return null;
          before ??= published();
          return fault;
        };
        const { log } = await attest(`${fatal} ${fault}`);
        await vi.waitFor(() => expect(before).not.toBeNull(), { timeout: 60_000 });
        // Writes that were stored but not answered are found at the next try, which may have come already.
        if (fault === "cut") expect(published()).toBe(before);
        s3.fault = () => null;
        await untilPublished(log.tree_size);
      }
    }
  });

  /** Faults hit published files only; attestations wait for the lock. */
  const publishing = (fault: Fault) => (_method: string, name: string) =>
    name.startsWith("tile/") || name === "checkpoint" ? fault : null;

  it.each<[string, Fault]>([
    ["hangs", { delayMs: 60_000 }],
    ["is full", "full"],
    ["refuses", "error"],
    ["breaks off", "cut"],
  ])("never holds an attestation up: the store %s", async (_, fault) => {
    s3.fault = publishing(fault);
    await attest("once");
    await new Promise((later) => setTimeout(later, 1_200));
    expect(await shortestMs(1_000, () => measureMs(() => attest("again")))).toBeLessThan(1_000);
    s3.fault = () => null;
    const last = await attest("later");
    await untilPublished(last.log.tree_size);
  });

  it("isn't written over: not by another log, not over a tile that differs", async () => {
    const { log } = await attest("one");
    await untilPublished(log.tree_size);
    const next = `${prefix}tile/0/000.p/${log.tree_size + 1}`;
    s3.objects.set(next, { bytes: Buffer.alloc(32), etag: '"x"', headers: {} });
    await attest("two");
    await new Promise((later) => setTimeout(later, 2_500));
    expect([published(), s3.objects.get(next)?.bytes]).toEqual([log.tree_size, Buffer.alloc(32)]);
    s3.objects.delete(next);
    await untilPublished(log.tree_size + 1);

    const before = new Map(s3.objects);
    await expect(startTestApp(anyKind, s3.settings)).rejects.toThrow(/refuses to sign/);
    before.delete(`${prefix}probe`);
    for (const [name, held] of before) expect(s3.objects.get(name)).toBe(held);
  });

  it("is a folder too", async () => {
    const folder = `${test.dataDir}-log`;
    const other = await startTestApp(anyKind, { LOG_STORE: `file:${folder}`, LOG_STORE_SECONDS: "1" });
    const { log } = await attestIn(other, (await other.createKey()).key, "in a folder");
    const store = await openStore(`file:${folder}`, { LOG_STORE_ENDPOINT: undefined });
    const bundle = `tile/entries/000.p/${log.tree_size}`;
    await vi.waitFor(async () => expect(await store?.read(bundle)).not.toBeNull(), { timeout: 60_000 });
    await vi.waitFor(async () => expect(await store?.read("checkpoint")).not.toBeNull(), { timeout: 60_000 });
    await other.close();
  });
});
