/**
 * The log entry beside a human_authorization. The logged statement of an approval follows from the object, so the
 * leaf is compared with the statement made again: it shows that this very approval was logged, and under which
 * signed checkpoint. The entry is outside the service's signature, so every field of it is checked here.
 */

import type { HumanAuthorization } from "#lib/domain/approval";
import { buildDecisionStatement } from "#lib/domain/approval-decision";
import { bytesEqual, hexEncode, sha256 } from "#lib/domain/bytes";
import { canonicalBytes, isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import type { LogLeaf } from "#lib/domain/log-leaf";
import { checkLogEntry, failed, passed } from "./check-log-entry";
import { readLogReceipt } from "./parse-receipt";
import type { VerifierCheck } from "./report";
import type { VerifierTrust } from "./trust";

/** `authorization` has the shape of one. */
export function checkDecisionLog(authorization: HumanAuthorization, trust: VerifierTrust): VerifierCheck[] {
  const { log } = authorization;
  const ranges = trust.keys.filter(({ keyId }) => keyId === authorization.key_id);
  if (!isJsonObject(log)) {
    // A key that was retired or revoked signs nothing any more; only a place in the log could tell when it did.
    const isOpen = ranges.some(({ validToIndex }) => validToIndex === null);
    const detail = isOpen
      ? "no log entry stands beside this authorization"
      : "its key does not sign any more, and no log entry shows that it did so in time";
    return [{ name: "decision_log", status: isOpen ? "not_applicable" : "fail", detail }];
  }
  const receipt = readLogReceipt(log);
  const { checks, leaf, checkpoint } = checkLogEntry(receipt, trust);
  const isSame =
    leaf !== null &&
    checkpoint?.size === receipt.treeSize &&
    log["origin"] === checkpoint.origin &&
    bytesEqual(leaf.publicKey, ranges[0]?.publicKey ?? new Uint8Array()) &&
    isOfDecision(leaf, authorization);
  return [
    ...checks,
    isSame
      ? passed("decision_log", "the entry is that of this approval")
      : failed("decision_log", "the entry is not that of this approval"),
  ];
}

function isOfDecision(leaf: LogLeaf, authorization: HumanAuthorization): boolean {
  const { log: _log, ...object } = authorization;
  const statement = buildDecisionStatement({
    decision: "approved",
    request_hash: authorization.binding.request_hash,
    decided_at: authorization.approved_at,
    key_id: authorization.key_id,
    authorization_hash: hexEncode(sha256(canonicalBytes(object as unknown as JsonObject))),
  });
  return bytesEqual(leaf.payloadHash, sha256(statement));
}
