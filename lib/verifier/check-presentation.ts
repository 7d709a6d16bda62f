/** A zero-knowledge presentation under the trusted BBS keys. Heavy (BLS12-381 pairings): imported when needed. */
import type { PresentationExpectation } from "#lib/domain/presentation-checks";
import {
  type PresentationReport,
  summarizePublicProof,
  verifyPresentation,
} from "#lib/domain/presentation-verify";
import type { VerifierTrust } from "./trust";

export function checkPresentation(
  zkProof: unknown,
  { zkKeys, revokedZkKeys }: VerifierTrust,
  expected: PresentationExpectation,
): Promise<PresentationReport> {
  return verifyPresentation(zkProof, { pinnedKeys: zkKeys, revokedKeys: revokedZkKeys, expected });
}

/** The public proof that stands in an attestation's receipt. */
export async function checkPublicProof(
  zkProof: unknown,
  trust: VerifierTrust,
  { attestationId, payload }: { attestationId: string; payload: Uint8Array | null },
) {
  const expected = { attestationId, audience: "public", ...(payload !== null && { payload }) };
  return summarizePublicProof(await checkPresentation(zkProof, trust, expected), payload);
}
