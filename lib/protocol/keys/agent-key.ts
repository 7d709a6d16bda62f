/**
 * An agent's own key pair, as an agent or a browser makes it: the private half as PKCS #8 PEM (RFC 8410), and the
 * proof that the registrant holds it. The seed comes from the caller's random source and never leaves it.
 */
import { signAsync } from "@noble/ed25519";
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  concatBytes,
  hexDecode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { derivePublicKey, encodePublicKeyPem, signEd25519 } from "./ed25519";

/* Signs from an agent's seed without noble's own SHA-512: the platform's is in every runtime. */

/** PrivateKeyInfo { version 0, algorithm { 1.3.101.112 }, OCTET STRING { OCTET STRING … } } up to the seed itself. */
const PKCS8_PREFIX = hexDecode("302e020100300506032b657004220420");
export const SEED_BYTES = 32;

export const signWithSeed = (message: Uint8Array, seed: Uint8Array): Promise<Uint8Array> =>
  signAsync(message, seed);

/** The seed in what `encodePrivateKeyPem` and OpenSSL write; throws RangeError for every other kind of key. */
export function decodePrivateKeyPem(pem: string): Uint8Array {
  const match = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/.exec(pem);
  const der = base64Decode((match?.[1] ?? "").replaceAll(/\s/g, ""));
  const prefix = der.subarray(0, PKCS8_PREFIX.length);
  if (der.length !== PKCS8_PREFIX.length + SEED_BYTES || !bytesEqual(prefix, PKCS8_PREFIX))
    throw new RangeError("not the PEM of an Ed25519 private key");
  return der.slice(PKCS8_PREFIX.length);
}

/** The text that `proof_of_possession` signs. */
export function possessionText(slug: string, publicKey: Uint8Array): string {
  return `countersign-key-possession:${slug}:${base64Encode(publicKey)}`;
}

/** With a final newline, as OpenSSL writes it. */
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
