/** Why rules allowed, asked or denied, and what counted by then, in sentences for the organization. */
import { formatAmount } from "#lib/protocol/approval/amount";
import { formatCount } from "#lib/protocol/text/display-text";
import type { UnmetCondition } from "./conditions";
import type { RuleOutcome } from "./evaluate-rules";
import type { RuleContext } from "./rule-context";

export interface ExplainedRules extends Pick<RuleOutcome, "decision" | "reason" | "policy_ids" | "error"> {
  version: number;
  mode: string;
  /** Absent from requests of before. */
  unmet?: readonly UnmetCondition[] | undefined;
}

function describeReason({ decision, reason, policy_ids: ids, version, error }: ExplainedRules): string {
  const of = `of version ${version}`;
  const names = `${ids.length === 1 ? "Rule" : "Rules"} ${ids.join(", ")} ${of}`;
  const verb = (one: string, many: string) => (ids.length === 1 ? one : many);
  switch (reason) {
    case "forbidden":
      return `${names} ${verb("forbids", "forbid")} it.`;
    case "nothing_permits":
      return `No rule ${of} allows it without asking${decision === "deny" ? ", and such requests are denied" : ", so people are asked"}.`;
    case "evaluation_error":
      return `The rules ${of} couldn't be evaluated${error === null ? "" : ` (${error})`}, so it is denied.`;
    case "permitted":
      return decision === "allow"
        ? `${names} ${verb("allows", "allow")} it without asking.`
        : `${names} ${verb("demands", "demand")} that people approve it.`;
  }
}

const describeUnmet = ({ unmet = [] }: ExplainedRules) =>
  unmet.map(({ policy_id, condition }) => `Rule ${policy_id} didn't allow it: it needs “${condition}”.`);

/** Sums and counts that rules with daily limits saw. */
function describeCounted({ amount, uses_today: uses }: Pick<RuleContext, "amount" | "uses_today">): string {
  const before = `${formatCount(uses, "request")} of this agent approved before it that day (UTC)`;
  if (amount === null) return `Counted: ${before}.`;
  const { currency, spent_today: spent, total_today: total } = amount;
  const show = (value: string) => formatAmount({ value, currency });
  return `Counted: ${before}, ${show(spent)} spent, ${show(total)} with this one.`;
}

/** `context`: what they were evaluated over; null after erasure. */
export function explainRules(
  record: ExplainedRules,
  context: Pick<RuleContext, "amount" | "uses_today"> | null,
): string {
  const lead = record.mode === "log_only" ? "Rules only log: " : "";
  const counted = context === null ? [] : [describeCounted(context)];
  return [`${lead}${describeReason(record)}`, ...describeUnmet(record), ...counted].join(" ");
}
