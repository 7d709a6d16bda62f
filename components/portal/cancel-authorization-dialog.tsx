"use client";
/** Taking back a request that nobody has decided yet. */
import type { FormAction } from "#lib/contract/portal";
import { ActionDialog } from "./action-dialog";

interface CancelAuthorizationDialogProps {
  readonly action: FormAction;
  readonly requestId: string;
}

export function CancelAuthorizationDialog({ action, requestId }: CancelAuthorizationDialogProps) {
  return (
    <ActionDialog
      triggerLabel="Cancel it"
      title="Cancel this request"
      description="Nobody can approve or deny it any more, and the agent is told so. This cannot be undone."
      action={action}
      fields={{ request_id: requestId }}
      confirmLabel="Cancel the request"
    />
  );
}
