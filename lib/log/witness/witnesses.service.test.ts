/** Checkpoints are cosigned by witnesses that check consistency for real, and the log never waits for them. */
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseEnv } from "#lib/env";
import { readOpenHead } from "#lib/log/reading/reader";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import {
  encodeSignatureLine,
  encodeVerifierKey,
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  verifyCosignature,
} from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { parseWitnessPolicy } from "#lib/protocol/tlog/witness-policy";
import { parseTrust } from "#lib/verifier/checks/trust";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { startReceiver } from "#support/webhook-receiver";
import { startTestWitness, type TestWitness } from "#support/witness";
import { readShownCheckpoint } from "./cosigned-checkpoints";
import { createWitnesses } from "./witnesses";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const quantumVkey = encodeVerifierKey(makeVerifierKey("witness.test/quantum", 6, new Uint8Array(1312)));
/** The log's key is given, so that the witnesses can know it before the first start. */
const logSeed = Buffer.alloc(32, 9).toString("base64");

describe("witnesses", () => {
  let witnesses: TestWitness[];
  let settings: Record<string, string>;
  let test: TestApp;
  let key: string;
  const attest = (n: number) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: "witness-bot", action: `act ${n}`, inputs_hash: "x" },
    });
  const cosignedBy = (note: string) =>
    witnesses.filter(({ key }) => verifyCosignature(parseNote(note), key) !== undefined).length;
  const shown = async () => (await test.call("GET", "/log/checkpoint")).body as string;
  const sizeOf = (note: string) => parseCheckpoint(parseNote(note).text).size;

  beforeAll(async () => {
    witnesses = await Promise.all(
      [11, 12, 13].map((n) => startTestWitness(`witness.test/w${n}`, signerOf(n))),
    );
    const [, , down] = witnesses;
    const entries = [
      ...witnesses.map(({ entry }) => entry),
      `${quantumVkey} ${down?.entry.split(" ")[1]}`,
    ].join("\n");
    settings = { LOG_SIGNING_KEY: logSeed, WITNESS_INTERVAL_SECONDS: "0", WITNESSES: `${entries}\npolicy 2` };
    test = await startTestApp(anyKind, { LOG_SIGNING_KEY: logSeed });
    const logKey = await test.app.context.keys.logVerifierKey("localhost:3000/log");
    await test.close();
    for (const witness of witnesses) witness.follow(logKey);
    witnesses[2]?.setDown(true);
    test = await startTestApp(anyKind, settings);
    ({ key } = await test.createKey());
  });
  afterAll(async () => {
    await test.close();
    await Promise.all(witnesses.map((witness) => witness.close()));
  });

  it("cosign what the log commits, one of them down, and the answer to attest does not wait", async () => {
    const { status, body } = await attest(1);
    expect(status).toBe(201);
    expect(cosignedBy(body.log.checkpoint)).toBe(0);
    await vi.waitFor(async () => expect(sizeOf(await shown())).toBe(body.log.tree_size), { timeout: 60_000 });
    await vi.waitFor(async () => expect(cosignedBy(await shown())).toBe(2), { timeout: 60_000 });
  });

  it("follow a growing log by consistency proofs, and receipts carry their cosignatures", async () => {
    const { body: made } = await attest(2);
    await Promise.all(Array.from({ length: 40 }, (_, n) => attest(100 + n)));
    await vi.waitFor(
      async () => {
        const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
        expect(body.valid).toBe(true);
        expect(cosignedBy(body.log.checkpoint)).toBe(2);
        const { size, root } = parseCheckpoint(parseNote(body.log.checkpoint).text);
        const proof = body.log.inclusion_proof.map(base64Decode);
        const claim = {
          leafHash: leafHash(base64Decode(body.log.entry)),
          index: body.log.index,
          size,
          root,
          proof,
        };
        expect(verifyInclusion(claim)).toBe(true);
      },
      { timeout: 60_000 },
    );
    await vi.waitFor(
      () => expect([...(witnesses[0]?.seen.values() ?? [])][0]?.size).toBeGreaterThan(made.log.tree_size),
      { timeout: 60_000 },
    );
  });

  it("are shown with the policy and how far each has come", async () => {
    const { body } = await test.call("GET", "/v1/pubkey");
    expect(body.log.witnesses.threshold).toBe(2);
    expect(body.log.witnesses.policy).toMatch(
      /^log .*\n(witness .*\n){4}group group-1 2 .*\nquorum group-1\n$/,
    );
    const [first, , down] = body.log.witnesses.members;
    expect(body.log.witnesses.post_quantum_members).toMatchObject([{ vkey: quantumVkey }]);
    // Checked by a verifier of 1.0.0, which knows keys of type 4 alone.
    expect(body.log.witnesses.members).toHaveLength(3);
    expect(parseTrust(body).witnesses).toHaveLength(4);
    expect(first).toMatchObject({ name: "witness.test/w11", vkey: witnesses[0]?.vkey });
    expect(first.cosigned_size).toBeGreaterThan(0);
    expect(down.cosigned_size).toBeNull();
  });

  it("are asked once in an interval, by all processes together", async () => {
    const { database, logger, clock, keys } = test.app.context;
    // One that the app itself does not ask.
    const alone = await startTestWitness("witness.test/alone", signerOf(18));
    alone.follow(await keys.logVerifierKey("localhost:3000/log"));
    const policy = parseWitnessPolicy(`${alone.entry}\npolicy 1`);
    const processes = [1, 2, 3].map(() =>
      createWitnesses({
        ...{ database, policy, logger, clock, intervalSeconds: 60, onCosigned: () => {} },
        ...{ gatherMs: 0, retryMs: 20 },
      }),
    );
    for (const one of processes) one.schedule();
    await vi.waitFor(() => expect(alone.asked()).toBe(1), { timeout: 60_000 });
    await new Promise((done) => setTimeout(done, 300));
    await Promise.all(processes.map((one) => one.close()));
    expect(alone.asked()).toBe(1);
    await alone.close();
  });

  it("are asked again when the interval is over, however short it is", async () => {
    const { database, logger, clock, keys } = test.app.context;
    const alone = await startTestWitness("witness.test/soon", signerOf(21));
    alone.follow(await keys.logVerifierKey("localhost:3000/log"));
    const policy = parseWitnessPolicy(`${alone.entry}\npolicy 1`);
    const rounds = new EventEmitter();
    const witness = createWitnesses({
      ...{ database, policy, logger, clock, intervalSeconds: 1, gatherMs: 0, retryMs: 3_600_000 },
      onCosigned: () => rounds.emit("cosigned"),
    });
    for (let round = 0; round < 2; round += 1) {
      const cosigned = once(rounds, "cosigned");
      witness.schedule();
      await cosigned;
    }
    await witness.close();
    expect(alone.asked()).toBe(2);
    await alone.close();
  });

  it("don't wait for one of them that never answers", async () => {
    const { database, logger, clock, keys } = test.app.context;
    const [quick, silent] = [
      await startTestWitness("witness.test/quick", signerOf(19)),
      await startReceiver(),
    ];
    silent.answer = () => null;
    quick.follow(await keys.logVerifierKey("localhost:3000/log"));
    const mute = encodeVerifierKey(makeVerifierKey("witness.test/mute", 4, signerOf(20).publicKey));
    const policy = parseWitnessPolicy(`${quick.entry}\n${mute} ${silent.url}\npolicy 1`);
    const all = createWitnesses({
      ...{ database, policy, logger, clock, intervalSeconds: 0, onCosigned: () => {} },
      gatherMs: 0,
    });
    // Nobody gives the silent witness up here.
    const limits = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
    for (const count of [1, 2, 3]) {
      await attest(200 + count);
      all.schedule();
      await vi.waitFor(() => expect(quick.asked()).toBeGreaterThanOrEqual(count), { timeout: 60_000 });
    }
    expect(silent.received).toHaveLength(1);
    limits.mockRestore();
    await silent.close();
    await all.close();
    await quick.close();
  });

  it("answer with lines of other keys and kinds beside their own, which are skipped", async () => {
    const { body } = await attest(3);
    const first = witnesses[0] as TestWitness;
    // ML-DSA-44 (type 0x06): a time and 2,420 bytes.
    const mlDsa = {
      name: "witness.test/w11",
      keyId: Uint8Array.of(1, 2, 3, 4),
      signature: new Uint8Array(2_428),
    };
    const stranger = { name: "else.test/w", keyId: Uint8Array.of(9, 9, 9, 9), signature: new Uint8Array(72) };
    first.setOtherLines([mlDsa, stranger].map(encodeSignatureLine).join(""));
    const later = await attest(4);
    await vi.waitFor(
      async () => expect(first.seen.values().next().value?.size).toBe(later.body.log.tree_size),
      {
        timeout: 60_000,
      },
    );
    await vi.waitFor(
      async () => {
        const { body: shown } = await test.call("GET", `/v1/verify/${body.attestation_id}`);
        expect(sizeOf(shown.log.checkpoint)).toBe(later.body.log.tree_size);
        expect(shown.log.checkpoint).toContain("witness.test/w11");
        expect(shown.log.checkpoint).not.toContain("else.test");
        expect(shown.valid).toBe(true);
      },
      { timeout: 60_000 },
    );
    first.setOtherLines("");
  });

  it("sign with an old and a new key while they change it, and are asked and counted once", async () => {
    const { database, logger, clock, keys } = test.app.context;
    const { db } = database;
    const changing = await startTestWitness("witness.test/changing", signerOf(21));
    changing.follow(await keys.logVerifierKey("localhost:3000/log"));
    const added = changing.addKey(signerOf(22));
    const policy = parseWitnessPolicy(`${changing.entry}\n${added}\n${witnesses[2]?.entry}\npolicy 2`);
    const both = policy.witnesses[0]?.keys ?? [];
    const asking = createWitnesses({
      ...{ database, policy, logger, clock, intervalSeconds: 60, onCosigned: () => {} },
      gatherMs: 0,
    });
    asking.schedule();
    const isShown = async (given: typeof policy) => {
      const { note } = await readShownCheckpoint(db, await readOpenHead(db), given);
      return both.map((key) => verifyCosignature(parseNote(note), key) !== undefined);
    };
    const isMet = async (k: number) => {
      const rows = await test.query(
        "SELECT FROM log_cosignatures GROUP BY size HAVING meets_quorum(array_agg(witness), $1::text::jsonb)",
        [JSON.stringify({ k, of: ["witness.test/changing", "witness.test/w13"] })],
      );
      return rows.rows.length > 0;
    };
    await vi.waitFor(async () => expect(await isShown(policy)).toEqual([true, true]), { timeout: 60_000 });
    expect(changing.asked()).toBe(1);
    expect([await isMet(1), await isMet(2)]).toEqual([true, false]);
    await asking.close();
    await changing.close();
  });

  it("contradict a log of which they have cosigned another root, and say so of one that refuses its own size", async () => {
    const { database, clock, keys } = test.app.context;
    const logger = { ...test.app.context.logger, warn: vi.fn() };
    const strict = await startTestWitness("witness.test/strict", signerOf(23));
    const logKey = await keys.logVerifierKey("localhost:3000/log");
    strict.follow(logKey);
    strict.seen.set(logKey.name, { size: 2, root: new Uint8Array(32).fill(7) });
    const ask = async (entry: string) => {
      const policy = parseWitnessPolicy(`${entry}\npolicy 1`);
      const options = { database, policy, logger, clock, intervalSeconds: 0, onCosigned: () => {} };
      const asking = createWitnesses(options);
      await asking.ask().finally(() => asking.close());
    };
    await expect(ask(strict.entry)).rejects.toThrow(/strict has cosigned another root of size 2\./);
    const stuck = createServer((_, outgoing) =>
      outgoing.writeHead(409, { "content-type": "text/x.tlog.size" }).end("2\n"),
    );
    await new Promise<void>((resolve) => stuck.listen(0, "127.0.0.1", resolve));
    await ask(`${strict.vkey} http://127.0.0.1:${(stuck.address() as AddressInfo).port}`);
    const problem = "it answered 409 to the size that it had named";
    expect(logger.warn.mock.calls).toEqual([
      [{ witness: "witness.test/strict", problem }, "a witness did not cosign"],
    ]);
    stuck.close();
    await strict.close();
  });

  it("stop the start on a database that holds less than they have cosigned, or another history", async () => {
    const fewer = startTestApp(anyKind, settings);
    await expect(fewer).rejects.toThrow(/refuses to sign.*witness.test\/w11 has cosigned size \d+/s);
    const [origin] = [...(witnesses[1]?.seen.keys() ?? [])];
    for (const witness of witnesses.slice(0, 2))
      witness.seen.set(String(origin), { size: 0, root: new Uint8Array(32).fill(7) });
    await expect(startTestApp(anyKind, settings)).rejects.toThrow(/another root of the same size/);
  });

  it.each([
    ["policy 1", /there is no witness/],
    ["nonsense https://w.example", /not a verifier key/],
    ["KEY https://w.example", /"policy <k>" is missing/],
    ["KEY https://w.example; policy 2", /cannot be met/],
    ["KEY https://w.example; KEY https://x.example; policy 1", /named twice/],
    ["KEY ftp://w.example; policy 1", /not an http address/],
    ["KEY; policy 1", /is neither/],
    ["LOG https://w.example; policy 1", /key of type 4/],
  ])("the setting %s is refused at start", (text, message) => {
    const witness = witnesses[0]?.vkey ?? "";
    const logKey = encodeVerifierKey(makeVerifierKey("example.com/log", 1, signerOf(14).publicKey));
    const value = text.replaceAll("KEY", witness).replace("LOG", logKey);
    expect(() => parseWitnessPolicy(value)).toThrow(message);
    expect(() => parseEnv({ WITNESSES: value })).toThrow(/WITNESSES: /);
  });

  it("the setting is read by lines or semicolons", () => {
    const entries = witnesses.map(({ entry }) => entry);
    const parsed = parseWitnessPolicy(`# ours\n${entries.join(" ; ")}\npolicy 2\n`);
    expect(parsed.threshold).toBe(2);
    expect(parsed.witnesses.map(({ name }) => name)).toEqual(witnesses.map(({ key: { name } }) => name));
    expect(parseVerifierKey(witnesses[0]?.vkey ?? "").type).toBe(4);
  });
});
