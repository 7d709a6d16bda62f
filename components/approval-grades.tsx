/** The grades of human approval, each with one wording, so that no page can blur them. */
import { gradeMarks } from "#lib/protocol/approval/approval-words";
import { type ApprovalMethod, approvalMethods } from "#lib/protocol/statement/human-approval";
import { StatusPill, TestMark, type Tone } from "./ui/status-pill";

interface ApprovalPillProps {
  readonly method: ApprovalMethod;
  /** Environment of an authorization; anything but "production" is marked TEST. */
  readonly environment?: string;
}

/** Marked as proven only where people approved this very request. */
const tones = {
  none: "neutral",
  hash: "warn",
  proof_of_personhood: "proven",
  enrolled_proof_of_personhood: "proven",
  enrolled_approver: "proven",
  standing_approval: "neutral",
  rule: "neutral",
} as const satisfies Record<ApprovalMethod, Tone>;

/** The grade of one attestation, with its TEST mark if there is one. */
export function ApprovalPill({ method, environment }: ApprovalPillProps) {
  const isTest = method !== "none" && method !== "hash" && environment !== "production";
  return isTest ? (
    <TestMark method={method} />
  ) : (
    <StatusPill tone={tones[method]}>{gradeMarks[method]}</StatusPill>
  );
}

const optionWords: Record<ApprovalMethod, string> = {
  none: "None",
  hash: "Asserted by the caller",
  proof_of_personhood: "Proven by World ID, or TEST",
  enrolled_proof_of_personhood: "Enrolled approvers with World ID, or TEST",
  enrolled_approver: "Enrolled approvers by passkey, or TEST",
  standing_approval: gradeMarks.standing_approval,
  rule: gradeMarks.rule,
};

export function ApprovalOptions() {
  return approvalMethods.map((method) => (
    <option key={method} value={method}>
      {optionWords[method]}
    </option>
  ));
}

/** Claim of a record that failed a check: worded as a claim, and never in the colour of a proof. */
export function ClaimedPill({
  method,
  isTest,
}: {
  /** Null if an approval is claimed and its grade is not known. */
  readonly method: ApprovalMethod | null;
  readonly isTest: boolean;
}) {
  if (isTest) return <TestMark method={method} />;
  return method === "none" ? (
    <StatusPill tone="neutral">No human approval claimed</StatusPill>
  ) : (
    <StatusPill tone="warn">Human approval claimed, not verified</StatusPill>
  );
}

const grades = [
  {
    method: "none",
    title: "None",
    means: "The record says what the agent reported. Nobody claims that a human was asked.",
    sent: "Nothing about an approval.",
  },
  {
    method: "hash",
    title: "Asserted",
    means:
      "The caller says that a human approved, optionally with a hash that identifies the approver. There is no proof.",
    sent: "human_approved: true, with or without human_approver_hash.",
  },
  {
    method: "proof_of_personhood",
    title: "Proven",
    means:
      "A key of a human enrolled with World ID approved exactly this agent, action and context. The zero-knowledge proof is part of the receipt and is checked again on every visit.",
    sent: "human_authorization, issued by this service after the approval.",
  },
  {
    method: "enrolled_approver",
    title: "Enrolled",
    means:
      "A device that the organization enrolled for this person, unlocked by its user, signed exactly this request. Who the person is, is the organization's word.",
    sent: "human_authorization, as above. required_approvers asks for it.",
  },
] as const;

/** `proof`: of this instance, which gives no grade that needs another. */
export function ApprovalGrades({ proof }: { readonly proof: "World ID" | "passkeys" }) {
  const given = grades.filter(({ method }) => proof === "World ID" || method !== "proof_of_personhood");
  return (
    <ul className="grid gap-4 md:grid-cols-2">
      {given.map((grade) => (
        <li key={grade.method} className="rounded-lg border border-line bg-surface p-5">
          <h3 className="font-semibold text-[17px]">{grade.title}</h3>
          <div className="mt-2">
            <ApprovalPill method={grade.method} environment="production" />
          </div>
          <p className="mt-3 text-[15px]">{grade.means}</p>
          <p className="mt-3 text-muted text-sm">
            What was sent: <span className="[overflow-wrap:anywhere]">{grade.sent}</span>
          </p>
        </li>
      ))}
    </ul>
  );
}
