"use client";
import { AgentText } from "#components/agent-text";
import { FormEnd, FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { SubmitButton } from "#components/portal/forms/submit-button";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { describeControl, Field, Input, Select } from "#components/ui/field";
import { Timestamp } from "#components/ui/timestamp";
import type { FormAction } from "#lib/api/schemas/form-state";
/** Deputies, who decide in a person's place while they are away. */
import type { ShownDeputy } from "#lib/api/schemas/portal";
import { PortalForm } from "./shown-organization";

interface CurrentProps {
  readonly approverId: string;
  readonly deputy: ShownDeputy | null;
  readonly end: FormAction;
}

function Current({ approverId, deputy, end }: CurrentProps) {
  const [state, submit] = useFormAction(end);
  return (
    <PortalForm action={submit} className="flex flex-col gap-3">
      <input type="hidden" name="approver_id" value={approverId} />
      {deputy === null ? null : (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p>
            <strong className="font-medium">
              <AgentText value={deputy.name} isName hideWarnings />
            </strong>{" "}
            decides in your place from <Timestamp iso={deputy.from} relative={false} /> to{" "}
            <Timestamp iso={deputy.until} relative={false} />.
          </p>
          <SubmitButton variant="secondary">End now</SubmitButton>
        </div>
      )}
      <FormStatus state={state} />
    </PortalForm>
  );
}

interface DeputyFormProps extends CurrentProps {
  readonly people: readonly { readonly id: string; readonly name: string }[];
  readonly save: FormAction;
}

function DayField({
  id,
  name,
  label,
  error,
  value,
}: Record<"id" | "name" | "label" | "value", string> & { error: string | undefined }) {
  return (
    <Field id={id} label={label} error={error}>
      <Input {...describeControl(id, { error })} type="date" name={name} defaultValue={value} />
    </Field>
  );
}

export function DeputyForm({ people, save, ...current }: DeputyFormProps) {
  const [state, submit] = useFormAction(save);
  const { approverId, deputy } = current;
  const fieldId = (name: string) => `deputy-${name}-${approverId}`;
  const error = state.errors["deputy_id"];
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        While you're away, a deputy gets your requests and decides them with their own passkey. Receipts, the
        roster and the audit log say so. They can't approve what you or they request.
      </p>
      <Current {...current} />
      {people.length === 0 ? (
        <p className="text-muted text-sm">Nobody else in this organization has a passkey yet.</p>
      ) : (
        <PortalForm action={submit} className="flex flex-col gap-3">
          <input type="hidden" name="approver_id" value={approverId} />
          <div className="grid gap-4 sm:grid-cols-3">
            <Field id={fieldId("person")} label="Deputy" error={error}>
              <Select
                {...describeControl(fieldId("person"), { error })}
                name="deputy_id"
                defaultValue={textValue(state, "deputy_id", deputy?.id ?? "")}
              >
                {people.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </Select>
            </Field>
            <DayField
              id={fieldId("from")}
              name="from"
              label="From (empty: now)"
              error={state.errors["from"]}
              value={textValue(state, "from")}
            />
            <DayField
              id={fieldId("until")}
              name="until"
              label="Last day (UTC)"
              error={state.errors["until"]}
              value={textValue(state, "until")}
            />
          </div>
          <FormEnd state={state} label="Name deputy" variant="secondary" />
        </PortalForm>
      )}
    </div>
  );
}
