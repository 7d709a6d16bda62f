/** A zero-knowledge presentation under the trusted BBS keys. Heavy (BLS12-381 pairings): imported when needed. */
import type { PresentationExpectation } from "#lib/domain/presentation-checks";
import { type PresentationReport, verifyPresentation } from "#lib/domain/presentation-verify";
import type { VerifierTrust } from "./trust";

export function checkPresentation(
  zkProof: unknown,
  { zkKeys }: VerifierTrust,
  expected: PresentationExpectation,
): Promise<PresentationReport> {
  return verifyPresentation(zkProof, { pinnedKeys: zkKeys, expected });
}
