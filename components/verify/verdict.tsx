/**
 * One sentence for the public: the result of a verification, in words that an expert accepts and a stranger
 * understands. Pure: the page, the Open Graph image, the badge and the landing page all say the same.
 */

import { describeBacked, isUnasked } from "#lib/protocol/approval/approval-words";
import { type ApprovalMethod, type HumanApproval, isBacked } from "#lib/protocol/statement/human-approval";
import type { Warning } from "#lib/protocol/statement/warnings";
import { formatCount } from "#lib/protocol/text/display-text";

export type VerdictKind = "authentic" | "warned" | "test" | "private" | "invalid" | "erased";

export interface VerdictFacts {
  readonly valid: boolean | null;
  readonly isPublic: boolean;
  readonly erasedAt: string | null;
  /** Null if it is hidden, erased or unreadable. */
  readonly approval: HumanApproval | null;
  /** Known of private attestations too. */
  readonly isApproved: boolean | null;
  /** Known for a private attestation only if a zero-knowledge proof shows it. */
  readonly approvalMethod: ApprovalMethod | null;
  /** The approval came from the stand-in or from World's staging network. */
  readonly isTest: boolean;
  readonly keyStatus: "active" | "retired" | "revoked" | "unknown";
  /** Titles of the checks that failed. */
  readonly failed: readonly string[];
  readonly warnings: readonly Warning[];
  /** Titles of the checks whose answer is bad news, each once. */
  readonly findings: readonly string[];
}

export interface Verdict {
  readonly kind: VerdictKind;
  /** A few words: "Authentic record", "Authentic record, 2 warnings". */
  readonly title: string;
  readonly sentence: string;
  /** The part of it about the record's authenticity alone; a page says the rest as findings of their own. */
  readonly record: string;
  /** Text for a badge: lower case, no full stop. */
  readonly short: string;
  readonly notes: readonly string[];
  /** Warnings of the record; if there is any, no page or picture looks as if there were none. */
  readonly warnings: readonly Warning[];
}

const intact = "The record is intact, signed by this service and in its public log.";

function keyNotes(status: VerdictFacts["keyStatus"]): string[] {
  if (status === "retired") {
    return [
      "The key that signed it has since been retired. It was valid at this position in the log, so the signature still counts.",
    ];
  }
  return [];
}

/** A verdict that says nothing beside the record's authenticity. */
const alone = (sentence: string) => ({ sentence, record: sentence });

function invalidVerdict({ failed }: VerdictFacts): Verdict {
  const which = failed.length === 0 ? "" : ` (${failed.join(", ")})`;
  const count = failed.length === 1 ? "One check" : `${failed.length} checks`;
  return {
    kind: "invalid",
    title: "Not authentic",
    ...alone(`${count} failed${which}. Don't rely on what this record says.`),
    short: "NOT AUTHENTIC",
    notes: [],
    warnings: [],
  };
}

function erasedVerdict({ erasedAt, warnings }: VerdictFacts): Verdict {
  const when = erasedAt === null ? "" : ` on ${erasedAt.slice(0, 10)} UTC`;
  return {
    kind: "erased",
    title: "Erased",
    ...alone(
      `The owner had the content removed${when}. What it said can no longer be checked, but the log still shows that a signed record with this hash existed.`,
    ),
    short: "content erased",
    notes: [],
    // The verdict itself says what this warning would.
    warnings: warnings.filter(({ code }) => code !== "content_erased"),
  };
}

const privateWords: Record<Exclude<ApprovalMethod, "none">, string> = {
  hash: "Its human approval is asserted by the caller, not proven.",
  proof_of_personhood:
    "A key of a human enrolled with World ID approved it. Only the owner can show what was approved.",
  enrolled_proof_of_personhood:
    "Enrolled approvers approved it, each with a key enrolled with World ID. Only the owner can show what was approved.",
  enrolled_approver: "Enrolled approvers approved it by passkey. Only the owner can show what was approved.",
  standing_approval: "It was covered by a standing approval. Nobody was asked about this one.",
  rule: "A rule allowed it. Nobody was asked.",
};

/** Never better than what a stranger can be shown. */
function privateApproval({ isApproved, isTest, approvalMethod }: VerdictFacts): string {
  if (isTest && isUnasked(approvalMethod)) return " It was decided on a TEST instance.";
  if (isTest) return " Its approval is a TEST approval, not a real person's.";
  if (approvalMethod !== null && approvalMethod !== "none") return ` ${privateWords[approvalMethod]}`;
  return isApproved === true
    ? " It records a human approval. Only the owner can show how strong the evidence is."
    : "";
}

function approvalGrade(facts: VerdictFacts): string {
  if (!facts.isPublic) return privateApproval(facts);
  const sentence = ` ${approvalSentence(facts.approval)}`;
  if (!facts.isTest) return sentence;
  return isUnasked(facts.approval?.method)
    ? `${sentence} It was decided on a TEST instance.`
    : " Its approval is a TEST, so no real person is proven to have approved it.";
}

/** Names the rows to read; the messages themselves are listed below it. */
function findingsWords({ warnings, findings }: VerdictFacts): string {
  if (warnings.length === 0) return "";
  return ` ${formatCount(warnings.length, "warning")} about what it says: ${findings.join(", ")}.`;
}

function authenticVerdict(facts: VerdictFacts): Verdict {
  const { isPublic, isTest, warnings } = facts;
  const isOnlyTest = warnings.every(({ code }) => code === "approval_test");
  const count = warnings.length === 0 ? "" : `, ${formatCount(warnings.length, "warning")}`;
  const more = `${isPublic ? "" : ", private"}${count}`;
  const test = isUnasked(facts.approval?.method ?? facts.approvalMethod) ? "TEST instance" : "TEST approval";
  const record = `${intact}${isPublic ? "" : " Its content is private."}`;
  return {
    kind: !isOnlyTest ? "warned" : isTest ? "test" : isPublic ? "authentic" : "private",
    title: `Authentic record${more}${isTest ? ` (${test})` : ""}`,
    sentence: `${record}${approvalGrade(facts)}${findingsWords(facts)}`,
    record,
    short: `authentic${more}${isTest ? `, ${test}` : shortApproval(facts)}`,
    notes: keyNotes(facts.keyStatus),
    warnings,
  };
}

function approvalSentence(approval: HumanApproval | null): string {
  if (approval === null || approval.method === "none") return "No human approval is recorded.";
  return isBacked(approval)
    ? describeBacked(approval)
    : "Its human approval is asserted by the caller, not proven.";
}

const shortWords: Record<ApprovalMethod, string> = {
  none: "no human approval",
  hash: "approval asserted, not proven",
  proof_of_personhood: "approved by a human",
  enrolled_proof_of_personhood: "approved by enrolled humans",
  enrolled_approver: "approved by passkey",
  standing_approval: "standing approval",
  rule: "allowed by rule",
};

/** Says nothing good beside a warning. */
function shortApproval({ isPublic, approval, warnings }: VerdictFacts): string {
  if (approval?.method === "hash") return ", approval asserted, not proven";
  if (!isPublic || warnings.length > 0) return "";
  return `, ${shortWords[approval?.method ?? "none"]}`;
}

export function decideVerdict(facts: VerdictFacts): Verdict {
  if (facts.valid === false) return invalidVerdict(facts);
  if (facts.valid === null) return erasedVerdict(facts);
  return authenticVerdict(facts);
}
