"use client";
/** Taking back an approval that no attestation has used. */
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { ReasonField } from "#components/portal/forms/reason-field";
import type { FormAction } from "#lib/api/schemas/form-state";

interface TakeBackDialogProps {
  readonly action: FormAction;
  readonly requestId: string;
  /** A run has claimed it: its action may have begun. */
  readonly isClaimed: boolean;
  /** In a list of them. */
  readonly name?: string;
}

export function TakeBackDialog({ action, requestId, isClaimed, name }: TakeBackDialogProps) {
  return (
    <ActionDialog
      triggerLabel={
        <>
          Take back
          {name === undefined ? null : (
            <span className="sr-only">
              {" "}
              <AgentText value={name} hideWarnings />
            </span>
          )}
        </>
      }
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
