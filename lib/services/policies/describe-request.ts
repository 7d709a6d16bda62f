/** Requests as rules see them, and past ones as suggestions do. */
import { type SQL, sql } from "drizzle-orm";
import { queryRows } from "#lib/db/client";
import { amountUnits, amountValue } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { saysComplete } from "#lib/protocol/approval/grant";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { type RuleContext, readHours, usesTypes } from "#lib/protocol/policy/rule-context";
import {
  checkDerivation,
  type Derivation,
  type PastRequest,
  type StandingRequest,
} from "#lib/protocol/policy/suggest";
import { slugKey } from "#lib/services/agents/agents";
import { isTestKey } from "#lib/services/keys/api-keys";
import type { RulesContext } from "./engine";

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

/* Requests that people decided, as suggestions look at them. */

/** Rows that are read and written out before others get their turn. */
const usualPage = 2_000;

export interface PastRow {
  id: string;
  hash: string;
  /** RFC 3339, as it was signed. */
  created_at: string;
  /** Time of the row, as the database writes it. */
  place: string;
  waited: number;
  past: string;
}

/**
 * Decisions of people in the window, the newest first, with what rules said of them; uses of rules and standing approvals
 * are none, unless a person said afterwards that one should have been asked about: that counts as a refusal. Without content
 * nothing can be said of a request; an approval that took a change is nobody's habit.
 */
export async function* readPast(
  { database, worldId }: RulesContext,
  organizationId: string,
  { from, to, agent }: { from: Date; to: Date; agent?: string },
  pageSize = usualPage,
): AsyncGenerator<PastRow[]> {
  const isLocal = worldId.environment !== "production";
  const isOfAgent = agent === undefined ? sql`true` : sql`asked ->> 'agent_slug' = ${agent}`;
  let before = sql`true`;
  for (;;) {
    const rows = await queryRows<PastRow>(
      database.db,
      sql`SELECT id, hash, asked ->> 'created_at' AS created_at, created_at::text AS place, waited, json_build_object(
          'hash', hash, 'agent', asked ->> 'agent_slug', 'action', asked ->> 'action', 'tool', asked -> 'tool',
          'amount', asked -> 'amount', 'context', context::json,
          'isComplete', coalesce((asked -> 'details' ->> 'complete')::boolean, asked ->> 'inputs_hash' IS NULL),
          'created_at', asked ->> 'created_at', 'decided_at', decided_at, 'outcome', CASE WHEN status = 'approved' AND verdict IS NULL THEN 'approved' ELSE 'refused' END,
          'isHeld', coalesce(reason <> 'nothing_permits', false),
          'isTest', is_test OR coalesce(environment, ${isLocal ? "local" : "production"}) <> 'production')::text AS past
        FROM (
          SELECT r.id, r.created_at, r.status, r.context, encode(r.request_hash, 'hex') AS hash,
            convert_from(r.request, 'UTF8')::json AS asked, r.rule_outcome::json ->> 'reason' AS reason,
            to_char(r.decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS decided_at,
            review.verdict, extract(epoch FROM r.decided_at - r.created_at)::float8 AS waited, ${isTestKey} AS is_test,
            convert_from(r.human_authorization, 'UTF8')::json ->> 'environment' AS environment
          FROM authorization_requests AS r JOIN api_keys ON api_keys.id = r.api_key_id
            LEFT JOIN use_reviews AS review ON review.request_id = r.id AND review.verdict = 'should_ask'
          WHERE r.organization_id = ${organizationId} AND r.created_at >= ${from.toISOString()}
            AND r.created_at < ${to.toISOString()} AND r.context IS NOT NULL AND ${before}
            AND (r.status = 'denied' OR r.amended_by IS NOT NULL OR review.verdict = 'should_ask' OR (r.status = 'approved' AND r.amends IS NULL
              AND coalesce(r.decided_by::json ->> 'kind', 'people') = 'people'))
        ) AS decided WHERE ${isOfAgent} AND (asked -> 'grant' IS NULL OR json_typeof(asked -> 'grant') = 'null')
        ORDER BY decided.created_at DESC, id DESC LIMIT ${pageSize}`,
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    before = sql`(r.created_at, r.id) < (${last.place}::timestamptz, ${last.id})`;
  }
}

/** False if a decision that was made meanwhile speaks against it. `made`: text of rules, or the standing approval. */
export async function followsStill(
  context: RulesContext,
  organizationId: string,
  derivation: Derivation,
  made: string | StandingRequest,
): Promise<boolean> {
  const past: PastRequest[] = [];
  // The database's clock may be ahead of this process's.
  const window = { from: new Date(derivation.from), to: new Date("9999-12-31T23:59:59.999Z") };
  for await (const rows of readPast(context, organizationId, { ...window, agent: derivation.bounds.agent }))
    past.push(...rows.map((row) => JSON.parse(row.past) as PastRequest));
  const { fault, missing } = checkDerivation(derivation, made, past, window.to.toISOString());
  return fault === null && missing === 0;
}

/*
 * The agents that rules name. A slug is an agent's in any spelling, and Cedar compares names exactly: a rule about another
 * spelling than the registered one applies to nothing, and looks like protection.
 */

/** A name, or a string or comment, in which there is none. */
const token = /\bAgent\s*::\s*"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"|\/\/[^\n]*/gs;

export const namedAgents = (text: string): { name: string; index: number }[] =>
  [...text.matchAll(token)].flatMap(({ 1: name, index }) => (name === undefined ? [] : [{ name, index }]));

/** Spelling of this slug in rules, if they name it otherwise alone. */
export function otherSpelling(text: string, slug: string): string | null {
  const names = namedAgents(text).flatMap(({ name }) => (slugKey(name) === slugKey(slug) ? [name] : []));
  return names.includes(slug) ? null : (names[0] ?? null);
}
