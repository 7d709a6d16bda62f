"use client";
/** One button that does a step for you, and says why if it can't. */
import { useActionState } from "react";
import { type FormAction, idleState } from "#lib/contract/portal";
import { FormStatus } from "./form-status";
import { PortalForm } from "./shown-organization";
import { SubmitButton } from "./submit-button";

interface StepFormProps {
  readonly action: FormAction;
  readonly label: string;
  /** False: an earlier step comes first. */
  readonly isOpen: boolean;
}

export function StepForm({ action, label, isOpen }: StepFormProps) {
  const [state, submit] = useActionState(action, idleState);
  if (!isOpen) return <p className="text-sm">Create a key first.</p>;
  return (
    <PortalForm action={submit} className="grid justify-items-start gap-3">
      <SubmitButton size="small">{label}</SubmitButton>
      <FormStatus state={state} />
    </PortalForm>
  );
}
