/**
 * Verification by the caller itself, with the code of verify.mjs. A file of its own in the package, loaded if it is used:
 * of the client it imports nothing but types.
 */
import { applyPins, parseTrust, type VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import type { TrustedKeys, Verification, VerifyOptions } from "./wire";

/** Reads text from the service: `JSON.parse` would silently accept things that are rejected here. */
type ReadText = (path: string) => Promise<string>;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export async function verify(
  receipt: string | object,
  { keys = {}, audience, nonce }: VerifyOptions,
  now: Date,
  readText: ReadText,
): Promise<Verification> {
  const isId = typeof receipt === "string" && uuid.test(receipt);
  const evidence = isId ? await readText(`/v1/verify/${receipt}`) : receipt;
  const report = await verifyEvidence(evidence, await findTrust(keys, readText), {
    nowSeconds: Math.floor(now.getTime() / 1_000),
    ...(isId && { attestationId: receipt.toLowerCase() }),
    ...(audience !== undefined && { audience }),
    ...(nonce !== undefined && { nonce }),
  });
  return { ...report, pinned: keys.pubkey !== undefined || (keys.keys ?? []).length > 0 };
}

async function findTrust(
  { pubkey, keys = [], logVkeys = [], witnessVkeys = [], timeCertificates = [] }: TrustedKeys,
  readText: ReadText,
): Promise<VerifierTrust> {
  const answer = pubkey ?? (await readText("/v1/pubkey"));
  const pins = { keys, logVkeys, witnessVkeys, timeCertificates };
  return Object.values(pins).some((list) => list.length > 0) ? applyPins(answer, pins) : parseTrust(answer);
}
