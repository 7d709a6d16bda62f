/**
 * Statement that logs a decision. It holds hashes only, so it discloses nothing, and an approval's follows entirely
 * from the `human_authorization`: whoever holds that object can rebuild the logged statement.
 */

import { base64Decode, bytesEqual, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { computeDsseKeyId, type VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import { isRecordPlace, type RecordPlace } from "#lib/protocol/record/agent-record";
import { requireString, verifyEnvelope } from "#lib/protocol/statement/dsse";
import {
  buildStatement,
  DECISION_PREDICATE,
  parseStatement,
  STATEMENT_MEDIA_TYPE,
} from "#lib/protocol/statement/statement";
import { isTime } from "#lib/protocol/time/time-words";
import { leafMatchesEnvelope, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import type { HumanAuthorization } from "./approval";

export interface Decision {
  decision: "approved" | "denied" | "cancelled";
  /** Hex SHA-256 of the canonical request. */
  request_hash: string;
  decided_at: string;
  key_id: string;
  /** Hex SHA-256 of the canonical signed object without `log`; null if nothing was approved. */
  authorization_hash: string | null;
  /** Set if approvers asked something. */
  questions_hash?: string;
  record: RecordPlace;
}

export function buildDecisionStatement({ request_hash, ...predicate }: Decision): Uint8Array {
  return buildStatement(DECISION_PREDICATE, "authorization-request", request_hash, predicate);
}

const decisions: readonly unknown[] = ["approved", "denied", "cancelled"];

/** Null for bytes that are not the statement of a decision, as {@link buildDecisionStatement} writes it. */
export function parseDecisionStatement(bytes: Uint8Array): Decision | null {
  const statement = parseStatement(bytes, DECISION_PREDICATE);
  if (statement === null) return null;
  const { predicate, digest: request_hash } = statement;
  const { decision, decided_at, key_id, authorization_hash, questions_hash, record } = predicate;
  if (!decisions.includes(decision) || !isRecordPlace(record)) return null;
  const texts = [request_hash, key_id, authorization_hash ?? "", questions_hash ?? ""];
  if (!isTime(decided_at) || !texts.every((text) => typeof text === "string")) return null;
  const asked = questions_hash === undefined ? {} : { questions_hash };
  const read = {
    decision,
    request_hash,
    decided_at,
    key_id,
    authorization_hash,
    ...asked,
    record,
  } as Decision;
  return bytesEqual(buildDecisionStatement(read), bytes) ? read : null;
}

function toDecision(authorization: HumanAuthorization): Decision | null {
  const { log, ...signed } = authorization;
  const record = log?.["record"];
  if (!isRecordPlace(record)) return null;
  return {
    decision: "approved",
    request_hash: authorization.binding.request_hash,
    decided_at: authorization.approved_at,
    key_id: authorization.key_id,
    authorization_hash: hexEncode(sha256(canonicalBytes(signed as unknown as JsonObject))),
    ...(signed.questions_hash !== undefined && { questions_hash: signed.questions_hash }),
    record,
  };
}

/**
 * Checks that `log.entry` beside the object is the leaf of this very approval, signed with the service's key. Inclusion
 * of the leaf in the log is a separate check, which needs the log's key.
 */
export function isEntryOfApproval(
  authorization: HumanAuthorization,
  publicKey: Uint8Array,
  verify: VerifyEd25519,
): boolean {
  try {
    const entry = base64Decode(requireString(authorization.log?.["entry"]));
    const { signature } = parseLogLeaf(entry);
    const decision = toDecision(authorization);
    if (decision === null) return false;
    const envelope = {
      payloadType: STATEMENT_MEDIA_TYPE,
      payload: buildDecisionStatement(decision),
      keyId: computeDsseKeyId(publicKey),
      signature,
    };
    return leafMatchesEnvelope(entry, envelope, publicKey) && verifyEnvelope(envelope, publicKey, verify);
  } catch {
    return false;
  }
}
