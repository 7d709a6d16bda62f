"use client";
/** The first thing asked of a new owner: what people who approve and verify will read. */
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { Card } from "#components/ui/card";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";

interface NameOrganizationProps {
  readonly action: FormAction;
  /** True if this instance makes new organizations with public attestations. */
  readonly isPublic: boolean;
}

export function NameOrganization({ action, isPublic }: NameOrganizationProps) {
  const [state, submit] = useFormAction(action);
  const error = state.errors["name"];
  return (
    <Card title="Name your organization" className="mb-5">
      <PortalForm action={submit} className="flex flex-col gap-4">
        <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_auto_auto] sm:items-end">
          <Field
            id="first-name"
            label="Organization name"
            hint="Shown to approvers, and on your public receipts"
            error={error}
          >
            <Input
              {...describeControl("first-name", { hint: true, error })}
              name="name"
              defaultValue={textValue(state, "name")}
              maxLength={100}
              autoComplete="organization"
              required
            />
          </Field>
          <Field
            id="first-visibility"
            label="New attestations are"
            hint="The default if a request doesn't set is_public"
          >
            <Select
              {...describeControl("first-visibility", { hint: true })}
              name="default_public"
              defaultValue={textValue(state, "default_public", isPublic ? "public" : "private")}
            >
              <option value="public">public: anyone can read them</option>
              <option value="private">private: only your organization can</option>
            </Select>
          </Field>
          <SubmitButton>Save</SubmitButton>
        </div>
        <FormStatus state={state} />
      </PortalForm>
    </Card>
  );
}
