/**
 * The page on which a human decides. Opening it changes nothing, because mail scanners and link previews open
 * links too. Its headers are in next.config.ts.
 */
import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { cache } from "react";
import { ApprovalScreen } from "#components/approve/approval-screen";
import { writeHeading } from "#components/approve/heading";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { getApp } from "#lib/server/singleton";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import ApprovalNotFound from "./not-found";

interface ApprovePageProps {
  readonly params: Promise<{ token: string }>;
}

/** Once for the page and its title. */
const readView = cache(async (token: string) => readApprovalView((await getApp()).context, token));

export async function generateMetadata({ params }: ApprovePageProps): Promise<Metadata> {
  const view = await readView((await params).token);
  return {
    // Names the state, which tells tabs apart, and nothing that an agent wrote: chat programs fetch the link for a preview.
    title: view === null ? "Approval request" : writeHeading(view, false),
    description: "An agent is requesting a person's approval.",
    robots: { index: false, follow: false },
    referrer: "no-referrer",
  };
}

async function ApprovePage({ params }: ApprovePageProps) {
  const { token } = await params;
  const view = await readView(token);
  if (view === null) notFound();
  return <ApprovalScreen view={view} token={token} />;
}

export default withNotFound(ApprovePage, ApprovalNotFound);
