/**
 * Coverage and remaining balance of a standing approval. Names are compared exactly; amounts are counted in whole units
 * of 10⁻⁴. A request with an amount needs limits for it, and where limits are set every covered request needs an
 * amount: otherwise leaving it out would be the way around them.
 */
import { type Amount, amountUnits, amountValue } from "./amount";
import type { DecidedByGrant, GrantTerms } from "./decided-by";

export const MAX_GRANT_DAYS = 90;

export interface CoveredRequest {
  tool?: string;
  action: string;
  amount?: Amount;
  details?: { complete: boolean };
  inputs_hash?: string;
}

export type OutOfScope =
  | "expired"
  | "tool"
  | "action"
  | "context"
  | "details"
  | "hours"
  | "amount_missing"
  | "amount_not_limited"
  | "currency"
  | "max_amount"
  | "max_calls"
  | "max_budget";

const matchesAction = (action: string, pattern: string) =>
  pattern.endsWith("*") ? action.startsWith(pattern.slice(0, -1)) : action === pattern;

function whyAmountOut({ max_amount, currency }: GrantTerms, amount: Amount | undefined): OutOfScope | null {
  if (max_amount === undefined) return amount === undefined ? null : "amount_not_limited";
  if (amount === undefined) return "amount_missing";
  if (amount.currency !== currency) return "currency";
  return amountUnits(amount.value) > amountUnits(max_amount) ? "max_amount" : null;
}

/**
 * True for details that say they are complete. A request that binds inputs without saying so, as all from clients of 1.0.0, may
 * show a part.
 */
export const saysComplete = ({ details, inputs_hash }: Pick<CoveredRequest, "details" | "inputs_hash">) =>
  details?.complete ?? inputs_hash === undefined;

/** Null if the terms cover the request, as long as something is left of them. `context`: null where it is hidden. */
export function whyOutOfScope(
  terms: GrantTerms,
  asked: CoveredRequest,
  context: Record<string, string> | null,
  at: Date,
): OutOfScope | null {
  const { tool, action, amount } = asked;
  if (at.getTime() >= Date.parse(terms.expires_at)) return "expired";
  if (terms.tools && (tool === undefined || !terms.tools.includes(tool))) return "tool";
  if (terms.actions && !terms.actions.some((pattern) => matchesAction(action, pattern))) return "action";
  const wanted = Object.entries(terms.context ?? {});
  if (context && !wanted.every(([name, value]) => Object.hasOwn(context, name) && context[name] === value))
    return "context";
  const { derived } = terms;
  const names = context && Object.keys(context).sort();
  const isOther = names !== null && JSON.stringify(names) !== JSON.stringify(derived?.details);
  if (derived && (isOther || !saysComplete(asked))) return "details";
  const hour = at.getUTCHours();
  if (derived && (hour < derived.hours.from || hour > derived.hours.to)) return "hours";
  return whyAmountOut(terms, amount);
}

export interface GrantUsage {
  uses: number;
  /** Spent so far, in units of 10⁻⁴. */
  spentUnits: bigint;
}

export type NextUse = Pick<DecidedByGrant, "use" | "of" | "spent" | "budget" | "currency">;

/** Returns the next use, or the limit that it would exceed. */
export function nextUse(
  terms: GrantTerms,
  { uses, spentUnits }: GrantUsage,
  amount: Amount | undefined,
): NextUse | "max_calls" | "max_budget" {
  const use = uses + 1;
  if (use > terms.max_calls) return "max_calls";
  const { max_budget: budget, currency } = terms;
  if (amount === undefined || budget === undefined || currency === undefined)
    return { use, of: terms.max_calls, spent: null, budget: null, currency: null };
  const spent = spentUnits + amountUnits(amount.value);
  if (spent > amountUnits(budget)) return "max_budget";
  return { use, of: terms.max_calls, spent: amountValue(spent), budget, currency };
}
