/**
 * Ed25519 (RFC 8032) as strictly as any verifier in use: whatever passes here passes in OpenSSL, Go and
 * noble too, and no key can make two of them disagree. Needed because libraries differ on non-canonical
 * encodings and on points with a torsion part, and Node accepts one signature for every message under the
 * identity key.
 */
import { hashes, Point, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { holdsWithoutCofactor } from "#platform/ed25519";

// noble brings no hash of its own.
hashes.sha512 = sha512;

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** How verification is injected if a platform has a faster one. Must be as strict as this module's. */
export type VerifyEd25519 = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean;

/** Makes the 64-byte signature: a local key at once, a KMS later. */
export type SignEd25519 = (message: Uint8Array) => Uint8Array | Promise<Uint8Array>;

export type KeyVerdict = { ok: true } | { ok: false; problem: string };

/** Rejects public keys that make signatures ambiguous. */
export function vetPublicKey(publicKey: Uint8Array): KeyVerdict {
  if (publicKey.length !== PUBLIC_KEY_BYTES) return refuse("an Ed25519 public key has 32 bytes");
  let point: Point;
  try {
    point = Point.fromBytes(publicKey, false);
  } catch {
    return refuse("not the canonical encoding of a point on the curve");
  }
  if (point.isSmallOrder()) return refuse("a point of small order");
  if (!point.isTorsionFree()) return refuse("a point with a torsion part (mixed order)");
  return { ok: true };
}

/** Keys of agents come and go: a megabyte when full. */
const maxFitKeys = 10_000;
const fitKeys = new Set<string>();

/** Cached vetPublicKey, which takes half a millisecond; most signatures are by few keys. */
export function isFitKey(publicKey: Uint8Array): boolean {
  const name = hexEncode(publicKey);
  if (fitKeys.has(name)) return true;
  if (!vetPublicKey(publicKey).ok) return false;
  if (fitKeys.size === maxFitKeys) fitKeys.clear();
  fitKeys.add(name);
  return true;
}

/**
 * Never throws. Beyond noble's strict mode (canonical A, R and S, A not of small order) A and R must be free
 * of torsion: noble multiplies by the cofactor and others do not, and only there can they differ. Without the cofactor
 * it is enough that A is: then R is the sum of two points without torsion, or the equation doesn't hold.
 */
export function verifyEd25519Strict(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  if (signature.length !== SIGNATURE_BYTES || publicKey.length !== PUBLIC_KEY_BYTES) return false;
  const holds = holdsWithoutCofactor(signature, message, publicKey);
  if (holds !== undefined) return holds && isFitKey(publicKey);
  try {
    return (
      verify(signature, message, publicKey, { zip215: false }) &&
      Point.fromBytes(publicKey, false).isTorsionFree() &&
      Point.fromBytes(signature.subarray(0, 32), false).isTorsionFree()
    );
  } catch {
    return false;
  }
}

function refuse(problem: string): KeyVerdict {
  return { ok: false, problem };
}
