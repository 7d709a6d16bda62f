/**
 * Ed25519 (RFC 8032) as strictly as any verifier in use: whatever passes here passes in OpenSSL, Go and
 * noble too, and no key can make two of them disagree. Needed because libraries differ on non-canonical
 * encodings and on points with a torsion part, and Node accepts one signature for every message under the
 * identity key.
 */
import { getPublicKey, hashes, Point, sign, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
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
import { holdsWithoutCofactor } from "#platform/ed25519";

// noble brings no hash of its own.
hashes.sha512 = sha512;

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** Injects verification where a platform has a faster one. Must be as strict as this module's. */
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

/*
 * The names and texts of an Ed25519 public key: PEM (RFC 8410), JWK and thumbprint (RFC 8037, RFC 7638),
 * our `key_id`, and the SSH fingerprint that DSSE verifiers take as `keyid`.
 */

/** SubjectPublicKeyInfo { algorithm { 1.3.101.112 }, BIT STRING } up to the key itself. */
const SPKI_PREFIX = hexDecode("302a300506032b6570032100");
const SSH_KEY_TYPE = "ssh-ed25519";

export type Ed25519Jwk = { kty: "OKP"; crv: "Ed25519"; x: string };

export type ParsedPublicKey = { ok: true; publicKey: Uint8Array } | { ok: false; problem: string };

/** The DER of SubjectPublicKeyInfo, 44 bytes. */
export function encodePublicKeySpki(publicKey: Uint8Array): Uint8Array {
  return concatBytes(SPKI_PREFIX, requireLength(publicKey));
}

/** Encodes with a final newline, like OpenSSL. */
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
  if (!bytesEqual(lastNamed.publicKey, publicKey)) {
    const wire = concatBytes(sshString(utf8Encode(SSH_KEY_TYPE)), sshString(requireLength(publicKey)));
    const id = `SHA256:${base64Encode(sha256(wire)).replace(/=+$/, "")}`;
    lastNamed = { publicKey: publicKey.slice(), id };
  }
  return lastNamed.id;
}

/** Cache of one: a single key signs most receipts. */
let lastNamed = { publicKey: new Uint8Array(), id: "" };

/** Encodes lengths below 256. */
function sshString(bytes: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(0, 0, 0, bytes.length), bytes);
}

function requireLength(publicKey: Uint8Array): Uint8Array {
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError("an Ed25519 public key has 32 bytes");
  return publicKey;
}

/* Signing with a seed: the private key of RFC 8032, 32 bytes. */

export function signEd25519(message: Uint8Array, seed: Uint8Array): Uint8Array {
  return sign(message, seed);
}

export function derivePublicKey(seed: Uint8Array): Uint8Array {
  return getPublicKey(seed);
}

export function derivePublicKeyPem(seed: Uint8Array): string {
  return encodePublicKeyPem(derivePublicKey(seed));
}

export function possessionText(slug: string, publicKey: Uint8Array): string {
  return `countersign-key-possession:${slug}:${base64Encode(publicKey)}`;
}

/** The signature that goes into `proof_of_possession`, in standard base64. */
export function provePossession(seed: Uint8Array, slug: string): string {
  return base64Encode(signEd25519(utf8Encode(possessionText(slug, derivePublicKey(seed))), seed));
}
