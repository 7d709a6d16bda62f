/** An organization's own authorization requests, with the link by which a human decides those that still wait. */

import { and, eq, inArray, isNotNull, or, sql } from "drizzle-orm";
import { type MemberPrincipal, ownsRow } from "#lib/api/http/context";
import type { PageQuery } from "#lib/api/http/opaque-text";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import type { UnfinishedRequest } from "#lib/api/schemas/portal";
import { queryRows } from "#lib/db/client";
import { agentChanges, apiKeys, authorizationRequests, plantedRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { amountValue, writeUnits } from "#lib/protocol/approval/amount";
import { findEnd } from "#lib/protocol/approval/approval-end";
import { findPayee } from "#lib/protocol/approval/detail-names";
import { deriveTitle, describeBriefly } from "#lib/protocol/record/title";
import { dayMs } from "#lib/protocol/time/time-words";
import { requireRole } from "#lib/services/accounts/members";
import { requireOwnAgent } from "#lib/services/agents/identities";
import { cancelAuthorization } from "#lib/services/approvals/decision/decide";
import { answerQuestion } from "#lib/services/approvals/decision/questions";
import { revokeAuthorization } from "#lib/services/approvals/decision/revoke";
import { readGrantUsage, readGrantUsages } from "#lib/services/approvals/request/evaluate-policy";
import { requestAuthorization } from "#lib/services/approvals/request/request";
import { judgeByRulesNow } from "#lib/services/approvals/request/rules-now";
import { whyUnusable } from "#lib/services/approvals/use/use-approval";
import { isTestKey } from "#lib/services/keys/api-keys";
import { actAsKey } from "#lib/services/keys/authenticate";
import { type ChosenSuggestion, deriveSuggestion } from "#lib/services/policies/suggestions";
import type { Context } from "./context";
import {
  type AuthorizationQuery,
  listAuthorizations,
  readAuthorization,
  readDeciderNames,
  readDeciders,
  readPage,
  readRequestFacts,
} from "./read";
import {
  type AuthorizationRow,
  approvalUrl,
  authorizationNotFound,
  findAuthorization,
  isAfterCursor,
  isOpen,
  isRevocable,
  type ListQuery,
  listRows,
  parseDecidedBy,
  parseRequest,
  parseRuleText,
  readBefore,
  type ShownTable,
} from "./rows";

function withLink(context: Context, state: AuthorizationState, isTest: boolean) {
  return {
    ...state,
    title: deriveTitle({ ...state, context: state.context ?? null }),
    brief: describeBriefly({ ...state, context: state.context ?? null }),
    payee: state.context ? findPayee(state.context) : null,
    isTest,
    approval_url: state.status === "pending" ? approvalUrl(context, state.request_id) : null,
    /** Time from which nothing can use the approval; null while something can. */
    end: findEnd(state, context.clock().toISOString()),
  };
}

export async function findTestRequests(context: Context, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const findIn = (table: ShownTable) =>
    context.database.db
      .select({ id: table.id })
      .from(table)
      .innerJoin(apiKeys, eq(apiKeys.id, table.api_key_id))
      .where(and(inArray(table.id, ids), isTestKey));
  const rows = [...(await findIn(authorizationRequests)), ...(await findIn(plantedRequests))];
  return new Set(rows.map(({ id }) => id));
}

export async function listOwnAuthorizations(
  context: Context,
  person: MemberPrincipal,
  query: AuthorizationQuery,
) {
  await requireRole(context.database.db, person, "read");
  const { authorizations, next_cursor } = await listAuthorizations(context, person, query);
  const ids = authorizations.map(({ request_id }) => request_id);
  const tests = await findTestRequests(context, ids);
  const names = await readDeciderNames(context.database.db, ids);
  const rows = authorizations.map((state) => ({
    ...withLink(context, state, tests.has(state.request_id)),
    decidedNames: names.get(state.request_id) ?? [],
  }));
  return { rows, nextCursor: next_cursor };
}

export async function readOwnAuthorization(context: Context, person: MemberPrincipal, requestId: string) {
  await requireRole(context.database.db, person, "read");
  const row = await findAuthorization(context.database, requestId);
  if (row === null || !ownsRow(person, row)) throw authorizationNotFound();
  const tests = await findTestRequests(context, [requestId]);
  const state = await readAuthorization(context, requestId, person);
  const reason = state.revoked_at === null ? null : await readRevocationReason(context, requestId);
  const usage = state.grant ? await readGrantUsage(context.database.db, requestId) : null;
  return {
    ...withLink(context, state, tests.has(requestId)),
    isFrozen: row.agentFrozenAt !== null,
    revocation_reason: reason,
    grant_request_id: row.grant_id,
    rules_text: parseRuleText(row),
    used: usage && { uses: usage.uses, spent: amountValue(usage.spentUnits) },
    deciders: await readDeciders(context.database.db, row),
    changed: (await readRequestFacts(context, row)).changed,
    questionsBefore: (await readBefore(context.database.db, row))?.questions ?? [],
  };
}

export async function listStanding(
  context: Context,
  person: MemberPrincipal,
  query: PageQuery & { agentId?: string },
) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { organization_id, agent_id } = authorizationRequests;
  const isOwn = eq(organization_id, person.organizationId);
  const isActive = and(
    isOwn,
    isRevocable,
    query.agentId === undefined ? undefined : eq(agent_id, query.agentId),
    sql`EXISTS (SELECT FROM grants WHERE grants.request_id = authorization_requests.id AND grants.expires_at > clock_timestamp())`,
  );
  const { shown, nextCursor } = await readPage(context, isOwn, isActive, query);
  const usages = await readGrantUsages(
    db,
    shown.map(({ id }) => id),
  );
  const rows = shown.flatMap((row) => {
    const { agent_slug, action, grant } = parseRequest(row);
    const usage = usages.get(row.id);
    if (grant === null || usage === undefined) return [];
    const { uses, spentUnits, isSuspended } = usage;
    const used = { uses, spent: amountValue(spentUnits) };
    return [{ request_id: row.id, agent_slug, action, terms: grant, used, isSuspended }];
  });
  return { rows, nextCursor };
}

