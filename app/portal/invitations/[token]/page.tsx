/** /portal/invitations/<token>: opening it changes nothing; joining needs the invited address and a button. */

import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { AgentText } from "#components/agent-text";
import { AcceptInvitationForm } from "#components/portal/organization/accept-invitation-form";
import { SignInChoices } from "#components/portal/shell/sign-in-choices";
import { SignOut } from "#components/portal/shell/sign-out";
import { ButtonLink } from "#components/ui/button-link";
import type { UserPrincipal } from "#lib/api/http/context";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { readUser } from "#lib/server/pages/portal-request";
import { listSignInWays } from "#lib/server/pages/provider";
import { withNotFound } from "#lib/server/pages/with-not-found";
import { getApp } from "#lib/server/singleton";
import { readInvitation } from "#lib/services/accounts/invitations";
import { accept, requestLink, signOut } from "./actions";

export const metadata: Metadata = {
  title: "Invitation",
  referrer: "same-origin",
  robots: { index: false, follow: false },
};

interface PageProps {
  readonly params: Promise<{ token: string }>;
}

interface NextStepProps {
  readonly token: string;
  readonly email: string;
  readonly user: UserPrincipal | null;
  readonly ways: ReturnType<typeof listSignInWays>;
}

function NextStep({ token, email, user, ways }: NextStepProps) {
  if (user === null) {
    return (
      <>
        <p className="mb-4">First sign in with the invited email address:</p>
        <SignInChoices ways={ways} action={requestLink} next={`/portal/invitations/${token}`} email={email} />
      </>
    );
  }
  if (user.email === email) return <AcceptInvitationForm action={accept} token={token} />;
  return (
    <>
      <p className="mb-4 [overflow-wrap:anywhere]">
        You are signed in as {user.email}. Sign out, open the link from the mail again, and sign in as {email}
        .
      </p>
      <SignOut action={signOut} />
    </>
  );
}

/** The page doesn't say if there ever was one. */
function InvitationNotFound() {
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Invitation not found</h1>
      <p className="mt-4 text-lg text-muted">
        The link may be cut off, or the invitation was accepted or withdrawn, or has expired. Ask whoever
        invited you for a new one. If you have joined already, just sign in.
      </p>
      <p className="mt-8">
        <ButtonLink href="/portal">Go to the portal</ButtonLink>
      </p>
    </section>
  );
}

async function InvitationPage({ params }: PageProps) {
  const { token } = await params;
  const { context, env } = await getApp();
  const invitation = await readInvitation(context, token);
  if (invitation === null) notFound();
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">You are invited</h1>
      <p className="mt-3 mb-8 text-lg text-muted [overflow-wrap:anywhere]">
        {invitation.invitedBy} invites {invitation.email} to join{" "}
        <strong className="text-ink">
          <AgentText value={organizationTitle(invitation.organizationName)} isName />
        </strong>{" "}
        as {/^[aeiou]/.test(invitation.role) ? "an" : "a"} {invitation.role}.
      </p>
      <NextStep token={token} email={invitation.email} user={await readUser()} ways={listSignInWays(env)} />
    </section>
  );
}

export default withNotFound(InvitationPage, InvitationNotFound);
