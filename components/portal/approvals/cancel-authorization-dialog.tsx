"use client";
/** Taking back a request that is still open. */
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import type { FormAction } from "#lib/api/schemas/form-state";

interface CancelAuthorizationDialogProps {
  readonly action: FormAction;
  readonly requestId: string;
  /** In a list of them. */
  readonly name?: string;
}

export function CancelAuthorizationDialog({ action, requestId, name }: CancelAuthorizationDialogProps) {
  return (
    <ActionDialog
      triggerLabel={
        <>
          Cancel
          {name === undefined ? null : (
            <span className="sr-only">
              {" "}
              <AgentText value={name} hideWarnings />
            </span>
          )}
        </>
      }
      title="Cancel this request"
      description="Nobody will be able to approve or deny it, and the agent will see that it was cancelled. This can't be undone."
      action={action}
      fields={{ request_id: requestId }}
      confirmLabel="Cancel request"
    />
  );
}
