/**
 * ML-DSA-44 (FIPS 204), which a quantum computer doesn't break. Its code is loaded where a key of it is used, and neither
 * the browser nor Node has it.
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

/** By the browser or Node itself; null where it can't. */
async function verifyNatively(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) {
  try {
    const { subtle } = crypto;
    // Not yet among the formats that TypeScript knows.
    const format = "raw-public" as "raw";
    const key = await subtle.importKey(format, new Uint8Array(publicKey), "ML-DSA-44", false, ["verify"]);
    return await subtle.verify("ML-DSA-44", key, new Uint8Array(signature), new Uint8Array(message));
  } catch {
    return null;
  }
}

/** As {@link verifyMlDsa}, and loads its code only where nobody else can verify it. */
export async function checkMlDsa(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): Promise<boolean> {
  const isSigned = await verifyNatively(signature, message, publicKey);
  if (isSigned !== null) return isSigned;
  await loadMlDsa();
  return verifyMlDsa(signature, message, publicKey);
}

/** False for what is no signature; throws if the code wasn't loaded. */
export function verifyMlDsa(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (loaded === undefined) throw new TypeError("ML-DSA is not loaded");
  if (signature.length !== ML_DSA_SIGNATURE_BYTES) return false;
  return loaded.verify(signature, message, publicKey);
}
