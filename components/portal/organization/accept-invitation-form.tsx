"use client";
/** The button that joins an organization. */
import { FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import type { FormAction } from "#lib/api/schemas/form-state";

interface AcceptInvitationFormProps {
  readonly action: FormAction;
  readonly token: string;
}

export function AcceptInvitationForm({ action, token }: AcceptInvitationFormProps) {
  const [state, submit] = useFormAction(action);
  return (
    <form action={submit} className="flex flex-col gap-4">
      <input type="hidden" name="token" value={token} />
      <SubmitButton size="large">Join organization</SubmitButton>
      <FormStatus state={state} />
    </form>
  );
}
