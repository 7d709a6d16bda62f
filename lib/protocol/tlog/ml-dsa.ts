/**
 * ML-DSA-44 (FIPS 204), which a quantum computer doesn't break. Its code is loaded where a key of it is used: most receipts
 * and pages have none.
 */
type MlDsa = typeof import("@noble/post-quantum/ml-dsa.js").ml_dsa44;

export const ML_DSA_PUBLIC_KEY_BYTES = 1312;
export const ML_DSA_SIGNATURE_BYTES = 2420;

let loaded: MlDsa | undefined;

/** Before the first use; verification itself waits for nothing. */
export async function loadMlDsa(): Promise<MlDsa> {
  loaded ??= (await import("@noble/post-quantum/ml-dsa.js")).ml_dsa44;
  return loaded;
}

/** False for what is no signature; throws if the code wasn't loaded. */
export function verifyMlDsa(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (loaded === undefined) throw new TypeError("ML-DSA is not loaded");
  if (signature.length !== ML_DSA_SIGNATURE_BYTES) return false;
  return loaded.verify(signature, message, publicKey);
}
