"use client";
/** The first key, made in place, with what to paste: the key is in it, so nothing has to be set before. */
import { FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import type { CreatedKey } from "#components/portal/keys/key-dialogs";
import { SecretReveal } from "#components/portal/keys/secret-reveal";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { CodeBlock } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { usualScopes } from "#lib/api/schemas/key-choices";

interface FirstKeyProps {
  readonly action: FormAction<CreatedKey>;
  readonly hasKey: boolean;
  /** Command for the shell after the key is set. */
  readonly command: string;
}

export function FirstKey({ action, hasKey, command }: FirstKeyProps) {
  const [state, submit] = useFormAction(action);
  const made = state.result;
  if (made !== null)
    return (
      <div className="grid gap-4">
        <FormStatus state={state} />
        <SecretReveal
          title="Copy the key now"
          label="API key"
          secret={made.text}
          note="You won't see it again. We store only its hash."
        />
        <CodeBlock
          label="your first attestation"
          title="Paste this into a shell to send an attestation"
          code={`export COUNTERSIGN_API_KEY=${made.text}\n${command}`}
        />
      </div>
    );
  if (hasKey) return <TextLink href="/portal/keys">Your keys</TextLink>;
  return (
    <>
      <p>Your agents send it with each request.</p>
      <PortalForm action={submit} className="mt-3 grid justify-items-start gap-3">
        <input type="hidden" name="name" value="first key" />
        <input type="hidden" name="lifetime_days" value="90" />
        {usualScopes.map((scope) => (
          <input key={scope} type="hidden" name="scopes" value={scope} />
        ))}
        <SubmitButton size="small">Create a key</SubmitButton>
        <FormStatus state={state} />
      </PortalForm>
      <p className="mt-2 text-sm">
        Permissions: {usualScopes.join(", ")}. Expires in 90 days. For other choices, use{" "}
        <TextLink href="/portal/keys">Keys</TextLink>.
      </p>
    </>
  );
}
