/** The state of an authorization request, with a TEST mark if an approval is not a World ID proof. */

import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { StatusPill, TestMark } from "#components/ui/status-pill";
import type { AuthorizationStatus } from "#lib/api/schemas/authorize";

const words = {
  pending: { tone: "pending", text: "Pending" },
  approved: { tone: "pass", text: "Approved" },
  denied: { tone: "fail", text: "Denied" },
  expired: { tone: "neutral", text: "Expired" },
  cancelled: { tone: "cancelled", text: "Cancelled" },
} as const;

/** Ended because an approver changed it: another request took its place. */
const changed = { tone: "cancelled", text: "Changed" } as const;

interface Standing {
  readonly status: AuthorizationStatus;
  readonly amendedBy?: string | null | undefined;
  /** Time at which the approval was taken back. */
  readonly revokedAt: string | null;
  /** The time is over in which an approval could be used that nothing used. */
  readonly isOver: boolean;
}

function findLater({ status, revokedAt, isOver }: Standing) {
  if (revokedAt !== null) return { tone: "cancelled", text: "Taken back" } as const;
  return isOver && status === "approved" ? ({ tone: "neutral", text: "Ended" } as const) : null;
}

const findWords = ({ status, amendedBy }: Pick<Standing, "status" | "amendedBy">) =>
  amendedBy ? changed : words[status];

/** State in a word or two, for a tab's title. */
export const describeStatus = (standing: Standing): string =>
  (findLater(standing) ?? findWords(standing)).text;

interface AuthorizationStatusPillProps extends Standing {
  readonly environment: string;
  readonly given: number;
  /** Asked for with a test key. */
  readonly isTest: boolean;
  /** Time since which a claim without an attestation is known. */
  readonly unattestedAt?: string | null | undefined;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
}

export function AuthorizationStatusPill({
  status,
  amendedBy,
  environment,
  given,
  isTest,
  unattestedAt,
  revokedAt,
  isOver,
  isTestSaid = false,
}: AuthorizationStatusPillProps) {
  const { tone, text } = findWords({ status, amendedBy });
  const later = findLater({ status, revokedAt, isOver });
  // A rule or a standing approval approves without anyone having given an approval.
  const isApproval = given > 0 || status === "approved";
  return (
    <span className="flex flex-wrap gap-1.5 items-center">
      <StatusPill tone={tone}>{text}</StatusPill>
      {later === null ? null : <StatusPill tone={later.tone}>{later.text}</StatusPill>}
      {unattestedAt ? <StatusPill tone="warn">Claimed, never attested</StatusPill> : null}
      {isTest && !isTestSaid ? <TestKeyMark /> : null}
      {isApproval && !isTestSaid && environment !== "production" ? (
        <TestMark method={given > 0 ? null : "rule"} />
      ) : null}
    </span>
  );
}
