/** Reasons why rules allowed, asked or denied, and what counted by then, in sentences for the organization. */
import { formatAmount } from "#lib/protocol/approval/amount";
import { formatCount } from "#lib/protocol/text/display-text";
import { describeCondition, isGuard } from "./condition-words";
import type { PolicyConditions, UnmetCondition } from "./conditions";
import type { RuleOutcome } from "./evaluate-rules";
import type { RuleContext } from "./rule-context";

export interface ExplainedRules extends Pick<RuleOutcome, "decision" | "reason" | "policy_ids" | "error"> {
  version: number;
  mode: string;
  /** Absent from requests of before. */
  unmet?: readonly UnmetCondition[] | undefined;
  deciding?: readonly PolicyConditions[] | undefined;
}

type Seen = RuleContext | null;

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

function listUnmet({ unmet = [] }: ExplainedRules, seen: Seen): [id: string, words: string][] {
  // Conditions for going without asking are met by the texts as sent.
  const { texts_as_read: _, ...sent } = seen ?? {};
  return unmet.map(({ policy_id, condition }) => {
    const words = seen && describeCondition(condition, false, sent as RuleContext);
    return [policy_id, words ?? `it needs “${condition}”`];
  });
}

/** A currency is in each of the amounts that are compared. */
const isSaidByAmount = (condition: string, conditions: readonly string[]) =>
  condition.startsWith("when { context.amount.currency ==") &&
  conditions.some((other) => /context\.amount\.(?:value|\w+_today)\b/.test(other));

function describeMet(conditions: readonly string[], seen: RuleContext): string {
  const telling = conditions.filter((one) => !isGuard(one) && !isSaidByAmount(one, conditions));
  return telling.map((one) => describeCondition(one, true, seen) ?? `“${one}” holds`).join("; ");
}

const listMet = ({ deciding = [] }: ExplainedRules, seen: Seen): [id: string, words: string][] =>
  deciding
    .map(({ policy_id: id, conditions }): [string, string] => [id, seen ? describeMet(conditions, seen) : ""])
    .filter(([, words]) => words !== "");

/** The reason, and which conditions of the deciding rules were met. */
function describeDeciding(record: ExplainedRules, seen: Seen): string[] {
  const reason = describeReason(record);
  const met = listMet(record, seen);
  const [only] = met;
  if (record.policy_ids.length === 1 && only) return [`${reason.slice(0, -1)}: ${only[1]}.`];
  return [reason, ...met.map(([id, words]) => `Rule ${id}: ${words}.`)];
}

/** Sums and counts that rules with daily limits saw. */
function describeCounted({ amount, uses_today: uses }: Pick<RuleContext, "amount" | "uses_today">): string {
  const before = `${formatCount(uses, "request")} of this agent approved before it that day (UTC)`;
  if (amount === null) return `Counted: ${before}.`;
  const { currency, spent_today: spent, total_today: total } = amount;
  const show = (value: string) => formatAmount({ value, currency });
  return `Counted: ${before}, ${show(spent)} spent, ${show(total)} with this one.`;
}

/** `seen`: what they were evaluated over; null after erasure. */
export function explainRules(record: ExplainedRules, seen: Seen): string {
  const lead = record.mode === "log_only" ? "Rules only log: " : "";
  const counted = seen === null ? [] : [describeCounted(seen)];
  const [reason, ...others] = describeDeciding(record, seen);
  const unmet = listUnmet(record, seen).map(([id, words]) => `Rule ${id} didn't allow it: ${words}.`);
  return [`${lead}${reason}`, ...others, ...unmet, ...counted].join(" ");
}

/** Explains by the first condition alone, where a line has no room. */
export function explainBriefly(record: ExplainedRules, seen: Seen): string {
  const [first] = [...listMet(record, seen), ...listUnmet(record, seen)];
  if (first === undefined || record.mode === "log_only") return describeReason(record);
  return `${first[1].charAt(0).toUpperCase()}${first[1].slice(1)}`;
}

/** The conditions that the explanation speaks of, in Cedar; null without any. */
export function quoteRules({ unmet = [], deciding = [] }: ExplainedRules): string | null {
  const all = [
    ...deciding,
    ...unmet.map(({ policy_id, condition }) => ({ policy_id, conditions: [condition] })),
  ];
  const lines = all.flatMap(({ policy_id, conditions }) => conditions.map((one) => `${policy_id}: ${one}`));
  return lines.length === 0 ? null : lines.join("\n");
}
