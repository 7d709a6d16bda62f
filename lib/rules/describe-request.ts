/** A request as rules see it. */
import { type Amount, amountUnits, amountValue } from "#lib/core/approval/amount";
import { hoursOf, type RuleContext } from "#lib/core/rules/rule-context";
import type { DayUsage } from "./usage";

export interface JudgedRequest {
  agent_slug: string;
  agent_public_key: string | null;
  action: string;
  tool?: string;
  amount?: Amount;
  created_at: string;
}

export interface Surroundings {
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
  request: JudgedRequest,
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
