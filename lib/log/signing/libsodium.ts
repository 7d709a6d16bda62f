/** Ed25519 (RFC 8032) by libsodium, which takes three fifths of the time that OpenSSL does (decision 0041). */
import sodium from "sodium-native";
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES, type VerifyEd25519 } from "#lib/protocol/keys/ed25519";

const toBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** `seed`: 32 bytes, overwritten. What is signed with is in memory that libsodium keeps out of swap and core dumps. */
export function openKeyPair(seed: Buffer) {
  const publicKey = new Uint8Array(PUBLIC_KEY_BYTES);
  const secretKey = sodium.sodium_malloc(sodium.crypto_sign_SECRETKEYBYTES);
  sodium.crypto_sign_seed_keypair(toBuffer(publicKey), secretKey, seed);
  seed.fill(0);
  return {
    publicKey,
    /** Copies into memory that threads share, so that it is overwritten where it is used. */
    copySeed: () => {
      const copy = new Uint8Array(new SharedArrayBuffer(sodium.crypto_sign_SEEDBYTES));
      copy.set(secretKey.subarray(0, copy.length));
      return copy;
    },
    sign: (message: Uint8Array) => {
      const signature = new Uint8Array(SIGNATURE_BYTES);
      sodium.crypto_sign_detached(toBuffer(signature), toBuffer(message), secretKey);
      return signature;
    },
  };
}

/** Accepts some keys that lib/protocol/keys/ed25519.ts refuses; lib/services/attestations/stored-receipt.ts is as strict. */
export const verifySignature: VerifyEd25519 = (signature, message, publicKey) =>
  signature.length === SIGNATURE_BYTES &&
  publicKey.length === PUBLIC_KEY_BYTES &&
  sodium.crypto_sign_verify_detached(toBuffer(signature), toBuffer(message), toBuffer(publicKey));
