/**
 * An agent's private key: its PKCS #8 PEM (RFC 8410), and signatures without noble's own SHA-512, because the platform's is
 * in every runtime. The seed comes from the caller's random source and never leaves it.
 */
import { signAsync } from "@noble/ed25519";
import { base64Decode, base64Encode, bytesEqual, concatBytes, hexDecode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";

/** PrivateKeyInfo { version 0, algorithm { 1.3.101.112 }, OCTET STRING { OCTET STRING … } } up to the seed itself. */
const PKCS8_PREFIX = hexDecode("302e020100300506032b657004220420");
export const SEED_BYTES = 32;

export const signWithSeed = (message: Uint8Array, seed: Uint8Array): Promise<Uint8Array> =>
  signAsync(message, seed);

export function encodePrivateKeyPem(seed: Uint8Array): string {
  if (seed.length !== SEED_BYTES) throw new RangeError("an Ed25519 seed has 32 bytes");
  const body = base64Encode(concatBytes(PKCS8_PREFIX, seed));
  return `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
}

/** The seed in what `encodePrivateKeyPem` and OpenSSL write; throws RangeError for every other kind of key. */
export function decodePrivateKeyPem(pem: string): Uint8Array {
  const match = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/.exec(pem);
  const der = base64Decode((match?.[1] ?? "").replaceAll(/\s/g, ""));
  const prefix = der.subarray(0, PKCS8_PREFIX.length);
  if (der.length !== PKCS8_PREFIX.length + SEED_BYTES || !bytesEqual(prefix, PKCS8_PREFIX))
    throw new RangeError("not the PEM of an Ed25519 private key");
  return der.slice(PKCS8_PREFIX.length);
}

/**
 * The request body without nulls and `agent_signature`, `human_authorization` by its hash. Its canonical
 * bytes are what `agent_signature` signs.
 */
export function signedRequest(body: JsonObject): JsonObject {
  const request: JsonObject = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || name === "agent_signature") continue;
    if (name === "human_authorization") request["human_authorization_hash"] = canonicalHash(value);
    else request[name] = value;
  }
  return request;
}
