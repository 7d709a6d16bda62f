/** The signed payload: every field is bound, and a second implementation agrees on its canonical form. */
import { generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalHash,
  canonicalJson,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { preAuthEncoding } from "./dsse";
import {
  type ActionPredicate,
  buildActionStatement,
  buildStatement,
  parseActionStatement,
  STATEMENT_MEDIA_TYPE,
  subjectDigest,
} from "./statement";

const predicate: ActionPredicate = {
  attestation_id: "019a0000-0000-7000-8000-000000000000",
  timestamp: "2026-11-21T03:04:05.678Z",
  key_id: "0123456789abcdef",
  organization: "019a0000-0000-7000-8000-000000000001",
  is_public: true,
  salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  zk: { suite: "s", schema: "v1", kid: "k" },
  record: { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 1, previous: "00".repeat(32) },
  request: {
    agent_slug: "bot",
    action: "Paid",
    inputs_hash: "abc",
    metadata: { n: 1, deep: [true, null, "x"] },
    code_hash: "c",
    tools_used: ["a", "b"],
    human_authorization_hash: "00",
    client: { instance: "i", sequence: 3 },
  },
  agent_signature: "sig",
  registered: { agent_public_key: "pk", code_hash: "c", tool_manifest_hash: "h" },
  verdicts: {
    agent_authenticated: true,
    code_hash_verified: false,
    tools_authorized: null,
    client_gap: true,
  },
  human_approval: {
    method: "proof_of_personhood",
    level: "orb",
    request_hash: "rh",
    authorization_hash: "ah",
    nullifier_hashes: ["n1", "n2"],
    approver_ids: [],
    environment: "production",
    inputs_bound: true,
  },
};

/** The document with one leaf changed, once for each leaf; and once without each member. */
function* mutate(value: JsonValue): Generator<JsonValue> {
  if (Array.isArray(value)) {
    for (const [i, member] of value.entries()) {
      for (const changed of mutate(member)) yield value.with(i, changed);
      yield value.toSpliced(i, 1);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      for (const changed of mutate(member)) yield { ...value, [name]: changed };
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
    }
  } else if (typeof value === "boolean") yield !value;
  else if (typeof value === "number") yield value + 1;
  else if (value === null) yield false;
  else yield `${value} `;
}

describe("the signed payload", () => {
  it("does not verify once any one field is changed or removed", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const payload = buildActionStatement(predicate);
    const signature = sign(null, payload, privateKey);
    expect(verify(null, payload, publicKey, signature)).toBe(true);
    const seen = new Set([utf8Decode(payload)]);
    for (const changed of mutate(JSON.parse(utf8Decode(payload)) as JsonObject)) {
      const bytes = canonicalBytes(changed);
      expect(seen.has(utf8Decode(bytes)), utf8Decode(bytes)).toBe(false);
      seen.add(utf8Decode(bytes));
      expect(verify(null, bytes, publicKey, signature)).toBe(false);
    }
    expect(seen.size).toBeGreaterThan(70);
  });

  it("is read back only in its one spelling, and only with the subject that fits", () => {
    const payload = buildActionStatement(predicate);
    expect(parseActionStatement(payload)?.predicate).toEqual(predicate);
    const text = utf8Decode(payload);
    expect(parseActionStatement(text)?.predicate).toEqual(predicate);
    const others = [
      ` ${text}`,
      `${text}\n`,
      text.replace('"Paid"', '"\\u0050aid"'),
      text.replace('"digest":{"inputs_hash":"abc"}', '"digest":{"inputs_hash":"abd"}'),
      text.replace("in-toto.io/Statement/v1", "in-toto.io/Statement/v2"),
      text.replace("agent-action/v1", "agent-action/v2"),
      text.replace('"client_gap":true,', ""),
      text.replace('"client_gap":true', '"client_gap":null'),
      text.replace('"client":{"instance":"i","sequence":3},', ""),
      text.replace('"sequence":3', '"sequence":0'),
      text.replace('"sequence":3', '"sequence":"3"'),
    ];
    for (const other of others) {
      expect(other).not.toBe(text);
      expect(parseActionStatement(new TextEncoder().encode(other))).toBeNull();
    }
  });

  it("is not what else our key has signed", () => {
    const payload = buildActionStatement(predicate);
    const envelope = preAuthEncoding(STATEMENT_MEDIA_TYPE, payload);
    const decision = buildStatement("https://example.com/decision", "request", "00".repeat(32), {});
    expect(parseActionStatement(payload, true)?.predicate).toEqual(predicate);
    for (const other of [envelope, decision, canonicalBytes(null), canonicalBytes([]), new Uint8Array()])
      expect(parseActionStatement(other, true)).toBeNull();
  });

  it("names the inputs by their digest where it is one", () => {
    const hex = "3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80";
    expect(subjectDigest(hex)).toEqual({ sha256: hex });
    expect(subjectDigest(`sha256:${hex.toUpperCase()}`)).toEqual({ sha256: hex });
    for (const other of [`sha512:${hex}`, hex.slice(1), `${hex}0`, "SHA256:abc", `sha256: ${hex}`])
      expect(subjectDigest(other)).toEqual({ inputs_hash: other });
  });

  it("covers of the request all but nulls and the signature, the authorization by its hash", () => {
    const authorization = { b: [1], a: null };
    const body: JsonObject = {
      z: 1,
      a: null,
      agent_signature: "s",
      human_authorization: authorization,
      m: { keep: null },
    };
    expect(signedRequest(body)).toEqual({
      z: 1,
      human_authorization_hash: canonicalHash(authorization),
      m: { keep: null },
    });
  });
});

/** RFC 8785 as one would write it on a napkin: names by UTF-16 code units, numbers and strings by ECMAScript. */
function naiveCanonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(naiveCanonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
  return `{${names.map((name) => `${JSON.stringify(name)}:${naiveCanonical(value[name] ?? null)}`).join(",")}}`;
}

describe("canonical JSON", () => {
  it("agrees with a second implementation on anything", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 8 });
    const json = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        text,
        fc.array(tie("value"), { maxLength: 4 }),
        tie("object"),
      ),
      object: fc.dictionary(
        text.filter((name) => name !== "__proto__"),
        tie("value"),
        { maxKeys: 6, noNullPrototype: true },
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        const canonical = canonicalJson(value);
        expect(canonical).toBe(naiveCanonical(value));
        expect(canonicalJson(JSON.parse(canonical) as JsonValue)).toBe(canonical);
      }),
      { numRuns: 1000 },
    );
  });

  it("orders names by UTF-16 code units, as the RFC's own example", () => {
    const names = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 };
    const expected = [
      ["\\r", 2],
      ["1", 4],
      ["\u0080", 6],
      ["\u00f6", 7],
      ["\u20ac", 1],
      ["\u{1f600}", 5],
      ["\ufb33", 3],
    ];
    expect(canonicalJson(names)).toBe(`{${expected.map(([name, n]) => `"${name}":${n}`).join()}}`);
  });
});
