/**
 * An approval is given to an agent under the key that the page showed. Whether the attestation that spends it was made
 * while that same key was registered, from the bytes of both alone.
 */
import { isJsonObject, type JsonObject } from "#lib/core/encoding/canonical-json";
import type { ActionStatement } from "#lib/core/statement/statement";

/**
 * `same`: the keys are one, or no key was registered at either time. `changed`: they differ, under the rule of version
 * 2, so the approval does not fit. `changed_before_rule`: they differ in an object of version 1, which the service
 * accepted before it had the rule: authentic, and worth a warning.
 */
export type ApprovalKeyVerdict = "same" | "changed" | "changed_before_rule";

/** `asked`: `human_authorization.request`. */
export function isSameAgentKey(asked: JsonObject, registeredKey: string | null): boolean {
  return (asked["agent_public_key"] ?? null) === registeredKey;
}

/** `authorization`: the embedded `human_authorization`; null if the attestation has none at hand. */
export function judgeApprovalKey(
  { predicate }: ActionStatement,
  authorization: JsonObject | null,
): ApprovalKeyVerdict {
  const asked = authorization?.["request"];
  if (authorization === null || !isJsonObject(asked)) return "same";
  if (isSameAgentKey(asked, predicate.registered.agent_public_key)) return "same";
  return authorization["version"] === 1 ? "changed_before_rule" : "changed";
}

/** Null if there is nothing to warn of. */
export function warnOfApprovalKey(
  statement: ActionStatement,
  authorization: JsonObject | null,
): { code: "approval_key_changed"; message: string } | null {
  if (judgeApprovalKey(statement, authorization) !== "changed_before_rule") return null;
  return {
    code: "approval_key_changed",
    message: "The human approved this while another agent key was registered.",
  };
}
