/** Texts of the picture that a chat shows of a receipt's link, and of its badge: never more than is public or holds. */
import { formatAmount } from "#lib/protocol/approval/amount";
import { describeDecided, labelDecided } from "#lib/protocol/approval/decided-words";
import { drawable } from "#lib/protocol/text/display-text";
import { describeBounds } from "#lib/protocol/time/time-words";
import { toFacts, toVerdict, type Verification } from "./facts";
import type { VerdictKind } from "./verdict";

/** Dark enough for white text at 4.5:1, and for text on white. */
export const verdictColors: Record<VerdictKind, string> = {
  authentic: "#14603c",
  warned: "#7a4a00",
  test: "#6b2a86",
  private: "#474e59",
  erased: "#474e59",
  invalid: "#a3201f",
};

export function describeCard(verification: Verification) {
  const { answer } = verification;
  const verdict = toVerdict(verification);
  const { action: said, valid, agent_slug, time_bounds: bounds } = answer;
  const { amount, decided } = toFacts(answer);
  const action = said === null || valid === false ? null : drawable(said);
  const isDecided = decided.kind !== "hidden" && decided.kind !== "nobody" && decided.kind !== "asserted";
  return {
    color: verdictColors[verdict.kind],
    title: verdict.title,
    sentence: verdict.sentence,
    amount: amount === null ? "" : formatAmount(amount),
    decided: isDecided ? (drawable(`${labelDecided(decided)}: ${describeDecided(decided)}`) ?? "") : "",
    time: valid === false ? "" : (drawable(describeBounds(bounds.made_after, bounds.made_before)) ?? ""),
    subject: `${drawable(agent_slug) ?? "An agent"}${action === null ? "" : `: ${action}`}`,
  };
}

const toMinute = ({ at }: { at: string }) => at.slice(0, 16).replace("T", " ");

/** Time that others vouch for; empty if none does. */
function describeTime({ valid, time_bounds: bounds }: Verification["answer"]): string {
  const { made_after: after, made_before: before } = bounds;
  if (valid === false || (after === null && before === null)) return "";
  if (after === null) return before === null ? "" : `, made before ${toMinute(before)} UTC`;
  if (before === null) return `, made after ${toMinute(after)} UTC`;
  return `, made between ${toMinute(after)} and ${toMinute(before)} UTC`;
}

/** "authentic, approved by passkey, 12,000.50 EUR" */
export function describeBadge(verification: Verification): string {
  const { amount } = toFacts(verification.answer);
  const cost = amount === null ? "" : `, ${formatAmount(amount)}`;
  return `${toVerdict(verification).short}${cost}${describeTime(verification.answer)}`;
}
