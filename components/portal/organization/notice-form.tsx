"use client";
/** Emails that a person gets about one organization. */
import { AgentText } from "#components/agent-text";
import { FormEnd } from "#components/portal/forms/form-status";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { Checkbox, Field, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { PortalForm } from "./shown-organization";

interface NoticeFormProps {
  readonly action: FormAction;
  readonly settings: {
    readonly organizationId: string;
    readonly name: string;
    readonly isMember: boolean;
    readonly requests: "all" | "named" | "none";
    readonly decisions: boolean;
    readonly reminders: boolean;
    readonly titles?: boolean;
  };
}

export function NoticeForm({ action, settings }: NoticeFormProps) {
  const [state, submit] = useFormAction(action);
  const id = `notices-${settings.organizationId}`;
  return (
    <PortalForm action={submit} className="flex flex-col gap-3">
      <h3 className="font-medium">
        <AgentText value={settings.name} isName hideWarnings />
      </h3>
      <input type="hidden" name="organization_id" value={settings.organizationId} />
      <div className="max-w-sm">
        <Field id={id} label="Email me pending requests">
          <Select id={id} name="requests" defaultValue={settings.requests}>
            {settings.isMember ? <option value="all">all</option> : null}
            <option value="named">those that name me</option>
            <option value="none">none</option>
          </Select>
        </Field>
      </div>
      <Checkbox
        name="reminders"
        label="Remind me once before they expire"
        defaultChecked={settings.reminders}
      />
      <Checkbox name="decisions" label="Email me what was decided" defaultChecked={settings.decisions} />
      <Checkbox
        name="titles"
        label="Name what runs in subject and text, for example a command: mail servers can read it"
        defaultChecked={settings.titles === true}
      />
      <FormEnd state={state} label="Save" variant="secondary" />
    </PortalForm>
  );
}
