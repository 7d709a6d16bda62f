"use client";
/** Chooses among several organizations; only shown to people who belong to more than one. */
import { useActionState } from "react";
import { Select } from "#components/ui/field";
import { type FormAction, idleState } from "#lib/contract/portal";
import { SubmitButton } from "./submit-button";

interface OrganizationSwitcherProps {
  readonly action: FormAction;
  readonly organizations: readonly { organizationId: string; name: string }[];
  readonly currentId: string;
}

export function OrganizationSwitcher({ action, organizations, currentId }: OrganizationSwitcherProps) {
  const [, submit] = useActionState(action, idleState);
  return (
    <form action={submit} className="flex items-center gap-2">
      <Select name="organization_id" aria-label="Organization" defaultValue={currentId} className="max-w-48">
        {organizations.map(({ organizationId, name }) => (
          <option key={organizationId} value={organizationId}>
            {name}
          </option>
        ))}
      </Select>
      <SubmitButton variant="secondary">Switch</SubmitButton>
    </form>
  );
}
