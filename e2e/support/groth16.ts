/**
 * For tests only: a Groth16 key whose secret exponents are known, so that a test can make a valid proof of
 * any public inputs, and the compression that is the inverse of `decompressProof`. Nobody's proof of
 * personhood: with the exponents of a real key anyone could forge, which is why ceremonies destroy them.
 */
import { bn254 } from "@noble/curves/bn254.js";
import {
  type G1Coordinates,
  type G2Coordinates,
  type Groth16Proof,
  parseVerificationKey,
  sqrtFp,
  sqrtFp2,
  type VerificationKey,
  type VerificationKeyJson,
} from "#lib/protocol/world-id/groth16";

const { Fp, Fp2, Fr } = bn254.fields;

export type TrapdoorKey = {
  key: VerificationKey;
  json: VerificationKeyJson;
  prove(inputs: readonly bigint[]): Groth16Proof;
};

/** `alpha`: another one makes another key. */
export function makeTrapdoorKey(inputCount: number, alpha = 11n): TrapdoorKey {
  const [beta, gamma, delta] = [13n, 17n, 19n];
  const ic = Array.from({ length: inputCount + 1 }, (_, i) => 101n + BigInt(i) * 7n);
  const json = {
    vk_alpha_1: g1(alpha).map(String),
    vk_beta_2: g2(beta).map((part) => part.map(String)),
    vk_gamma_2: g2(gamma).map((part) => part.map(String)),
    vk_delta_2: g2(delta).map((part) => part.map(String)),
    IC: ic.map((scalar) => g1(scalar).map(String)),
  };
  const key = parseVerificationKey(json);
  const prove = (inputs: readonly bigint[]): Groth16Proof => {
    const l = inputs.reduce((sum, input, i) => Fr.add(sum, Fr.mul(input, ic[i + 1] ?? 0n)), ic[0] ?? 0n);
    const [a, b] = [23n, 29n];
    const c = Fr.div(Fr.sub(Fr.sub(Fr.mul(a, b), Fr.mul(alpha, beta)), Fr.mul(l, gamma)), delta);
    return { a: g1(a), b: g2(b), c: g1(c) };
  };
  return { key, json, prove };
}

export function compressProof({ a, b, c }: Groth16Proof): [bigint, bigint, bigint, bigint] {
  const [b0, b1] = compressG2(b);
  return [compressG1(a), b1, b0, compressG1(c)];
}

export function compressG1([x, y]: G1Coordinates): bigint {
  const root = sqrtFp(Fp.add(Fp.pow(x, 3n), 3n));
  return (x << 1n) | (y === root ? 0n : 1n);
}

export function compressG2([x, y]: G2Coordinates): [bigint, bigint] {
  const point = Fp2.create({ c0: x[0], c1: x[1] });
  const square = Fp2.add(Fp2.mul(Fp2.sqr(point), point), Fp2.div({ c0: 3n, c1: 0n }, { c0: 9n, c1: 1n }));
  const norm = sqrtFp(Fp.add(Fp.sqr(square.c0), Fp.sqr(square.c1)));
  if (norm === undefined) throw new RangeError("not on the curve");
  const hint = sqrtFp(Fp.div(Fp.add(square.c0, norm), 2n)) === undefined;
  const root = sqrtFp2(square, hint);
  if (root === undefined) throw new RangeError("not on the curve");
  const sign = root[0] === y[0] && root[1] === y[1] ? 0n : 1n;
  return [(x[0] << 2n) | (hint ? 2n : 0n) | sign, x[1]];
}

export function g1(scalar: bigint): G1Coordinates {
  const { x, y } = bn254.G1.Point.BASE.multiply(scalar).toAffine();
  return [x, y];
}

export function g2(scalar: bigint): G2Coordinates {
  const { x, y } = bn254.G2.Point.BASE.multiply(scalar).toAffine();
  return [
    [x.c0, x.c1],
    [y.c0, y.c1],
  ];
}
