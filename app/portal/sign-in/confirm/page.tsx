/**
 * The mailed link leads here. Opening it changes nothing, however often and by whatever program: only the button's POST signs
 * in.
 */
import type { Metadata } from "next";
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";
import { safePortalPath } from "#lib/server/pages/session";

export const metadata: Metadata = {
  title: "Finish signing in",
  // Avoids "no-referrer": under it browsers send `Origin: null` with the form, and the POST would be refused.
  referrer: "same-origin",
  robots: { index: false, follow: false },
};

interface PageProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function ConfirmSignInPage({ searchParams }: PageProps) {
  const { token, email, next } = await searchParams;
  if (typeof token !== "string" || typeof email !== "string") {
    return (
      <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
        <h1 className="font-semibold text-3xl">This link is incomplete</h1>
        <p className="mt-3 text-lg text-muted">
          Your mail program may have cut it off. Copy the whole link from the email, or request a new one.
        </p>
        <div className="mt-6">
          <ButtonLink href="/portal/sign-in">Request a new link</ButtonLink>
        </div>
      </section>
    );
  }
  return (
    <section className="mx-auto max-w-md px-4 py-16 sm:px-6">
      <h1 className="font-semibold text-3xl">Finish signing in</h1>
      <p className="mt-3 text-lg text-muted">
        You're about to sign in to this browser as{" "}
        <strong className="text-ink [overflow-wrap:anywhere]">{email}</strong>. If you didn't request this,
        close the page. Nothing has happened.
      </p>
      <form method="post" action="/portal/sign-in/verify" className="mt-8">
        <input type="hidden" name="token" value={token} />
        <input type="hidden" name="email" value={email} />
        <input type="hidden" name="next" value={safePortalPath(typeof next === "string" ? next : null)} />
        <Button type="submit" size="large" className="w-full">
          Sign in
        </Button>
      </form>
    </section>
  );
}
