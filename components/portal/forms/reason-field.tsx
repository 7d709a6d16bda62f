/** Reason for stopping something, in the organization's own words. */
import { describeControl, Field, Textarea } from "#components/ui/field";

interface ReasonFieldProps {
  readonly id: string;
  readonly isRequired?: boolean;
}

export function ReasonField({ id, isRequired = false }: ReasonFieldProps) {
  return (
    <Field
      id={id}
      label={isRequired ? "Reason" : "Reason (optional)"}
      hint="Shown to your organization. Only a salted hash of it becomes public."
    >
      <Textarea
        {...describeControl(id, { hint: true })}
        name="reason"
        rows={3}
        maxLength={1000}
        required={isRequired}
      />
    </Field>
  );
}
