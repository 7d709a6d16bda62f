/** Rules and standing approvals that an organization may want back: unused, wider than their use, refused since, or nearly used up. */
import { sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { TakeBackHint } from "#lib/api/schemas/portal";
import { queryRows } from "#lib/db/client";
import { amountUnits, amountValue, formatAmount } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { whyOutOfScope } from "#lib/protocol/approval/grant";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { type Derivation, isWithin, type PastRequest } from "#lib/protocol/policy/suggest";
import { formatCount } from "#lib/protocol/text/display-text";
import { dayMs } from "#lib/protocol/time/time-words";
import { requireRole } from "#lib/services/accounts/members";
import { readPast } from "./describe-request";
import type { RulesContext } from "./engine";
import { readNewest } from "./versions";

export const unusedDays = 30;
/** Percent of a budget. */
const nearlyUsed = 80n;

/** A standing approval that is active, with what was used of it. */
export interface UsedGrant {
  request_id: string;
  agent_slug: string;
  action: string;
  terms: GrantTerms;
  approvedAt: Date;
  uses: number;
  lastUsedAt: Date | null;
  /** Highest amount in units of 10⁻⁴. */
  highest: bigint;
  spent: bigint;
  tools: readonly string[];
}

const inCurrency = (value: string, { currency = "" }: GrantTerms) => formatAmount({ value, currency });

/** Terms that no use came near to; null if there are none. */
function whyWider({ terms, uses, highest, tools }: UsedGrant): string | null {
  if (uses === 0) return null;
  const idle = terms.tools?.filter((tool) => !tools.includes(tool)) ?? [];
  if (idle.length > 0) return `${idle.join(", ")} never used`;
  const { max_amount: most } = terms;
  return most !== undefined && highest * 2n <= amountUnits(most)
    ? `up to ${inCurrency(most, terms)} each, and the highest use was ${inCurrency(amountValue(highest), terms)}`
    : null;
}

/** `refused`: requests of its agent that people denied, the newest first. */
export function judgeGrant(grant: UsedGrant, refused: readonly PastRequest[], now: Date): TakeBackHint[] {
  const { request_id, agent_slug, action, terms, approvedAt, lastUsedAt, spent } = grant;
  const hint = (why: TakeBackHint["why"], detail: string): TakeBackHint => ({
    request_id,
    policy_id: null,
    agent_slug,
    action,
    why,
    detail,
  });
  const found: TakeBackHint[] = [];
  const idleDays = Math.floor((now.getTime() - (lastUsedAt ?? approvedAt).getTime()) / dayMs);
  if (idleDays >= unusedDays) found.push(hint("unused", `unused for ${formatCount(idleDays, "day")}`));
  const wider = whyWider(grant);
  if (wider !== null) found.push(hint("wider", wider));
  const met = refused.find(({ created_at: at, tool, amount, context, action: asked, isComplete }) => {
    const details = { complete: isComplete };
    const covered = { action: asked, details, ...(tool !== null && { tool }), ...(amount && { amount }) };
    return (
      Date.parse(at) > approvedAt.getTime() && whyOutOfScope(terms, covered, context, new Date(at)) === null
    );
  });
  if (met !== undefined)
    found.push(hint("refused", `people refused something that it covers: ${met.action}`));
  const { max_budget: budget } = terms;
  if (budget !== undefined && spent * 100n >= amountUnits(budget) * nearlyUsed)
    found.push(
      hint("budget", `${inCurrency(amountValue(spent), terms)} of ${inCurrency(budget, terms)} are used`),
    );
  return found;
}

interface UsedRule {
  policyId: string;
  uses: number;
  highest: bigint;
  /** If it was suggested. */
  derivation: Derivation | null;
}

/** `isOld`: the rules are older than the time in which uses are counted. */
export function judgeRule(
  { policyId, uses, highest, derivation }: UsedRule,
  refused: readonly PastRequest[],
  isOld: boolean,
): TakeBackHint[] {
  const hint = (why: TakeBackHint["why"], detail: string): TakeBackHint => ({
    request_id: null,
    policy_id: policyId,
    agent_slug: null,
    action: null,
    why,
    detail,
  });
  const found: TakeBackHint[] = [];
  if (isOld && uses === 0) found.push(hint("unused", `unused for ${unusedDays} days`));
  if (derivation === null) return found;
  const { bounds, to } = derivation;
  if (bounds.amount !== null && uses > 0 && highest * 2n <= amountUnits(bounds.amount.max)) {
    const { currency, max } = bounds.amount;
    const [most, used] = [max, amountValue(highest)].map((value) => formatAmount({ value, currency }));
    found.push(hint("wider", `up to ${most}, and the highest use was ${used}`));
  }
  const met = refused.find((one) => one.created_at >= to && isWithin(bounds, one));
  if (met !== undefined)
    found.push(hint("refused", `people refused something that it covers: ${met.action}`));
  return found;
}

interface GrantRow {
  request_id: string;
  slug: string;
  request: Uint8Array;
  terms: string;
  approved_at: string;
  uses: number;
  last_used_at: string | null;
  highest: string;
  spent: string;
  tools: string[];
}

async function readGrants({ database }: RulesContext, organizationId: string): Promise<UsedGrant[]> {
  const rows = await queryRows<GrantRow>(
    database.db,
    sql`SELECT g.request_id, a.slug, r.request, g.terms, g.approved_at::text, usage.*
      FROM grants AS g
      JOIN authorization_requests AS r ON r.id = g.request_id
      JOIN agents AS a ON a.id = g.agent_id
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS uses, max(used.decided_at)::text AS last_used_at,
          coalesce(max(used.amount_units), 0)::text AS highest, coalesce(sum(used.amount_units), 0)::text AS spent,
          coalesce(array_agg(DISTINCT convert_from(used.request, 'UTF8')::json ->> 'tool'), '{}') AS tools
        FROM authorization_requests AS used WHERE used.grant_id = g.request_id AND used.status = 'approved'
      ) AS usage
      WHERE r.organization_id = ${organizationId} AND g.expires_at > clock_timestamp() AND r.revoked_at IS NULL
      ORDER BY g.approved_at`,
  );
  return rows.map(({ slug, request, terms, approved_at, last_used_at, highest, spent, ...row }) => ({
    ...row,
    agent_slug: slug,
    action: (JSON.parse(utf8Decode(new Uint8Array(request))) as ApprovalRequest).action,
    terms: JSON.parse(terms) as GrantTerms,
    approvedAt: new Date(approved_at),
    lastUsedAt: last_used_at === null ? null : new Date(last_used_at),
    highest: BigInt(highest),
    spent: BigInt(spent),
  }));
}

async function readRules(context: RulesContext, organizationId: string, since: Date) {
  const { db } = context.database;
  const newest = await readNewest(db, organizationId);
  if (newest === null || newest.mode !== "enforce") return { rules: [], isOld: false };
  const parsed = await context.rules.parse(newest.text, organizationId);
  const used = await queryRows<{ id: string; uses: number; highest: string }>(
    db,
    sql`SELECT policy.id, count(*)::int AS uses, coalesce(max(r.amount_units), 0)::text AS highest
      FROM authorization_requests AS r, json_array_elements_text(r.rule_outcome::json -> 'policy_ids') AS policy(id)
      WHERE r.organization_id = ${organizationId} AND r.created_at >= ${since.toISOString()}::timestamptz
        AND r.rule_outcome IS NOT NULL
      GROUP BY policy.id`,
  );
  const derived = await queryRows<{ derivation: string }>(
    db,
    sql`SELECT derivation FROM rule_sets WHERE organization_id = ${organizationId} AND derivation IS NOT NULL`,
  );
  const derivations = new Map(
    derived.map(({ derivation }) => {
      const one = JSON.parse(derivation) as Derivation;
      return [one.policy_id, one];
    }),
  );
  const policies = parsed.ok ? parsed.rules.policies : [];
  const rules = policies.map(({ id }): UsedRule => {
    const row = used.find((one) => one.id === id);
    const derivation = derivations.get(id) ?? null;
    return { policyId: id, uses: row?.uses ?? 0, highest: BigInt(row?.highest ?? "0"), derivation };
  });
  return { rules, isOld: newest.created_at < since };
}

export async function listTakeBacks(context: RulesContext, person: MemberPrincipal): Promise<TakeBackHint[]> {
  const { organizationId } = person;
  await requireRole(context.database.db, person, "read");
  const now = context.clock();
  const grants = await readGrants(context, organizationId);
  const { rules, isOld } = await readRules(
    context,
    organizationId,
    new Date(now.getTime() - unusedDays * dayMs),
  );
  const refused: PastRequest[] = [];
  if (grants.length + rules.length > 0) {
    const from = new Date(now.getTime() - 3 * unusedDays * dayMs);
    for await (const rows of readPast(context, organizationId, { from, to: now }))
      for (const row of rows) {
        const one = JSON.parse(row.past) as PastRequest;
        if (one.outcome === "refused" && !one.isTest) refused.push(one);
      }
  }
  return [
    ...grants.flatMap((grant) => {
      const own = refused.filter(({ agent }) => agent.toLowerCase() === grant.agent_slug.toLowerCase());
      return judgeGrant(grant, own, now);
    }),
    ...rules.flatMap((rule) => judgeRule(rule, refused, isOld)),
  ];
}
