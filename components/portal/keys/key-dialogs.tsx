"use client";
/** Rotating, limiting and revoking one API key. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { OverlapField } from "#components/portal/forms/overlap-field";
import { Field, Input } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { SecretReveal } from "./secret-reveal";

export interface NewKey {
  text: string;
}

export interface CreatedKey extends NewKey {
  scopes: readonly string[];
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
      triggerLabel="Rotate"
      triggerDetail={` ${name}`}
      title="Rotate key"
      description={`The new key gets the name, permissions and expiry of “${name}”. Replace the old one before it expires.`}
      action={action}
      fields={{ key_id: keyId }}
      confirmLabel="Create new key"
      confirmVariant="primary"
      renderResult={({ text }) => (
        <SecretReveal
          title="Copy the new key now"
          label="new API key"
          secret={text}
          note="You won't see it again. We store only its hash."
        />
      )}
    >
      <OverlapField id={id} label="Old key expires" />
    </ActionDialog>
  );
}

interface LimitKeyDialogProps extends KeyDialogProps<null> {
  readonly perDay: number | null;
}

export function LimitKeyDialog({ action, keyId, name, perDay }: LimitKeyDialogProps) {
  const id = `limit-${keyId}`;
  return (
    <ActionDialog
      triggerLabel="Limit"
      triggerDetail={` ${name}`}
      title="Limit key"
      description={`How many attestations “${name}” can create per UTC day, including those created today. Leave it empty for no limit besides your organization's.`}
      action={action}
      fields={{ key_id: keyId }}
      confirmLabel="Save limit"
      confirmVariant="primary"
    >
      <Field id={id} label="Attestations per day">
        <Input id={id} name="per_day" inputMode="numeric" defaultValue={perDay ?? ""} />
      </Field>
    </ActionDialog>
  );
}

export function RevokeKeyDialog({ action, keyId, name }: KeyDialogProps<null>) {
  return (
    <ActionDialog
      triggerLabel="Revoke"
      triggerDetail={` ${name}`}
      title="Revoke key"
      description={`“${name}” stops working immediately. This can't be undone. Attestations created with it stay valid.`}
      action={action}
      fields={{ key_id: keyId }}
      confirmLabel="Revoke key"
    />
  );
}
