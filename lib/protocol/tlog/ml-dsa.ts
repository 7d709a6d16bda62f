/**
 * ML-DSA-44 (FIPS 204), which a quantum computer doesn't break. Its code is loaded where a key of it is used, and neither
 * the browser nor Node has it.
 */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";

type MlDsa = typeof import("@noble/post-quantum/ml-dsa.js").ml_dsa44;

export const ML_DSA_PUBLIC_KEY_BYTES = 1312;
export const ML_DSA_SIGNATURE_BYTES = 2420;

let loaded: MlDsa | undefined;

/** Called before the first use; verification itself waits for nothing. */
export async function loadMlDsa(): Promise<MlDsa> {
  loaded ??= (await import("@noble/post-quantum/ml-dsa.js")).ml_dsa44;
  return loaded;
}

/** Verifies by the browser or Node itself; null where it can't. */
async function verifyNatively(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) {
  try {
    const { subtle } = crypto;
    // TypeScript doesn't know this format yet.
    const format = "raw-public" as "raw";
    const key = await subtle.importKey(format, new Uint8Array(publicKey), "ML-DSA-44", false, ["verify"]);
    return await subtle.verify("ML-DSA-44", key, new Uint8Array(signature), new Uint8Array(message));
  } catch {
    return null;
  }
}

/** Checkpoints of one log are few, and each is on many receipts. */
const maxVerified = 1_000;
const verified = new Set<string>();

/**
 * Like {@link verifyMlDsa}; loads its code only where neither the browser nor Node can verify. Caches only signatures that
 * hold.
 */
export async function checkMlDsa(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): Promise<boolean> {
  // Lengths are fixed: else a longer signature, another key and a shorter message would have the name of one that holds.
  if (signature.length !== ML_DSA_SIGNATURE_BYTES || publicKey.length !== ML_DSA_PUBLIC_KEY_BYTES)
    return false;
  const name = hexEncode(sha256(signature, publicKey, message));
  if (verified.has(name)) return true;
  let isSigned = await verifyNatively(signature, message, publicKey);
  if (isSigned === null) {
    await loadMlDsa();
    isSigned = verifyMlDsa(signature, message, publicKey);
  }
  if (!isSigned) return false;
  if (verified.size === maxVerified) verified.clear();
  verified.add(name);
  return true;
}

/** False for what is no signature; throws if the code wasn't loaded. */
export function verifyMlDsa(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (loaded === undefined) throw new TypeError("ML-DSA is not loaded");
  if (signature.length !== ML_DSA_SIGNATURE_BYTES) return false;
  return loaded.verify(signature, message, publicKey);
}
