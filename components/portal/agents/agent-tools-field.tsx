/** The tool manifest, one name a line. */
import { describeControl, Field, Textarea } from "#components/ui/field";

interface AgentToolsFieldProps {
  readonly defaultValue: string;
  readonly errors: Readonly<Record<string, string>>;
}

export function AgentToolsField({ defaultValue, errors }: AgentToolsFieldProps) {
  const [name, message] = Object.entries(errors).find(([key]) => /^tools(\.|$)/.test(key)) ?? [];
  const line = name?.split(".")[1];
  const error = message && (line === undefined ? message : `line ${Number(line) + 1} ${message}`);
  return (
    <Field
      id="agent-tools"
      label="Tools"
      hint="One name per line. An attestation's tools_used are authorized if all of them are listed here."
      error={error}
    >
      <Textarea
        {...describeControl("agent-tools", { hint: true, error })}
        name="tools"
        rows={6}
        defaultValue={defaultValue}
        spellCheck={false}
        className="font-mono text-sm"
        placeholder={"http.get\nledger.write"}
      />
    </Field>
  );
}
