/** The log's second signature: made after commits, published with its key, and missed by those who knew it. */
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { POST_QUANTUM_LINE, readOpenHead } from "#lib/log/reading/reader";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import {
  addNoteSignatures,
  encodeSubtreeLine,
  encodeVerifierKey,
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  parseSignatureLines,
  subtreeMessage,
  verifyCosignature,
} from "#lib/protocol/tlog/checkpoint";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";
import { parseWitnessPolicy } from "#lib/protocol/tlog/witness-policy";
import { checkWholeLog } from "#lib/verifier/checks/check-log";
import { applyPins, parseTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { startTestWitness } from "#support/witness";
import { POST_QUANTUM_SEED, stopPostQuantum } from "./post-quantum";

// biome-ignore lint/suspicious/noExplicitAny: answers as they come
type Json = any;

const { test, key } = setupTestApp(anyKind, { POST_QUANTUM: "on" });
let posted: Json;
let answer: Json;
let keys: Json;

const read = async (address: string): Promise<Json> => (await test.call("GET", address)).body;
const body = { agent_slug: "twice-bot", action: "act", inputs_hash: "x" };
/** With the lines of the log's first key alone. */
const stripped = (note: string) => note.replace(/^(— \S+ \S{200,}\n)/m, "");
const findCheck = async (json: Json, trust = parseTrust(keys)) => {
  const { verdict, checks } = await verifyEvidence(json, trust);
  const { status, reason } = checks.find(({ name }) => name === "post_quantum") ?? {};
  return [verdict, status, reason];
};

beforeAll(async () => {
  posted = (await test.call("POST", "/v1/attest", { key, body })).body;
  await vi.waitFor(
    async () => {
      answer = await read(`/v1/verify/${posted.attestation_id}`);
      keys = await read("/v1/pubkey");
      expect(keys.log.post_quantum_vkey).not.toBeNull();
      expect(parseNote(answer.log.checkpoint).signatures).toHaveLength(2);
    },
    { timeout: 60_000, interval: 200 },
  );
});

describe("what is read", () => {
  it("hangs on a second signature, and the answer to POST says that it has none", async () => {
    expect(await findCheck(answer)).toEqual(["valid", "pass", undefined]);
    expect(await findCheck(posted)).toEqual(["valid", "not_applicable", "post_quantum_absent"]);
    expect(parseNote(posted.log.checkpoint).signatures).toHaveLength(1);
    for (const file of ["bundle", "tlog-proof"]) {
      const address = `/v1/verify/${posted.attestation_id}/${file}`;
      expect(await findCheck(await read(address)), file).toEqual(["valid", "pass", undefined]);
    }
  });

  it("fails with a line that isn't the log's, and says that there is none where it was taken out", async () => {
    const change = (checkpoint: string) => ({ ...answer, log: { ...answer.log, checkpoint } });
    const [, last] = parseNote(answer.log.checkpoint).signatures;
    // One that holds is remembered. The time, which is signed, and the signature itself.
    expect(await findCheck(answer)).toEqual(["valid", "pass", undefined]);
    for (const at of [7, 500]) {
      const signature = Uint8Array.from(last?.signature ?? []);
      signature[at] = (signature[at] ?? 0) ^ 1;
      const other = addNoteSignatures(stripped(answer.log.checkpoint), [{ ...last, signature } as never]);
      expect(await findCheck(change(other))).toEqual(["invalid", "fail", "post_quantum_invalid"]);
    }
    expect(await findCheck(change(stripped(answer.log.checkpoint)))).toEqual([
      "valid",
      "not_applicable",
      "post_quantum_absent",
    ]);
  });

  it("is checked under a pinned key if that has endorsed the second one in the log", async () => {
    const pins = { logVkeys: [], witnessVkeys: [], timeCertificates: [] };
    const pinned = applyPins(keys, { ...pins, keys: [keys.public_key] });
    expect(await findCheck(answer, pinned)).toEqual(["valid", "pass", undefined]);
    const events = keys.key_events.filter(({ payload }: Json) => !payload.includes("log_post_quantum"));
    expect(events).toHaveLength(keys.key_events.length - 1);
    const unendorsed = applyPins({ ...keys, key_events: events }, { ...pins, keys: [keys.public_key] });
    expect(await findCheck(answer, unendorsed)).toEqual(["valid", undefined, undefined]);
    const vkeys = [keys.log.vkey, keys.log.post_quantum_vkey];
    expect(
      applyPins(null, { ...pins, keys: [keys.public_key], logVkeys: vkeys }).postQuantumKeys,
    ).toHaveLength(1);
  });
});

describe("whoever follows the log", () => {
  const follow = async (checkpoint: string, remembered: string | null, trust: Json = keys) => {
    const source = { checkpoint, readFile: async () => undefined };
    const checks = await checkWholeLog(source as never, parseTrust(trust), { remembered, isWhole: false });
    return checks.find(({ name }) => name === "post_quantum")?.reason;
  };

  it("misses a second signature that the log's key is known for, or that it has seen", async () => {
    const published = await read("/log/checkpoint");
    const poor = stripped(published);
    expect(parseNote(published).signatures).toHaveLength(2);
    expect(await follow(published, published)).toBe(undefined);
    expect(await follow(poor, null)).toBe("post_quantum_lost");
    const { post_quantum_vkey: _gone, ...log } = keys.log;
    const silent = { ...keys, log, logs: [] };
    expect(await follow(poor, poor, silent)).toBe(undefined);
    expect(await follow(poor, published, silent)).toBe("post_quantum_lost");
    expect(await follow(published, published, silent)).toBe("post_quantum_lost");
  });

  it("never gets a checkpoint without it again, and the database keeps few", async () => {
    for (let i = 0; i < 20; i += 1) {
      await test.call("POST", "/v1/attest", { key, body });
      expect(parseNote(await read("/log/checkpoint")).signatures).toHaveLength(2);
    }
    const { rows } = await test.query("SELECT count(*)::int AS lines FROM log_cosignatures");
    expect(rows[0]?.["lines"]).toBeLessThanOrEqual(16);
  });
});

describe("a log that no longer signs twice", () => {
  const countLines = async () => parseNote(await read("/log/checkpoint")).signatures.length;
  const readSize = async () => Number((await read("/log/checkpoint")).split("\n")[1]);

  it("shows its newest checkpoint after a while, and at once if it is switched off", async () => {
    const { database } = test.app.context;
    await expect.poll(async () => (await readOpenHead(database.db)).size - (await readSize())).toBe(0);
    await database.query("UPDATE leases SET next_at = now() + interval '1 hour' WHERE name = $1", [
      POST_QUANTUM_LINE,
    ]);
    const before = await readSize();
    await test.call("POST", "/v1/attest", { key, body });
    expect([await readSize(), await countLines()]).toEqual([before, 2]);
    await database.query("UPDATE log_cosignatures SET created_at = now() - interval '1 hour'", []);
    expect([await readSize(), await countLines()]).toEqual([before + 1, 1]);
    await database.query("UPDATE log_cosignatures SET created_at = now()", []);
    expect(await readSize()).toBe(before);
    await stopPostQuantum(test.app.context);
    expect([await readSize(), await countLines()]).toEqual([before + 1, 1]);
  });
});

describe("the key", () => {
  it("is made from the log's secret, the same each time, and another for another use", () => {
    const seeds = [1, 1, 2].map((fill) =>
      createLocalSigner(Buffer.alloc(32, fill).toString("base64"), "test").deriveSeed(POST_QUANTUM_SEED),
    );
    const [one, same, other] = seeds.map((seed) => Buffer.from(seed).toString("hex"));
    expect(same).toBe(one);
    expect(other).not.toBe(one);
    expect(Buffer.alloc(32, 1).toString("hex")).not.toBe(one);
    const signer = createLocalSigner(Buffer.alloc(32, 1).toString("base64"), "test");
    expect(Buffer.from(signer.deriveSeed("another use")).toString("hex")).not.toBe(one);
  });
});

describe("a witness of this type", () => {
  const text = "example.com/log\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  const { publicKey, secretKey } = ml_dsa44.keygen(new Uint8Array(32).fill(9));
  const witness = makeVerifierKey("witness.example/w", 6, publicKey);
  const cosign = (made: typeof text) => {
    const signature = ml_dsa44.sign(
      subtreeMessage(witness.name, 1_795_000_000, parseCheckpoint(made)),
      secretKey,
    );
    return parseSignatureLines(encodeSubtreeLine(witness, 1_795_000_000, signature));
  };

  it("is accepted in a policy, and its cosignature is of this tree alone", async () => {
    await loadMlDsa();
    const policy = parseWitnessPolicy(`${encodeVerifierKey(witness)} https://witness.example; policy 1`);
    expect(policy.witnesses[0]?.keys).toEqual([witness]);
    const signatures = cosign(text);
    expect(verifyCosignature({ text, signatures }, witness)).toBe(1_795_000_000);
    const other = text.replace("\n7\n", "\n8\n");
    expect(verifyCosignature({ text: other, signatures }, witness)).toBe(undefined);
    const cut = signatures.map((one) => ({ ...one, signature: one.signature.slice(0, -1) }));
    expect(verifyCosignature({ text, signatures: cut }, witness)).toBe(undefined);
  });
});

it("covers what witnesses cosign after the last commit", async () => {
  const seed = Buffer.alloc(32, 9).toString("base64");
  const { publicKey } = createLocalSigner(seed, "test");
  const witness = await startTestWitness(
    "witness.test/after",
    createLocalSigner(Buffer.alloc(32, 31).toString("base64"), "test"),
  );
  witness.follow(makeVerifierKey("localhost:3000/log", 1, publicKey));
  const witnessed = await startTestApp(anyKind, {
    ...{ POST_QUANTUM: "on", LOG_SIGNING_KEY: seed, WITNESS_INTERVAL_SECONDS: "0" },
    WITNESSES: `${witness.entry}\npolicy 1`,
  });
  const { key: by } = await witnessed.createKey();
  for (const action of ["before any is cosigned", "while an older one is", "and again"]) {
    const made = await witnessed.call("POST", "/v1/attest", { key: by, body: { ...body, action } });
    await vi.waitFor(
      async () => {
        const note = parseNote((await witnessed.call("GET", "/log/checkpoint")).body);
        expect(parseCheckpoint(note.text).size).toBeGreaterThanOrEqual(made.body.log.tree_size);
        expect(note.signatures.map(({ name }) => name)).toEqual([
          ...["localhost:3000/log", "localhost:3000/log"],
          "witness.test/after",
        ]);
      },
      { timeout: 20_000, interval: 200 },
    );
  }
  await witnessed.close();
  await witness.close();
});
