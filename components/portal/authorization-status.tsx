/** The state of an authorization request, with a TEST mark if an approval is not a World ID proof. */
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
}

export function AuthorizationStatusPill({ status, environment, given }: AuthorizationStatusPillProps) {
  const { tone, text } = words[status];
  return (
    <span className="flex flex-wrap gap-1.5">
      <StatusPill tone={tone}>{text}</StatusPill>
      {given > 0 && environment !== "production" ? <TestMark /> : null}
    </span>
  );
}
