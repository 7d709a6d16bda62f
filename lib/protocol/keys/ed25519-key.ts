/**
 * The names and texts of an Ed25519 public key: PEM (RFC 8410), JWK and thumbprint (RFC 8037, RFC 7638),
 * our `key_id`, and the SSH fingerprint that DSSE verifiers take as `keyid`.
 */
import {
  base64Decode,
  base64Encode,
  base64UrlEncode,
  bytesEqual,
  concatBytes,
  hexDecode,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { PUBLIC_KEY_BYTES, vetPublicKey } from "./ed25519";

/** SubjectPublicKeyInfo { algorithm { 1.3.101.112 }, BIT STRING } up to the key itself. */
const SPKI_PREFIX = hexDecode("302a300506032b6570032100");
const SSH_KEY_TYPE = "ssh-ed25519";

export type Ed25519Jwk = { kty: "OKP"; crv: "Ed25519"; x: string };

export type ParsedPublicKey = { ok: true; publicKey: Uint8Array } | { ok: false; problem: string };

/** The DER of SubjectPublicKeyInfo, 44 bytes. */
export function encodePublicKeySpki(publicKey: Uint8Array): Uint8Array {
  return concatBytes(SPKI_PREFIX, requireLength(publicKey));
}

/** With a final newline, as OpenSSL writes it. */
export function encodePublicKeyPem(publicKey: Uint8Array): string {
  const body = base64Encode(encodePublicKeySpki(publicKey));
  return `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`;
}

/** PEM or base64 of the raw 32 bytes, as an agent registers it; a key that {@link vetPublicKey} refuses is no key. */
export function parsePublicKey(text: string): ParsedPublicKey {
  let publicKey: Uint8Array;
  try {
    publicKey = text.includes("-----") ? decodePublicKeyPem(text) : base64Decode(text.trim());
  } catch {
    return { ok: false, problem: "neither a PEM Ed25519 public key nor base64 of its 32 bytes" };
  }
  const verdict = vetPublicKey(publicKey);
  return verdict.ok ? { ok: true, publicKey } : verdict;
}

/** Takes CRLF and any line length; throws RangeError for every other kind of key or text around it. */
export function decodePublicKeyPem(pem: string): Uint8Array {
  const match = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem);
  const der = base64Decode((match?.[1] ?? "").replaceAll(/\s/g, ""));
  const prefix = der.subarray(0, SPKI_PREFIX.length);
  if (der.length !== SPKI_PREFIX.length + PUBLIC_KEY_BYTES || !bytesEqual(prefix, SPKI_PREFIX)) {
    throw new RangeError("not the PEM of an Ed25519 public key");
  }
  return der.slice(SPKI_PREFIX.length);
}

/** First 16 hex digits of SHA-256 over the raw key. */
export function computeKeyId(publicKey: Uint8Array): string {
  return hexEncode(sha256(requireLength(publicKey))).slice(0, 16);
}

export function encodePublicKeyJwk(publicKey: Uint8Array): Ed25519Jwk {
  return { kty: "OKP", crv: "Ed25519", x: base64UrlEncode(requireLength(publicKey)) };
}

/** RFC 7638: the `kid` in our JWKS. */
export function computeJwkThumbprint(publicKey: Uint8Array): string {
  return base64UrlEncode(sha256(canonicalBytes(encodePublicKeyJwk(publicKey))));
}

/** `SHA256:<base64 without padding>`, as `ssh-keygen -lf` prints it. */
export function computeDsseKeyId(publicKey: Uint8Array): string {
  const wire = concatBytes(sshString(utf8Encode(SSH_KEY_TYPE)), sshString(requireLength(publicKey)));
  return `SHA256:${base64Encode(sha256(wire)).replace(/=+$/, "")}`;
}

/** For lengths below 256. */
function sshString(bytes: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(0, 0, 0, bytes.length), bytes);
}

function requireLength(publicKey: Uint8Array): Uint8Array {
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError("an Ed25519 public key has 32 bytes");
  return publicKey;
}
