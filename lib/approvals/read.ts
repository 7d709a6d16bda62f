/** GET /v1/authorize/{request_id} and GET /v1/authorizations: what agents and owners read. */

import { and, eq, lt, or, type SQL, sql } from "drizzle-orm";
import { slugKey } from "#lib/agents/agents";
import { maxWrongCodes } from "#lib/contract/approval-view";
import {
  type AuthorizationState,
  type AuthorizationStatus,
  denialReasonNote,
  erasedGuidance,
  guidanceTexts,
  wrongCodesGuidance,
} from "#lib/contract/authorize";
import { isCalendarTime } from "#lib/contract/primitives";
import type { WorldEnvironment } from "#lib/core/world-id/world-id-keys";
import { agents, authorizationRequests } from "#lib/db/schema";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/http/cursor";
import { isOwnerOf, mayReach, type Principal } from "#lib/http/principal";
import { codeOf } from "./confirmation-code";
import type { Context } from "./context";
import { assembleHumanAuthorization } from "./embed";
import {
  type AuthorizationRow,
  authorizationNotFound,
  describeDenied,
  type FoundAuthorization,
  findAuthorization,
  listRows,
  markExpired,
  parseContext,
  parseRequest,
  parseRequestedBy,
} from "./rows";

/** Where the approvals came from; before the first, where they would come from. */
export function environmentOf(context: Context, row: AuthorizationRow): WorldEnvironment {
  return row.approvedIn ?? context.worldId.environment;
}

/** Shown to the owner, and to whoever has just claimed. */
export const describeClaim = (row: Pick<AuthorizationRow, "claimed_at" | "run">) => ({
  claimed_at: row.claimed_at?.toISOString() ?? null,
  run: row.run,
});

/** What only the owner sees: the context is not in the object that a public attestation shows to everyone. */
function describeOwned(context: Context, row: AuthorizationRow): Partial<AuthorizationState> {
  return {
    attestation_id: row.attestation_id,
    ...describeClaim(row),
    unattested_at: row.attestation_id === null ? (row.unattested_at?.toISOString() ?? null) : null,
    context: parseContext(row),
    context_salt: row.context_salt ?? "",
    agent_name: row.agent_name,
    organization_name: row.organization_name,
    requested_by: parseRequestedBy(row),
    confirmation_code: codeOf(context, row),
  };
}

function describeState(context: Context, row: AuthorizationRow): AuthorizationState {
  const request = parseRequest(row);
  const isErased = row.status === "approved" && row.human_authorization === null;
  const isGuessed = row.status === "cancelled" && row.wrong_codes >= maxWrongCodes;
  const special = isErased ? erasedGuidance : isGuessed ? wrongCodesGuidance : null;
  const guidance = special ?? guidanceTexts[row.status];
  const denial =
    row.status === "denied"
      ? {
          denial_reason: row.denial_reason,
          ...(row.denial_reason && { denial_reason_note: denialReasonNote }),
        }
      : {};
  return {
    request_id: row.id,
    status: row.status,
    agent_slug: request.agent_slug,
    action: request.action,
    inputs_hash: request.inputs_hash ?? null,
    required_level: request.required_level,
    require_code: row.require_code,
    created_at: request.created_at,
    expires_at: request.expires_at,
    environment: environmentOf(context, row),
    decided_at: row.decided_at?.toISOString() ?? null,
    approvals: { required: row.approvals_required, given: row.given },
    ...denial,
    ...(guidance === null ? {} : { guidance }),
    ...(row.human_authorization === null
      ? {}
      : { human_authorization: assembleHumanAuthorization(row.human_authorization, row.decision_log) }),
  };
}

/** `viewer`: null for whoever only knows the id. */
function describeFor(
  context: Context,
  row: FoundAuthorization,
  viewer: Principal | null,
): AuthorizationState {
  const state = describeState(context, row);
  if (viewer === null || !isOwnerOf(viewer, row) || !mayReach(viewer, "read", row)) return state;
  const previously_denied = describeDenied(row.deniedId, row.deniedAt);
  return { ...state, ...describeOwned(context, row), previously_denied };
}

export const wakeupName = (requestId: string) => `authorization:${requestId}`;

async function requireAuthorization(context: Context, requestId: string): Promise<FoundAuthorization> {
  const row = await findAuthorization(context.database, requestId);
  if (row === null) throw authorizationNotFound();
  return row;
}

