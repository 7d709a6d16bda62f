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
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { zkKeyId } from "#lib/protocol/presentation/disclosure";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import { KEY_EVENT_PREDICATE, parseCanonical, STATEMENT_TYPE } from "#lib/protocol/statement/statement";
import { derivePublicKey, encodePublicKeyPem, signEd25519, type VerifyEd25519 } from "./ed25519";

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

/*
 * The endorsement of a BBS key (GET /v1/pubkey, `zk.keys[].endorsement`): the key event in which the attestation key
 * of the time signed the BBS public key, as an in-toto Statement that is also a leaf of the log.
 */

export interface KeyEndorsement {
  /** The log of `index`; a key that signed in several logs has a range in each. */
  logOrigin?: string;
  /** The event's log index, for the range in which the signing key was valid. */
  index: number;
  /** The exact signed bytes, as text. */
  payload: string;
  /** base64 */
  signature: string;
  key_id: string;
}

/** Null if the endorsement holds for this BBS key; else a sentence that says what is wrong. Never throws. */
export function findEndorsementFault(
  publicKey: Uint8Array,
  endorsement: KeyEndorsement,
  signers: readonly TrustedKey[],
  verify: VerifyEd25519,
): string | null {
  const bytes = utf8Encode(endorsement.payload);
  const statement = parseCanonical(bytes);
  const predicate = statement?.["predicate"];
  if (statement === null || !isJsonObject(predicate)) return "the endorsement is not a canonical statement";
  const { _type: type, predicateType, subject } = statement;
  if (type !== STATEMENT_TYPE || predicateType !== KEY_EVENT_PREDICATE) return "not a key event";
  const { event, purpose, key_id: keyId, public_key: endorsed, signed_by: signedBy } = predicate;
  if (event !== "made" || purpose !== "zk") return "not the making of a BBS key";
  if (keyId !== zkKeyId(publicKey) || endorsed !== base64Encode(publicKey)) return "endorses another key";
  const [first] = Array.isArray(subject) ? subject : [];
  const digest = isJsonObject(first) && isJsonObject(first["digest"]) ? first["digest"]["sha256"] : null;
  if (digest !== hexEncode(sha256(publicKey))) return "its subject is another key";
  const { logOrigin } = endorsement;
  const isOfLog = (key: TrustedKey) =>
    logOrigin === undefined || key.logOrigin === undefined || key.logOrigin === logOrigin;
  const signer = signers.find((key) => key.keyId === endorsement.key_id && isOfLog(key));
  if (signer === undefined || signedBy !== endorsement.key_id) return "signed by an unknown key";
  const { validFromIndex: from, validToIndex: to } = signer;
  if (endorsement.index < from || (to !== null && endorsement.index >= to))
    return "signed by a key that was not valid at this log index";
  return isSigned(endorsement.signature, bytes, signer.publicKey, verify)
    ? null
    : "its signature does not verify";
}

function isSigned(text: string, bytes: Uint8Array, publicKey: Uint8Array, verify: VerifyEd25519): boolean {
  try {
    return verify(base64Decode(text), bytes, publicKey);
  } catch {
    return false;
  }
}
