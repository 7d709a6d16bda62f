/** The three grades of human approval, each with one wording, so that no page can blur them. */
import { StatusPill, TestMark } from "./ui/status-pill";

const approvalMethods = ["none", "hash", "proof_of_personhood"] as const;
export type ApprovalMethod = (typeof approvalMethods)[number];

export function isApprovalMethod(method: string | null): method is ApprovalMethod {
  return approvalMethods.some((known) => known === method);
}

interface ApprovalPillProps {
  readonly method: ApprovalMethod;
  /** Of a proof of personhood; anything but "production" is marked TEST. */
  readonly environment?: string;
}

/** The grade of one attestation, with its TEST mark if there is one. */
export function ApprovalPill({ method, environment }: ApprovalPillProps) {
  switch (method) {
    case "none":
      return <StatusPill tone="neutral">No human approval</StatusPill>;
    case "hash":
      return <StatusPill tone="warn">Asserted by the caller, not proven</StatusPill>;
    case "proof_of_personhood":
      return environment === "production" ? (
        <StatusPill tone="pass">Proven by World ID</StatusPill>
      ) : (
        <TestMark />
      );
  }
}

/** Of an approval that was used after the agent's key had changed: proven once, and not for this agent. */
export function OtherKeyPill() {
  return <StatusPill tone="fail">Approved for another key</StatusPill>;
}

/** What a record says that failed a check: in the words of a claim, and never in the colour of a proof. */
export function ClaimedPill({
  method,
  isTest,
}: {
  /** Null if an approval is claimed and its grade is not known. */
  readonly method: ApprovalMethod | null;
  readonly isTest: boolean;
}) {
  if (isTest) return <TestMark />;
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
] as const;

export function ApprovalGrades() {
  return (
    <ul className="grid gap-4 md:grid-cols-3">
      {grades.map((grade) => (
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
