/**
 * An agent's own key pair, as an agent or a browser makes it: the private half as PKCS #8 PEM (RFC 8410), and the
 * proof that the registrant holds it. The seed comes from the caller's random source and never leaves it.
 */
import { base64Encode, concatBytes, utf8Encode } from "#lib/protocol/encoding/bytes";
import { PKCS8_PREFIX, SEED_BYTES } from "./agent-seed";
import { derivePublicKey, encodePublicKeyPem, signEd25519 } from "./ed25519";

export function possessionText(slug: string, publicKey: Uint8Array): string {
  return `countersign-key-possession:${slug}:${base64Encode(publicKey)}`;
}

export function encodePrivateKeyPem(seed: Uint8Array): string {
  if (seed.length !== SEED_BYTES) throw new RangeError("an Ed25519 seed has 32 bytes");
  const body = base64Encode(concatBytes(PKCS8_PREFIX, seed));
  return `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
}

export function derivePublicKeyPem(seed: Uint8Array): string {
  return encodePublicKeyPem(derivePublicKey(seed));
}

/** Standard base64 of the signature that goes into `proof_of_possession`. */
export function provePossession(seed: Uint8Array, slug: string): string {
  return base64Encode(signEd25519(utf8Encode(possessionText(slug, derivePublicKey(seed))), seed));
}
