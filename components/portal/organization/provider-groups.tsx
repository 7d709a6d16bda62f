"use client";
/** Groups of the company's provider, and what each gives: a role, a group of approvers, or both. */
import { ActionDialog } from "#components/portal/forms/action-dialog";
import { FormEnd } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { roleNames } from "#lib/api/schemas/key-choices";
import { PortalForm } from "./shown-organization";

interface ProviderGroupsProps {
  readonly mapped: readonly {
    name: string;
    role: string | null;
    groupName: string | null;
    mappedBy: string;
  }[];
  readonly groups: readonly { id: string; name: string }[];
  /** Names that the directory has sent. Once there are some, it alone gives roles, and makes nobody an owner. */
  readonly offered: readonly string[];
  readonly save: FormAction;
  readonly remove: FormAction;
}

export function ProviderGroups({ mapped, groups, offered, save, remove }: ProviderGroupsProps) {
  const [state, submit] = useFormAction(save);
  const { name: nameError, role: roleError } = state.errors;
  return (
    <>
      <ul className="mb-5 flex flex-col gap-3 empty:hidden">
        {mapped.map(({ name, role, groupName, mappedBy }) => (
          <li key={name} className="flex flex-wrap items-center justify-between gap-3">
            <span className="min-w-0 [overflow-wrap:anywhere]">
              <strong className="font-medium">{name}</strong>:{" "}
              {[
                role === "owner" && offered.length > 0
                  ? "owner (ignored: your directory makes nobody an owner)"
                  : role,
                groupName === null ? null : `approvers “${groupName}”`,
              ]
                .filter(Boolean)
                .join(", ")}
              <span className="block text-muted text-sm">Mapped by {mappedBy}</span>
            </span>
            <ActionDialog
              triggerLabel="Remove"
              triggerDetail={` ${name}`}
              title="Remove mapping"
              description="People of this group lose the role and places that it gave: at once if they are in your directory, else when they next sign in."
              action={remove}
              fields={{ name }}
              confirmLabel="Remove"
            />
          </li>
        ))}
      </ul>
      <PortalForm action={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-3">
          <Field id="provider-group" label="Group of your provider" error={nameError}>
            <Input
              {...describeControl("provider-group", { error: nameError })}
              name="name"
              required
              maxLength={256}
              autoComplete="off"
              list="provider-group-names"
              defaultValue={textValue(state, "name")}
            />
            <datalist id="provider-group-names">
              {offered.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </Field>
          <Field id="provider-role" label="Role" error={roleError}>
            <Select
              {...describeControl("provider-role", { error: roleError })}
              name="role"
              defaultValue={textValue(state, "role")}
            >
              <option value="">none</option>
              {roleNames
                .filter((role) => role !== "owner" || offered.length === 0)
                .map((role) => (
                  <option key={role} value={role}>
                    {role}
                  </option>
                ))}
            </Select>
          </Field>
          <Field id="provider-approvers" label="Group of approvers">
            <Select id="provider-approvers" name="group_id" defaultValue={textValue(state, "group_id")}>
              <option value="">none</option>
              {groups.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          </Field>
        </div>
        <FormEnd state={state} label="Map group" />
      </PortalForm>
    </>
  );
}
