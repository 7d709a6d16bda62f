"use client";
/** Rotating and revoking one API key. */
import { Field, Select } from "#components/ui/field";
import type { FormAction } from "#lib/contract/portal";
import { ActionDialog } from "./action-dialog";
import { SecretReveal } from "./secret-reveal";

export interface NewKey {
  text: string;
}

interface KeyDialogProps<Result> {
  readonly action: FormAction<Result>;
  readonly keyId: string;
  readonly name: string;
}

export function RotateKeyDialog({ action, keyId, name }: KeyDialogProps<NewKey>) {
  const id = `overlap-${keyId}`;
  return (
    <ActionDialog
      triggerLabel={
        <>
          Rotate<span className="sr-only"> {name}</span>
        </>
      }
      title="Rotate this key"
      description={`A new key takes over the name, scopes and expiry of “${name}”. Put it where the old one is before the overlap ends.`}
      action={action}
      fields={{ key_id: keyId }}
      confirmLabel="Make the new key"
      confirmVariant="primary"
      renderResult={({ text }) => (
        <SecretReveal
          title="Copy the new key now"
          label="new API key"
          secret={text}
          note="It is shown this once. We keep only a hash of it."
        />
      )}
    >
      <Field id={id} label="The old key works for">
        <Select id={id} name="overlap_hours" defaultValue="24">
          <option value="0">not a moment longer</option>
          <option value="1">1 hour</option>
          <option value="24">1 day</option>
          <option value="168">7 days</option>
        </Select>
      </Field>
    </ActionDialog>
  );
}

export function RevokeKeyDialog({ action, keyId, name }: KeyDialogProps<null>) {
  return (
    <ActionDialog
      triggerLabel={
        <>
          Revoke<span className="sr-only"> {name}</span>
        </>
      }
      title="Revoke this key"
      description={`“${name}” is refused from the next request on, everywhere. This cannot be undone. Attestations made with it stay valid.`}
      action={action}
      fields={{ key_id: keyId }}
      confirmLabel="Revoke the key"
    />
  );
}
