"use client";
/** Chooses among several organizations; only shown to people who belong to more than one. */
import { Select } from "#components/ui/field";
import type { FormAction } from "#lib/contract/portal";
import { FormStatus } from "./form-status";
import { SubmitButton } from "./submit-button";
import { useFormAction } from "./use-form-action";

interface OrganizationSwitcherProps {
  readonly action: FormAction;
  readonly organizations: readonly { organizationId: string; name: string }[];
  readonly currentId: string;
}

export function OrganizationSwitcher({ action, organizations, currentId }: OrganizationSwitcherProps) {
  const [state, submit] = useFormAction(action);
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
      <FormStatus state={state} />
    </form>
  );
}
