/** Turns the API's answer into the facts of a verdict and of the receipt: the one place where they are joined. */
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type Facts, factsOfReceipt, type Names, noNames } from "#lib/protocol/record/facts";
import type { ApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { ActionPredicate } from "#lib/protocol/statement/statement";
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

type Predicate = Partial<Pick<ActionPredicate, "request" | "trace">>;

function readPredicate({ payload }: Pick<VerifyResponse, "payload">): Predicate {
  if (payload === null) return {};
  return (JSON.parse(payload) as { predicate?: Predicate }).predicate ?? {};
}

/** Signed request, for what has no field of its own in the answer. */
export const readRequest = (answer: Pick<VerifyResponse, "payload">): JsonObject =>
  readPredicate(answer).request ?? {};

/** Facts of the receipt; none of a record that failed verification. */
export function toFacts(answer: VerifyResponse, names: Names = noNames): Facts {
  const { valid, action, agent_slug, timestamp, human_approval, human_authorization: object } = answer;
  if (valid !== true || human_approval === null || timestamp === null)
    return factsOfReceipt(null, object ?? null, names);
  const { request, trace } = readPredicate(answer);
  const attested = {
    request: { ...request, action, agent_slug },
    human_approval,
    timestamp,
    ...(trace !== undefined && { trace }),
  };
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
