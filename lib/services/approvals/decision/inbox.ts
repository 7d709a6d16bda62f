/**
 * A person's inbox: the requests of the organizations that they belong to, and those that name them as an approver. No
 * confirmation code that has to be typed is in it: that comes from the agent.
 */
import { and, count, desc, eq, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import type { PageQuery } from "#lib/api/http/cursor";
import type { UserPrincipal } from "#lib/api/http/principal";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import {
  apiKeys,
  approverGroups,
  approvers,
  authorizationRequests,
  memberships,
  passkeys,
  requestApprovers,
} from "#lib/db/schema";
import { type ApprovalRequest, isPasskeyApproval } from "#lib/protocol/approval/approval";
import { fillPlaces } from "#lib/protocol/approval/assign-groups";
import { findPayee } from "#lib/protocol/approval/detail-names";
import { isEnrolled } from "#lib/services/accounts/roster-state";
import type { Context } from "#lib/services/approvals/context";
import { approvalUrl } from "#lib/services/approvals/link";
import { findTestRequests } from "#lib/services/approvals/portal-authorizations";
import { environmentOf, isAfterCursor, isEnded, readPage } from "#lib/services/approvals/read";
import { type AuthorizationRow, isOpen, parseContext, parseRequest } from "#lib/services/approvals/rows";
import { readApprovals } from "./store";
import { readApprovalView } from "./view";

export interface InboxQuery extends PageQuery {
  /** True to list requests that wait for a decision. */
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

/** True if passkeys alone decide a waiting request: no World ID proof, and no code from the agent. */
function isByPasskey(
  { status, require_code, agentFrozenAt }: AuthorizationRow,
  { required_level }: ApprovalRequest,
): boolean {
  return status === "pending" && !require_code && required_level === "none" && agentFrozenAt === null;
}

/** Newest first. */
export async function listInbox(context: Context, user: UserPrincipal, query: InboxQuery) {
  const { shown, nextCursor } = await readPage(context, isFor(context, user), isOnPage(user, query), query);
  const tests = await findTestRequests(
    context,
    shown.map(({ id }) => id),
  );
  const rows = shown.map((row) => {
    const request = parseRequest(row);
    const { agent_slug, action, expires_at, amount, tool } = request;
    return {
      request_id: row.id,
      organization_name: row.organizationName,
      agent_slug,
      action,
      amount: amount ?? null,
      tool: tool ?? null,
      payee: findPayee(parseContext(row)),
      status: row.status,
      is_test: tests.has(row.id),
      environment: environmentOf(context, row),
      approvals: { required: row.approvals_required, given: row.given },
      expires_at,
      decided_at: row.decided_at?.toISOString() ?? null,
      denial_reason: row.denial_reason,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      /** The time is over in which it could be used, and nothing used it. */
      is_over: row.attestation_id === null && isEnded(row, request),
      expires_soon: row.status === "pending" && row.millisecondsLeft <= soonMs,
      approval_url: approvalUrl(context, row.id),
      by_passkey: isByPasskey(row, request) ? request : null,
    };
  });
  return { rows, nextCursor };
}

/** The inbox shows so many requests whole: nobody would read more to the end. */
const maxWhole = 5;

/** The person as an approver with a passkey, in each organization: the groups that they count for. */
async function readOwnGroups({ database: { db } }: Context, user: UserPrincipal) {
  const rows = await db
    .selectDistinct({ approverId: approvers.id, groupId: approverGroups.group_id })
    .from(approvers)
    .innerJoin(approverGroups, eq(approverGroups.approver_id, approvers.id))
    .innerJoin(passkeys, eq(passkeys.approver_id, approvers.id))
    .where(and(eq(approvers.email, user.email), isEnrolled));
  return {
    approverIds: new Set(rows.map(({ approverId }) => approverId)),
    groupIds: rows.map(({ groupId }) => groupId),
  };
}

/** Those of the requests that a key of the person's asks for, whether or not they were an approver at that time. */
async function findOwnAsked({ database: { db } }: Context, user: UserPrincipal, rows: readonly InboxRow[]) {
  const ids = rows.map(({ request_id }) => request_id);
  const asked = await db
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .innerJoin(apiKeys, eq(apiKeys.id, authorizationRequests.api_key_id))
    .where(
      and(inArray(authorizationRequests.id, ids), eq(sql`lower(${apiKeys.email})`, user.email.toLowerCase())),
    );
  return new Set(asked.map(({ id }) => id));
}

type InboxRow = Awaited<ReturnType<typeof listInbox>>["rows"][number];
type OwnGroups = Awaited<ReturnType<typeof readOwnGroups>>;

/** True if the person's approval would count: they didn't ask or approve, and a place of their groups is free. */
async function mayCount(
  { database: { db } }: Context,
  { request_id, by_passkey: request }: InboxRow,
  { approverIds, groupIds }: OwnGroups,
  asked: ReadonlySet<string>,
): Promise<boolean> {
  if (request === null) return false;
  const { required_approvers: required, requester_may_approve: mayAll } = request;
  if (!required.some(({ group }) => groupIds.includes(group))) return false;
  if (!mayAll && asked.has(request_id)) return false;
  const present = (await readApprovals(db, request_id)).flatMap(({ records }) =>
    records.filter(isPasskeyApproval),
  );
  if (present.some(({ approver_id }) => approverIds.has(approver_id))) return false;
  const people = [...present.map(({ groups }) => groups.map(({ group }) => group)), groupIds];
  return fillPlaces(required, people).reduce((sum, count) => sum + count, 0) === people.length;
}

/** Those of these requests that the person's passkey alone decides, as the approval page shows them, with its token. */
export async function readDecidable(
  context: Context,
  user: UserPrincipal,
  rows: readonly InboxRow[],
): Promise<{ token: string; view: ApprovalView }[]> {
  const own = await readOwnGroups(context, user);
  const asked = await findOwnAsked(context, user, rows);
  const may = await Promise.all(rows.map((row) => mayCount(context, row, own, asked)));
  const open = rows.filter((_, i) => may[i]).slice(0, maxWhole);
  const views = await Promise.all(
    open.map(async ({ approval_url }) => {
      const token = approval_url.split("/").at(-1) ?? "";
      return { token, view: await readApprovalView(context, token) };
    }),
  );
  return views.flatMap(({ token, view }) => (view?.status === "pending" ? [{ token, view }] : []));
}

/** For the navigation's badge. */
export async function countWaiting(context: Context, user: UserPrincipal): Promise<number> {
  const [row] = await context.database.db
    .select({ count: count() })
    .from(authorizationRequests)
    .where(and(isFor(context, user), isOpen));
  return row?.count ?? 0;
}
