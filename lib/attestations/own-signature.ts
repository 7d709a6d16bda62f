/**
 * Signatures of our own keys, checked by libsodium: twenty-five times as fast as JavaScript.
 * Only for keys that are ours; agents' keys go through the strict verifier (lib/domain/ed25519.ts).
 *
 * A signature that held is remembered under the SHA-256 of key, signature and message, all of which the caller has read
 * again: other bytes have another digest and are checked. One that did not hold is not remembered.
 */
import { hash } from "node:crypto";
import { concatBytes } from "#lib/domain/bytes";
import type { VerifyEd25519 } from "#lib/domain/ed25519";
import { verifySignature } from "#lib/signing/libsodium";
import { createRecent } from "#lib/workers/recent";

/** Some 20 MB when full; an attestation has two. */
const maxRemembered = 200_000;
const held = createRecent<true>(maxRemembered);

/** What holds has a key and a signature of fixed lengths, so no two triples make the same bytes. */
const digestOf = (publicKey: Uint8Array, signature: Uint8Array, message: Uint8Array) =>
  hash("sha256", concatBytes(publicKey, signature, message), "base64");

export const verifyOwnSignature: VerifyEd25519 = (signature, message, publicKey) => {
  const digest = digestOf(publicKey, signature, message);
  if (held.get(digest)) return true;
  const holds = verifySignature(signature, message, publicKey);
  if (holds) held.set(digest, true);
  return holds;
};
