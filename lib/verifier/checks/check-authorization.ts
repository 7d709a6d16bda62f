/** The checks of a human_authorization. Heavy (BN254 pairings): imported when needed. */

import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { ShownContent } from "#lib/protocol/approval/shown-content";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkDecisionLog } from "./check-decision-log";
import type { VerifierTrust } from "./trust";
import { type AuthorizationReport, verifyHumanAuthorization } from "./verify-human-authorization";

export interface CheckedAuthorization {
  report: AuthorizationReport;
  /** The decision's place in the log. */
  logChecks: VerifierCheck[];
}

/** Null for anything else. `shown`: what the approval page showed, if the file says it. */
export function checkAuthorization(
  object: JsonObject,
  trust: VerifierTrust,
  shown?: ShownContent,
): CheckedAuthorization | null {
  const authorization = parseHumanAuthorization(object);
  if (authorization === null) return null;
  const report = verifyHumanAuthorization(authorization, {
    serviceKeys: (keyId) => trust.keys.find((key) => key.keyId === keyId)?.publicKey,
    verifySignature: verifyEd25519Strict,
    ...(trust.worldV4Key !== undefined && { v4Key: trust.worldV4Key }),
    ...(shown !== undefined && { shown }),
  });
  return { report, logChecks: checkDecisionLog(authorization, trust) };
}
