/**
 * World ID proofs, versions 3 and 4: the hashes that bind them to a request, and their one canonical spelling. The check of
 * the zero-knowledge proof itself is in check-world-proof.ts.
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes, hexDecode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";

export type ProtocolVersion = "3.0" | "4.0";
export type RequiredLevel = "device" | "orb";
/** World's name of the credential: `proof_of_human` (v4, issuer 1) is what an Orb issues, as `orb` is in v3. */
export type ApprovalLevel = "device" | "orb" | "proof_of_human";

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

/** Keys that only the chain knows; [x, y] on Baby Jubjub, as 0x and 64 hex digits. */
export interface V4Keys {
  issuer_public_key: readonly [string, string];
  oprf_public_key: readonly [string, string];
}

/** keccak-256 without its last byte, so that it is below the field's order. */
export function hashToField(bytes: Uint8Array): bigint {
  return BigInt(`0x${hexEncode(keccak_256(bytes))}`) >> 8n;
}

/** Hashes like IDKit: `0x` and an even number of hex digits are bytes, anything else is text. */
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

/** BN254's r, where public inputs live. Written out, because its curve takes a start long to load. */
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;

/** Like parseWord, and below the field's order: n and n + r would be two names for one human. */
export function parseFieldElement(text: string): bigint | undefined {
  const value = parseWord(text);
  return value !== undefined && value < FIELD_ORDER ? value : undefined;
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
