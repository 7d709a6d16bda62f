/** The request log as the portal shows it (lib/api/http/request-log.ts writes it). */

import { and, desc, eq, gte, inArray, lt, sql, sum } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/cursor";
import type { RequestFilters } from "#lib/api/schemas/portal";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import { apiKeys, dailyRequests, requestLog } from "#lib/db/schema";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { isTestKey, utcDay } from "#lib/services/keys/api-keys";

const dayMs = 86_400_000;

type Row = typeof requestLog.$inferSelect;

const toCursor = ({ at, id }: Row) => encodeCursor(`${at.getTime()}.${id}`);

function isAfter(cursor: string) {
  const [at, id] = decodeCursor(cursor, (text) => {
    const [, ms, id] = /^(\d{1,15})\.(req_[0-9a-f]{24})$/.exec(text) ?? [];
    const at = new Date(Number(ms));
    return id !== undefined && isCalendarTime(at) ? ([at, id] as const) : undefined;
  });
  return sql`(${requestLog.at}, ${requestLog.id}) < (${at.toISOString()}::timestamptz, ${id})`;
}

function matches({ status, key, code, id }: RequestFilters) {
  const from = status === undefined ? 0 : Number(status) * 100;
  return and(
    status === undefined ? undefined : and(gte(requestLog.status, from), lt(requestLog.status, from + 100)),
    key === undefined ? undefined : eq(requestLog.api_key_id, key),
    code === undefined ? undefined : eq(requestLog.error_code, code),
    id === undefined ? undefined : eq(requestLog.id, id),
  );
}

async function nameKeys(context: Context, organizationId: string, ids: string[]) {
  const rows = await context.database.db
    .select({ id: apiKeys.id, name: apiKeys.name, isTest: isTestKey })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), inArray(apiKeys.id, [...new Set(ids)])));
  return new Map(rows.map((row) => [row.id, row]));
}

export async function listRequests(
  context: Context,
  person: MemberPrincipal,
  filters: RequestFilters,
  page: PageQuery,
) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select()
    .from(requestLog)
    .where(
      and(
        eq(requestLog.organization_id, person.organizationId),
        matches(filters),
        page.cursor === undefined ? undefined : isAfter(page.cursor),
      ),
    )
    // As the index has it.
    .orderBy(sql`${requestLog.at} DESC NULLS LAST, ${requestLog.id} DESC NULLS LAST`)
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, toCursor);
  const keys = await nameKeys(
    context,
    person.organizationId,
    shown.map((row) => row.api_key_id),
  );
  return { rows: shown.map((row) => ({ ...row, key: keys.get(row.api_key_id) ?? null })), nextCursor };
}

/** Loads the page's facts beside the list: the keys to choose from, and how many requests are missing. */
export async function describeRequestLog(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { organizationId } = person;
  const days = context.settings.REQUEST_LOG_DAYS;
  const firstDay = utcDay(new Date(context.clock().getTime() - days * dayMs));
  const [missing] = await db
    .select({ requests: sum(dailyRequests.dropped) })
    .from(dailyRequests)
    .where(and(eq(dailyRequests.organization_id, organizationId), gte(dailyRequests.day, firstDay)));
  const keys = await db
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(eq(apiKeys.organization_id, organizationId))
    .orderBy(desc(apiKeys.id))
    .limit(100);
  return { keys, days, missing: Number(missing?.requests ?? 0) };
}
