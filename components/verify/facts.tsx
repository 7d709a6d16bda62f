/** From the API's answer to the facts of a verdict and of the receipt: the one place where they are joined. */
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type Facts, factsOfReceipt, type Names, noNames } from "#lib/protocol/record/facts";
import type { ApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { WarningCode } from "#lib/protocol/statement/warnings";
import { warningRows } from "#lib/verifier/checks/warning-rows";
import { checkTitles } from "./check-titles";
import { decideVerdict, type Verdict, type VerdictFacts } from "./verdict";

export interface Verification {
  readonly answer: VerifyResponse;
  readonly keyStatus: VerdictFacts["keyStatus"];
  readonly isTest: boolean;
  /** Null if a stranger cannot know it. */
  readonly approvalMethod: ApprovalMethod | null;
}

function writeTitle(code: WarningCode): string {
  const check = warningRows[code]?.check;
  return check === undefined ? "content" : checkTitles[check].toLowerCase();
}

/** Signed request, for what has no field of its own in the answer. */
export function readRequest({ payload }: Pick<VerifyResponse, "payload">): JsonObject {
  if (payload === null) return {};
  const { predicate } = JSON.parse(payload) as { predicate?: { request?: JsonObject } };
  return predicate?.request ?? {};
}

function pickParent(answer: VerifyResponse) {
  const { parent } = readRequest(answer);
  return parent === undefined ? {} : { parent };
}

/** Facts of the receipt; none of a record that failed verification. */
export function toFacts(answer: VerifyResponse, names: Names = noNames): Facts {
  const { valid, action, agent_slug, timestamp, human_approval, human_authorization: object } = answer;
  const isShown = valid === true && human_approval !== null && timestamp !== null;
  const attested = isShown
    ? { request: { ...pickParent(answer), action, agent_slug }, human_approval, timestamp }
    : null;
  return factsOfReceipt(attested, object ?? null, names);
}

export function toVerdict({ answer, keyStatus, isTest, approvalMethod }: Verification): Verdict {
  return decideVerdict({
    valid: answer.valid,
    isPublic: answer.is_public,
    erasedAt: answer.erased_at,
    approval: answer.human_approval,
    isApproved: answer.human_approved,
    approvalMethod,
    isTest,
    keyStatus,
    failed: answer.checks
      .filter(({ status }) => status === "fail")
      .map(({ name }) => checkTitles[name].toLowerCase()),
    warnings: answer.warnings,
    findings: [...new Set(answer.warnings.map(({ code }) => writeTitle(code)))],
  });
}