/** Approved amounts of an agent by currency, in the UTC day and in 30 of them; what a standing approval allows is none. */
async function readSpending(context: Context, agentId: string) {
  const now = context.clock().getTime();
  const today = new Date(now - (now % dayMs));
  const rows = await queryRows<{ currency: string; today: string; days30: string }>(
    context.database.db,
    sql`SELECT currency, coalesce(sum(amount_units) FILTER (WHERE decided_at >= ${today.toISOString()}::timestamptz), 0)::text AS today,
        sum(amount_units)::text AS days30
      FROM authorization_requests AS r
      WHERE agent_id = ${agentId} AND status = 'approved' AND currency IS NOT NULL
        AND decided_at >= ${new Date(today.getTime() - 29 * dayMs).toISOString()}::timestamptz
        AND NOT EXISTS (SELECT FROM grants WHERE grants.request_id = r.id)
      GROUP BY currency ORDER BY currency`,
  );
  return rows.map(({ currency, ...sums }) => ({
    currency,
    today: writeUnits(BigInt(sums.today)),
    days30: writeUnits(BigInt(sums.days30)),
  }));
}

const shownOfAgent = 10;

/** Open requests of an agent, what is left of its standing approvals, what it spent, and its last decisions. */
export async function readAgentFile(context: Context, person: MemberPrincipal, slug: string) {
  const { id: agentId } = await requireOwnAgent(context, person, slug);
  const page = { limit: shownOfAgent, cursor: undefined, agent_slug: slug };
  const open = await listOwnAuthorizations(context, person, { ...page, status: "pending" });
  const latest = await listOwnAuthorizations(context, person, page);
  const standing = await listStanding(context, person, { limit: shownOfAgent, cursor: undefined, agentId });
  return {
    open: open.rows,
    hasMoreOpen: open.nextCursor !== null,
    decided: latest.rows.filter(({ status }) => status !== "pending"),
    standing: standing.rows,
    hasMoreStanding: standing.nextCursor !== null,
    spending: await readSpending(context, agentId),
  };
}

const maxUnfinished = 50;

