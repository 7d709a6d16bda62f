/** The checks of a human_authorization. Heavy (BN254 pairings): imported when needed. */
import { type HumanAuthorization, listPasskeyKeys } from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { ShownContent } from "#lib/protocol/approval/shown-content";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { loadAlgorithms } from "#lib/protocol/passkey/assertion";
import { fail, pass, skip } from "#lib/protocol/statement/outcome";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkLogEntry } from "./check-log-entry";
import { readLogReceipt } from "./evidence";
import type { VerifierTrust } from "./trust";
import { type AuthorizationReport, verifyHumanAuthorization } from "./verify-human-authorization";

/*
 * The log entry beside a human_authorization. It is outside the service's signature, so every field of
 * it is checked here. That the entry is the one of this very approval is the check `logged_decision`.
 */

function checkDecisionLog(authorization: HumanAuthorization, trust: VerifierTrust): VerifierCheck[] {
  const { log, key_id: signer } = authorization;
  if (!isJsonObject(log)) {
    // A retired or revoked key no longer signs. Only a log entry could show when it did.
    const isOpen = trust.keys.some(({ keyId, validToIndex }) => keyId === signer && validToIndex === null);
    return [{ name: "decision_log", ...(isOpen ? skip("entry_absent") : fail("key_retired_without_entry")) }];
  }
  const receipt = readLogReceipt(log);
  const { checks, checkpoint } = checkLogEntry(receipt, trust);
  const fits = checkpoint?.size === receipt.treeSize && checkpoint.origin === log["origin"];
  return [
    ...checks,
    {
      name: "decision_log",
      ...(fits ? pass("origin and size are those of the checkpoint") : fail("checkpoint_mismatch")),
    },
  ];
}

export interface CheckedAuthorization {
  report: AuthorizationReport;
  logChecks: VerifierCheck[];
}

/** Null for anything else. `shown`: what the approval page showed, if the file says it. */
export async function checkAuthorization(
  object: JsonObject,
  trust: VerifierTrust,
  shown?: ShownContent,
): Promise<CheckedAuthorization | null> {
  const authorization = parseHumanAuthorization(object);
  if (authorization === null) return null;
  await loadAlgorithms(listPasskeyKeys(authorization));
  const report = verifyHumanAuthorization(authorization, {
    serviceKeys: (keyId) => trust.keys.find((key) => key.keyId === keyId)?.publicKey,
    verifySignature: verifyEd25519Strict,
    ...(trust.worldV4Key !== undefined && { v4Key: trust.worldV4Key }),
    ...(shown !== undefined && { shown }),
  });
  return { report, logChecks: checkDecisionLog(authorization, trust) };
}
