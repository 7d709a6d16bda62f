/**
 * Signatures of our own keys, checked by OpenSSL with the parsed keys kept: fifteen times as fast as JavaScript.
 * Only for keys that are ours; agents' keys go through the strict verifier (lib/domain/ed25519.ts).
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { hexEncode } from "#lib/domain/bytes";
import type { VerifyEd25519 } from "#lib/domain/ed25519";
import { encodePublicKeySpki } from "#lib/domain/ed25519-key";

const parsed = new Map<string, KeyObject>();

function keyObject(publicKey: Uint8Array): KeyObject {
  const name = hexEncode(publicKey);
  const known = parsed.get(name);
  if (known) return known;
  const key = createPublicKey({
    key: Buffer.from(encodePublicKeySpki(publicKey)),
    format: "der",
    type: "spki",
  });
  parsed.set(name, key);
  return key;
}

export const verifyOwnSignature: VerifyEd25519 = (signature, message, publicKey) =>
  signature.length === 64 && verify(null, message, keyObject(publicKey), signature);
