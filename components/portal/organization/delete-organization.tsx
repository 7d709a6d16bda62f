"use client";
/** Deletes an organization; says what that means before the button. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";

const consequences = [
  "All of the organization's API keys stop working immediately.",
  "All members lose access. Members who belong to no other organization are deleted.",
  "Pending approval requests are cancelled.",
  "Webhooks are removed. They get no more messages, not even of the cancelled requests.",
  "Attestations aren't deleted. They are signed, in a public log, and others may have copies. Public ones stay public, private ones stay private. To erase the content of an attestation, do that first, on its page or through the API.",
  "A retention time goes on: content that becomes older is erased.",
  "Your agents' slugs stay reserved, so nobody can act under their names.",
  "The audit log, with email and IP addresses, stays with the operator of this instance.",
] as const;

interface DeleteOrganizationProps {
  readonly action: FormAction;
  readonly name: string;
}

export function DeleteOrganization({ action, name }: DeleteOrganizationProps) {
  return (
    <>
      <ul className="mb-4 max-w-prose list-disc space-y-1.5 pl-5 text-[15px]">
        {consequences.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <ActionDialog
        triggerLabel="Delete organization"
        triggerVariant="danger"
        title={`Delete ${name}`}
        description="You lose everything listed on this page. This can't be undone."
        action={action}
        fields={{}}
        confirmLabel="Delete permanently"
      >
        <Field id="delete-confirmation" label={`Type the organization's name: ${name}`}>
          <Input id="delete-confirmation" name="confirmation" required autoComplete="off" />
        </Field>
      </ActionDialog>
    </>
  );
}
