"use client";
/** One button that does a step for you and explains a failure. */
import { PortalForm } from "#components/portal/organization/shown-organization";
import type { FormAction } from "#lib/api/schemas/form-state";
import { FormStatus } from "./form-status";
import { SubmitButton } from "./submit-button";
import { useFormAction } from "./use-form-action";

interface StepFormProps {
  readonly action: FormAction;
  readonly label: string;
  /** False: an earlier step comes first. */
  readonly isOpen: boolean;
}

export function StepForm({ action, label, isOpen }: StepFormProps) {
  const [state, submit] = useFormAction(action);
  if (!isOpen) return <p className="text-sm">Create a key first.</p>;
  return (
    <PortalForm action={submit} className="grid justify-items-start gap-3">
      <SubmitButton size="small">{label}</SubmitButton>
      <FormStatus state={state} />
    </PortalForm>
  );
}
