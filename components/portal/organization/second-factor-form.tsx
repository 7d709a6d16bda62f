"use client";
/** Chooses the acts that the organization asks a passkey for. */
import { FormEnd } from "#components/portal/forms/form-status";
import { listValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { Checkbox } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";
import { secondFactors } from "#lib/api/schemas/key-choices";
import { factorWords } from "./role-words";
import { PortalForm } from "./shown-organization";

interface SecondFactorFormProps {
  readonly action: FormAction;
  readonly chosen: readonly string[];
}

export function SecondFactorForm({ action, chosen }: SecondFactorFormProps) {
  const [state, submit] = useFormAction(action);
  const checked = listValue(state, "factors", [...chosen]);
  return (
    <PortalForm action={submit} className="flex flex-col gap-4">
      <fieldset>
        <legend className="font-medium text-[15px]">Ask for a passkey before</legend>
        {secondFactors.map((one) => (
          <Checkbox
            key={one}
            name="factors"
            value={one}
            label={factorWords[one]}
            defaultChecked={checked.includes(one)}
          />
        ))}
      </fieldset>
      <p className="max-w-prose text-muted text-sm">
        People confirm with the passkey that they approve with, at the top of the page, as you do before you
        save this. It counts for 10 minutes. Whoever has none is refused until an owner adds them as an
        approver.
      </p>
      <FormEnd state={state} label="Save" />
    </PortalForm>
  );
}
