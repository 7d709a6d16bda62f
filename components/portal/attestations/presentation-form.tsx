"use client";
/** Selective disclosure: pick the fields that one verifier may see, get a proof that shows them and hides the rest. */
import { AgentText } from "#components/agent-text";
import { FormStatus } from "#components/portal/forms/form-status";
import { listValue, textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { CodeBlock } from "#components/ui/code-block";
import { Checkbox, describeControl, Field, Input, Select } from "#components/ui/field";
import type { FormAction } from "#lib/api/schemas/form-state";

export interface DisclosableField {
  readonly name: string;
  /** Value as the verifier would see it. */
  readonly value: string;
}

interface PresentationFormProps {
  readonly action: FormAction<{ json: string }>;
  readonly attestationId: string;
  readonly fields: readonly DisclosableField[];
}

function FieldChoice({ fields, chosen }: { fields: readonly DisclosableField[]; chosen: readonly string[] }) {
  return (
    <fieldset>
      <legend className="font-medium text-[15px]">Fields to show</legend>
      <p className="text-muted text-sm">Unselected fields stay hidden, including their length.</p>
      <div className="mt-1 grid gap-x-6 md:grid-cols-2">
        {fields.map(({ name, value }) => (
          <Checkbox
            key={name}
            name="disclose"
            value={name}
            label={name}
            hint={<AgentText value={value} hideWarnings />}
            defaultChecked={chosen.includes(name)}
          />
        ))}
      </div>
    </fieldset>
  );
}

const texts = [
  {
    name: "audience",
    label: "Audience",
    hint: "The verifier's address or name. The proof is valid only for them.",
    placeholder: "https://bank.example",
  },
  {
    name: "nonce",
    label: "Nonce",
    hint: "Chosen by the verifier, so an old proof can't be reused.",
    placeholder: "",
  },
] as const;

export function PresentationForm({ action, attestationId, fields }: PresentationFormProps) {
  const [state, submit] = useFormAction(action);
  return (
    <PortalForm action={submit} className="flex flex-col gap-5">
      <input type="hidden" name="attestation_id" value={attestationId} />
      <FieldChoice fields={fields} chosen={listValue(state, "disclose", [])} />
      <div className="grid gap-5 md:grid-cols-2">
        {texts.map(({ name, label, hint, placeholder }) => {
          const error = state.errors[name];
          return (
            <Field key={name} id={`presentation-${name}`} label={label} hint={hint} error={error}>
              <Input
                {...describeControl(`presentation-${name}`, { hint: true, error })}
                name={name}
                defaultValue={textValue(state, name)}
                placeholder={placeholder}
                autoComplete="off"
                required
              />
            </Field>
          );
        })}
        <Field id="presentation-expires" label="Valid for">
          <Select
            id="presentation-expires"
            name="expires_in"
            defaultValue={textValue(state, "expires_in", "3600")}
          >
            <option value="3600">1 hour</option>
            <option value="86400">1 day</option>
            <option value="2592000">30 days</option>
          </Select>
        </Field>
      </div>
      <div>
        <SubmitButton>Create presentation</SubmitButton>
      </div>
      <FormStatus state={state} />
      {state.result ? <CodeBlock code={state.result.json} label="presentation" wrap isAgents /> : null}
    </PortalForm>
  );
}
