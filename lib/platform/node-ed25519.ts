/** Ed25519 where there is Node (OpenSSL), in a thirtieth of noble's time. The other half of `#platform/ed25519` is portable.ts. */
import crypto, { type KeyObject } from "node:crypto";

/** Keys of agents come and go: two megabytes when full. */
const maxKeys = 1_000;
const keys = new Map<string, KeyObject>();

/** Imports a JWK: OpenSSL takes as long to read a key from DER as to verify. */
function importKey(publicKey: Uint8Array): KeyObject {
  const { buffer, byteOffset, byteLength } = publicKey;
  const x = Buffer.from(buffer, byteOffset, byteLength).toString("base64url");
  const known = keys.get(x);
  if (known !== undefined) return known;
  const key = crypto.createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  if (keys.size === maxKeys) keys.clear();
  keys.set(x, key);
  return key;
}

/**
 * Checks RFC 8032's equation without the cofactor; R and S must be canonical, and a key may be any point. Undefined if OpenSSL
 * has no Ed25519 (as in its FIPS mode).
 */
export function holdsWithoutCofactor(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): boolean | undefined {
  try {
    return crypto.verify(null, message, importKey(publicKey), signature);
  } catch {
    return undefined;
  }
}
