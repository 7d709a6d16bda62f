import { bn254 } from "@noble/curves/bn254.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compressG1, compressProof, g1, g2, makeTrapdoorKey } from "#support/groth16";
import { listVectors } from "#support/vectors";
import {
  decompressProof,
  type G2Coordinates,
  type Groth16Proof,
  parseVerificationKey,
  SCALAR_FIELD_ORDER,
  verifyGroth16,
} from "./groth16";

const { Fp, Fp2 } = bn254.fields;
const { key, prove } = makeTrapdoorKey(3);
const inputs = [5n, 0n, SCALAR_FIELD_ORDER - 1n];
const proof = prove(inputs);

describe("verifyGroth16", () => {
  it("accepts a proof of these inputs and of no others", () => {
    expect(verifyGroth16(key, proof, inputs)).toEqual({ ok: true });
    for (const i of inputs.keys()) {
      const changed = inputs.map((input, j) => (i === j ? (input + 1n) % SCALAR_FIELD_ORDER : input));
      expect(verifyGroth16(key, proof, changed)).toEqual({ ok: false, reason: "pairing_failed" });
    }
  });

  it("refuses a changed point", () => {
    const other = { ok: false, reason: "pairing_failed" };
    expect(verifyGroth16(key, { ...proof, a: g1(31n) }, inputs)).toEqual(other);
    expect(verifyGroth16(key, { ...proof, b: g2(31n) }, inputs)).toEqual(other);
    expect(verifyGroth16(key, { ...proof, c: g1(31n) }, inputs)).toEqual(other);
  });

  it("accepts (−A, −B, C): proof bytes are no identity, so nobody may deduplicate by them", () => {
    const flipped: Groth16Proof = {
      a: [proof.a[0], Fp.neg(proof.a[1])],
      b: [proof.b[0], [Fp.neg(proof.b[1][0]), Fp.neg(proof.b[1][1])]],
      c: proof.c,
    };
    expect(flipped).not.toEqual(proof);
    expect(verifyGroth16(key, flipped, inputs)).toEqual({ ok: true });
  });

  it("refuses inputs at or over the field's order instead of reducing them", () => {
    expect(verifyGroth16(key, proof, [5n + SCALAR_FIELD_ORDER, ...inputs.slice(1)])).toEqual({
      ok: false,
      reason: "input_out_of_range",
    });
    expect(verifyGroth16(key, proof, [-1n, ...inputs.slice(1)])).toMatchObject({ ok: false });
  });

  it("refuses coordinates at or over p, points off the curve, infinity and G2 points of another order", () => {
    const malformed = { ok: false, reason: "malformed_point" };
    const offSubgroup = pointOutsideSubgroup();
    for (const bad of [
      { ...proof, a: [proof.a[0] + Fp.ORDER, proof.a[1]] },
      { ...proof, a: [proof.a[0], proof.a[1] + 1n] },
      { ...proof, a: [0n, 0n] },
      { ...proof, c: [proof.c[0], proof.c[1] + Fp.ORDER] },
      { ...proof, b: [[proof.b[0][0] + Fp.ORDER, proof.b[0][1]], proof.b[1]] },
      { ...proof, b: [[proof.b[0][1], proof.b[0][0]], proof.b[1]] },
      { ...proof, b: offSubgroup },
    ] as Groth16Proof[]) {
      expect(verifyGroth16(key, bad, inputs)).toEqual(malformed);
    }
  });

  it("throws where the caller gives the wrong number of inputs", () => {
    expect(() => verifyGroth16(key, proof, inputs.slice(1))).toThrow(RangeError);
    expect(() => verifyGroth16(key, proof, [])).toThrow(RangeError);
  });
});

describe("parseVerificationKey", () => {
  it("throws on a point outside its group", () => {
    const [x, y] = g1(2n);
    const json = {
      vk_alpha_1: [String(x), String(y + 1n)],
      vk_beta_2: g2(2n).map((part) => part.map(String)),
      vk_gamma_2: g2(2n).map((part) => part.map(String)),
      vk_delta_2: g2(2n).map((part) => part.map(String)),
      IC: [[String(x), String(y)]],
    };
    expect(() => parseVerificationKey(json)).toThrow("outside its group");
    expect(parseVerificationKey({ ...json, vk_alpha_1: [String(x), String(y), "1"] }).ic).toHaveLength(1);
    expect(() => parseVerificationKey({ ...json, vk_alpha_1: [String(x), String(y), "2"] })).toThrow();
  });
});

describe("decompressProof", () => {
  it("is the inverse of the compression, for random points", () => {
    const scalar = fc.bigInt({ min: 1n, max: SCALAR_FIELD_ORDER - 1n });
    fc.assert(
      fc.property(scalar, scalar, scalar, (a, b, c) => {
        const points = { a: g1(a), b: g2(b), c: g1(c) };
        expect(decompressProof(compressProof(points))).toEqual(points);
      }),
      { numRuns: 40 },
    );
  });

  it("refuses words that name no point", () => {
    const words = compressProof(proof);
    const offCurve = words[0] + 2n * findNonResidueStep(proof.a[0]);
    expect(decompressProof([offCurve, words[1], words[2], words[3]])).toBeUndefined();
    expect(decompressProof([(Fp.ORDER << 1n) | 1n, words[1], words[2], words[3]])).toBeUndefined();
    expect(decompressProof([words[0], Fp.ORDER, words[2], words[3]])).toBeUndefined();
    expect(decompressProof([words[0], words[1], words[2] ^ 2n, words[3]])).toBeUndefined(); // wrong hint
    expect(decompressProof([0n, 0n, 0n, 0n])).toBeUndefined(); // infinity
    expect(compressG1(g1(3n)) >> 1n).toBe(g1(3n)[0]);
  });
});

function findNonResidueStep(x: bigint): bigint {
  let step = 1n;
  while (Fp.pow(Fp.add(Fp.pow(x + step, 3n), 3n), (Fp.ORDER - 1n) / 2n) === 1n) step += 1n;
  return step;
}

/** A point of the twist whose order is not r: the twist has a cofactor, so most of its points are such. */
function pointOutsideSubgroup(): G2Coordinates {
  for (let c0 = 1n; ; c0 += 1n) {
    const x = Fp2.create({ c0, c1: 0n });
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), Fp2.div({ c0: 3n, c1: 0n }, { c0: 9n, c1: 1n }));
    try {
      const y = Fp2.sqrt(square);
      return [
        [x.c0, x.c1],
        [y.c0, y.c1],
      ];
    } catch {}
  }
}

describe("a key with 15 inputs, as World's for v4", () => {
  const own = JSON.stringify(makeTrapdoorKey(15, 31n).json);
  it.each([["of our own", own], ...listVectors("world-id/vk_v4.json")])(
    "parses and refuses a proof of another key: %s",
    (_, text) => {
      const v4 = parseVerificationKey(JSON.parse(text));
      expect(v4.ic).toHaveLength(16);
      const fifteen = Array.from({ length: 15 }, (_, i) => BigInt(i));
      const foreign = makeTrapdoorKey(15);
      expect(verifyGroth16(foreign.key, foreign.prove(fifteen), fifteen)).toEqual({ ok: true });
      expect(verifyGroth16(v4, foreign.prove(fifteen), fifteen)).toEqual({
        ok: false,
        reason: "pairing_failed",
      });
    },
  );
});
