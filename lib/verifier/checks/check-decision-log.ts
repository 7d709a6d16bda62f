/**
 * The log entry beside a human_authorization. It is outside the service's signature, so every field of
 * it is checked here. That the entry is the one of this very approval is the check `logged_decision`.
 */
import type { HumanAuthorization } from "#lib/protocol/approval/approval";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { fail, pass, skip } from "#lib/protocol/statement/outcome";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkLogEntry } from "./check-log-entry";
import { readLogReceipt } from "./evidence";
import type { VerifierTrust } from "./trust";

/** `authorization` has the shape of one. */
export function checkDecisionLog(authorization: HumanAuthorization, trust: VerifierTrust): VerifierCheck[] {
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
