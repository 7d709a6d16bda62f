/** A request as rules see it. */
import { amountUnits, amountValue } from "#lib/core/approval/amount";
import type { ApprovalRequest } from "#lib/core/approval/approval";
import { hoursOf, type RuleContext } from "#lib/core/rules/rule-context";
import type { DayUsage } from "./usage";

type Described = Pick<
  ApprovalRequest,
  "agent_slug" | "agent_public_key" | "action" | "tool" | "amount" | "created_at"
>;

interface Surroundings {
  salt: string;
  agentName: string | null;
  isCodeKnown: boolean;
  context: Record<string, string>;
  requester: string | null;
  environment: string;
}

/** A total may be larger than an amount, and than what Cedar's decimals hold: then its evaluation denies. */
const writeUnits = (units: bigint) => {
  try {
    return amountValue(units);
  } catch {
    return `${units / 10_000n}.${(units % 10_000n).toString().padStart(4, "0")}`;
  }
};

export function describeForRules(
  request: Described,
  { salt, agentName, isCodeKnown, context, requester, environment }: Surroundings,
  { uses, spentUnits }: DayUsage,
): RuleContext {
  const { agent_slug, agent_public_key, tool, amount, action, created_at } = request;
  return {
    salt,
    agent: {
      slug: agent_slug,
      name: agentName,
      key_registered: agent_public_key !== null,
      code_hash_known: isCodeKnown,
    },
    tool: tool ?? null,
    action,
    amount: amount
      ? {
          ...amount,
          spent_today: writeUnits(spentUnits),
          total_today: writeUnits(spentUnits + amountUnits(amount.value)),
        }
      : null,
    context,
    requester,
    ...hoursOf(new Date(created_at)),
    uses_today: uses,
    environment,
  };
}
