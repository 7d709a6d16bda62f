"use client";
/** The end of an organization, with what it means said before the button. */
import { Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/contract/portal";
import { ActionDialog } from "./action-dialog";

const consequences = [
  "Every API key of the organization is refused from the next request on, for every agent that uses one.",
  "All members lose access. People who belong to no other organization are deleted with their sessions.",
  "Requests that wait for a human are cancelled.",
  "Attestations are not deleted: they are signed, in a public log, and others may hold copies. Public ones stay public, private ones stay hidden. To erase the content of single ones, do it first, on their pages or through the API.",
  "The slugs of your agents stay taken, so that nobody can go on under their names.",
  "The audit log, with the addresses of those who acted, stays with the operator of this instance.",
] as const;

interface DeleteAccountProps {
  readonly action: FormAction;
  readonly name: string;
}

export function DeleteAccount({ action, name }: DeleteAccountProps) {
  return (
    <>
      <ul className="mb-4 max-w-prose list-disc space-y-1.5 pl-5 text-[15px]">
        {consequences.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <ActionDialog
        triggerLabel="Delete the account"
        triggerVariant="danger"
        title="Delete the account"
        description="This cannot be undone."
        action={action}
        fields={{}}
        confirmLabel="Delete it for ever"
      >
        <Field id="delete-confirmation" label={`Type the name of the organization: ${name}`}>
          <Input id="delete-confirmation" name="confirmation" required autoComplete="off" />
        </Field>
      </ActionDialog>
    </>
  );
}
