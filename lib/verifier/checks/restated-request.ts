import { confirmationCode } from "#lib/protocol/approval/approval";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { fail, pass } from "#lib/protocol/statement/outcome";
import { findMisfit, type Restatement } from "./redundant-fields";

const askedFields = [
  "request_id",
  "agent_slug",
  "action",
  "tool",
  "amount",
  "grant",
  "inputs_hash",
  "required_level",
  "created_at",
  "expires_at",
];
const decidedFields = ["decided_by", "environment", "usable_until"];

/** Checked together against the request's context_hash. */
const shownFields = ["context", "context_salt", "agent_name", "organization_name", "requested_by"];
/** The object itself, and words of the service about the fields beside them. */
const ownWords = ["human_authorization", "guidance", "denial_reason_note"];

/** The group names are the answer's: they are among what context_hash covers. */
function listGroups(answer: JsonObject, request: JsonObject): JsonObject[] {
  const signed = Array.isArray(request["required_approvers"]) ? request["required_approvers"] : [];
  const shown = Array.isArray(answer["required_approvers"]) ? answer["required_approvers"] : [];
  return signed.filter(isJsonObject).map((group, i) => {
    const named = shown[i];
    return { ...group, name: (isJsonObject(named) ? named["name"] : null) ?? null };
  });
}

/**
 * The answer of GET /v1/authorize/{id} repeats fields of the object in it: each must be the same in both. What has
 * happened since (revoked_at, used_at …) no signature of this file says: it is named.
 */
export function checkRestatedRequest(answer: JsonObject, object: JsonObject): Restatement {
  const request = isJsonObject(object["request"]) ? object["request"] : {};
  const binding = isJsonObject(object["binding"]) ? object["binding"] : {};
  const expected: JsonObject = {
    ...Object.fromEntries(askedFields.map((name) => [name, request[name] ?? null])),
    ...Object.fromEntries(decidedFields.map((name) => [name, object[name] ?? null])),
    status: "approved",
    decided_at: object["approved_at"] ?? null,
    required_approvers: listGroups(answer, request),
    approvals: { required: request["approvals_required"] ?? null, given: countApprovals(object) },
    confirmation_code: confirmationCode(String(binding["request_hash"])),
  };
  const misfit = findMisfit(answer, expected);
  if (misfit !== null) return { outcome: fail("field_mismatch", { field: misfit }) };
  const isShown = "context" in answer || "context_salt" in answer;
  const known = [...Object.keys(expected), ...ownWords, ...(isShown ? shownFields : [])];
  return {
    outcome: pass("the fields beside the object say what the object says"),
    unproven: Object.keys(answer).filter((name) => answer[name] !== null && !known.includes(name)),
  };
}

/** People, each of whom gives a passkey's answer if groups are required, with World ID or without. */
function countApprovals({ approvals }: JsonObject): number {
  const types = Array.isArray(approvals) ? approvals.map((one) => isJsonObject(one) && one["type"]) : [];
  return types.filter((type) => type === "passkey").length || types.length;
}