/** Approvals that could still be used, now or once the agent goes on; a standing approval while it lasts. */
const isUnused = and(
  isRevocable,
  sql`coalesce(${whyUnusable}, 'standing') IN ('standing', 'frozen', 'code_changed')`,
  sql`NOT EXISTS (SELECT FROM grants WHERE grants.request_id = authorization_requests.id AND grants.expires_at <= clock_timestamp())`,
);

async function describeUnfinished(context: Context, row: AuthorizationRow): Promise<UnfinishedRequest> {
  const { agent_slug, action, tool, amount, grant } = parseRequest(row);
  const stop = await judgeByRulesNow(context, row.id).then(
    (rules) => rules.stop?.words ?? null,
    (error: unknown) => {
      if (error instanceof AppError) return error.detail;
      throw error;
    },
  );
  return {
    request_id: row.id,
    created_at: row.created_at.toISOString(),
    agent_slug,
    action,
    tool: tool ?? null,
    amount: amount ?? null,
    isPending: row.status === "pending",
    approvedBy: grant ? "standing" : (parseDecidedBy(row)?.kind ?? null),
    isClaimed: row.claimed_at !== null,
    stop,
  };
}

/** Requests that wait, or are approved and unused, each judged by the rules of now. */
export async function listUnfinished(
  context: Context,
  person: MemberPrincipal,
  order: Pick<ListQuery, "isByAmount"> = {},
): Promise<{ rows: UnfinishedRequest[]; hasMore: boolean }> {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { organization_id, context: content } = authorizationRequests;
  const isListed = and(isNotNull(content), or(isOpen, isUnused), isAfterCursor(order));
  const isWanted = and(eq(organization_id, person.organizationId), isListed);
  const found = await listRows(db, isWanted, { ...order, limit: maxUnfinished + 1 });
  const rows = await Promise.all(
    found.slice(0, maxUnfinished).map((row) => describeUnfinished(context, row)),
  );
  return { rows, hasMore: found.length > maxUnfinished };
}

async function readRevocationReason(context: Context, requestId: string): Promise<string | null> {
  const [row] = await context.database.db
    .select({ reason: agentChanges.reason })
    .from(agentChanges)
    .where(eq(agentChanges.request_id, requestId));
  return row?.reason ?? null;
}

export async function revokeOwnAuthorization(
  context: Context,
  person: MemberPrincipal,
  requestId: string,
  reason: string | null,
): Promise<void> {
  await requireRole(context.database.db, person, "stop");
  await revokeAuthorization(context, requestId, person, reason);
}

export async function answerOwnQuestion(
  context: Context,
  person: MemberPrincipal,
  { request_id, ...given }: { request_id: string; number: number; answer: string },
): Promise<void> {
  await requireRole(context.database.db, person, "operate");
  await answerQuestion(context, request_id, person, given);
}

export async function cancelOwnAuthorization(
  context: Context,
  person: MemberPrincipal,
  requestId: string,
): Promise<void> {
  await requireRole(context.database.db, person, "stop");
  await cancelAuthorization(context, requestId, person);
}

const standingMinutes = 1_440;

/**
 * Asks those who decided the newest of the requests that the suggestion rests on for a standing approval. The person never
 * counts among them unless the organization lets who asks approve. Returns its link, or null if the rules or a freeze
 * denied it at once.
 */
export async function askForStanding(
  context: Context,
  person: MemberPrincipal,
  suggestion: ChosenSuggestion,
): Promise<string | null> {
  const { chosen, derivation } = await deriveSuggestion(context, person, suggestion);
  const newest = await findAuthorization(context.database, chosen.requests[0]?.id ?? "");
  if (chosen.standing === null || newest === null)
    throw new AppError("rules_changed", "this standing approval is no longer suggested: reload the page");
  const { agent_slug, required_approvers, required_level } = parseRequest(newest);
  const body = {
    ...{ agent_slug, required_level, grant: chosen.standing, expires_in_minutes: standingMinutes },
    action: `Use ${chosen.bounds.tool} as approved before`,
    ...(required_approvers.length > 0 && { required_approvers }),
  };
  const principal = await actAsKey(context, person, "authorize");
  const made = await requestAuthorization(context, { principal, body, hold: null, derivation });
  return made.status === "pending" ? made.approval_url : null;
}
