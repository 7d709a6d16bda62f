"use client";
/** Chooses among several organizations; only shown to people who belong to more than one. */
import { FormStatus } from "#components/portal/forms/form-status";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { organizationTitleIn } from "#lib/protocol/text/organization-name";

interface OrganizationSwitcherProps {
  readonly action: FormAction;
  readonly organizations: readonly { organizationId: string; name: string | null }[];
  readonly currentId: string;
}

export function OrganizationSwitcher({ action, organizations, currentId }: OrganizationSwitcherProps) {
  const [state, submit] = useFormAction(action);
  return (
    <form action={submit} className="flex items-center gap-2">
      <Select name="organization_id" aria-label="Organization" defaultValue={currentId} className="max-w-48">
        {organizations.map((one) => (
          <option key={one.organizationId} value={one.organizationId}>
            {organizationTitleIn(organizations, one)}
          </option>
        ))}
      </Select>
      <SubmitButton variant="secondary">Switch</SubmitButton>
      <FormStatus state={state} />
    </form>
  );
}
