"use client";
/** Taking back a request that is still open, or an approval that no attestation has used. */
import { AgentText } from "#components/agent-text";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { ReasonField } from "#components/portal/forms/reason-field";
import type { FormAction } from "#lib/api/schemas/form-state";

const approval = { verb: "Take back", title: "Take this approval back", confirm: "Take back" };

const words = {
  pending: {
    verb: "Cancel",
    title: "Cancel this request",
    confirm: "Cancel request",
    description:
      "Nobody will be able to approve or deny it, and the agent will see that it was cancelled. This can't be undone.",
  },
  approved: { ...approval, description: "Nothing can claim or use it any more. This can't be undone." },
  /** A run has claimed it. */
  claimed: {
    ...approval,
    description:
      "A run has claimed it, so its action may have begun: this doesn't end it. The approval can't be attested any more. This can't be undone.",
  },
} as const;

interface TakeBackDialogProps {
  readonly action: FormAction;
  readonly requestId: string;
  readonly state: keyof typeof words;
  /** Set in a list of approvals. */
  readonly name?: string;
}

export function TakeBackDialog({ action, requestId, state, name }: TakeBackDialogProps) {
  const { verb, title, confirm, description } = words[state];
  return (
    <ActionDialog
      triggerLabel={
        <>
          {verb}
          {name === undefined ? null : (
            <span className="sr-only">
              {" "}
              <AgentText value={name} hideWarnings />
            </span>
          )}
        </>
      }
      {...(state !== "pending" && { triggerVariant: "danger" })}
      title={title}
      description={description}
      action={action}
      fields={{ request_id: requestId }}
      confirmLabel={confirm}
    >
      {state === "pending" ? null : <ReasonField id="take-back-reason" />}
    </ActionDialog>
  );
}
