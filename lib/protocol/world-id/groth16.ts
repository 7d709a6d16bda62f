/**
 * Groth16 over BN254 (alt_bn128, EIP-196/197): the check of World ID's zero-knowledge proofs.
 * e(−A,B)·e(α,β)·e(L,γ)·e(C,δ) = 1, where L = IC₀ + Σ inputᵢ·ICᵢ₊₁.
 *
 * Every number in a proof is attacker-controlled, so nothing is reduced silently: a coordinate ≥ p or an
 * input ≥ r is refused, because x and x + p would be two spellings of one proof or one nullifier.
 */
import { bn254 } from "@noble/curves/bn254.js";

const { Fp, Fp2, Fp12, Fr } = bn254.fields;
const G1 = bn254.G1.Point;
const G2 = bn254.G2.Point;
type G1Point = InstanceType<typeof G1>;
type G2Point = InstanceType<typeof G2>;

/** r: the order of the groups and of the field that public inputs live in. */
export const SCALAR_FIELD_ORDER = Fr.ORDER;

export type G1Coordinates = readonly [x: bigint, y: bigint];
/** Affine x, y, each [real, imaginary]; the EVM's encoding has the two the other way round. */
export type G2Coordinates = readonly [x: readonly [bigint, bigint], y: readonly [bigint, bigint]];

export type Groth16Proof = { a: G1Coordinates; b: G2Coordinates; c: G1Coordinates };

export type VerificationKey = {
  alpha: G1Point;
  beta: G2Point;
  gamma: G2Point;
  delta: G2Point;
  /** Length: one more than there are public inputs. */
  ic: readonly G1Point[];
};

/** snarkjs's `verification_key.json`: decimal strings, affine or with a third coordinate of one. */
export type VerificationKeyJson = {
  vk_alpha_1: readonly string[];
  vk_beta_2: readonly (readonly string[])[];
  vk_gamma_2: readonly (readonly string[])[];
  vk_delta_2: readonly (readonly string[])[];
  IC: readonly (readonly string[])[];
};

export type Groth16Failure = "malformed_point" | "input_out_of_range" | "pairing_failed";
export type Groth16Result = { ok: true } | { ok: false; reason: Groth16Failure };

/** Throws RangeError if a point is not on its curve and in its group: a key is configuration, not evidence. */
export function parseVerificationKey(json: VerificationKeyJson): VerificationKey {
  return {
    alpha: keyPoint(g1FromCoordinates(g1FromJson(json.vk_alpha_1))),
    beta: keyPoint(g2FromCoordinates(g2FromJson(json.vk_beta_2))),
    gamma: keyPoint(g2FromCoordinates(g2FromJson(json.vk_gamma_2))),
    delta: keyPoint(g2FromCoordinates(g2FromJson(json.vk_delta_2))),
    ic: json.IC.map((point) => keyPoint(g1FromCoordinates(g1FromJson(point)))),
  };
}

/** A number of inputs that the key is not made for is our own mistake and throws RangeError. */
export function verifyGroth16(
  key: VerificationKey,
  proof: Groth16Proof,
  inputs: readonly bigint[],
): Groth16Result {
  if (inputs.length + 1 !== key.ic.length) throw new RangeError("wrong number of public inputs for this key");
  if (!inputs.every((input) => input >= 0n && input < SCALAR_FIELD_ORDER)) {
    return { ok: false, reason: "input_out_of_range" };
  }
  const a = g1FromCoordinates(proof.a);
  const b = g2FromCoordinates(proof.b);
  const c = g1FromCoordinates(proof.c);
  if (a === undefined || b === undefined || c === undefined) return { ok: false, reason: "malformed_point" };
  const pairs = [
    { g1: a.negate(), g2: b },
    { g1: key.alpha, g2: key.beta },
    { g1: combineInputs(key.ic, inputs), g2: key.gamma },
    { g1: c, g2: key.delta },
  ].filter(({ g1 }) => !g1.is0()); // e(0, Q) is one; the library refuses the point at infinity
  const product = bn254.pairingBatch(pairs);
  return Fp12.eql(product, Fp12.ONE) ? { ok: true } : { ok: false, reason: "pairing_failed" };
}

/**
 * The 2π.com BN254 compression (https://2π.com/23/bn254-compression), as World's v4 verifier contract reads
 * it: [A, B₁, B₀, C], where A and C are x·2 + sign and B₀ is the real part of x·4 + hint·2 + sign.
 * Undefined if a word does not name a point.
 */
export function decompressProof(words: readonly [bigint, bigint, bigint, bigint]): Groth16Proof | undefined {
  const a = decompressG1(words[0]);
  const b = decompressG2(words[2], words[1]);
  const c = decompressG1(words[3]);
  return a === undefined || b === undefined || c === undefined ? undefined : { a, b, c };
}

function decompressG1(word: bigint): G1Coordinates | undefined {
  const x = word >> 1n;
  if (!inBaseField(x)) return undefined;
  const root = sqrtFp(Fp.add(Fp.pow(x, 3n), 3n));
  if (root === undefined) return undefined;
  return [x, (word & 1n) === 1n ? Fp.neg(root) : root];
}

