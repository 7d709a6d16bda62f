/**
 * Checks of World's nodes before they help to make a nullifier: the registered RP must have asked for this action, now
 * and once. Errors carry the codes that IDKit knows.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { z } from "zod";
import { concatBytes, hexDecode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { actionField, hashSignal, parseFieldElement, wordHex } from "#lib/protocol/world-id/world-id-proof";

const CLOCK_SKEW_SECONDS = 300;
const MAX_TTL_SECONDS = 1800;
const MAX_NONCES = 10_000;

const seconds = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const word = z.string().regex(/^0x[0-9a-f]{64}$/);

/** `proof_request` of IDKit's request; fields that the stand-in has no use for are let through. */
export const proofRequestSchema = z.object({
  created_at: seconds,
  expires_at: seconds,
  rp_id: z.string(),
  action: word,
  nonce: word,
  signature: z.string().regex(/^0x[0-9a-f]{130}$/),
  proof_requests: z.array(z.object({ identifier: z.string(), signal: z.string().nullish() })).min(1),
});
export type SignedProofRequest = z.infer<typeof proofRequestSchema>;

export type RpRefusal =
  | "unknown_rp"
  | "malformed_request"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_far_in_future"
  | "rp_signature_expired"
  | "invalid_rp_signature"
  | "duplicate_nonce";

export interface RegisteredRp {
  rp_id: string;
  /** 20 bytes, hex with 0x. Asked for with each signature, because a start has better things to do than to compute it. */
  signer: () => string;
}

export type RpChecker = (
  proofRequest: SignedProofRequest,
  action: string,
  signalHash: string,
) => RpRefusal | undefined;

export function rpAddress(signingKeyHex: string): string {
  const publicKey = secp256k1.getPublicKey(hexDecode(signingKeyHex.replace(/^0x/, "").toLowerCase()), false);
  return toAddress(publicKey);
}

export function createRpChecker(rp: RegisteredRp, now: () => number = Date.now): RpChecker {
  const nonces = new Map<string, number>();
  return (proofRequest, action, signalHash) => {
    const nowSeconds = Math.floor(now() / 1000);
    const refusal =
      checkMeaning(proofRequest, action, signalHash) ??
      checkTimes(proofRequest, nowSeconds) ??
      checkSigner(proofRequest, rp);
    if (refusal !== undefined) return refusal;
    for (const [nonce, expiresAt] of nonces) if (expiresAt < nowSeconds) nonces.delete(nonce);
    if (nonces.has(proofRequest.nonce) || nonces.size >= MAX_NONCES) return "duplicate_nonce";
    nonces.set(proofRequest.nonce, proofRequest.expires_at);
    return undefined;
  };
}

function checkMeaning(
  request: SignedProofRequest,
  action: string,
  signalHash: string,
): RpRefusal | undefined {
  const signals = request.proof_requests.map(({ signal }) => wordHex(hashSignal(signal ?? "")));
  const isSame = request.action === wordHex(actionField(action)) && signals.includes(signalHash);
  return isSame && parseFieldElement(request.nonce) !== undefined ? undefined : "malformed_request";
}

function checkTimes(
  { created_at, expires_at }: SignedProofRequest,
  nowSeconds: number,
): RpRefusal | undefined {
  if (expires_at <= created_at || expires_at > created_at + MAX_TTL_SECONDS) return "invalid_timestamp";
  if (created_at > nowSeconds + CLOCK_SKEW_SECONDS) return "timestamp_too_far_in_future";
  if (expires_at <= nowSeconds) return "rp_signature_expired";
  if (created_at < nowSeconds - CLOCK_SKEW_SECONDS) return "timestamp_too_old";
  return undefined;
}

function checkSigner(request: SignedProofRequest, rp: RegisteredRp): RpRefusal | undefined {
  if (request.rp_id !== rp.rp_id) return "unknown_rp";
  return recoverSigner(request) === rp.signer() ? undefined : "invalid_rp_signature";
}

/** 0x01 ‖ nonce ‖ created_at ‖ expires_at ‖ action, signed as an Ethereum personal message (EIP-191). */
function recoverSigner(request: SignedProofRequest): string | undefined {
  const message = concatBytes(
    Uint8Array.of(1),
    hexDecode(request.nonce.slice(2)),
    u64(request.created_at),
    u64(request.expires_at),
    hexDecode(request.action.slice(2)),
  );
  const digest = keccak_256(
    concatBytes(utf8Encode(`\x19Ethereum Signed Message:\n${message.length}`), message),
  );
  const signature = hexDecode(request.signature.slice(2));
  const v = signature[64] ?? 0;
  try {
    const recovered = concatBytes(Uint8Array.of(v - 27), signature.subarray(0, 64));
    const publicKey = secp256k1.recoverPublicKey(recovered, digest, { prehash: false });
    return toAddress(secp256k1.Point.fromBytes(publicKey).toBytes(false));
  } catch {
    return undefined;
  }
}

function toAddress(uncompressed: Uint8Array): string {
  return `0x${hexEncode(keccak_256(uncompressed.subarray(1)).subarray(12))}`;
}

function u64(value: number): Uint8Array {
  return hexDecode(BigInt(value).toString(16).padStart(16, "0"));
}
