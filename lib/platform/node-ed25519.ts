/** Ed25519 where there is Node (OpenSSL), in a thirtieth of noble's time. The other half of `#platform/ed25519` is portable-ed25519.ts. */
import crypto from "node:crypto";

/**
 * By RFC 8032's equation without the cofactor; R and S must be canonical, and a key may be any point. Undefined if OpenSSL
 * has no Ed25519 (as in its FIPS mode).
 */
export function holdsWithoutCofactor(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): boolean | undefined {
  const x = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.byteLength).toString("base64url");
  try {
    // As a JWK: OpenSSL takes as long as for the verification to read a key from DER.
    return crypto.verify(null, message, { key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }, signature);
  } catch {
    return undefined;
  }
}
