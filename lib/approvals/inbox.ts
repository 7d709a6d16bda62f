/**
 * A person's inbox: the requests of the organizations that they belong to, and those that name them as an approver. No
 * confirmation code is in it: that comes from the agent.
 */
import { and, count, desc, eq, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import { approvers, authorizationRequests, memberships, requestApprovers } from "#lib/db/schema";
import type { PageQuery } from "#lib/http/cursor";
import type { UserPrincipal } from "#lib/http/principal";
import type { Context } from "./context";
import { approvalUrl } from "./link";
import { findTestRequests } from "./portal-authorizations";
import { environmentOf, isAfterCursor, readPage } from "./read";
import { isOpen, parseRequest } from "./rows";

export interface InboxQuery extends PageQuery {
  /** Whether a decision is waited for. */
  isWaiting: boolean;
}

/** From then on a request is marked: who wants to decide should do it now. */
const soonMs = 10 * 60_000;

function isFor({ database: { db } }: Context, user: UserPrincipal): SQL {
  const own = db
    .select({ id: memberships.organization_id })
    .from(memberships)
    .where(eq(memberships.user_id, user.userId));
  const named = db
    .select({ id: requestApprovers.request_id })
    .from(requestApprovers)
    .innerJoin(approvers, eq(approvers.id, requestApprovers.approver_id))
    .where(and(eq(approvers.email, user.email), eq(approvers.status, "confirmed")));
  const both = or(
    inArray(authorizationRequests.organization_id, own),
    inArray(authorizationRequests.id, named),
  );
  if (both === undefined) throw new Error("two conditions make one");
  return both;
}

/** The newest of each organization, and the newest that name the person: so no page reads more than a few of each. */
function isOnPage(user: UserPrincipal, query: InboxQuery): SQL {
  const { id, organization_id, status, created_at } = authorizationRequests;
  const isWanted = query.isWaiting ? eq(status, "pending") : ne(status, "pending");
  const page = sql`${and(isWanted, isAfterCursor(query.cursor))}
    ORDER BY ${desc(created_at)}, ${desc(id)} LIMIT ${query.limit + 1}`;
  return sql`${id} IN (
    SELECT own.id FROM memberships m CROSS JOIN LATERAL (
      SELECT ${id} FROM ${authorizationRequests} WHERE ${organization_id} = m.organization_id AND ${page}
    ) AS own WHERE m.user_id = ${user.userId}
    UNION (
      SELECT ${id} FROM approvers a JOIN request_approvers n ON n.approver_id = a.id
      JOIN ${authorizationRequests} ON ${id} = n.request_id
      WHERE a.email = ${user.email} AND a.status = 'confirmed' AND ${page}
    ))`;
}

/** Newest first. */
export async function listInbox(context: Context, user: UserPrincipal, query: InboxQuery) {
  const { shown, nextCursor } = await readPage(context, isFor(context, user), isOnPage(user, query), query);
  const tests = await findTestRequests(
    context,
    shown.map(({ id }) => id),
  );
  const rows = shown.map((row) => {
    const { agent_slug, action, expires_at } = parseRequest(row);
    return {
      request_id: row.id,
      organization_name: row.organizationName,
      agent_slug,
      action,
      status: row.status,
      is_test: tests.has(row.id),
      environment: environmentOf(context, row),
      approvals: { required: row.approvals_required, given: row.given },
      expires_at,
      decided_at: row.decided_at?.toISOString() ?? null,
      denial_reason: row.denial_reason,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      expires_soon: row.status === "pending" && row.millisecondsLeft <= soonMs,
      approval_url: approvalUrl(context, row.id),
    };
  });
  return { rows, nextCursor };
}

/** For the navigation's badge. */
export async function countWaiting(context: Context, user: UserPrincipal): Promise<number> {
  const [row] = await context.database.db
    .select({ count: count() })
    .from(authorizationRequests)
    .where(and(isFor(context, user), isOpen));
  return row?.count ?? 0;
}
