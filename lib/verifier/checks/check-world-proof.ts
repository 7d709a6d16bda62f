/**
 * The check of World ID's zero-knowledge proofs, versions 3 and 4.
 *
 * A valid pairing alone is not personhood: anyone can grow a tree of their own under the real key. Whether the
 * root is World's is answered elsewhere (World's portal, the chain), and for v3 the root also decides the level.
 */
import {
  areOnCurves,
  decompressProof,
  type Groth16Proof,
  type VerificationKey,
  verifyGroth16,
} from "#lib/protocol/world-id/groth16";
import {
  actionField,
  externalNullifier,
  PROOF_OF_HUMAN_ISSUER,
  parseFieldElement,
  parseRpId,
  parseWord,
  type V4Keys,
  type WorldProof,
  type WorldProofV3,
  type WorldProofV4,
} from "#lib/protocol/world-id/world-id-proof";

/** Depth of World's v4 tree, a public input of its circuit. */
const V4_TREE_DEPTH = 30n;

export type ProofFailure =
  | "malformed_proof"
  | "nullifier_out_of_range"
  | "root_mismatch"
  | "wrong_issuer"
  | "pairing_failed";
export type ProofCheck = { ok: true } | { ok: false; reason: ProofFailure };

/** `key`: the Semaphore key of the environment. */
export function checkProofV3(
  world: WorldProofV3,
  action: string,
  signalHash: bigint,
  key: VerificationKey,
): ProofCheck {
  const proof = decodeProofV3(world.proof);
  const root = parseFieldElement(world.merkle_root);
  const nullifier = parseFieldElement(world.nullifier_hash);
  if (nullifier === undefined) return { ok: false, reason: "nullifier_out_of_range" };
  if (proof === undefined || root === undefined) return { ok: false, reason: "malformed_proof" };
  const inputs = [root, nullifier, signalHash, externalNullifier(world.app_id, action)];
  return pairingVerdict(key, proof, inputs);
}

export function checkProofV4(
  world: WorldProofV4,
  action: string,
  signalHash: bigint,
  key: VerificationKey,
  keys: V4Keys,
): ProofCheck {
  if (world.issuer_schema_id !== PROOF_OF_HUMAN_ISSUER) return { ok: false, reason: "wrong_issuer" };
  if (world.proof[4] !== world.merkle_root) return { ok: false, reason: "root_mismatch" };
  if (parseFieldElement(world.nullifier_hash) === undefined) {
    return { ok: false, reason: "nullifier_out_of_range" };
  }
  const proof = decodeProofV4(world.proof);
  const inputs = publicInputsV4(world, action, signalHash, keys);
  if (proof === undefined || inputs === undefined) return { ok: false, reason: "malformed_proof" };
  return pairingVerdict(key, proof, inputs);
}

/** False if the pairing would refuse the proof as malformed: known for a hundredth of its price. */
export function isWellFormed(world: WorldProof): boolean {
  const proof = world.protocol_version === "3.0" ? decodeProofV3(world.proof) : decodeProofV4(world.proof);
  return proof !== undefined && areOnCurves(proof);
}

/** The order of `component main` in World's circuit; undefined if a text is not a field element. */
export function publicInputsV4(
  world: WorldProofV4,
  action: string,
  signalHash: bigint,
  keys: V4Keys,
): bigint[] | undefined {
  const inputs = [
    parseFieldElement(world.nullifier_hash),
    BigInt(world.issuer_schema_id),
    parseFieldElement(keys.issuer_public_key[0]),
    parseFieldElement(keys.issuer_public_key[1]),
    BigInt(world.expires_at_min),
    0n, // the earliest time of issue: our requests name none
    parseFieldElement(world.merkle_root),
    V4_TREE_DEPTH,
    parseRpId(world.rp_id),
    actionField(action),
    parseFieldElement(keys.oprf_public_key[0]),
    parseFieldElement(keys.oprf_public_key[1]),
    signalHash,
    parseFieldElement(world.nonce),
    0n, // session id: our requests ask for none, so a proof that is bound to one does not verify
  ];
  return inputs.every((input) => input !== undefined) ? inputs : undefined;
}

function pairingVerdict(key: VerificationKey, proof: Groth16Proof, inputs: readonly bigint[]): ProofCheck {
  const result = verifyGroth16(key, proof, inputs);
  if (result.ok) return { ok: true };
  return { ok: false, reason: result.reason === "pairing_failed" ? "pairing_failed" : "malformed_proof" };
}

/** [Ax, Ay, Bx₁, Bx₀, By₁, By₀, Cx, Cy] */
function decodeProofV3(hex: string): Groth16Proof | undefined {
  if (!/^0x[0-9a-f]{512}$/.test(hex)) return undefined;
  const word = (i: number) => BigInt(`0x${hex.slice(2 + i * 64, 66 + i * 64)}`);
  return {
    a: [word(0), word(1)],
    b: [
      [word(3), word(2)],
      [word(5), word(4)],
    ],
    c: [word(6), word(7)],
  };
}

function decodeProofV4(words: readonly string[]): Groth16Proof | undefined {
  const [a, b1, b0, c] = words.map(parseWord);
  if (words.length !== 5 || a === undefined || b1 === undefined || b0 === undefined || c === undefined) {
    return undefined;
  }
  return decompressProof([a, b1, b0, c]);
}
