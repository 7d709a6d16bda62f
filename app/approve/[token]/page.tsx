/**
 * The page on which a human decides. Opening it changes nothing, because mail scanners and link previews open
 * links too. Its headers are in next.config.ts.
 */
import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ApprovalScreen } from "#components/approve/approval-screen";
import { readApprovalView } from "#lib/approvals/view";
import { withNotFound } from "#lib/pages/with-not-found";
import { getApp } from "#lib/runtime/app";
import ApprovalNotFound from "./not-found";

export const metadata: Metadata = {
  title: "Approval request",
  // No preview of what an agent wrote in chat programs that fetch the link.
  description: "An agent is requesting a person's approval.",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface ApprovePageProps {
  readonly params: Promise<{ token: string }>;
}

async function ApprovePage({ params }: ApprovePageProps) {
  const { token } = await params;
  const { context } = await getApp();
  const view = await readApprovalView(context, token);
  if (view === null) notFound();
  return <ApprovalScreen view={view} token={token} />;
}

export default withNotFound(ApprovePage, ApprovalNotFound);
