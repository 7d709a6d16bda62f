/** Lower bound on an attestation's time: from witnesses, else from drand, and never at the price of an answer. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { keepNewestCosigned } from "#lib/log/witness/cosigned-checkpoints";
import { createWitnesses } from "#lib/log/witness/witnesses";
import { hashNote, quicknet, roundTimeMs } from "#lib/protocol/time/not-before";
import type { NotBefore } from "#lib/protocol/time/not-before-shape";
import {
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  verifyCosignature,
} from "#lib/protocol/tlog/checkpoint";
import { verifyBeacon } from "#lib/verifier/checks/verify-beacon";
import { startTestApp, type TestApp } from "#support/app";
import { startTestBeacon, type TestBeacon } from "#support/beacon";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { startTestWitness, type TestWitness } from "#support/witness";
import { createNotBefore, type NotBeforeSource } from "./time-stamps";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const logSeed = Buffer.alloc(32, 19).toString("base64");

const boundIn = (body: { payload: string }): NotBefore | undefined =>
  JSON.parse(body.payload).predicate.not_before;

describe("a statement", () => {
  let witness: TestWitness;
  let test: TestApp;
  let key: string;
  const attest = async () => {
    const body = { agent_slug: "bound-bot", action: "act", inputs_hash: "x" };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  const attestBounded = () =>
    vi.waitFor(
      async () => {
        const made = await attest();
        expect(boundIn(made)).toBeDefined();
        return { made, bound: boundIn(made) as Extract<NotBefore, { type: "tlog-cosignature" }> };
      },
      { timeout: 60_000, interval: 200 },
    );

  beforeAll(async () => {
    witness = await startTestWitness("witness.test/b", signerOf(21));
    test = await startTestApp(anyKind, { LOG_SIGNING_KEY: logSeed });
    witness.follow(await test.app.context.keys.logVerifierKey("localhost:3000/log"));
    await test.close();
  });
  const start = async (aheadSeconds = 0) => {
    witness.setClockAhead(aheadSeconds);
    witness.seen.clear();
    const settings = {
      LOG_SIGNING_KEY: logSeed,
      WITNESS_INTERVAL_SECONDS: "0",
      WITNESSES: `${witness.entry}\npolicy 1`,
    };
    test = await startTestApp(anyKind, settings);
    ({ key } = await test.createKey());
  };
  afterEach(() => test.close());
  afterAll(() => witness.close());

  it("names the newest cosigned checkpoint, which anyone can fetch by its hash", async () => {
    await start();
    const { made, bound } = await attestBounded();
    expect(bound).toMatchObject({ type: "tlog-cosignature", origin: made.log.origin });
    const { status, headers, body: note } = await test.call("GET", `/log/cosigned/${bound.checkpoint_hash}`);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toContain("immutable");
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(hashNote(note)).toBe(bound.checkpoint_hash);
    expect(parseCheckpoint(parseNote(note).text).size).toBe(bound.size);
    const cosignedSeconds = Number(verifyCosignature(parseNote(note), witness.key));
    expect(cosignedSeconds * 1000).toBeLessThanOrEqual(Date.parse(made.timestamp));
    const { body: verified } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(verified.valid).toBe(true);
  });

  it("keeps what was cosigned first when the same size is cosigned again, and no kept note can be changed", async () => {
    await start();
    const { made, bound } = await attestBounded();
    const { database, logger, clock } = test.app.context;
    const read = async () => (await test.call("GET", `/log/cosigned/${bound.checkpoint_hash}`)).body;
    const note = await read();
    const linesOf = async () =>
      (await database.query("SELECT size, line, renewed_line FROM log_cosignatures ORDER BY size", [])).rows;
    const newest = async () => (await linesOf()).at(-1);
    await vi.waitFor(async () => expect(Number((await newest())?.["size"])).toBe(made.log.tree_size), {
      timeout: 60_000,
    });
    const before = await newest();
    await new Promise((done) => setTimeout(done, 1_100));
    const policy = {
      witnesses: [{ name: witness.key.name, keys: [witness.key], url: witness.entry.split(" ")[1] ?? "" }],
      quorum: { k: 0, of: [] },
      threshold: 1,
    };
    const again = createWitnesses({
      database,
      policy,
      logger,
      clock,
      intervalSeconds: 0,
      onCosigned: () => {},
    });
    await again.ask();
    await again.close();
    const after = await newest();
    expect(after?.["line"]).toBe(before?.["line"]);
    expect(after?.["renewed_line"]).toEqual(expect.stringContaining("witness.test/b"));
    expect(after?.["renewed_line"]).not.toBe(before?.["line"]);
    const renewed = await keepNewestCosigned(database.db, policy, clock());
    expect(renewed?.atMs).toBeGreaterThan(Date.parse(made.timestamp) - 1_000);
    expect(await keepNewestCosigned(database.db, policy, new Date(0))).toBeNull();
    expect(await read()).toBe(note);
    await expect(database.query("UPDATE cosigned_notes SET note = 'x'", [])).rejects.toThrow(/append-only/);
  });

  it.each([
    ["a day ahead", 86_400],
    ["a minute behind", -60],
  ])("names nothing of a witness whose clock is %s, and its cosignature does not count", async (_, ahead) => {
    await start(ahead);
    await attest();
    await vi.waitFor(() => expect(witness.seen.size).toBe(1), { timeout: 60_000 });
    await new Promise((done) => setTimeout(done, 300));
    const made = await attest();
    expect(boundIn(made)).toBeUndefined();
    const { rows } = await test.query("SELECT 1 FROM log_cosignatures", []);
    expect(rows).toEqual([]);
    const { body: verified } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(verified.valid).toBe(true);
  });

  it("answers 404 for what was never cosigned", async () => {
    await start();
    for (const hash of ["0".repeat(64), "x", "%00"])
      expect((await test.call("GET", `/log/cosigned/${hash}`)).status).toBe(404);
  });
});

describe("the source", () => {
  let beacon: TestBeacon;
  let source: NotBeforeSource;
  const { test } = setupTestApp();
  let nowMs: number;
  const renewals: number[] = [];
  const signature =
    "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92";
  const round = (change = {}) => JSON.stringify({ round: 123, randomness: "00", signature, ...change });
  const start = (changes = {}) => {
    source = createNotBefore({
      database: test.app.context.database,
      policy: undefined,
      drandUrl: beacon.url,
      maxAgeSeconds: 600,
      clock: () => new Date(nowMs),
      logger: test.app.context.logger,
      verifyBeacon: async (bound) => verifyBeacon(bound),
      renew: () => renewals.push(nowMs),
      intervalMs: 20,
      ...changes,
    });
    source.start();
  };
  const fieldNow = () => source.fieldAt(new Date(nowMs));
  const asked = (times: number) =>
    vi.waitFor(() => expect(beacon.asked.length).toBeGreaterThanOrEqual(times), { timeout: 60_000 });

  beforeEach(async () => {
    beacon = await startTestBeacon();
    nowMs = roundTimeMs(123) + 1000;
  });
  afterEach(async () => {
    await beacon.close();
    await source.close();
  });

  it("names drand's newest round once it has verified, and drops it when it is too old", async () => {
    beacon.answer(round());
    start();
    const field = { not_before: { type: "drand", chain: quicknet.chain, round: 123, signature } };
    await vi.waitFor(() => expect(fieldNow()).toEqual(field), { timeout: 60_000 });
    expect(beacon.asked[0]).toBe(`/${quicknet.chain}/public/latest`);
    nowMs += 598_000;
    expect(fieldNow()).toEqual(field);
    nowMs += 2_000;
    expect(fieldNow()).toEqual({});
  });

  it.each([
    ["another round's signature", () => round({ round: 122 })],
    ["no signature", () => round({ signature: "00" })],
    ["nonsense", () => "<html>"],
    ["more than it may", () => `${round()}${" ".repeat(20_000)}`],
  ])("names nothing of a beacon that answers %s", async (_, body) => {
    beacon.answer(body());
    start();
    await asked(3);
    expect(fieldNow()).toEqual({});
  });

  it("names nothing of a round that is not due, though it verifies", async () => {
    beacon.answer(round());
    nowMs = roundTimeMs(123) - 1;
    start();
    await asked(3);
    expect(fieldNow()).toEqual({});
  });

  it("has the witnesses asked again when nothing was cosigned lately, and falls back to drand meanwhile", async () => {
    beacon.answer(round());
    const key = makeVerifierKey("w.example/1", 4, signerOf(22).publicKey);
    start({
      policy: {
        witnesses: [{ name: key.name, keys: [key], url: "http://127.0.0.1:9" }],
        quorum: "w.example/1",
        threshold: 1,
      },
    });
    await vi.waitFor(() => expect(fieldNow()).toMatchObject({ not_before: { type: "drand" } }), {
      timeout: 60_000,
    });
    expect(renewals.length).toBeGreaterThan(0);
  });

  it("keeps what it knows while the beacon is silent or gone, and nobody waits for it", async () => {
    beacon.answer(round());
    start();
    await vi.waitFor(() => expect(fieldNow()).not.toEqual({}), { timeout: 60_000 });
    beacon.answer(null);
    await asked(beacon.asked.length + 1);
    expect(fieldNow()).not.toEqual({});
    await beacon.close();
    expect(fieldNow()).not.toEqual({});
  });
});
