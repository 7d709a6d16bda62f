/** A request as rules see it. */
import { amountUnits, amountValue } from "#lib/core/approval/amount";
import type { ApprovalRequest } from "#lib/core/approval/approval";
import { hoursOf, type RuleContext } from "#lib/core/rules/rule-context";
import type { DayUsage } from "./usage";

type Described = Pick<
  ApprovalRequest,
  "agent_slug" | "agent_public_key" | "action" | "tool" | "amount" | "inputs_hash" | "details" | "created_at"
>;

interface Surroundings {
  salt: string;
  agentName: string | null;
  isCodeKnown: boolean;
  context: Record<string, string>;
  requester: string | null;
  environment: string;
  /** Whether the rules may ask about it; others are evaluated over what 1.0.0 had. */
  usesTypes: boolean;
}

/** Whoever binds inputs and doesn't say that the details are all of them, as no client of 1.0.0 does, may show a part. */
export const saysComplete = ({ details, inputs_hash }: Pick<ApprovalRequest, "details" | "inputs_hash">) =>
  details?.complete ?? inputs_hash === undefined;

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
  { salt, agentName, isCodeKnown, context, requester, environment, usesTypes }: Surroundings,
  { uses, spentUnits }: DayUsage,
): RuleContext {
  const { agent_slug, agent_public_key, tool, amount, action, created_at } = request;
  const untyped = { complete: saysComplete(request), types: "-".repeat(Object.keys(context).length) };
  const details = request.details ?? (usesTypes ? untyped : undefined);
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
    ...(details && { details }),
    requester,
    ...hoursOf(new Date(created_at)),
    uses_today: uses,
    environment,
  };
}
