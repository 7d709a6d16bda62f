import { hashSignal as idkitHashSignal } from "@worldcoin/idkit/hashing";
import { describe, expect, it } from "vitest";
import { checkProofV3, checkProofV4, publicInputsV4 } from "#lib/verifier/checks/check-world-proof";
import { compressProof, makeTrapdoorKey } from "#support/groth16";
import { standInProof } from "#support/stand-in-proof";
import { listVectors } from "#support/vectors";
import { parseVerificationKey, SCALAR_FIELD_ORDER, verifyGroth16 } from "./groth16";
import { semaphoreKeyFor } from "./world-id-keys";
import {
  externalNullifier,
  hashSignal,
  hashToField,
  isLevelSufficient,
  parseFieldElement,
  parseRpId,
  parseWord,
  type WorldProofV4,
  wordHex,
} from "./world-id-proof";

describe("hashes", () => {
  it("are World's for the empty signal", () => {
    expect(wordHex(hashSignal(""))).toBe(
      "0x00c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a4",
    );
  });

  it("are IDKit's for every kind of signal", () => {
    for (const signal of ["", "0x", "0xa", "0xab", "0xAB", "0xzz", "text", "ä€😀", `0x${"5e".repeat(32)}`]) {
      expect(wordHex(hashSignal(signal))).toBe(idkitHashSignal(signal));
    }
  });

  it("bind v3 to the app and the action", () => {
    const values = [
      externalNullifier("app_a", "b"),
      externalNullifier("app_a", "c"),
      externalNullifier("app_ab", ""),
      externalNullifier("app_a", ""),
    ];
    expect(new Set(values).size).toBe(4);
    expect(values.every((value) => value < SCALAR_FIELD_ORDER)).toBe(true);
    expect(hashToField(new Uint8Array()) >> 248n).toBe(0n);
  });
});

describe("numbers", () => {
  it("have one canonical spelling and stay below the field's order", () => {
    const spellings = ["0xA", "0x0a", "10", `0x${"0".repeat(63)}a`];
    expect(new Set(spellings.map((text) => wordHex(parseFieldElement(text) ?? -1n))).size).toBe(1);
    expect(parseFieldElement(wordHex(SCALAR_FIELD_ORDER))).toBeUndefined();
    expect(parseFieldElement(wordHex(SCALAR_FIELD_ORDER - 1n))).toBe(SCALAR_FIELD_ORDER - 1n);
    expect(parseFieldElement(String(SCALAR_FIELD_ORDER + 10n))).toBeUndefined();
    expect(parseWord(wordHex(SCALAR_FIELD_ORDER))).toBe(SCALAR_FIELD_ORDER);
    expect(parseWord(String(1n << 256n))).toBeUndefined();
    for (const bad of ["", "0x", "-1", " 1", "1e3", "0xg", `0x${"1".repeat(65)}`]) {
      expect(parseWord(bad)).toBeUndefined();
    }
    expect(() => wordHex(-1n)).toThrow(RangeError);
  });

  it("read RP ids as the chain does", () => {
    expect(parseRpId("rp_123456789abcdef0")).toBe(0x123456789abcdef0n);
    expect(parseRpId("rp_")).toBeUndefined();
    expect(parseRpId("123456789abcdef0")).toBeUndefined();
  });
});

describe("isLevelSufficient", () => {
  it("lets an Orb stand for a device, not the other way round", () => {
    expect(isLevelSufficient("device", "device")).toBe(true);
    expect(isLevelSufficient("device", "orb")).toBe(false);
    expect(isLevelSufficient("orb", "orb")).toBe(true);
    expect(isLevelSufficient("proof_of_human", "orb")).toBe(true);
    expect(isLevelSufficient("proof_of_human", "device")).toBe(true);
  });
});

type V3Vector = Record<"root" | "nullifier_hash" | "signal_hash" | "external_nullifier_hash", string> & {
  proof: string[];
};
describe("a real proof of the Semaphore circuit", () => {
  it.each([
    ["the stand-in's", JSON.stringify(standInProof), "local", "production"],
    ...listVectors("world-id/semaphore_depth30.json").map(([name, text]) => [
      name,
      text,
      "production",
      "local",
    ]),
  ] as [string, string, "local" | "production", "local" | "production"][])(
    "verifies under its own key alone, and with no input changed: %s",
    (_, text, own, other) => {
      const vector: V3Vector = JSON.parse(text);
      const [ax, ay, bx1, bx0, by1, by0, cx, cy] = vector.proof.map(BigInt);
      const proof = {
        a: [ax, ay],
        b: [
          [bx0, bx1],
          [by0, by1],
        ],
        c: [cx, cy],
      } as unknown as Parameters<typeof verifyGroth16>[1];
      const inputs = [
        vector.root,
        vector.nullifier_hash,
        vector.signal_hash,
        vector.external_nullifier_hash,
      ].map(BigInt);
      expect(verifyGroth16(semaphoreKeyFor(own), proof, inputs)).toEqual({ ok: true });
      expect(verifyGroth16(semaphoreKeyFor(other), proof, inputs)).toMatchObject({ ok: false });
      for (const i of inputs.keys()) {
        const changed = inputs.map((input, j) => (i === j ? input ^ 1n : input));
        expect(verifyGroth16(semaphoreKeyFor(own), proof, changed)).toMatchObject({ ok: false });
      }
      // The wire form reads the same eight words; only its bindings are not those of an action of ours.
      const world = {
        protocol_version: "3.0",
        app_id: "app_x",
        rp_id: "rp_1",
        nonce: wordHex(1n),
        level: "orb",
        nullifier_hash: wordHex(BigInt(vector.nullifier_hash)),
        merkle_root: wordHex(BigInt(vector.root)),
        proof: `0x${vector.proof.map((word) => wordHex(BigInt(word)).slice(2)).join("")}`,
      } as const;
      const key = semaphoreKeyFor(own);
      expect(checkProofV3(world, "act", BigInt(vector.signal_hash), key)).toEqual({
        ok: false,
        reason: "pairing_failed",
      });
      expect(checkProofV3({ ...world, proof: "0x00" }, "act", 1n, key)).toEqual({
        ok: false,
        reason: "malformed_proof",
      });
      const overflow = {
        ...world,
        nullifier_hash: wordHex(BigInt(vector.nullifier_hash) + SCALAR_FIELD_ORDER),
      };
      expect(checkProofV3(overflow, "act", 1n, key)).toEqual({ ok: false, reason: "nullifier_out_of_range" });
    },
  );
});