function decompressG2(realWord: bigint, imaginary: bigint): G2Coordinates | undefined {
  const real = realWord >> 2n;
  if (!inBaseField(real) || !inBaseField(imaginary)) return undefined;
  const x = Fp2.create({ c0: real, c1: imaginary });
  const root = sqrtFp2(Fp2.add(Fp2.mul(Fp2.sqr(x), x), twistB()), (realWord & 2n) === 2n);
  if (root === undefined) return undefined;
  const [y0, y1] = root;
  return [[real, imaginary], (realWord & 1n) === 1n ? [Fp.neg(y0), Fp.neg(y1)] : [y0, y1]];
}

/** p ≡ 3 (mod 4): the root that the contract's modexp gives, whose sign the compression is relative to. */
export function sqrtFp(square: bigint): bigint | undefined {
  const root = Fp.pow(square, (Fp.ORDER + 1n) / 4n);
  return Fp.eql(Fp.sqr(root), square) ? root : undefined;
}

/** The root whose real part is √((c₀ ± |square|)/2); the hint chooses the minus. */
export function sqrtFp2(square: { c0: bigint; c1: bigint }, hint: boolean): [bigint, bigint] | undefined {
  const norm = sqrtFp(Fp.add(Fp.sqr(square.c0), Fp.sqr(square.c1)));
  if (norm === undefined) return undefined;
  const real = sqrtFp(Fp.div(Fp.add(square.c0, hint ? Fp.neg(norm) : norm), 2n));
  if (real === undefined || Fp.is0(real)) return undefined;
  const imaginary = Fp.div(square.c1, Fp.add(real, real));
  const root = Fp2.create({ c0: real, c1: imaginary });
  return Fp2.eql(Fp2.sqr(root), Fp2.create(square)) ? [real, imaginary] : undefined;
}

/**
 * Checks that the points' coordinates are in the field and on their curves, for the price of a few multiplications. The
 * pairing, a thousand times as costly, checks all of it again.
 */
export function areOnCurves({ a, b, c }: Groth16Proof): boolean {
  return isOnG1(a) && isOnG2(b) && isOnG1(c);
}

function isOnG1([x, y]: G1Coordinates): boolean {
  return inBaseField(x) && inBaseField(y) && Fp.eql(Fp.sqr(y), Fp.add(Fp.pow(x, 3n), 3n));
}

function isOnG2([[x0, x1], [y0, y1]]: G2Coordinates): boolean {
  if (![x0, x1, y0, y1].every(inBaseField)) return false;
  const x = Fp2.create({ c0: x0, c1: x1 });
  const y = Fp2.create({ c0: y0, c1: y1 });
  return Fp2.eql(Fp2.sqr(y), Fp2.add(Fp2.mul(Fp2.sqr(x), x), twistB()));
}

const twistB = () => Fp2.div({ c0: 3n, c1: 0n }, { c0: 9n, c1: 1n });

function combineInputs(ic: readonly G1Point[], inputs: readonly bigint[]): G1Point {
  let sum = ic[0] ?? G1.ZERO;
  for (const [index, input] of inputs.entries()) {
    const base = ic[index + 1];
    if (base === undefined) throw new RangeError("wrong number of public inputs for this key");
    sum = sum.add(base.multiplyUnsafe(input));
  }
  return sum;
}

/** The point at infinity, which no honest prover sends, is refused with the rest. */
function g1FromCoordinates([x, y]: G1Coordinates): G1Point | undefined {
  if (!inBaseField(x) || !inBaseField(y) || (x === 0n && y === 0n)) return undefined;
  return validPoint(G1.fromAffine({ x, y }));
}

function g2FromCoordinates([x, y]: G2Coordinates): G2Point | undefined {
  if (![...x, ...y].every(inBaseField) || [...x, ...y].every((part) => part === 0n)) return undefined;
  return validPoint(
    G2.fromAffine({ x: Fp2.create({ c0: x[0], c1: x[1] }), y: Fp2.create({ c0: y[0], c1: y[1] }) }),
  );
}

/** Returns points on the curve and, for G2 whose cofactor is not one, in the subgroup of order r. */
function validPoint<P extends { assertValidity(): void }>(point: P): P | undefined {
  try {
    point.assertValidity();
    return point;
  } catch {
    return undefined;
  }
}

function inBaseField(value: bigint): boolean {
  return value >= 0n && value < Fp.ORDER;
}

function keyPoint<P>(point: P | undefined): P {
  if (point === undefined) throw new RangeError("the verification key has a point outside its group");
  return point;
}

function g1FromJson([x, y, z = "1"]: readonly string[]): G1Coordinates {
  if (x === undefined || y === undefined || z !== "1") throw new RangeError("not an affine point");
  return [BigInt(x), BigInt(y)];
}

function g2FromJson([x, y, z = ["1", "0"]]: readonly (readonly string[])[]): G2Coordinates {
  const [x0, x1, y0, y1] = [x?.[0], x?.[1], y?.[0], y?.[1]];
  if (
    x0 === undefined ||
    x1 === undefined ||
    y0 === undefined ||
    y1 === undefined ||
    z[0] !== "1" ||
    z[1] !== "0"
  ) {
    throw new RangeError("not an affine point");
  }
  return [
    [BigInt(x0), BigInt(x1)],
    [BigInt(y0), BigInt(y1)],
  ];
}
