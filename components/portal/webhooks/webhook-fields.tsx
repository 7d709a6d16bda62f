/** The URL and the events of a webhook endpoint, in the forms that create and change one. */

import { ChoiceFields } from "#components/portal/forms/choice-fields";
import { listValue, textValue } from "#components/portal/forms/form-values";
import { Checkbox, describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormState } from "#lib/api/schemas/form-state";
import {
  type WebhookEvent,
  type WebhookFormat,
  webhookEvents,
  webhookFormats,
} from "#lib/protocol/webhook/webhook";

const eventHints: Record<WebhookEvent, string> = {
  "authorization.requested": "an agent asks people for an approval",
  "authorization.approved": "enough people approved, or a rule or a standing approval did",
  "authorization.denied": "a person or a rule denied, or the agent is frozen",
  "authorization.expired": "nobody decided in time",
  "authorization.cancelled": "your organization cancelled the request, or five wrong codes were entered",
  "authorization.question": "an approver asks something about a request",
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
  /** Null while it can still be chosen. */
  readonly format: WebhookFormat | null;
  readonly showsFacts: boolean;
}

const formatWords: Record<WebhookFormat, string> = {
  standard: "a program: signed messages of ids and states",
  slack: "Slack, by an incoming webhook",
  teams: "Microsoft Teams, by the webhook of a workflow",
};

export function WebhookFields({ state, url, events, format, showsFacts }: WebhookFieldsProps) {
  const { url: urlError, events: eventsError } = state.errors;
  const isHidden = format !== null && format !== "standard";
  return (
    <>
      {format !== null ? null : (
        <Field id="webhook-format" label="Receiver">
          <Select id="webhook-format" name="format" defaultValue={textValue(state, "format", "standard")}>
            {webhookFormats.map((one) => (
              <option key={one} value={one}>
                {formatWords[one]}
              </option>
            ))}
          </Select>
        </Field>
      )}
      <Field
        id="webhook-url"
        label="URL"
        hint={
          isHidden
            ? `Leads to ${url}, and the rest isn't shown. Empty: it stays as it is.`
            : "https, at a public address"
        }
        error={urlError}
      >
        <Input
          {...describeControl("webhook-url", { hint: true, error: urlError })}
          name="url"
          type="url"
          defaultValue={textValue(state, "url", isHidden ? "" : url)}
          maxLength={2048}
          required={!isHidden}
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
      {format === "standard" ? null : (
        <Checkbox
          name="shows_facts"
          label="Messages in a chat say the facts"
          hint="Amount, payee, action, and who decided. Off: only that something happened, and a link."
          defaultChecked={showsFacts}
        />
      )}
    </>
  );
}
