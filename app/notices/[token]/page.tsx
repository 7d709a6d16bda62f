/**
 * /notices/<token>: what approvers choose by the link in their mails. Opening it changes nothing, because mail scanners
 * open links too; only the buttons do.
 */
import type { Metadata } from "next";
import { AgentText } from "#components/agent-text";
import { Button } from "#components/ui/button";
import { TextLink } from "#components/ui/text-link";
import { readApproverLink } from "#lib/accounts/approver-links";
import { orNotFound } from "#lib/pages/portal-request";
import { getApp } from "#lib/runtime/app";

export const metadata: Metadata = {
  title: "E-mails about approval requests",
  robots: { index: false, follow: false },
  referrer: "no-referrer",
};

interface PageProps {
  readonly params: Promise<{ token: string }>;
}

type Link = Awaited<ReturnType<typeof readApproverLink>>;

function explain({ status, mayConfirm }: Link): string {
  if (status === "confirmed") return "gets these e-mails";
  if (status === "left") return "no longer gets these e-mails";
  return mayConfirm
    ? "has been added as an approver and gets nothing until you accept"
    : "was added as an approver, but this link has expired. Ask the sender to add you again";
}

export default async function NoticesPage({ params }: PageProps) {
  const { token } = await params;
  const { context } = await getApp();
  const link = await orNotFound(readApproverLink(context, token));
  const isNew = link.status === "invited";
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Approval requests by e-mail</h1>
      <p className="mt-3 text-lg text-muted">
        When AI agents of{" "}
        <strong className="text-ink">
          <AgentText value={link.organizationName} isName />
        </strong>{" "}
        need an approval, approvers get the link by e-mail.{" "}
        <span className="[overflow-wrap:anywhere]">{link.email}</span> {explain(link)}.
      </p>
      <div className="mt-8 flex flex-col gap-3">
        {link.mayConfirm ? (
          <form method="post" action={`/notices/${token}/confirm`}>
            <Button type="submit" size="large" className="w-full">
              {isNew ? "Accept" : "Subscribe again"}
            </Button>
          </form>
        ) : null}
        {link.status === "left" ? null : (
          <form method="post" action={`/notices/${token}/leave`}>
            <Button type="submit" size="large" variant="secondary" className="w-full">
              {isNew ? "Decline" : "Unsubscribe"}
            </Button>
          </form>
        )}
      </div>
      {link.status === "confirmed" ? (
        <p className="mt-6 text-muted">
          Sign in with this address to choose which e-mails you get, and to see what waits, in your{" "}
          <TextLink href="/portal/inbox">inbox</TextLink>.
        </p>
      ) : null}
    </section>
  );
}
