/** Signing with Ed25519 (RFC 8032), apart from verification, which is all that pages load. */
import { getPublicKey, hashes, sign } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";

// noble brings no hash of its own.
hashes.sha512 = sha512;

/** `seed`: the private key of RFC 8032, 32 bytes. */
export function signEd25519(message: Uint8Array, seed: Uint8Array): Uint8Array {
  return sign(message, seed);
}

export function derivePublicKey(seed: Uint8Array): Uint8Array {
  return getPublicKey(seed);
}
