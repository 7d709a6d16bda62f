/** Profile fields, in the form that registers an agent and the one that changes it. */
import { describeControl, Field, Input, Textarea } from "#components/ui/field";

export interface ProfileValues {
  readonly name: string;
  readonly description: string;
  readonly code_hash: string;
  readonly model_id: string;
}

interface AgentProfileFieldsProps {
  readonly values: ProfileValues;
  readonly errors: Readonly<Record<string, string>>;
}

const fields = [
  { name: "name", label: "Display name", hint: "Shown beside the slug", placeholder: "Invoice bot" },
  {
    name: "code_hash",
    label: "Code hash",
    hint: "Compared with code_hash in attestations",
    placeholder: "sha256:…",
  },
  { name: "model_id", label: "Model", hint: "Shown on the agent's page", placeholder: "model-name-2026-11" },
] as const;

export function AgentProfileFields({ values, errors }: AgentProfileFieldsProps) {
  const findError = (name: string) => errors[name] ?? errors[`profile.${name}`];
  const descriptionError = findError("description");
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      {fields.map(({ name, label, hint, placeholder }) => {
        const error = findError(name);
        return (
          <Field key={name} id={`agent-${name}`} label={label} hint={hint} error={error}>
            <Input
              {...describeControl(`agent-${name}`, { hint: true, error })}
              name={name}
              defaultValue={values[name]}
              placeholder={placeholder}
              autoComplete="off"
            />
          </Field>
        );
      })}
      <div className="sm:col-span-2">
        <Field
          id="agent-description"
          label="Description"
          hint="Plain text, at most 1,000 characters"
          error={descriptionError}
        >
          <Textarea
            {...describeControl("agent-description", { hint: true, error: descriptionError })}
            name="description"
            rows={3}
            defaultValue={values.description}
          />
        </Field>
      </div>
    </div>
  );
}
