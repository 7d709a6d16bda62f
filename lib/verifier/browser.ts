/**
 * Entry point of the verify page in the visitor's browser: the same checks as the command line. The pairing checks are
 * chunks of their own, fetched only when one of them runs.
 */

import type { VerifierReport } from "./report";
import { parseTrust } from "./trust";
import { type Expectation, verifyEvidence } from "./verify-evidence";

/**
 * `json`: the answer of GET /v1/verify/:id or POST /v1/attest, a Sigstore bundle, a human_authorization, a
 * presentation (text or parsed), or the text of a tlog-proof. `trust`: the answer of GET /v1/pubkey, or a file
 * in its form that the visitor has pinned. Throws UnreadableError (read-json.ts) for what is neither.
 */
export function verifyInBrowser(
  json: unknown,
  trust: unknown,
  expected: Expectation = {},
): Promise<VerifierReport> {
  return verifyEvidence(json, parseTrust(trust), expected);
}
