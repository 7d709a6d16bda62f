/**
 * The verdicts of the strict verifier (lib/protocol/keys/ed25519.ts), in three fifths of its time: libsodium's, for fit keys. With
 * such a key, a signature that libsodium accepts is one that the strict verifier accepts: it multiplies by no cofactor
 * either. What it refuses, the strict one judges.
 *
 * A signature that held is remembered under the SHA-256 of key, signature and message, all of which the caller has read
 * again: other bytes have another digest and are checked. One that did not hold is not remembered.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { verifySignature } from "#lib/log/signing/libsodium";
import { concatBytes } from "#lib/protocol/encoding/bytes";
import {
  isFitKey,
  PUBLIC_KEY_BYTES,
  SIGNATURE_BYTES,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";

/** Some 20 MB when full; an attestation has two or three. */
const maxRemembered = 200_000;
const held = new LRUCache<string, true>({ max: maxRemembered });

/** Key and signature have fixed lengths, so no two triples make the same bytes. */
const digestOf = (publicKey: Uint8Array, signature: Uint8Array, message: Uint8Array) =>
  hash("sha256", concatBytes(publicKey, signature, message), "base64");

export const verifyAndRemember: VerifyEd25519 = (signature, message, publicKey) => {
  if (signature.length !== SIGNATURE_BYTES || publicKey.length !== PUBLIC_KEY_BYTES) return false;
  const digest = digestOf(publicKey, signature, message);
  if (held.get(digest)) return true;
  const holds =
    (verifySignature(signature, message, publicKey) && isFitKey(publicKey)) ||
    verifyEd25519Strict(signature, message, publicKey);
  if (holds) held.set(digest, true);
  return holds;
};