describe("checkProofV4", () => {
  const { key, prove } = makeTrapdoorKey(15);
  const keys = {
    issuer_public_key: [wordHex(3n), wordHex(4n)],
    oprf_public_key: [wordHex(5n), wordHex(6n)],
  } as const;
  const unproved: WorldProofV4 = {
    protocol_version: "4.0",
    app_id: "app_x",
    rp_id: "rp_00000000000000ff",
    nonce: wordHex(77n),
    level: "proof_of_human",
    issuer_schema_id: 1,
    expires_at_min: 1_783_942_504,
    nullifier_hash: wordHex(99n),
    merkle_root: wordHex(1234n),
    proof: [],
  };
  const inputs = publicInputsV4(unproved, "authz-x", 42n, keys) ?? [];
  const words = compressProof(prove(inputs));
  const world: WorldProofV4 = { ...unproved, proof: [...words.map(wordHex), unproved.merkle_root] };

  it("puts the fifteen inputs in the circuit's order", () => {
    expect(inputs).toEqual([
      ...[99n, 1n, 3n, 4n, 1_783_942_504n, 0n, 1234n, 30n, 255n],
      ...[hashToField(new TextEncoder().encode("authz-x")), 5n, 6n, 42n, 77n, 0n],
    ]);
  });

  it("accepts the compressed proof, and in decimal as IDKit writes it", () => {
    expect(checkProofV4(world, "authz-x", 42n, key, keys)).toEqual({ ok: true });
    const decimal = { ...world, proof: [...words.map(String), world.merkle_root] };
    expect(checkProofV4(decimal, "authz-x", 42n, key, keys)).toEqual({ ok: true });
  });

  it("refuses a proof that is bound to a session, which none of our requests asks for", () => {
    const bound = inputs.map((input, i) => (i === 14 ? 1n : input));
    const proof = [...compressProof(prove(bound)).map(wordHex), unproved.merkle_root];
    expect(checkProofV4({ ...unproved, proof }, "authz-x", 42n, key, keys)).toEqual({
      ok: false,
      reason: "pairing_failed",
    });
  });

  it("refuses a proof of another credential, which others issue", () => {
    const passport = { ...unproved, issuer_schema_id: 11 };
    const words = compressProof(prove(publicInputsV4(passport, "authz-x", 42n, keys) ?? []));
    const proof = [...words.map(wordHex), unproved.merkle_root];
    expect(checkProofV4({ ...passport, proof }, "authz-x", 42n, key, keys)).toEqual({
      ok: false,
      reason: "wrong_issuer",
    });
  });

  it("refuses when anything that it binds is another", () => {
    const cases: [Partial<WorldProofV4>, string?, bigint?][] = [
      [{ nonce: wordHex(78n) }],
      [{ rp_id: "rp_00000000000000fe" }],
      [{ rp_id: "nonsense" }],
      [{ issuer_schema_id: 11 }],
      [{ expires_at_min: world.expires_at_min + 1 }],
      [{ nullifier_hash: wordHex(98n) }],
      [{ nullifier_hash: wordHex(99n + SCALAR_FIELD_ORDER) }],
      [{ merkle_root: wordHex(1235n) }],
      [{ merkle_root: wordHex(1235n), proof: [...world.proof.slice(0, 4), wordHex(1235n)] }],
      [{ proof: [...world.proof.slice(0, 4), wordHex(1235n)] }],
      [{ proof: [...world.proof.slice(0, 4)] }],
      [{ proof: [...world.proof, wordHex(1n)] }],
      [{ proof: [wordHex((words[0] ?? 0n) ^ 1n), ...world.proof.slice(1)] }],
      [{}, "authz-y"],
      [{}, "authz-x", 43n],
    ];
    for (const [change, action = "authz-x", signalHash = 42n] of cases) {
      expect(checkProofV4({ ...world, ...change }, action, signalHash, key, keys)).toMatchObject({
        ok: false,
      });
    }
    const otherIssuer = { ...keys, issuer_public_key: [wordHex(4n), wordHex(3n)] } as const;
    expect(checkProofV4(world, "authz-x", 42n, key, otherIssuer)).toMatchObject({ ok: false });
  });

  it.each([
    ["one of our own", JSON.stringify(makeTrapdoorKey(15, 31n).json)],
    ...listVectors("world-id/vk_v4.json"),
  ])("refuses it under another key: %s", (_, text) => {
    const real = parseVerificationKey(JSON.parse(text));
    expect(checkProofV4(world, "authz-x", 42n, real, keys)).toEqual({ ok: false, reason: "pairing_failed" });
  });
});
