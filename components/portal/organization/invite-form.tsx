"use client";
/** Invites a colleague by email. */
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { PortalForm } from "./shown-organization";

export function InviteForm({ action }: { readonly action: FormAction }) {
  const [state, submit] = useFormAction(action);
  const error = state.errors["email"];
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-[1fr_12rem]">
        <Field id="invite-email" label="Email address" error={error}>
          <Input
            {...describeControl("invite-email", { error })}
            name="email"
            type="email"
            required
            autoComplete="off"
            defaultValue={textValue(state, "email")}
            placeholder="colleague@example.com"
          />
        </Field>
        <Field id="invite-role" label="As">
          <Select id="invite-role" name="role" defaultValue={textValue(state, "role", "member")}>
            <option value="member">member</option>
            <option value="owner">owner</option>
          </Select>
        </Field>
      </div>
      <p className="text-muted text-sm">
        Members can manage keys, agents and approvals, and see everything. Owners can also change settings,
        members, approvers and rules, erase attestations and delete the organization.
      </p>
      <FormStatus state={state} />
      <div>
        <SubmitButton>Send invitation</SubmitButton>
      </div>
    </PortalForm>
  );
}
