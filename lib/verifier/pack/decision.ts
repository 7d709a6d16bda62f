/**
 * A decision's file in an evidence pack: the signed statement with its place in the log, the request whose hash it names,
 * and for an approval the whole authorization.
 */
import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { parseDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { checkOpening } from "#lib/protocol/approval/opening";
import { bytesEqual, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
} from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, DECISION_FILE_TYPE } from "#lib/protocol/pack/pack-entries";
import { type AgentChange, parseChangeStatement, reasonHash } from "#lib/protocol/record/agent-heads";
import { checkLogEntry } from "#lib/verifier/checks/check-log-entry";
import { isLogged, readLoggedStatement } from "#lib/verifier/checks/check-sum";
import { decodeHex, readLogReceipt, requireObject, requireText } from "#lib/verifier/checks/evidence";
import type { SignedEntry } from "#lib/verifier/checks/record-checks";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";

export type CheckedEntry =
  | { ok: true; payloadHash: Uint8Array; signed: SignedEntry | null }
  | { ok: false; problem: string };

const wrong = (problem: string): CheckedEntry => ({ ok: false, problem });

/** Fields that a decision's file has beside the payload. */
const contentFields = ["request", "human_authorization", "decided_by", "rules", "opening"];
const hasOne = (json: JsonObject, names: readonly string[]) =>
  names.some((name) => (json[name] ?? null) !== null);

/** After erasure nothing but the leaf says that there was a decision, and nothing is shown. A change is never erased. */
function checkErased(json: JsonObject, payloadHash: Uint8Array, trust: VerifierTrust): CheckedEntry {
  if (json["type"] !== DECISION_FILE_TYPE || hasOne(json, [...contentFields, "reason"]))
    return wrong("the payload that was signed is not in the file");
  const { checks, leaf } = checkLogEntry(readLogReceipt(requireObject(json, "log")), trust);
  const failed = checks.find(({ status }) => status !== "pass");
  if (failed !== undefined) return wrong(failed.detail);
  return leaf !== null && bytesEqual(leaf.payloadHash, payloadHash)
    ? { ok: true, payloadHash, signed: null }
    : wrong("the log entry is of another decision");
}

async function findMismatch(
  json: JsonObject,
  payload: Uint8Array,
  trust: VerifierTrust,
): Promise<string | null> {
  const { type, request, human_authorization: authorization } = json;
  const change = parseChangeStatement(payload);
  if ((type === CHANGE_FILE_TYPE) !== (change !== null))
    return "the file is of another kind than its payload";
  if (change !== null) {
    const isForeign = change.request_hash === null && hasOne(json, ["request_id"]);
    if (isForeign || hasOne(json, contentFields)) return "it shows what no change has";
    return findOtherReason(json, change);
  }
  const decision = parseDecisionStatement(payload);
  if (decision === null) return "the payload is not a decision of a record";
  if (isJsonObject(request) && requestHash(request as unknown as ApprovalRequest) !== decision.request_hash)
    return "the request is not the one that was decided";
  const asked = [request, isJsonObject(authorization) ? authorization["request"] : null].filter(isJsonObject);
  if (asked.some(({ request_id: id }) => id !== json["request_id"])) return "request_id is another request's";
  if (!isJsonObject(authorization) && hasOne(json, ["opening"])) return "an opening without its approval";
  if (!isJsonObject(authorization))
    return hasOne(json, ["decided_by"]) && !hasOne(json, ["rules"])
      ? "it names who decided, which nothing in it shows"
      : null;
  const { log: _log, ...signed } = authorization;
  if (canonicalHash(signed) !== decision.authorization_hash)
    return "the authorization is not that of this decision";
  // With rules beside it, rules.ts compares it.
  const { decided_by: by = null, rules = null } = json;
  if (by !== null && rules === null && canonicalJson(by) !== canonicalJson(signed["decided_by"] ?? null))
    return "decided_by is not the one that was signed";
  const report = await verifyEvidence(authorization, trust);
  if (report.verdict === "valid") return findOtherOpening(json, authorization);
  return report.checks.find(({ status }) => status === "fail")?.detail ?? "the authorization does not hold";
}

function findOtherOpening({ opening = null }: JsonObject, authorization: JsonObject): string | null {
  if (opening === null) return null;
  const outcome = checkOpening(opening, authorization);
  return outcome.status === "pass" ? null : outcome.detail;
}

/** The organization's own words, if they are there, are those whose hash was signed. */
function findOtherReason({ reason, reason_salt: salt }: JsonObject, change: AgentChange): string | null {
  if ((reason ?? null) === null) return null;
  const isSigned =
    typeof reason === "string" && typeof salt === "string" && reasonHash(salt, reason) === change.reason_hash;
  return isSigned ? null : "the reason is not the one that was signed";
}

export async function checkDecisionFile(json: JsonObject, trust: VerifierTrust): Promise<CheckedEntry> {
  const payloadHash = decodeHex(requireText(json, "payload_hash"), "payload_hash", 32);
  if (json["payload"] === null) return checkErased(json, payloadHash, trust);
  const payload = utf8Encode(requireText(json, "payload"));
  if (!bytesEqual(sha256(payload), payloadHash)) return wrong("payload_hash is not that of the payload");
  const decision = parseDecisionStatement(payload);
  const { record: place } = decision ?? parseChangeStatement(payload) ?? {};
  if (place === undefined) return wrong("the payload is not a decision of a record");
  if (!isLogged(readLoggedStatement(json), trust))
    return wrong("the decision is not signed by a trusted key, or not in the log");
  if (place.sequence !== json["sequence"]) return wrong("the payload has another number");
  if (canonicalJson(requireObject(json, "log")["record"] ?? null) !== canonicalJson({ ...place }))
    return wrong("log.record is not the place in the payload");
  const mismatch = await findMismatch(json, payload, trust);
  return mismatch === null ? { ok: true, payloadHash, signed: { place, payloadHash } } : wrong(mismatch);
}
