/**
 * Decides who decides a request, in this order: a frozen agent is denied; rules deny; a standing approval covers it; rules
 * allow; else people are asked, with what the rules demand. Rules that only log change nothing. Where an enforced rule forbids
 * something about details and the gate doesn't show all of them, nothing but people approves.
 */

import { type SQL, sql } from "drizzle-orm";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import { type Executor, queryRows } from "#lib/db/client";
import { grants } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import type { Amount } from "#lib/protocol/approval/amount";
import { type ApprovalRequest, type HumanAuthorization, requestHash } from "#lib/protocol/approval/approval";
import type {
  DecidedBy,
  DecidedByGrant,
  Decider,
  GrantTerms,
  RequiredApprovers,
} from "#lib/protocol/approval/decided-by";
import { type GrantUsage, nextUse, saysComplete, whyOutOfScope } from "#lib/protocol/approval/grant";
import type { SignedDetails } from "#lib/protocol/approval/shown-content";
import { base64Decode, base64Encode, hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PolicyConditions, UnmetCondition } from "#lib/protocol/policy/conditions";
import {
  meetsObligations,
  type Obligations,
  type RuleOutcome,
  type RulesFallback,
  type RulesVerdict,
  stricter,
} from "#lib/protocol/policy/evaluate-rules";
import type { RulesMode } from "#lib/protocol/policy/replay";
import { type RuleContext, ruleContextHash, usesTypes } from "#lib/protocol/policy/rule-context";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { findGroupIds } from "#lib/services/accounts/approver-groups";
import { slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import {
  type DayUsage,
  dayUsage,
  describeForRules,
  otherSpelling,
} from "#lib/services/policies/describe-request";

/*
 * Merges a request's own requirements on approvers with the rules' obligations: the result is never less than either.
 */

export interface Demands
  extends Pick<ApprovalRequest, "required_level" | "approvals_required" | "required_approvers"> {
  groupNames: string[];
  /** True if the caller named the level; if not, the rules may ask for less than the usual one. */
  isLevelChosen: boolean;
}

/** Limits of the signed object (docs/wire.md). */
const MAX_REQUIRED_GROUPS = 5;
export const MAX_APPROVALS = 10;

type Counted = Pick<RequiredApprovers, "count">;
const sum = (groups: readonly Counted[]) => groups.reduce((total, { count }) => total + count, 0);

export const isTooMuch = (groups: readonly Counted[]) =>
  groups.length > MAX_REQUIRED_GROUPS || sum(groups) > MAX_APPROVALS;

function mergeGroups(own: Demands, { groups }: Obligations, findId: (name: string) => string) {
  const merged = own.required_approvers.map((one, i) => ({ ...one, name: own.groupNames[i] ?? "" }));
  for (const { group, count } of groups) {
    const id = findId(group);
    const known = merged.find((one) => one.group === id);
    if (known === undefined) merged.push({ group: id, count, name: group });
    else known.count = Math.max(known.count, count);
  }
  return merged;
}

/** `findId`: of a group that exists. */
export function applyObligations(
  own: Demands,
  obligations: Obligations,
  findId: (name: string) => string,
): Demands {
  const groups = mergeGroups(own, obligations, findId);
  const wanted = Math.max(own.approvals_required, obligations.approvals);
  const [first] = groups;
  // Raises the first group's number: where groups are required only their members count.
  if (first !== undefined) first.count += Math.max(0, wanted - sum(groups));
  const mayBeNone = !own.isLevelChosen && obligations.level === "none" && groups.length > 0;
  return {
    ...own,
    required_level: mayBeNone ? "none" : stricter(own.required_level, obligations.level ?? "none"),
    approvals_required: first === undefined ? wanted : sum(groups),
    required_approvers: groups.map(({ group, count }) => ({ group, count })),
    groupNames: groups.map(({ name }) => name),
  };
}

const meetsDemands = (
  given: Parameters<typeof meetsObligations>[0],
  { isLevelChosen, required_level, approvals_required, required_approvers }: Demands,
): boolean =>
  meetsObligations(
    given,
    {
      approvals: approvals_required,
      level: isLevelChosen ? required_level : null,
      groups: required_approvers,
    },
    (id) => id,
  );

/* Standing approvals in the database: opened when people approve them, counted where a request is approved by them. */

/**
 * A use whose hour is over, that nobody claimed and nothing attested, gives its call and amount back. A minute later, so
 * that no attestation of it is still being stored.
 */
const isUse = sql.raw(`(used.attestation_id IS NOT NULL OR used.claimed_at IS NOT NULL
  OR used.revoked_at IS NULL AND used.usable_until > clock_timestamp() - interval '1 minute')`);

const selectUsage = (grantId: SQL) => sql`SELECT count(*)::int AS uses,
    coalesce(sum(used.amount_units), 0)::text AS spent
  FROM authorization_requests AS used
  WHERE used.grant_id = ${grantId} AND used.status = 'approved' AND ${isUse}`;

export async function readGrantUsage(executor: Executor, requestId: string): Promise<GrantUsage> {
  const [row] = await queryRows<Pick<Row, "uses" | "spent">>(executor, selectUsage(sql`${requestId}`));
  return { uses: row?.uses ?? 0, spentUnits: BigInt(row?.spent ?? "0") };
}

/** Keyed by request id: what was used of each, and whether its agent has another key or code now, or is frozen. */
export async function readGrantUsages(
  executor: Executor,
  requestIds: readonly string[],
): Promise<Map<string, GrantUsage & { isSuspended: boolean }>> {
  if (requestIds.length === 0) return new Map();
  const rows = await queryRows<Pick<Row, "request_id" | "uses" | "spent"> & { is_suspended: boolean }>(
    executor,
    sql`SELECT g.request_id, usage.uses, usage.spent, (a.frozen_at IS NOT NULL
        OR a.public_key IS DISTINCT FROM g.public_key OR a.code_hash IS DISTINCT FROM g.code_hash) AS is_suspended
      FROM grants AS g
      JOIN agents AS a ON a.id = g.agent_id
      CROSS JOIN LATERAL (${selectUsage(sql`g.request_id`)}) AS usage
      WHERE g.request_id IN ${requestIds}`,
  );
  return new Map(
    rows.map(({ request_id, uses, spent, is_suspended: isSuspended }) => [
      request_id,
      { uses, spentUnits: BigInt(spent), isSuspended },
    ]),
  );
}

/** Opens the grant in the transaction that approves the request; `object`: the signed object's canonical bytes. */
export async function openGrant(tx: Executor, agentId: string, object: Uint8Array): Promise<void> {
  const { request, approved_at, usable_until, environment } = JSON.parse(
    utf8Decode(object),
  ) as HumanAuthorization;
  if (request.grant === null) return;
  const { expires_at } = request.grant;
  await tx.insert(grants).values({
    request_id: request.request_id,
    agent_id: agentId,
    public_key: request.agent_public_key === null ? null : base64Decode(request.agent_public_key),
    code_hash: sql`(SELECT code_hash FROM agents WHERE id = ${agentId})`,
    terms: canonicalJson(request.grant as unknown as JsonObject),
    request_hash: requestHash(request),
    authorization_hash: hexEncode(sha256(object)),
    environment,
    approved_at: new Date(approved_at),
    expires_at: new Date(usable_until !== null && usable_until < expires_at ? usable_until : expires_at),
  });
}

export interface ActiveGrant {
  requestId: string;
  request: ApprovalRequest;
  terms: GrantTerms;
  requestHash: string;
  authorizationHash: string;
  environment: WorldEnvironment;
  usage: GrantUsage;
}

interface Row {
  request_id: string;
  request: string;
  terms: string;
  request_hash: string;
  authorization_hash: string;
  environment: WorldEnvironment;
  uses: number;
  spent: string;
}

/** Standing approvals of the agent `a`: not taken back, not over, and of the key and code that it has now; oldest first. */
const selectActiveGrants = sql`SELECT json_agg(json_build_object('request_id', g.request_id,
    'request', convert_from(r.request, 'UTF8'), 'terms', g.terms, 'request_hash', g.request_hash,
    'authorization_hash', g.authorization_hash, 'environment', g.environment, 'uses', usage.uses, 'spent', usage.spent)
    ORDER BY g.approved_at, g.request_id)
  FROM grants AS g
  JOIN authorization_requests AS r ON r.id = g.request_id
  CROSS JOIN LATERAL (${selectUsage(sql`g.request_id`)}) AS usage
  WHERE g.agent_id = a.id AND g.expires_at > clock_timestamp() AND r.revoked_at IS NULL
    AND a.public_key IS NOT DISTINCT FROM g.public_key AND a.code_hash IS NOT DISTINCT FROM g.code_hash`;

const toActiveGrant = (row: Row): ActiveGrant => ({
  requestId: row.request_id,
  request: JSON.parse(row.request) as ApprovalRequest,
  terms: JSON.parse(row.terms) as GrantTerms,
  requestHash: row.request_hash,
  authorizationHash: row.authorization_hash,
  environment: row.environment,
  usage: { uses: row.uses, spentUnits: BigInt(row.spent) },
});

type Asked = Parameters<typeof whyOutOfScope>[1];

/** The oldest grant that covers the request and has something left. */
function chooseGrant(
  active: readonly ActiveGrant[],
  asked: Asked,
  context: Record<string, string>,
  at: Date,
): { grantId: string; decidedBy: DecidedByGrant; environment: WorldEnvironment | null } | null {
  for (const grant of active) {
    const { terms, usage, requestHash: request_hash, authorizationHash: authorization_hash } = grant;
    if (whyOutOfScope(terms, asked, context, at) !== null) continue;
    const next = nextUse(terms, usage, asked.amount);
    if (typeof next === "string") continue;
    const decidedBy = { kind: "grant", request_hash, authorization_hash, ...next } as const;
    const environment = grant.environment === "production" ? null : grant.environment;
    return { grantId: grant.requestId, decidedBy, environment };
  }
  return null;
}

export interface Standing {
  at: Date;
  agent_slug: string | null;
  agent_name: string | null;
  agent_public_key: Uint8Array | null;
  is_frozen: boolean;
  grants: ActiveGrant[];
  is_code_known: boolean;
  number: number | null;
  text: string | null;
  hash: string | null;
  mode: RulesMode | null;
  fallback: RulesFallback | null;
  /** Usage in the request's currency; empty if no rules are asked. */
  usage: DayUsage;
}

type StandingRow = Omit<Standing, "at" | "grants" | "usage"> & {
  ms: string;
  grants: Row[] | null;
  uses: number;
  spent: string;
};

/** A decision based on it is stored only if this was read under the organization's lock. */
export async function readStanding(
  executor: Executor,
  organizationId: string,
  { agent_slug, amount }: Pick<AuthorizeBody, "agent_slug" | "amount">,
): Promise<Standing> {
  const asked = sql`CASE WHEN rules.mode <> 'off' THEN a.id END`;
  const usage = dayUsage(asked, sql`${amount?.currency ?? null}::text`, sql`now.at`);
  const [row] = await queryRows<StandingRow>(
    executor,
    sql`SELECT (extract(epoch FROM now.at) * 1000)::bigint::text AS ms,
        a.slug AS agent_slug, a.name AS agent_name, a.public_key AS agent_public_key,
        a.frozen_at IS NOT NULL AS is_frozen, a.code_hash IS NOT NULL AS is_code_known,
        (${selectActiveGrants}) AS grants,
        rules.number, rules.text, rules.hash, rules.mode, rules.fallback, usage.uses, usage.spent
      FROM (SELECT date_trunc('milliseconds', statement_timestamp()) AS at) AS now
      LEFT JOIN agents AS a ON a.slug_key = ${slugKey(agent_slug)} AND a.organization_id = ${organizationId}
      LEFT JOIN LATERAL (SELECT * FROM rule_sets WHERE organization_id = ${organizationId}
        ORDER BY number DESC LIMIT 1) AS rules ON true
      CROSS JOIN LATERAL (${usage}) AS usage`,
  );
  if (row === undefined) throw new Error("the database returned no row");
  const { ms, grants, uses, spent, ...standing } = row;
  return {
    ...standing,
    at: new Date(Number(ms)),
    grants: (grants ?? []).map(toActiveGrant),
    usage: { uses, spentUnits: BigInt(spent) },
  };
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
  /** Standing approvals and counter-offers: neither a rule nor a standing approval approves them. */
  isForPeople: boolean;
  own: Demands;
  createdAt: Date;
}

export interface RuleRecord extends Pick<RuleOutcome, "decision" | "reason" | "policy_ids" | "error"> {
  version: number;
  mode: RulesMode;
  ruleset_hash: string;
  context_hash: string;
  /** Absent if every condition was met. */
  unmet?: UnmetCondition[];
  /** Absent from requests of before. */
  deciding?: PolicyConditions[];
}

export interface Judged {
  verdict: "approved" | "denied" | "ask";
  decidedBy: Decider | null;
  denialReason: string | null;
  obligations: Obligations | null;
  groupIds: Map<string, string>;
  grantId: string | null;
  /** Environment of the standing approval, if that makes a TEST of what it approves. */
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
  const { decision, reason, policy_ids, error, unmet, deciding } = outcome;
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
      ...(unmet.length > 0 && { unmet }),
      ...(deciding.length > 0 && { deciding }),
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
 * Milliseconds that a transaction waits for an evaluation, most of which are cached from before it: the log and the
 * organization wait with it.
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
  if (request.isForPeople || hidesSomething) return toPeople;
  const findId = (name: string) => groupIds.get(name) ?? "";
  const fit = standing.grants.filter(
    ({ request: given }) =>
      meetsDemands(given, request.own) &&
      (obligations === null || meetsObligations(given, obligations, findId)),
  );
  const use = chooseGrant(fit, request, request.context, request.createdAt);
  if (use !== null) return { ...asked, verdict: "approved", rules: kept, ...use };
  if (enforced?.outcome.decision === "allow")
    return { ...asked, verdict: "approved", decidedBy: byRule(enforced), rules: kept };
  return toPeople;
}
