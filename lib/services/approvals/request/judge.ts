/**
 * Who decides a request, in this order: a frozen agent is denied; rules deny; a standing approval covers it; rules allow;
 * else people are asked, with what the rules demand. Rules that only log change nothing. Where an
 * enforced rule forbids something about details and the gate doesn't show all of them, nothing but people approves.
 */
import { sql } from "drizzle-orm";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import { type Executor, rowsOf } from "#lib/db/client";
import { fieldError } from "#lib/errors";
import type { Amount } from "#lib/protocol/approval/amount";
import type { DecidedBy, Decider } from "#lib/protocol/approval/decided-by";
import type { SignedDetails } from "#lib/protocol/approval/detail-types";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import type { RuleOutcome, RulesFallback, RulesVerdict } from "#lib/protocol/policy/evaluate-rules";
import type { Obligations } from "#lib/protocol/policy/obligations";
import { type RuleContext, ruleContextHash } from "#lib/protocol/policy/rule-context";
import { usesTypes } from "#lib/protocol/policy/rules-schema";
import type { RulesMode } from "#lib/protocol/policy/ruleset-statement";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { findGroupIds } from "#lib/services/accounts/approver-groups";
import { slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { otherSpelling } from "#lib/services/policies/agent-names";
import { describeForRules, saysComplete } from "#lib/services/policies/describe-request";
import { type DayUsage, dayUsage } from "#lib/services/policies/usage";
import { type Demands, isTooMuch, meetsDemands, meetsObligations } from "./apply-obligations";
import { chooseGrant, findActiveGrants } from "./grants";

/** Facts that can decide an agent's requests without people. */
export interface Standing {
  /** The database's time, when this was read. */
  at: Date;
  agent_id: string | null;
  agent_slug: string | null;
  agent_name: string | null;
  agent_public_key: Uint8Array | null;
  is_frozen: boolean;
  has_grants: boolean;
  is_code_known: boolean;
  number: number | null;
  text: string | null;
  hash: string | null;
  mode: RulesMode | null;
  fallback: RulesFallback | null;
  /** Usage in the request's currency; empty if no rules are asked. */
  usage: DayUsage;
}

type StandingRow = Omit<Standing, "at" | "usage"> & { ms: string; uses: number; spent: string };

/** A decision based on it is stored only if this was read under the organization's lock. */
export async function readStanding(
  executor: Executor,
  organizationId: string,
  { agent_slug, amount }: Pick<AuthorizeBody, "agent_slug" | "amount">,
): Promise<Standing> {
  const asked = sql`CASE WHEN rules.mode <> 'off' THEN a.id END`;
  const usage = dayUsage(asked, sql`${amount?.currency ?? null}::text`, sql`now.at`);
  const [row] = await rowsOf<StandingRow>(
    executor,
    sql`SELECT (extract(epoch FROM now.at) * 1000)::bigint::text AS ms,
        a.id AS agent_id, a.slug AS agent_slug, a.name AS agent_name, a.public_key AS agent_public_key,
        a.frozen_at IS NOT NULL AS is_frozen, a.code_hash IS NOT NULL AS is_code_known,
        EXISTS (SELECT FROM grants WHERE agent_id = a.id AND expires_at > now.at) AS has_grants,
        rules.number, rules.text, rules.hash, rules.mode, rules.fallback, usage.uses, usage.spent
      FROM (SELECT date_trunc('milliseconds', statement_timestamp()) AS at) AS now
      LEFT JOIN agents AS a ON a.slug_key = ${slugKey(agent_slug)} AND a.organization_id = ${organizationId}
      LEFT JOIN LATERAL (SELECT * FROM rule_sets WHERE organization_id = ${organizationId}
        ORDER BY number DESC LIMIT 1) AS rules ON true
      CROSS JOIN LATERAL (${usage}) AS usage`,
  );
  if (row === undefined) throw new Error("the database returned no row");
  const { ms, uses, spent, ...standing } = row;
  return { ...standing, at: new Date(Number(ms)), usage: { uses, spentUnits: BigInt(spent) } };
}

export interface JudgedRequest {
  organizationId: string;
  agent_slug: string;
  agent_public_key: string | null;
  action: string;
  tool?: string;
  amount?: Amount;
  inputs_hash?: string;
  details?: SignedDetails;
  context: Record<string, string>;
  requester: string | null;
  isGrant: boolean;
  /** Requirements on approvers, as the caller states them. */
  own: Demands;
  createdAt: Date;
}

/** Outcome of the rules, as stored beside a request. */
export interface RuleRecord extends Pick<RuleOutcome, "decision" | "reason" | "policy_ids" | "error"> {
  version: number;
  mode: RulesMode;
  ruleset_hash: string;
  context_hash: string;
}

export interface Judged {
  verdict: "approved" | "denied" | "ask";
  /** Null if people are asked. */
  decidedBy: Decider | null;
  denialReason: string | null;
  obligations: Obligations | null;
  /** By name, of the groups that the obligations name. */
  groupIds: Map<string, string>;
  grantId: string | null;
  /** Where the standing approval was given, if that makes a TEST of what it approves. */
  environment: WorldEnvironment | null;
  rules: { context: RuleContext; record: RuleRecord } | null;
}

type Rules = NonNullable<Judged["rules"]> & { outcome: RulesVerdict };

const asked: Omit<Judged, "rules"> = {
  verdict: "ask",
  decidedBy: null,
  denialReason: null,
  obligations: null,
  groupIds: new Map(),
  grantId: null,
  environment: null,
};

async function askRules(
  context: Context,
  standing: Standing,
  request: JudgedRequest,
  patienceMs: number | undefined,
): Promise<Rules | null> {
  const { number, text, hash, mode, fallback, usage } = standing;
  if (number === null || text === null || hash === null || mode === null || mode === "off") return null;
  const { organizationId, createdAt, context: given, requester } = request;
  const sent = describeForRules(
    { ...request, created_at: createdAt.toISOString() },
    {
      salt: base64Encode(context.random(16)),
      agentName: standing.agent_name,
      isCodeKnown: standing.is_code_known,
      context: given,
      requester,
      environment: context.worldId.environment,
      usesTypes: usesTypes(text),
    },
    usage,
  );
  const rules = { organizationId, hash, text };
  const outcome = await context.rules.evaluate(rules, sent, fallback ?? "ask", patienceMs);
  const ruleContext: RuleContext = outcome.isAsRead ? { ...sent, texts_as_read: true } : sent;
  const { decision, reason, policy_ids, error } = outcome;
  return {
    outcome,
    context: ruleContext,
    record: {
      version: number,
      mode,
      ruleset_hash: hash,
      context_hash: ruleContextHash(ruleContext),
      decision,
      reason,
      policy_ids,
      error,
    },
  };
}

const byRule = ({ record: { ruleset_hash, policy_ids, context_hash } }: Rules): DecidedBy => ({
  kind: "rule",
  ruleset_hash,
  policy_ids,
  context_hash,
});

function describeDenial({ reason, policy_ids, error }: RuleOutcome): string {
  if (reason === "nothing_permits") return "No rule permits this.";
  const names = policy_ids.join(", ");
  return reason === "evaluation_error"
    ? `A rule could not be evaluated${names === "" ? "" : ` (${names})`}: ${error}`
    : `Denied by rule: ${names}`;
}

/** Refuses a slug that the rules spell differently. Otherwise the first to use it would choose whether the rules apply. */
function requireSpelling({ text }: Standing, { agent_slug }: JudgedRequest, field: string): void {
  const named = otherSpelling(text ?? "", agent_slug);
  if (named !== null)
    throw fieldError(
      "validation_error",
      field,
      `is "${agent_slug}", and the organization's rules name "${named}", so they would not apply: spell both the same`,
    );
}

/**
 * How long a transaction waits for an evaluation, most of which are remembered from before it: the log and the organization
 * wait with it.
 */
const lockedMs = 100;

/** `slugField`: where the caller's body has the agent's slug. */
export async function judge(
  context: Context,
  tx: Executor,
  standing: Standing,
  request: JudgedRequest,
  slugField = "agent_slug",
): Promise<Judged> {
  const patienceMs = tx === context.database.db ? undefined : lockedMs;
  const rules = await askRules(context, standing, request, patienceMs);
  const kept = rules && { context: rules.context, record: rules.record };
  if (standing.is_frozen)
    return {
      ...asked,
      verdict: "denied",
      decidedBy: { kind: "freeze" },
      denialReason: "The organization has frozen this agent.",
      rules: kept,
    };
  const enforced = rules?.record.mode === "enforce" ? rules : null;
  if (enforced !== null) requireSpelling(standing, request, slugField);
  const deny = (denialReason: string): Judged => ({
    ...asked,
    verdict: "denied",
    decidedBy: enforced && byRule(enforced),
    denialReason,
    rules: kept,
  });
  if (enforced?.outcome.decision === "deny") return deny(describeDenial(enforced.outcome));
  const obligations = enforced?.outcome.obligations ?? null;
  const groupNames = obligations?.groups.map(({ group }) => group) ?? [];
  const groupIds = await findGroupIds(tx, request.organizationId, groupNames);
  const gone = groupNames.find((name) => !groupIds.has(name));
  if (gone !== undefined) return deny(`A rule asks for the group "${gone}", which is gone.`);
  if (obligations !== null && isTooMuch(obligations.groups))
    return deny("Rules ask for more people than a request can.");
  const wantsWorldId = obligations?.level === "device" || obligations?.level === "orb";
  const toPeople: Judged =
    wantsWorldId && context.settings.worldId === "none"
      ? deny("A rule asks for World ID, which this service doesn't have.")
      : { ...asked, obligations, groupIds, rules: kept };
  const hidesSomething = enforced?.outcome.forbidsDetails === true && !saysComplete(request);
  if (request.isGrant || hidesSomething) return toPeople;
  if (standing.has_grants && standing.agent_id !== null) {
    const active = await findActiveGrants(tx, standing.agent_id);
    const idOf = (name: string) => groupIds.get(name) ?? "";
    const fit = active.filter(
      ({ request: given }) =>
        meetsDemands(given, request.own) &&
        (obligations === null || meetsObligations(given, obligations, idOf)),
    );
    const use = chooseGrant(fit, request, request.context, request.createdAt);
    if (use !== null) return { ...asked, verdict: "approved", rules: kept, ...use };
  }
  if (enforced?.outcome.decision === "allow")
    return { ...asked, verdict: "approved", decidedBy: byRule(enforced), rules: kept };
  return toPeople;
}
