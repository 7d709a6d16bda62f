"use client";
/** Taking back an approval that no attestation has used. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { ReasonField } from "#components/portal/forms/reason-field";
import type { FormAction } from "#lib/contract/form-state";

interface TakeBackDialogProps {
  readonly action: FormAction;
  readonly requestId: string;
  /** A run has claimed it: its action may have begun. */
  readonly isClaimed: boolean;
}

export function TakeBackDialog({ action, requestId, isClaimed }: TakeBackDialogProps) {
  return (
    <ActionDialog
      triggerLabel="Take back"
      triggerVariant="danger"
      title="Take this approval back"
      description={
        isClaimed
          ? "A run has claimed it, so its action may have begun: this doesn't end it. The approval can't be attested any more. This can't be undone."
          : "Nothing can claim or use it any more. This can't be undone."
      }
      action={action}
      fields={{ request_id: requestId }}
      confirmLabel="Take back"
    >
      <ReasonField id="take-back-reason" />
    </ActionDialog>
  );
}
