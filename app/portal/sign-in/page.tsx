/** /portal/sign-in: one form for new and existing users. */
import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { SignInForm } from "#components/portal/shell/sign-in-form";
import { Callout } from "#components/ui/callout";
import { TextLink } from "#components/ui/text-link";
import { safePortalPath } from "#lib/server/pages/portal-path";
import { readUser } from "#lib/server/pages/portal-request";
import { getApp } from "#lib/server/singleton";
import { requestLink } from "./actions";

export const metadata: Metadata = { title: "Sign in" };

interface PageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export default async function SignInPage({ searchParams }: PageProps) {
  const query = await searchParams;
  const next = safePortalPath(textOf(query["next"]));
  if ((await readUser()) !== null) redirect(next);
  const { env } = await getApp();
  const error = textOf(query["error"]);
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Sign in to the portal</h1>
      <p className="mt-3 text-lg text-muted">
        Manage your organization's keys, agents, attestations and approvals. We'll create an account if you
        don't have one.
      </p>
      {query["deleted"] === undefined ? null : (
        <div className="mt-6">
          <Callout tone="info" title="The organization is deleted">
            Its keys no longer work, and you are signed out of it. Its public attestations stay verifiable.
          </Callout>
        </div>
      )}
      {error === undefined ? null : (
        <div className="mt-6">
          <Callout
            tone="fail"
            title={
              error === "Verification"
                ? "This link was already used, or it's older than 30 minutes. Request a new one."
                : "Sign-in failed. Request a new link."
            }
          />
        </div>
      )}
      <div className="mt-8">
        <SignInForm action={requestLink} next={next} />
      </div>
      {env.mail === "mailbox" ? (
        <p className="mt-8 text-muted text-sm">
          This instance doesn't send mail. Read it in the{" "}
          <TextLink href="/dev/mailbox">development mailbox</TextLink>.
        </p>
      ) : null}
    </section>
  );
}
