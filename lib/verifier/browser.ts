/**
 * Entry point of the verify page in the visitor's browser: the same checks as the command line. The pairing checks are
 * chunks of their own, fetched only when one of them runs.
 */

import { parseTrust } from "#lib/verifier/checks/trust";
import { type Expectation, verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import type { VerifierReport } from "#lib/verifier/report/report";

/**
 * `json`: the answer of GET /v1/verify/:id or POST /v1/attest, a Sigstore bundle, a human_authorization, a
 * presentation (text or parsed), or the text of a tlog-proof. `trust`: the answer of GET /v1/pubkey, or a file
 * in its form that the visitor has pinned. Throws UnreadableError (lib/verifier/checks/evidence.ts) for what is neither.
 */
export function verifyInBrowser(
  json: unknown,
  trust: unknown,
  expected: Expectation = {},
): Promise<VerifierReport> {
  return verifyEvidence(json, parseTrust(trust), expected);
}
