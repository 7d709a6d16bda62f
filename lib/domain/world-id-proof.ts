/**
 * World ID proofs, versions 3 and 4: the hashes that bind them to a request, their one canonical spelling,
 * and the check of the zero-knowledge proof itself.
 *
 * A valid pairing alone is not personhood: anyone can grow a tree of their own under the real key. Whether the
 * root is World's is answered elsewhere (World's portal, the chain), and for v3 the root also decides the level.
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes, hexDecode, hexEncode, utf8Encode } from "./bytes";
import {
  areOnCurves,
  decompressProof,
  type Groth16Proof,
  SCALAR_FIELD_ORDER,
  type VerificationKey,
  verifyGroth16,
} from "./groth16";

export type ProtocolVersion = "3.0" | "4.0";
export type RequiredLevel = "device" | "orb";
/** World's name of the credential: `proof_of_human` (v4, issuer 1) is what an Orb issues, as `orb` is in v3. */
export type ApprovalLevel = "device" | "orb" | "proof_of_human";

/** Depth of World's v4 tree, a public input of its circuit. */
const V4_TREE_DEPTH = 30n;
export const PROOF_OF_HUMAN_ISSUER = 1;

interface ProofCommon {
  app_id: string;
  rp_id: string;
  /** 0x and 64 hex digits, as all numbers here. */
  nonce: string;
  nullifier_hash: string;
  merkle_root: string;
}

export interface WorldProofV3 extends ProofCommon {
  protocol_version: "3.0";
  level: "device" | "orb";
  /** 0x and 512 hex digits: eight uint256, as the EVM takes them. */
  proof: string;
}

export interface WorldProofV4 extends ProofCommon {
  protocol_version: "4.0";
  level: "proof_of_human";
  issuer_schema_id: number;
  /** Unix seconds. */
  expires_at_min: number;
  /** Four compressed words and the root again. */
  proof: string[];
}

export type WorldProof = WorldProofV3 | WorldProofV4;

/** What only the chain knows; [x, y] on Baby Jubjub, as 0x and 64 hex digits. */
export interface V4Keys {
  issuer_public_key: readonly [string, string];
  oprf_public_key: readonly [string, string];
}

export type ProofFailure =
  | "malformed_proof"
  | "nullifier_out_of_range"
  | "root_mismatch"
  | "wrong_issuer"
  | "pairing_failed";
export type ProofCheck = { ok: true } | { ok: false; reason: ProofFailure };

/** keccak-256 without its last byte, so that it is below the field's order. */
export function hashToField(bytes: Uint8Array): bigint {
  return BigInt(`0x${hexEncode(keccak_256(bytes))}`) >> 8n;
}

/** As IDKit does: `0x` and an even number of hex digits are hashed as bytes, anything else as text. */
export function hashSignal(signal: string): bigint {
  const isHex = /^0x(?:[0-9a-fA-F]{2})+$/.test(signal);
  return hashToField(isHex ? hexDecode(signal.slice(2).toLowerCase()) : utf8Encode(signal));
}

/** v3's fourth public input. */
export function externalNullifier(appId: string, action: string): bigint {
  const app = hashToField(utf8Encode(appId));
  return hashToField(concatBytes(hexDecode(wordHex(app).slice(2)), utf8Encode(action)));
}

/** v4's tenth public input. */
export function actionField(action: string): bigint {
  return hashToField(utf8Encode(action));
}

/** 0x and 64 lower-case hex digits: the only spelling of a number that is stored or compared. */
export function wordHex(value: bigint): string {
  if (value < 0n || value >> 256n !== 0n) throw new RangeError("not a uint256");
  return `0x${value.toString(16).padStart(64, "0")}`;
}

/** A uint256 in hex with 0x or in decimal (IDKit's v4 proofs); undefined otherwise. */
export function parseWord(text: string): bigint | undefined {
  if (!/^(?:0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >> 256n === 0n ? value : undefined;
}

/** As parseWord, and below the field's order: n and n + r would be two names for one human. */
export function parseFieldElement(text: string): bigint | undefined {
  const value = parseWord(text);
  return value !== undefined && value < SCALAR_FIELD_ORDER ? value : undefined;
}

/** `rp_` and 16 hex digits: a u64 on chain. */
export function parseRpId(rpId: string): bigint | undefined {
  return /^rp_[0-9a-f]{1,16}$/.test(rpId) ? BigInt(`0x${rpId.slice(3)}`) : undefined;
}

export function isLevelSufficient(level: ApprovalLevel, required: RequiredLevel): boolean {
  return required === "device" || level !== "device";
}

/** World's own tolerance between two clocks. */
const CLOCK_SKEW_SECONDS = 300;

/**
 * v4 proves that the credential was valid until at least `expires_at_min`, which wallets set to when the RP asked: an
 * earlier time would be met by one that has expired. v3's credentials have no end.
 */
export function isCredentialCurrent(proof: WorldProof, requestCreatedAt: string): boolean {
  const askedSeconds = Math.floor(Date.parse(requestCreatedAt) / 1000);
  return proof.protocol_version === "3.0" || proof.expires_at_min >= askedSeconds - CLOCK_SKEW_SECONDS;
}

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

/** `key`: World's v4 key, from the settings; `keys`: from the chain. */
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
