/** The ways to sign in on this instance: by the company's account, by a link in an email, or both. */
import { SignInForm } from "#components/portal/shell/sign-in-form";
import { buttonClass } from "#components/ui/button-style";
import type { FormAction } from "#lib/api/schemas/form-state";

interface SignInChoicesProps {
  readonly ways: "email" | "both" | "provider";
  readonly action: FormAction;
  readonly next: string;
  /** Set for an invitation: the one address that is accepted. */
  readonly email?: string;
}

export function SignInChoices({ ways, ...form }: SignInChoicesProps) {
  if (ways === "email") return <SignInForm {...form} />;
  return (
    <>
      {/* The address leads to another host, which only a full load can. */}
      <a
        href={`/portal/sign-in/oidc?next=${encodeURIComponent(form.next)}`}
        className={buttonClass("primary", "medium", "w-full")}
      >
        Sign in with your company account
      </a>
      {ways === "provider" ? null : (
        <div className="mt-8 border-line border-t pt-6">
          <SignInForm {...form} />
        </div>
      )}
    </>
  );
}
