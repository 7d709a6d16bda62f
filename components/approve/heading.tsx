/** The heading of an approval page: its state in a sentence, also between two approvals. */
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { describeMissing } from "./groups-needed";

const headings = {
  pending: "An agent is requesting your approval",
  approved: "This request was approved",
  denied: "This request was denied",
  expired: "This request has expired",
  cancelled: "This request was cancelled",
} as const;

/** `isOwn`: this visitor has just approved. */
export function writeHeading(view: ApprovalView, isOwn: boolean): string {
  const { status, approvals, revoked_at, request } = view;
  if (view.planted !== null) return "This was a planted request";
  if (view.amended_path !== null) return "This request was changed";
  if (revoked_at !== null) return "This approval was taken back";
  const missing = approvals.required - approvals.given;
  if (status === "pending" && request.grant !== null && approvals.given === 0)
    return "An agent is requesting a standing approval";
  if (status !== "pending" || approvals.given === 0 || missing < 1) return headings[status];
  const anyone = missing === 1 ? "One more person is needed." : `${missing} more people are needed.`;
  const needed = describeMissing(view) ?? anyone;
  if (isOwn) return `You approved. ${needed}`;
  return `${approvals.given === 1 ? "One person" : `${approvals.given} people`} approved. ${needed}`;
}
