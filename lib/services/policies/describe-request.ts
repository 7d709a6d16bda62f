/** A request as rules see it. */
import { type SQL, sql } from "drizzle-orm";
import { amountUnits, amountValue } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { saysComplete } from "#lib/protocol/approval/grant";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { type RuleContext, readHours, usesTypes } from "#lib/protocol/policy/rule-context";
import { slugKey } from "#lib/services/agents/agents";

/* Sums an agent's approved requests of a UTC day, as rules see them. */

export interface DayUsage {
  uses: number;
  /** Sum in the currency, in units of 10⁻⁴. */
  spentUnits: bigint;
}

/**
 * Counts all approved requests of the UTC day of `at` that the statement sees, or those that `counts` leaves. Nothing
 * is left out by its time: two requests can be decided in one millisecond. A standing approval is no use itself.
 */
export const dayUsage = (agent: SQL, currency: SQL, at: SQL, counts: SQL = sql`true`) => sql`
  SELECT count(*)::int AS uses,
    coalesce(sum(day.amount_units) FILTER (WHERE day.currency = ${currency}), 0)::text AS spent
  FROM authorization_requests AS day
  WHERE day.agent_id = ${agent} AND day.status = 'approved' AND ${counts}
    AND day.decided_at >= date_trunc('day', ${at} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    AND NOT EXISTS (SELECT FROM grants WHERE grants.request_id = day.id)`;

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
  usesTypes: boolean;
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
    ...readHours(new Date(created_at)),
    uses_today: uses,
    environment,
  };
}

/** The facts of a stored request that rules see; `uses` and `spent`: of its day, before it was made. */
export interface StoredFacts {
  request: Uint8Array;
  context: string | null;
  requested_by: string | null;
  agent_name: string | null;
  is_code_known: boolean;
  uses: number;
  spent: string;
}

/** Columns, beside the request as `r`, its agent as `a` and {@link usageThen} as `usage`. */
export const storedFacts = sql`r.request, r.context, r.requested_by, r.agent_name,
  a.code_hash IS NOT NULL AS is_code_known, usage.uses, usage.spent`;

export const usageThen = dayUsage(
  sql`r.agent_id`,
  sql`r.currency`,
  sql`r.created_at`,
  sql`day.decided_at < r.created_at`,
);

export function describeStored(row: StoredFacts, text: string, environment: string): RuleContext {
  const { requester } = JSON.parse(row.requested_by ?? "{}") as { requester?: string | null };
  return describeForRules(
    JSON.parse(utf8Decode(new Uint8Array(row.request))) as ApprovalRequest,
    {
      salt: "",
      agentName: row.agent_name,
      isCodeKnown: row.is_code_known,
      context: JSON.parse(row.context ?? "{}"),
      requester: requester ?? null,
      environment,
      usesTypes: usesTypes(text),
    },
    { uses: row.uses, spentUnits: BigInt(row.spent) },
  );
}

/*
 * The agents that rules name. A slug is an agent's in any spelling, and Cedar compares names exactly: a rule about another
 * spelling than the registered one applies to nothing, and looks like protection.
 */

/** A name, or a string or comment, in which there is none. */
const token = /\bAgent\s*::\s*"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"|\/\/[^\n]*/gs;

export const namedAgents = (text: string): { name: string; index: number }[] =>
  [...text.matchAll(token)].flatMap(({ 1: name, index }) => (name === undefined ? [] : [{ name, index }]));

/** How rules spell this slug, if they name it otherwise alone. */
export function otherSpelling(text: string, slug: string): string | null {
  const names = namedAgents(text).flatMap(({ name }) => (slugKey(name) === slugKey(slug) ? [name] : []));
  return names.includes(slug) ? null : (names[0] ?? null);
}
