"use client";
/** Invites a colleague by email. */
import { FormEnd } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { roleNames } from "#lib/api/schemas/key-choices";
import { roleWords } from "./role-words";
import { PortalForm } from "./shown-organization";

function RoleList() {
  return (
    <ul className="list-disc pl-5 text-muted text-sm">
      {roleNames.map((role) => (
        <li key={role}>
          <strong className="font-medium text-ink">{role}</strong> {roleWords[role]}
        </li>
      ))}
    </ul>
  );
}

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
            {[...roleNames].reverse().map((role) => (
              <option key={role} value={role}>
                {role}
              </option>
            ))}
          </Select>
        </Field>
      </div>
      <RoleList />
      <FormEnd state={state} label="Send invitation" />
    </PortalForm>
  );
}
