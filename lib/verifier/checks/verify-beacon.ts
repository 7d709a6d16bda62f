/** The pairing of a quicknet round: a BLS signature on G1 over SHA-256(u64be round). A file of its own, as it loads the curve. */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { hexDecode, sha256 } from "#lib/protocol/encoding/bytes";
import { quicknet } from "#lib/protocol/time/not-before";
import type { BeaconBound } from "#lib/protocol/time/not-before-shape";

const domain = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";

/** Never throws for the bound. */
export function verifyBeacon({ chain, round, signature }: BeaconBound): boolean {
  if (chain !== quicknet.chain || round < 1) return false;
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(round));
  try {
    const { hash, verify } = bls12_381.shortSignatures;
    return verify(hexDecode(signature), hash(sha256(bytes), domain), hexDecode(quicknet.publicKey));
  } catch {
    return false;
  }
}
