"use client";
/** Ends the session in this browser. */
import { FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";

interface SignOutProps {
  /** Leads to the sign-in page. */
  readonly action: () => Promise<never>;
  readonly isSmall?: boolean;
}

export function SignOut({ action, isSmall = false }: SignOutProps) {
  const [state, submit] = useFormAction(action);
  return (
    <form action={submit}>
      <SubmitButton variant="secondary" size={isSmall ? "small" : "medium"}>
        Sign out
      </SubmitButton>
      <FormStatus state={state} />
    </form>
  );
}
