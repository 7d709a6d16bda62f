/** From the API's answer to the facts of a verdict: the one place where the two are joined. */
import type { VerifyResponse } from "#lib/api/schemas/verify";
import type { ApprovalMethod } from "#lib/protocol/statement/statement";
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

function titleOf(code: WarningCode): string {
  const check = warningRows[code]?.check;
  return check === undefined ? "content" : checkTitles[check].toLowerCase();
}

export function verdictOf({ answer, keyStatus, isTest, approvalMethod }: Verification): Verdict {
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
    findings: [...new Set(answer.warnings.map(({ code }) => titleOf(code)))],
  });
}
