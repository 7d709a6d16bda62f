import { ed25519 } from "@noble/curves/ed25519.js";
import { bundleFromJSON } from "@sigstore/bundle";
import { beforeAll, describe, expect, it } from "vitest";
import {
  base64Encode,
  bytesEqual,
  hexEncode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { computeDsseKeyId, verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  addNoteSignatures,
  cosignCheckpoint,
  makeVerifierKey,
  parseNote,
  signCheckpoint,
} from "#lib/protocol/tlog/checkpoint";
import { encodeLogLeaf, leafMatchesEnvelope, makeLogLeaf, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { leafHash } from "#lib/protocol/tlog/merkle";
import { appendLeafHashes, emptyRightEdge } from "#lib/protocol/tlog/tiles";
import { encodeTlogProof, parseTlogProof } from "#lib/protocol/tlog/tlog-proof";
import { verifyWithSigstore } from "#support/sigstore";
import { computeLogId, encodeBundle, type LogBundle, parseBundle } from "./bundle";
import {
  type Envelope,
  encodeEnvelope,
  envelopeFromJson,
  envelopeToJson,
  preAuthEncoding,
  signEnvelope,
  verifyEnvelope,
} from "./dsse";

const SEED = new Uint8Array(32).fill(1);
const LOG_SEED = new Uint8Array(32).fill(2);
const WITNESS_SEED = new Uint8Array(32).fill(3);
const PUBLIC_KEY = ed25519.getPublicKey(SEED);
const LOG_KEY = makeVerifierKey("localhost/log", 1, ed25519.getPublicKey(LOG_SEED));
const WITNESS_KEY = makeVerifierKey("witness.example/w", 4, ed25519.getPublicKey(WITNESS_SEED));
const PAYLOAD = canonicalBytes({
  _type: "https://in-toto.io/Statement/v1",
  subject: [{ name: "inputs", digest: { sha256: hexEncode(sha256(utf8Encode("inputs"))) } }],
  predicateType: "https://example.com/agent-action/v1",
  predicate: { action: "transfer — 5 €" },
});
const INDEX = 300;

let envelope: Envelope;
let leaf: Uint8Array;
let bundle: LogBundle;
let text: string;

beforeAll(async () => {
  envelope = await signEnvelope(PAYLOAD, PUBLIC_KEY, (message) => ed25519.sign(message, SEED));
  leaf = encodeLogLeaf(makeLogLeaf(envelope, PUBLIC_KEY));
  const others = Array.from({ length: 700 }, (_, i) => leafHash(utf8Encode(`other ${i}`)));
  const batch = appendLeafHashes(emptyRightEdge(), others.with(INDEX, leafHash(leaf)));
  const { size, root } = batch.edge;
  const head = { origin: LOG_KEY.name, size, root };
  const signed = await signCheckpoint(head, LOG_KEY, (message) => ed25519.sign(message, LOG_SEED));
  const cosignature = await cosignCheckpoint(parseNote(signed).text, WITNESS_KEY, 1_700_000_000, (message) =>
    ed25519.sign(message, WITNESS_SEED),
  );
  const checkpoint = addNoteSignatures(signed, [cosignature]);
  bundle = {
    envelope,
    leaf,
    index: INDEX,
    integratedAtSeconds: 1_795_233_600,
    proof: batch.proveAppended(INDEX),
    checkpoint,
    logId: computeLogId(LOG_KEY),
  };
  text = encodeBundle(bundle);
});

const verifyForeign = (bundleText: string) => verifyWithSigstore(JSON.parse(bundleText), PUBLIC_KEY, LOG_KEY);

describe("Sigstore bundles", () => {
  it("pass the unmodified @sigstore/verify offline and come back from their text", () => {
    expect(() => verifyForeign(text)).not.toThrow();
    expect(parseBundle(text)).toEqual(bundle);
    expect(encodeBundle(parseBundle(text))).toBe(text);
    expect(parseBundle(JSON.stringify(JSON.parse(text), null, 2))).toEqual(bundle);
  });

  it("say when the log took the entry in as protobuf's JSON does, and are read without it too", () => {
    const parsed = bundleFromJSON(JSON.parse(text));
    expect(parsed.verificationMaterial.tlogEntries[0]?.integratedTime).toBe("1795233600");
    expect(text).toContain('"integratedTime":"1795233600"');
    const first = encodeBundle({ ...bundle, integratedAtSeconds: null });
    expect(first).not.toContain("integratedTime");
    expect(() => verifyForeign(first)).not.toThrow();
    expect(parseBundle(first)).toEqual({ ...bundle, integratedAtSeconds: null });
    for (const wrong of [
      '"0"',
      '"-1"',
      "1795233600",
      '"1795233600.5"',
      '"01"',
      '"1e9"',
      '"9223372036854775807"',
      "null",
    ])
      expect(() => parseBundle(text.replace('"1795233600"', wrong)), wrong).toThrow(RangeError);
  });

  it("fail it with another payload, signature, leaf, index, proof, checkpoint or key hint", () => {
    const flip = (bytes: Uint8Array) => bytes.map((byte, i) => (i === 20 ? byte ^ 1 : byte));
    const otherKey = ed25519.getPublicKey(new Uint8Array(32).fill(9));
    const mutations: Partial<LogBundle>[] = [
      { envelope: { ...envelope, payload: flip(PAYLOAD) } },
      { envelope: { ...envelope, payloadType: "application/json" } },
      { envelope: { ...envelope, signature: flip(envelope.signature) } },
      { envelope: { ...envelope, keyId: computeDsseKeyId(otherKey) } },
      { leaf: encodeLogLeaf({ ...parseLogLeaf(leaf), payloadHash: sha256(leaf) }) },
      { leaf: encodeLogLeaf({ ...parseLogLeaf(leaf), publicKey: otherKey }) },
      { index: INDEX + 1 },
      { index: 700 },
      { proof: bundle.proof.slice(1) },
      { proof: [flip(bundle.proof[0]!), ...bundle.proof.slice(1)] },
      { checkpoint: bundle.checkpoint.replace("\n700\n", "\n701\n") },
      { checkpoint: bundle.checkpoint.replace("localhost/log ", "localhost/lag ") },
    ];
    for (const mutation of mutations) {
      const mutated = encodeBundle({ ...bundle, ...mutation });
      expect(mutated).not.toBe(text);
      expect(() => verifyForeign(mutated), JSON.stringify(Object.keys(mutation))).toThrow();
    }
  });

  it("are refused by the parser when a part is missing, added or at odds with the checkpoint", () => {
    const edits: ((json: ReturnType<typeof JSON.parse>) => void)[] = [
      (json) => delete json.dsseEnvelope,
      (json) => delete json.verificationMaterial.publicKey,
      (json) => (json.extra = 1),
      (json) => (json.mediaType = "application/vnd.dev.sigstore.bundle.v0.2+json"),
      (json) => (json.verificationMaterial.publicKey.hint = "other"),
      (json) => json.verificationMaterial.tlogEntries.push(json.verificationMaterial.tlogEntries[0]),
      (json) => (json.verificationMaterial.tlogEntries = []),
      (json) => (json.verificationMaterial.tlogEntries[0].logIndex = "301"),
      (json) => (json.verificationMaterial.tlogEntries[0].logIndex = 300),
      (json) => (json.verificationMaterial.tlogEntries[0].inclusionProof.treeSize = "701"),
      (json) =>
        (json.verificationMaterial.tlogEntries[0].inclusionProof.rootHash = base64Encode(leafHash(leaf))),
      (json) => (json.verificationMaterial.tlogEntries[0].inclusionProof.hashes[0] = "AAAA"),
      (json) => (json.verificationMaterial.tlogEntries[0].kindVersion.version = "0.0.2"),
      (json) => (json.verificationMaterial.tlogEntries[0].inclusionProof.checkpoint.envelope = "x"),
    ];
    for (const edit of edits) {
      const json = JSON.parse(text);
      edit(json);
      expect(() => parseBundle(JSON.stringify(json)), edit.toString()).toThrow(RangeError);
    }
    expect(() => parseBundle(text.replace('"mediaType"', '"mediaType":"","mediaType"'))).toThrow(RangeError);
  });
});

describe("DSSE envelopes", () => {
  it("sign the pre-authentication encoding of the specification", () => {
    const pae = preAuthEncoding("http://example.com/HelloWorld", utf8Encode("hello world"));
    expect(utf8Decode(pae)).toBe("DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    expect(utf8Decode(preAuthEncoding("é", utf8Encode("€")))).toBe("DSSEv1 2 é 3 €");
    expect(envelope.signature).toEqual(ed25519.sign(preAuthEncoding(envelope.payloadType, PAYLOAD), SEED));
  });

  it("are canonical JSON, whatever their key's name and their type hold", () => {
    for (const text of ["plain", 'a "quoted" \\ one', "\u0000\u001f\u007f\u2028", "é€😀", "</script>"]) {
      const odd = { ...envelope, keyId: text, payloadType: text };
      expect(utf8Decode(encodeEnvelope(odd))).toBe(canonicalJson(envelopeToJson(odd)));
    }
    expect(utf8Decode(leaf)).toBe(canonicalJson(JSON.parse(utf8Decode(leaf))));
  });

  it("come back from their file and verify for their key, type and payload alone", () => {
    const odd = { ...envelope, payloadType: 'odd "type"\n', keyId: "é\u0001" };
    for (const one of [envelope, odd])
      expect(encodeEnvelope(one)).toEqual(canonicalBytes(envelopeToJson(one)));
    const parsed = envelopeFromJson(JSON.parse(utf8Decode(encodeEnvelope(envelope))));
    expect(parsed).toEqual(envelope);
    expect(verifyEnvelope(parsed, PUBLIC_KEY)).toBe(true);
    expect(verifyEnvelope(parsed, LOG_KEY.publicKey)).toBe(false);
    expect(verifyEnvelope({ ...parsed, payloadType: "text/plain" }, PUBLIC_KEY)).toBe(false);
    expect(verifyEnvelope({ ...parsed, payload: utf8Encode("{}") }, PUBLIC_KEY)).toBe(false);
    expect(verifyEd25519Strict(envelope.signature, PAYLOAD, PUBLIC_KEY)).toBe(false);
  });

  it("are refused with no signature, two, unknown fields, other lengths or bad base64", () => {
    const edits: ((json: ReturnType<typeof JSON.parse>) => void)[] = [
      (json) => (json.signatures = []),
      (json) => json.signatures.push(json.signatures[0]),
      (json) => (json.extra = 1),
      (json) => (json.signatures[0].cert = ""),
      (json) => delete json.signatures[0].keyid,
      (json) => (json.signatures[0].sig = "AAAA"),
      (json) => (json.payload = `${json.payload}=`),
      (json) => (json.signatures[0].sig = json.signatures[0].sig.replace(/=+$/, "")),
      (json) => (json.payload = `${json.payload}\n`),
      (json) => (json.payload = 5),
      (json) => (json.payloadType = null),
    ];
    for (const edit of edits) {
      const json = JSON.parse(utf8Decode(encodeEnvelope(envelope)));
      edit(json);
      expect(() => envelopeFromJson(json), edit.toString()).toThrow(RangeError);
    }
    for (const value of ["", [], null]) expect(() => envelopeFromJson(value)).toThrow(RangeError);
  });
});

describe("leaves of the log", () => {
  it("hold hashes, signature and key in canonical JSON and nothing of the payload", () => {
    const parsed = parseLogLeaf(leaf);
    expect(parsed.payloadHash).toEqual(sha256(PAYLOAD));
    expect(parsed.envelopeHash).toEqual(sha256(encodeEnvelope(envelope)));
    expect(parsed.signature).toEqual(envelope.signature);
    expect(parsed.publicKey).toEqual(PUBLIC_KEY);
    expect(encodeLogLeaf(parsed)).toEqual(leaf);
    expect(canonicalBytes(JSON.parse(utf8Decode(leaf)))).toEqual(leaf);
    expect(leaf.length).toBeLessThan(600);
    expect(leafMatchesEnvelope(leaf, envelope, PUBLIC_KEY)).toBe(true);
    expect(leafMatchesEnvelope(leaf, envelope, LOG_KEY.publicKey)).toBe(false);
    expect(leafMatchesEnvelope(leaf, { ...envelope, keyId: "" }, PUBLIC_KEY)).toBe(false);
  });

  it("have one spelling: every change of a byte gives another leaf or none", () => {
    for (const i of leaf.keys()) {
      const changed = leaf.map((byte, j) => (i === j ? byte ^ 1 : byte));
      try {
        expect(bytesEqual(encodeLogLeaf(parseLogLeaf(changed)), changed)).toBe(true);
      } catch (error) {
        expect(error instanceof RangeError || error instanceof SyntaxError, String(error)).toBe(true);
      }
    }
    const spaced = utf8Encode(JSON.stringify(JSON.parse(utf8Decode(leaf)), null, 1));
    expect(() => parseLogLeaf(spaced)).toThrow(RangeError);
    const repeated = utf8Decode(leaf).replace('"kind":"dsse"', '"kind":"dsse","kind":"dsse"');
    expect(() => parseLogLeaf(utf8Encode(repeated))).toThrow(RangeError);
  });
});

describe("tlog-proof files", () => {
  it("come back from their file", () => {
    const { index, proof, checkpoint } = bundle;
    const file = encodeTlogProof({ index, proof, checkpoint });
    expect(file.startsWith("c2sp.org/tlog-proof@v1\nindex 300\n")).toBe(true);
    expect(parseTlogProof(file)).toEqual({ index, proof, checkpoint });
  });

  it("carry extra data", () => {
    const { index, proof, checkpoint } = bundle;
    const file = encodeTlogProof({ index, proof, checkpoint, extra: utf8Encode("file.tar.gz") });
    expect(file.split("\n")[1]).toBe("extra ZmlsZS50YXIuZ3o=");
    expect(parseTlogProof(file).extra).toEqual(utf8Encode("file.tar.gz"));
  });

  it.each([
    ["another header", (file: string) => file.replace("@v1", "@v2")],
    ["no index", (file: string) => file.replace("index 300\n", "")],
    ["a negative index", (file: string) => file.replace("index 300", "index -5")],
    ["a leading zero", (file: string) => file.replace("index 300", "index 0300")],
    ["extra data that is not base64", (file: string) => file.replace("index", "extra !!\nindex")],
    ["extra data after the index", (file: string) => file.replace("index 300", "index 300\nextra AAAA")],
    [
      "a long hash",
      (file: string) => file.replace("index 300", `index 300\n${base64Encode(new Uint8Array(64))}`),
    ],
    ["no blank line", (file: string) => file.slice(0, file.indexOf("\n\n") + 1)],
    ["nothing", () => ""],
  ])("are refused with %s", (_, edit) => {
    const file = edit(encodeTlogProof(bundle));
    expect(() => parseTlogProof(file)).toThrow(RangeError);
  });
});
