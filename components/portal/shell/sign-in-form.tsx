"use client";
/** One form for new and existing users; its answer is the same for both. Works without JavaScript. */
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";

interface SignInFormProps {
  readonly action: FormAction;
  readonly next: string;
  /** Set for an invitation: the one address that is accepted. */
  readonly email?: string;
}

export function SignInForm({ action, next, email }: SignInFormProps) {
  const [state, submit] = useFormAction(action);
  const error = state.errors["email"];
  return (
    <form action={submit} className="flex flex-col gap-5" noValidate>
      <input type="hidden" name="next" value={next} />
      <Field id="email" label="Email address" error={error}>
        <Input
          {...describeControl("email", { error })}
          name="email"
          type="email"
          autoComplete="email"
          required
          readOnly={email !== undefined}
          defaultValue={email ?? textValue(state, "email")}
          placeholder="you@example.com"
        />
      </Field>
      <SubmitButton>Send me a sign-in link</SubmitButton>
      <FormStatus state={state} />
    </form>
  );
}
