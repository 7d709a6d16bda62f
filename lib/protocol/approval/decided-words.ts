/** How a request was decided without people, in words. */
import type { Decider } from "./decided-by";

/** Null if people decided, or nobody has. */
export function describeUnasked(
  decidedBy: Decider | null | undefined,
  status: "approved" | "denied" | string,
): string | null {
  if (!decidedBy || decidedBy.kind === "people") return null;
  if (decidedBy.kind === "freeze") return "Denied: the organization has frozen this agent.";
  if (decidedBy.kind === "grant") {
    const { use, of, spent, budget, currency } = decidedBy;
    const money = spent === null ? "" : `, ${spent} of ${budget} ${currency}`;
    return `Covered by a standing approval: use ${use} of ${of}${money}.`;
  }
  const names = decidedBy.policy_ids.join(", ");
  if (status === "denied") return names === "" ? "Denied: no rule permits it." : `Denied by rule: ${names}.`;
  return `Allowed by rule: ${names}. No human was asked.`;
}
