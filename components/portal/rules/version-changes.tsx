/** Changes of one version of the rules: its text, its settings, or both. */
import { Card } from "#components/ui/card";
import { HashText } from "#components/ui/code-block";
import { TextLink } from "#components/ui/text-link";
import type { RulesResponse } from "#lib/api/schemas/rules";
import { RulesDiff } from "./rules-diff";
import { describeSettings } from "./version-table";

type Rules = NonNullable<RulesResponse["rules"]>;
type Settings = Parameters<typeof describeSettings>[0];

/** The mode and the other settings, beside what they were. */
export function describeChange(rules: Settings, before: Settings | null): string {
  const now = describeSettings(rules);
  const then = before === null ? now : describeSettings(before);
  return then === now ? now : `${now} (before: ${then})`;
}

interface VersionChangesProps {
  readonly rules: Rules;
  /** Null for the first version. */
  readonly before: Rules | null;
}

export function VersionChanges({ rules, before }: VersionChangesProps) {
  return (
    <Card
      title={`Version ${rules.version}`}
      className="mb-5"
      action={<TextLink href="/portal/rules">Current rules</TextLink>}
    >
      <p className="mb-3 text-sm">
        Changed by {rules.author}
        {rules.confirmed_by === null ? "" : `, confirmed by ${rules.confirmed_by}`}. Mode{" "}
        {describeChange(rules, before)}. Log index {rules.log_index}.
      </p>
      <RulesDiff
        before={before?.text ?? ""}
        after={rules.text}
        label={`Changes of version ${rules.version}`}
      />
      <p className="mt-3 text-sm">
        <span className="block text-muted">Hash</span>
        <HashText value={rules.hash} label="hash of the rules" />
      </p>
    </Card>
  );
}
