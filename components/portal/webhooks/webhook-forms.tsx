"use client";
import type { ReactNode } from "react";
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { FormStatus } from "#components/portal/forms/form-status";
import { OverlapField } from "#components/portal/forms/overlap-field";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { SecretReveal } from "#components/portal/keys/secret-reveal";
import { PortalForm } from "#components/portal/organization/shown-organization";
import type { FormAction } from "#lib/api/schemas/form-state";
import { type WebhookFormat, webhookEvents } from "#lib/protocol/webhook/webhook";
import { WebhookFields } from "./webhook-fields";

export interface NewSecret {
  secret: string;
}

const secretNote = "You won't see it again. The receiver needs it to verify messages.";

export function CreateWebhookForm({ action }: { readonly action: FormAction<NewSecret> }) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <WebhookFields state={state} url="" events={webhookEvents} format={null} showsFacts />
      <div>
        <SubmitButton>Create endpoint</SubmitButton>
      </div>
      <FormStatus state={state} />
      {state.result?.secret ? (
        <SecretReveal
          title="Copy the secret now"
          label="webhook secret"
          secret={state.result.secret}
          note={secretNote}
        />
      ) : null}
    </PortalForm>
  );
}

interface EditWebhookFormProps {
  readonly action: FormAction;
  readonly webhook: {
    readonly id: string;
    readonly url: string;
    readonly events: readonly string[];
    readonly format: WebhookFormat;
    readonly shows_facts: boolean;
  };
}

export function EditWebhookForm({ action, webhook }: EditWebhookFormProps) {
  const [state, submit] = useFormAction(action);
  const { id, url, events, format, shows_facts } = webhook;
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <input type="hidden" name="webhook_id" value={id} />
      <WebhookFields state={state} url={url} events={events} format={format} showsFacts={shows_facts} />
      <div>
        <SubmitButton>Save</SubmitButton>
      </div>
      <FormStatus state={state} />
    </PortalForm>
  );
}

interface WebhookButtonProps {
  readonly action: FormAction;
  readonly fields: Readonly<Record<string, string>>;
  readonly children: ReactNode;
}

/** Done at once; the result is said beside it. */
export function WebhookButton({ action, fields, children }: WebhookButtonProps) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="grid justify-items-start gap-2">
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <SubmitButton variant="secondary" size="small">
        {children}
      </SubmitButton>
      <FormStatus state={state} />
    </PortalForm>
  );
}

interface WebhookDialogProps<Result> {
  readonly action: FormAction<Result>;
  readonly webhookId: string;
}

export function RotateWebhookDialog({ action, webhookId }: WebhookDialogProps<NewSecret>) {
  return (
    <ActionDialog
      triggerLabel="Rotate secret"
      title="Rotate secret"
      description="Creates a new secret and a new public key. Until the old ones expire, messages carry the signatures of both."
      action={action}
      fields={{ webhook_id: webhookId }}
      confirmLabel="Create new secret"
      confirmVariant="primary"
      renderResult={({ secret }) => (
        <SecretReveal
          title="Copy the new secret now"
          label="webhook secret"
          secret={secret}
          note={secretNote}
        />
      )}
    >
      <OverlapField id="webhook-overlap" label="Old secret expires" />
    </ActionDialog>
  );
}

export function DeleteWebhookDialog({ action, webhookId }: WebhookDialogProps<null>) {
  return (
    <ActionDialog
      triggerLabel="Delete"
      title="Delete endpoint"
      description="Nothing more is sent to it, and its delivery log is deleted. This can't be undone."
      action={action}
      fields={{ webhook_id: webhookId }}
      confirmLabel="Delete endpoint"
    />
  );
}
