/** /portal/sign-in: one form for new and existing users. */
import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { SignInChoices } from "#components/portal/shell/sign-in-choices";
import { SignOut } from "#components/portal/shell/sign-out";
import { Callout } from "#components/ui/callout";
import { TextLink } from "#components/ui/text-link";
import { readPortal, readUser, type SearchPageProps } from "#lib/server/pages/portal-request";
import { listSignInWays } from "#lib/server/pages/provider";
import { safePortalPath } from "#lib/server/pages/session";
import { type App, getApp } from "#lib/server/singleton";
import { isOnlyApprover } from "#lib/services/accounts/members";
import { requestLink, signOut } from "./actions";

export const metadata: Metadata = { title: "Sign in" };

function readText(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const errorTitles = new Map([
  ["Verification", "This link was already used, or it's older than 30 minutes. Request a new one."],
  ["MailedLinksOff", "Links by email are off here. Sign in with your company account."],
  [
    "EmailUnverified",
    "Your company's sign-in doesn't say that it has verified your email address. Ask whoever runs it.",
  ],
  [
    "DomainUnverified",
    "No organization here has verified the domain of your email address. An owner can, in the settings.",
  ],
  [
    "OtherAccount",
    "The account of this email address belongs to another person of your company's sign-in. Ask the operator of this service.",
  ],
  [
    "OtherAddress",
    "Your email address has changed at your company's sign-in. Ask an owner of your organization to invite the new one.",
  ],
  [
    "OutdatedSignIn",
    "This sign-in was begun too long ago, or you began another one since, in another tab. Try again.",
  ],
  [
    "Configuration",
    "Sign-in failed, and not because of you. Ask whoever runs this service: its log says why.",
  ],
  ["AccessDenied", "Sign-up is closed here. Ask an owner of your organization to invite you."],
]);

function describeSignUp({ SIGN_UP, SIGN_UP_DOMAINS, OIDC_ENFORCED }: App["env"]): string {
  if (OIDC_ENFORCED === "on") return "Your company account signs you in.";
  if (SIGN_UP === "open") return "We'll create an account if you don't have one.";
  const invited = "ask an owner of your organization to invite you.";
  if (SIGN_UP === "invited") return `New here? Sign-up is closed: ${invited}`;
  return `New here? Addresses at ${SIGN_UP_DOMAINS.join(" or ")} can sign up. With another one, ${invited}`;
}

/** Shown to someone who was removed or has not accepted their invitation yet. */
function NoOrganization({ email }: { readonly email: string }) {
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">You don't belong to an organization</h1>
      <p className="mt-3 mb-8 text-lg text-muted [overflow-wrap:anywhere]">
        You are signed in as {email}. If you were invited, open the link in that email to join. If not, ask an
        owner of your organization to invite you.
      </p>
      <SignOut action={signOut} />
    </section>
  );
}

export default async function SignInPage({ searchParams }: SearchPageProps) {
  const query = await searchParams;
  const next = safePortalPath(readText(query["next"]));
  const user = await readUser();
  const mayGoOn = user !== null && (next.startsWith("/portal/invitations/") || (await readPortal()) !== null);
  const { env, context } = await getApp();
  if (mayGoOn)
    redirect(next === "/portal" && (await isOnlyApprover(context, user.userId)) ? "/portal/inbox" : next);
  if (user !== null) return <NoOrganization email={user.email} />;
  const error = readText(query["error"]);
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Sign in to the portal</h1>
      <p className="mt-3 text-lg text-muted">
        Manage your organization's keys, agents, attestations and approvals. {describeSignUp(env)}
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
          <Callout tone="fail" title={errorTitles.get(error) ?? "Sign-in failed. Try again."} />
        </div>
      )}
      <div className="mt-8">
        <SignInChoices ways={listSignInWays(env)} action={requestLink} next={next} />
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
