/** The log is stamped in the background, once for all processes, and what an authority does wrong costs a stamp alone. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parseEnv } from "#lib/env";
import { releaseLease, takeLease } from "#lib/jobs/due-work";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { base64Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { parseCertificates } from "#lib/protocol/encoding/certificate";
import { encodeTimeStampRequest } from "#lib/protocol/time/time-stamp";
import { parseCheckpoint, parseNote } from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { verifyInBrowser } from "#lib/verifier/browser";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { type Authority, makeAuthority, startTestTsa, type TestTsa } from "#support/tsa";
import { startTestWitness, type TestWitness } from "#support/witness";
import { createTimeStamps, type TimeStamps } from "./time-stamps";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const logSeed = Buffer.alloc(32, 29).toString("base64");

describe("time stamps of the log", () => {
  let authority: Authority;
  let foreign: Authority;
  let witness: TestWitness;
  let tsa: TestTsa;
  let test: TestApp;
  let key: string;
  const running: TimeStamps[] = [];

  const stampWith = (changes: object = {}) => {
    const { database, clock, random, logger } = test.app.context;
    const stamps = createTimeStamps({
      ...{ database, clock, random, logger, urls: [tsa.url], pinned: parseCertificates(authority.root) },
      ...{ lookMs: 50, everySeconds: 0, ...changes },
    });
    running.push(stamps);
    stamps.start();
    return stamps;
  };
  const attest = async (body: object = {}) => {
    const asked = { agent_slug: "stamp-bot", action: "act", inputs_hash: "x", ...body };
    const { status, body: made } = await test.call("POST", "/v1/attest", { key, body: asked });
    expect(status).toBe(201);
    return made;
  };
  const rows = async () =>
    (await test.query("SELECT size::int, tsa FROM log_timestamps ORDER BY size", [])).rows;
  const stamped = (size: number) =>
    vi.waitFor(async () => expect((await rows()).at(-1)?.["size"]).toBeGreaterThanOrEqual(size), {
      timeout: 60_000,
    });
  const asked = (times: number) =>
    vi.waitFor(() => expect(tsa.queries.length).toBeGreaterThanOrEqual(times), { timeout: 60_000 });
  const verify = async (id: string) => (await test.call("GET", `/v1/verify/${id}`)).body;
  const checkOf = (answer: { checks: { name: string }[] }, name: string) =>
    answer.checks.find((check) => check.name === name);

  beforeAll(async () => {
    authority = makeAuthority();
    foreign = makeAuthority({ name: "another authority" });
    witness = await startTestWitness("witness.test/t", signerOf(28));
    test = await startTestApp(anyKind, { LOG_SIGNING_KEY: logSeed });
    witness.follow(await test.app.context.keys.logVerifierKey("localhost:3000/log"));
    await test.close();
  });
  beforeEach(async () => {
    witness.seen.clear();
    tsa = await startTestTsa(authority);
    test = await startTestApp(anyKind, {
      LOG_SIGNING_KEY: logSeed,
      TSA_CERTIFICATES: `${authority.folder}/root.pem`,
      WITNESSES: `${witness.entry}\npolicy 1`,
      WITNESS_INTERVAL_SECONDS: "0",
    });
    ({ key } = await test.createKey());
  });
  afterEach(async () => {
    await tsa.close();
    await Promise.all(running.splice(0).map((stamps) => stamps.close()));
    await test.close();
  });
  afterAll(async () => {
    await witness.close();
    authority.remove();
    foreign.remove();
  });

  it("bound every leaf below them: in the answer, in the visitor's browser, and by openssl", async () => {
    const first = await attest();
    stampWith();
    await stamped(first.log.tree_size);
    await attest();
    const answer = await verify(first.attestation_id);
    expect(answer.valid).toBe(true);
    expect(checkOf(answer, "not_after")).toMatchObject({ status: "pass" });
    expect(Date.parse(answer.time_bounds.made_before.at)).toBeGreaterThan(
      Date.parse(first.timestamp) - 2_000,
    );
    const { body: pubkey } = await test.call("GET", "/v1/pubkey");
    expect(parseCertificates(pubkey.log.time_authorities[0])).toEqual(parseCertificates(authority.root));
    const report = await verifyInBrowser(answer, pubkey);
    expect([report.verdict, report.unproven]).toEqual(["valid", []]);
    expect(report.madeBefore).not.toBeNull();
    const anchor = answer.time_bounds.anchors.find((one: { time_stamps: [] }) => one.time_stamps.length > 0);
    const { text } = parseNote(anchor.checkpoint);
    expect(authority.accepts(base64Decode(anchor.time_stamps[0].response), utf8Encode(text))).toBe(true);
  });

  it("come with each witness's first cosignature at /anchors, for private attestations too", async () => {
    const made = await attest({ is_public: false, action: "kept to ourselves" });
    stampWith();
    await stamped(made.log.tree_size);
    const read = () => test.call("GET", `/v1/verify/${made.attestation_id}/anchors`);
    await vi.waitFor(async () => expect(JSON.stringify((await read()).body)).toContain("witness.test/t"), {
      timeout: 60_000,
    });
    const { status, body } = await read();
    expect([status, body.payload_hash]).toEqual([200, made.payload_hash]);
    expect(JSON.stringify(body)).not.toContain("kept to ourselves");
    for (const { checkpoint, tree_size, inclusion_proof } of body.anchors) {
      const { size, root } = parseCheckpoint(parseNote(checkpoint).text);
      const proof = inclusion_proof.map(base64Decode);
      const claim = {
        leafHash: leafHash(base64Decode(body.log.entry)),
        index: body.log.index,
        size,
        root,
        proof,
      };
      expect([size, verifyInclusion(claim)]).toEqual([tree_size, true]);
    }
    const hidden = await verify(made.attestation_id);
    expect(checkOf(hidden, "not_after")).toMatchObject({ status: "pass" });
    expect(JSON.stringify(checkOf(hidden, "not_after"))).not.toContain("witness.test");
    expect(hidden.time_bounds.made_before).not.toBeNull();
  });

  it("answer an unknown id as every other route of it does", async () => {
    const id = "019a0000-0000-7000-8000-000000000000";
    const [anchors, plain] = await Promise.all(
      [`/v1/verify/${id}/anchors`, `/v1/verify/${id}`].map((path) => test.call("GET", path)),
    );
    expect(anchors?.status).toBe(404);
    expect({ ...anchors?.body, request_id: "" }).toEqual({ ...plain?.body, request_id: "" });
    expect((await test.call("GET", "/v1/verify/x/anchors")).status).toBe(404);
  });

  it("keep the first one after a leaf, when later ones follow", async () => {
    const made = await attest();
    stampWith();
    await stamped(made.log.tree_size);
    const before = (await verify(made.attestation_id)).time_bounds.made_before;
    const later = await attest();
    await stamped(later.log.tree_size);
    expect((await rows()).length).toBeGreaterThan(1);
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}/anchors`);
    const withStamps = body.anchors.filter((anchor: { time_stamps: [] }) => anchor.time_stamps.length > 0);
    // The witness may come late, and then shows its own first size with the stamp that is there too.
    expect(withStamps[0].tree_size).toBe(made.log.tree_size);
    expect(Date.parse((await verify(made.attestation_id)).time_bounds.made_before.at)).toBeLessThanOrEqual(
      Date.parse(before.at),
    );
  });

  it.each<[string, (query: Uint8Array) => Uint8Array | null]>([
    [
      "stamps other data",
      () => authority.reply(encodeTimeStampRequest(new Uint8Array(32), new Uint8Array(8))),
    ],
    [
      "answers another request",
      (query) => authority.reply(encodeTimeStampRequest(query.slice(24, 56), new Uint8Array(8).fill(7))),
    ],
    ["is not a pinned one", (query) => foreign.reply(query)],
    ["talks nonsense", () => utf8Encode("<html>")],
    ["answers without end", () => new Uint8Array(200_000)],
    ["never answers", () => null],
  ])("are not kept of an authority that %s, and nobody waits for it", async (_, answer) => {
    tsa.answer(answer);
    stampWith();
    await asked(1);
    const made = await attest();
    await new Promise((done) => setTimeout(done, 300));
    expect(await rows()).toEqual([]);
    await expect.poll(async () => (await verify(made.attestation_id)).valid).toBe(true);
    expect(tsa.queries).toHaveLength(1);
  });
});

describe("a turn", () => {
  it("is one caller's, and comes later after each failure", async () => {
    const test = await startTestApp();
    const { db, query } = test.app.context.database;
    const expectIn = async (seconds: number) => {
      const { rows } = await query("SELECT extract(epoch FROM next_at - now()) AS s FROM leases", []);
      // The column rounds to whole milliseconds.
      expect(Number(rows[0]?.["s"])).toBeLessThan(seconds + 0.001);
      expect(Number(rows[0]?.["s"])).toBeGreaterThan(seconds - 30);
    };
    const taken = await Promise.all(Array.from({ length: 8 }, () => takeLease(db, "x", 60)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await releaseLease(db, "x", false);
    await expectIn(60);
    for (let failure = 0; failure < 3; failure += 1) await releaseLease(db, "x", false);
    await expectIn(480);
    for (let failure = 0; failure < 30; failure += 1) await releaseLease(db, "x", false);
    await expectIn(3_600);
    await releaseLease(db, "x", true);
    // The clock of a virtual machine is set back now and then, by less than this waits.
    await expect.poll(() => takeLease(db, "x", 60)).toBe(true);
    await test.close();
  });
});

describe("the settings", () => {
  it.each([
    [{ TSA_URLS: "http://tsa.example" }, /TSA_CERTIFICATES: must be set/],
    [{ TSA_URLS: "tsa.example", TSA_CERTIFICATES: "x.pem" }, /TSA_URLS: tsa.example is not an http address/],
  ])("%j are refused at start", (settings, message) => {
    expect(() => parseEnv(settings)).toThrow(message);
  });

  it("name two authorities, and a file that can be read", async () => {
    const { TSA_URLS } = parseEnv({
      TSA_URLS: "http://a.example/tsr, https://b.example",
      TSA_CERTIFICATES: "x",
    });
    expect(TSA_URLS).toEqual(["http://a.example/tsr", "https://b.example"]);
    await expect(startTestApp(anyKind, { TSA_CERTIFICATES: "/nowhere.pem" })).rejects.toThrow(
      /TSA_CERTIFICATES/,
    );
  });
});