const beginning = new WeakMap<Context["database"], Map<string, Promise<FoundAuthorization>>>();

/**
 * A decision wakes all who wait for it in one turn of the event loop: they share a read. One that is on its way is not
 * joined, because it may not see what woke the caller.
 */
function readTogether(context: Context, requestId: string): Promise<FoundAuthorization> {
  const reads = beginning.get(context.database) ?? new Map<string, Promise<FoundAuthorization>>();
  beginning.set(context.database, reads);
  const begun = reads.get(requestId);
  if (begun !== undefined) return begun;
  const read = new Promise((resolve) => setImmediate(resolve)).then(() => {
    reads.delete(requestId);
    return requireAuthorization(context, requestId);
  });
  reads.set(requestId, read);
  return read;
}

/** In a process that is about to stop, whoever waits is answered at once; whoever comes back to it all the same, soon. */
const longestWhileLeaving = 1;

/** Waits at most `waitSeconds` for the status to change; no database connection is held meanwhile. */
export async function readAuthorization(
  context: Context,
  requestId: string,
  viewer: Principal | null,
  waitSeconds = 0,
): Promise<AuthorizationState> {
  if (waitSeconds === 0) return describeFor(context, await requireAuthorization(context, requestId), viewer);
  const { leaving } = context;
  const isLeaving = leaving.hasBegun;
  const seconds = isLeaving ? Math.min(waitSeconds, longestWhileLeaving) : waitSeconds;
  const untilMs = performance.now() + seconds * 1000;
  for (;;) {
    const leftMs = untilMs - performance.now();
    // Listening begins before the look, so that a change in between wakes too.
    const wait = context.wakeups.wait(wakeupName(requestId), Math.max(0, leftMs));
    try {
      const row = await readTogether(context, requestId);
      const isOver = leftMs <= 0 || (leaving.hasBegun && !isLeaving);
      if (row.status !== "pending" || isOver) return describeFor(context, row, viewer);
      const expiry = setTimeout(wait.end, Math.max(0, row.millisecondsLeft) + 5);
      await wait.over;
      clearTimeout(expiry);
    } finally {
      wait.end();
    }
  }
}

export interface AuthorizationQuery extends PageQuery {
  status?: AuthorizationStatus | undefined;
  agent_slug?: string | undefined;
}

function readPlace(text: string): { createdAt: Date; id: string } | undefined {
  const [, time, id] = /^(\d{1,15})\.(areq_[A-Za-z0-9_-]{22})$/.exec(text) ?? [];
  const createdAt = new Date(Number(time));
  return id !== undefined && isCalendarTime(createdAt) ? { createdAt, id } : undefined;
}

export function isAfterCursor(cursor: string | undefined): SQL | undefined {
  if (cursor === undefined) return undefined;
  const { createdAt, id } = decodeCursor(cursor, readPlace);
  const { created_at, id: idColumn } = authorizationRequests;
  return or(lt(created_at, createdAt), and(eq(created_at, createdAt), lt(idColumn, id)));
}

/** Newest first. Those of `isOwn` whose time is over are marked before `isOnPage` is asked. */
export async function readPage(
  { database: { db } }: Context,
  isOwn: SQL,
  isOnPage: SQL | undefined,
  query: PageQuery,
) {
  await markExpired(db, isOwn);
  const rows = await listRows(db, and(isOnPage, isAfterCursor(query.cursor)), query.limit + 1);
  return cutPage(rows, query, (row) => encodeCursor(`${row.created_at.getTime()}.${row.id}`));
}

export async function listAuthorizations(context: Context, principal: Principal, query: AuthorizationQuery) {
  const isOwn = eq(authorizationRequests.organization_id, principal.organizationId);
  const isOnPage = and(
    isOwn,
    query.status === undefined ? undefined : eq(authorizationRequests.status, query.status),
    query.agent_slug === undefined ? undefined : sql`${agents.slug_key} = ${slugKey(query.agent_slug)}`,
  );
  const { shown, nextCursor } = await readPage(context, isOwn, isOnPage, query);
  return {
    authorizations: shown.map((row) => ({ ...describeState(context, row), ...describeOwned(context, row) })),
    next_cursor: nextCursor,
  };
}
