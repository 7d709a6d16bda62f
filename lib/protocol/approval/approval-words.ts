/** The grade of a human approval in words: one wording each, so that no page, picture, feed or pack blurs them. */
import type { ApprovalMethod, BackedApproval } from "#lib/protocol/statement/human-approval";
import { formatCount } from "#lib/protocol/text/display-text";

/** Words that follow "Human approval: ". */
export const approvalWords: Record<ApprovalMethod, string> = {
  none: "none recorded",
  hash: "asserted by the caller, not proven",
  proof_of_personhood: "proven by World ID",
  enrolled_proof_of_personhood: "enrolled approvers, each proven by World ID",
  enrolled_approver: "enrolled approvers, by passkey",
  standing_approval: "covered by a standing approval; no human was asked",
  rule: "allowed by a rule; no human was asked",
};

/** True if no person was asked: then words about a person would contradict the rest. */
export const isUnasked = (method: unknown): boolean => method === "rule" || method === "standing_approval";

/** Marks beside a record; of a test in place of the grade. */
export const gradeMarks: Record<ApprovalMethod, string> = {
  none: "No human approval",
  hash: "Asserted by the caller, not proven",
  proof_of_personhood: "Proven by World ID",
  enrolled_proof_of_personhood: "Enrolled approvers, proven by World ID",
  enrolled_approver: "Approved by passkey",
  standing_approval: "Standing approval",
  rule: "Allowed by rule",
};
export const describeTest = (method: unknown): string =>
  isUnasked(method) ? "TEST instance" : "TEST approval, not a real person";

/** "1 enrolled approver", "3 enrolled approvers". */
const countApprovers = ({ length }: readonly string[]) => formatCount(length, "enrolled approver");

const levels: Record<string, string> = { orb: "Orb", device: "device" };

/** "World ID, level Orb". The level is the service's word inside the signed bytes. */
export function describeLevel(level: string): string {
  return level === "none" ? "No World ID" : `World ID, level ${levels[level] ?? level}`;
}

/** A World ID proof shows whose key was used, not that anybody looked at a page. */
const describeHumans = (count: number) =>
  count === 1 ? "A key of an enrolled human" : `Keys of ${count} different enrolled humans`;

/** A sentence that says no more than is proven. */
export function describeBacked({
  method,
  level,
  nullifier_hashes: humans,
  approver_ids: approvers,
}: BackedApproval): string {
  switch (method) {
    case "proof_of_personhood":
      return `${describeHumans(humans.length)} approved exactly this, proven by ${describeLevel(level)}.`;
    case "enrolled_proof_of_personhood":
      return `${countApprovers(approvers)} of the organization approved exactly this, by passkey and ${describeLevel(level)}.`;
    case "enrolled_approver":
      return `${countApprovers(approvers)} of the organization approved exactly this, by passkey.`;
    case "standing_approval":
      return "It was covered by a standing approval that people gave before. Nobody was asked about this one.";
    case "rule":
      return "A rule of the organization allowed it. Nobody was asked.";
  }
}
