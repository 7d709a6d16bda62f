/** The URL and the events of a webhook endpoint, in the forms that create and change one. */

import { ChoiceFields } from "#components/portal/forms/choice-fields";
import { listValue, textValue } from "#components/portal/forms/form-values";
import { describeControl, Field, Input } from "#components/ui/field";
import type { FormState } from "#lib/api/schemas/form-state";
import { type WebhookEvent, webhookEvents } from "#lib/protocol/webhook/webhook";

const eventHints: Record<WebhookEvent, string> = {
  "authorization.approved": "enough people approved, or a rule or a standing approval did",
  "authorization.denied": "a person or a rule denied, or the agent is frozen",
  "authorization.expired": "nobody decided in time",
  "authorization.cancelled": "your organization cancelled the request, or five wrong codes were entered",
  "authorization.unattested": "a run claimed an approval, and no attestation followed within an hour",
  "authorization.revoked": "an approval was taken back",
  "agent.frozen": "somebody stopped an agent",
  "agent.unfrozen": "an agent may go on",
  "attestation.created": "an agent recorded an action",
  "roster.changed": "who can approve has changed",
};

interface WebhookFieldsProps {
  readonly state: FormState<unknown>;
  readonly url: string;
  readonly events: readonly string[];
}

export function WebhookFields({ state, url, events }: WebhookFieldsProps) {
  const { url: urlError, events: eventsError } = state.errors;
  return (
    <>
      <Field id="webhook-url" label="URL" hint="https, at a public address" error={urlError}>
        <Input
          {...describeControl("webhook-url", { hint: true, error: urlError })}
          name="url"
          type="url"
          defaultValue={textValue(state, "url", url)}
          maxLength={2048}
          required
          placeholder="https://example.com/countersign"
        />
      </Field>
      <ChoiceFields
        name="events"
        legend="Events"
        offered={webhookEvents}
        hints={eventHints}
        chosen={listValue(state, "events", events)}
        error={eventsError}
      />
    </>
  );
}
