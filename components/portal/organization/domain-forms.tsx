"use client";
/** Adding a domain, checking it now, and removing it. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { FormEnd, FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { PortalForm } from "./shown-organization";

export function AddDomainForm({ action }: { readonly action: FormAction }) {
  const [state, submit] = useFormAction(action);
  const error = state.errors["domain"];
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <Field id="domain" label="Domain" hint="Like example.com" error={error}>
        <Input
          {...describeControl("domain", { hint: true, error })}
          name="domain"
          required
          maxLength={253}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          defaultValue={textValue(state, "domain")}
        />
      </Field>
      <FormEnd state={state} label="Add domain" variant="secondary" />
    </PortalForm>
  );
}

interface DomainFormProps {
  readonly action: FormAction;
  readonly id: string;
  readonly domain: string;
}

export function CheckDomainForm({ action, id, domain }: DomainFormProps) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="grid justify-items-start gap-3">
      <input type="hidden" name="domain_id" value={id} />
      <SubmitButton size="small" variant="secondary">
        Check now<span className="sr-only">: {domain}</span>
      </SubmitButton>
      <FormStatus state={state} />
    </PortalForm>
  );
}

export function RemoveDomainDialog({ action, id, domain }: DomainFormProps) {
  return (
    <ActionDialog
      triggerLabel="Remove"
      triggerDetail={` ${domain}`}
      title="Remove domain"
      description={`Approvers no longer see ${domain} on new requests. Requests that were already made don't change.`}
      action={action}
      fields={{ domain_id: id }}
      confirmLabel="Remove"
    />
  );
}
