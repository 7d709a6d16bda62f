/** The state of an authorization request, with a TEST mark if an approval is not a World ID proof. */

import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { StatusPill, TestMark } from "#components/ui/status-pill";
import type { AuthorizationStatus } from "#lib/contract/authorize";

const words = {
  pending: { tone: "pending", text: "Pending" },
  approved: { tone: "pass", text: "Approved" },
  denied: { tone: "fail", text: "Denied" },
  expired: { tone: "neutral", text: "Expired" },
  cancelled: { tone: "cancelled", text: "Cancelled" },
} as const;

interface AuthorizationStatusPillProps {
  readonly status: AuthorizationStatus;
  readonly environment: string;
  readonly given: number;
  /** Asked for with a test key. */
  readonly isTest: boolean;
  /** Since when it is known that a run has claimed it and attested nothing. */
  readonly unattestedAt?: string | null | undefined;
  /** Since when the approval is taken back. */
  readonly revokedAt?: string | null;
  /** The time is over in which an approval could be used that nothing used. */
  readonly isOver?: boolean;
}

export function AuthorizationStatusPill({
  status,
  environment,
  given,
  isTest,
  unattestedAt,
  revokedAt = null,
  isOver = false,
}: AuthorizationStatusPillProps) {
  const { tone, text } = words[status];
  // A rule or a standing approval approves without anyone having given an approval.
  const isApproval = given > 0 || status === "approved";
  return (
    <span className="flex flex-wrap gap-1.5">
      <StatusPill tone={tone}>{text}</StatusPill>
      {revokedAt === null ? null : <StatusPill tone="cancelled">Taken back</StatusPill>}
      {isOver && status === "approved" && revokedAt === null ? (
        <StatusPill tone="neutral">Ended</StatusPill>
      ) : null}
      {unattestedAt ? <StatusPill tone="warn">Claimed, never attested</StatusPill> : null}
      {isTest ? <TestKeyMark /> : null}
      {isApproval && environment !== "production" ? <TestMark /> : null}
    </span>
  );
}
