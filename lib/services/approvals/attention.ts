/**
 * Attention of groups whose owner turned it on (docs/decisions/0054-attention-by-group.md): computed from the requests
 * when it is looked at. All that is stored besides is how many decisions a day were made after reading to the end.
 */
import { and, asc, count, eq, gt, gte, isNotNull, type SQL, sql } from "drizzle-orm";
import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import { type Executor, queryRows } from "#lib/db/client";
import { approverGroups, approvers, looks } from "#lib/db/schema";
import {
  type AttentionWeek,
  type GroupAttention,
  hastyShare,
  isAnyStated,
  minGroupPeople,
  pickStated,
  type StatedNumbers,
} from "#lib/protocol/approval/attention";
import { byteOrderMark, encodeCsvLine } from "#lib/protocol/encoding/csv";
import { dayMs } from "#lib/protocol/time/time-words";
import { requireRole } from "#lib/services/accounts/members";
import { findOpen } from "#lib/services/approvals/decision/decide";
import type { Context } from "./context";
import { byPeople } from "./rows";

const attentionDays = 182;

/** Lists those that still have enough people. */
export async function listMeasured(
  executor: Executor,
  organizationId: string,
): Promise<Omit<GroupAttention, "weeks">[]> {
  const rows = await executor
    .select({ group: approvers.id, name: approvers.name, since: approvers.attention_since })
    .from(approvers)
    .innerJoin(approverGroups, eq(approverGroups.group_id, approvers.id))
    .where(and(eq(approvers.organization_id, organizationId), isNotNull(approvers.attention_since)))
    .groupBy(approvers.id)
    .having(gte(count(), minGroupPeople))
    .orderBy(asc(sql`lower(${approvers.name})`));
  return rows.map(({ group, name, since }) => ({
    group,
    name: name ?? "",
    since: since?.toISOString() ?? "",
  }));
}

/**
 * Counts whether the person who decided had all of the request on the screen, which only their page knows. Of a planted
 * request nothing is kept, and of a group whose attention isn't measured.
 */
export async function noteReading(
  { database, logger }: Pick<Context, "database" | "logger">,
  requestId: string,
  said: string | null,
): Promise<void> {
  if (said !== "?1" && said !== "?0") return;
  const read = said === "?1" ? 1 : 0;
  const adding =
    database.db.execute(sql`INSERT INTO group_readings AS kept (group_id, agent_id, day, to_end, not_to_end)
    SELECT g.id, r.agent_id, (clock_timestamp() AT TIME ZONE 'UTC')::date, ${read}::int, ${1 - read}::int
    FROM authorization_requests AS r
    JOIN approvers AS g ON g.organization_id = r.organization_id AND g.attention_since IS NOT NULL
    WHERE r.id = ${requestId} AND r.amends IS NULL
      AND convert_from(r.request, 'UTF8')::jsonb -> 'required_approvers' @> jsonb_build_array(jsonb_build_object('group', g.id))
      AND (SELECT count(*) FROM approver_groups WHERE group_id = g.id) >= ${minGroupPeople}
    ON CONFLICT (group_id, agent_id, day)
    DO UPDATE SET to_end = kept.to_end + excluded.to_end, not_to_end = kept.not_to_end + excluded.not_to_end`);
  // The decision counts already.
  await adding.catch((error: unknown) => logger.warn({ err: error }, "a reading was not counted"));
}

/** Keyed by week, in whole days. */
async function readReadings(
  executor: Executor,
  { group, begin, to }: { group: string; begin: string; to: string },
  agentId: string | null,
): Promise<Pick<AttentionWeek, "week" | "read_to_end" | "not_read_to_end">[]> {
  return queryRows(
    executor,
    sql`SELECT to_char(date_trunc('week', day), 'YYYY-MM-DD') AS week, sum(to_end)::int AS read_to_end,
        sum(not_to_end)::int AS not_read_to_end
      FROM group_readings
      WHERE group_id = ${group} AND (${agentId}::uuid IS NULL OR agent_id = ${agentId}::uuid)
        AND day >= (${begin}::timestamptz AT TIME ZONE 'UTC')::date AND day < ${to}::timestamptz AT TIME ZONE 'UTC'
      GROUP BY week`,
  );
}

/** Keyed by week. `which`: rows of `authorization_requests AS r`; `agentId`: null for all. */
async function readWeeks(
  executor: Executor,
  { group, since }: Pick<GroupAttention, "group" | "since">,
  { from, to }: { from: string; to: string },
  which: SQL,
  agentId: string | null,
): Promise<AttentionWeek[]> {
  const begin = from > since ? from : since;
  const isDecided = sql`outcome IN ('approved', 'denied')`;
  const ended = await queryRows<Omit<AttentionWeek, "read_to_end" | "not_read_to_end">>(
    executor,
    sql`SELECT to_char(date_trunc('week', ended_at AT TIME ZONE 'UTC'), 'YYYY-MM-DD') AS week,
        count(*) FILTER (WHERE outcome = 'approved')::int AS approved,
        count(*) FILTER (WHERE outcome = 'denied')::int AS denied,
        count(*) FILTER (WHERE ${isDecided} AND waited <= 3000)::int AS within_3_s,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY waited) FILTER (WHERE ${isDecided}) AS median_ms,
        percentile_disc(0.9) WITHIN GROUP (ORDER BY waited) FILTER (WHERE ${isDecided}) AS p90_ms,
        count(*) FILTER (WHERE outcome = 'amended')::int AS amended,
        count(*) FILTER (WHERE outcome = 'expired')::int AS expired
      FROM (
        SELECT coalesce(r.decided_at, r.expires_at) AS ended_at,
          CASE WHEN r.amended_by IS NOT NULL THEN 'amended' ELSE r.status END AS outcome,
          round(extract(epoch FROM r.decided_at - r.created_at) * 1000)::float8 AS waited
        FROM authorization_requests AS r
        WHERE ${which} AND r.amends IS NULL AND r.group_names IS NOT NULL AND r.group_names <> '[]'
          AND (r.amended_by IS NOT NULL OR r.status = 'expired'
            OR (r.status IN ('approved', 'denied') AND ${sql.raw(byPeople("r.decided_by"))}))
          AND convert_from(r.request, 'UTF8')::jsonb -> 'required_approvers' @> ${JSON.stringify([{ group }])}::jsonb
      ) AS ended
      WHERE ended_at >= ${begin}::timestamptz AND ended_at < ${to}::timestamptz
      GROUP BY week`,
  );
  const nothing = {
    approved: 0,
    denied: 0,
    within_3_s: 0,
    median_ms: null,
    p90_ms: null,
    amended: 0,
    expired: 0,
  };
  const unread = { read_to_end: 0, not_read_to_end: 0 };
  const weeks = new Map(ended.map((one): [string, AttentionWeek] => [one.week, { ...one, ...unread }]));
  for (const one of await readReadings(executor, { group, begin, to }, agentId))
    weeks.set(one.week, { ...nothing, ...weeks.get(one.week), ...one });
  return [...weeks.values()].sort((one, other) => (one.week < other.week ? -1 : 1));
}

/** Numbers that no signed decision gives, for an agent's pack. */
export async function readStated(
  executor: Executor,
  agentId: string,
  group: Pick<GroupAttention, "group" | "since">,
  period: { from: string; to: string },
): Promise<Map<string, StatedNumbers>> {
  const weeks = await readWeeks(executor, group, period, sql`r.agent_id = ${agentId}`, agentId);
  return new Map(weeks.filter(isAnyStated).map((one) => [one.week, pickStated(one)] as const));
}

/** Sums over all agents, for every member: those who are measured see them too. */
export async function readAttention(context: Context, person: MemberPrincipal): Promise<GroupAttention[]> {
  const { db } = context.database;
  const { organizationId } = person;
  await requireRole(db, person, "read");
  const now = context.clock();
  const period = {
    from: new Date(now.getTime() - attentionDays * dayMs).toISOString(),
    to: now.toISOString(),
  };
  const own = sql`r.organization_id = ${organizationId} AND r.created_at >= ${period.from}::timestamptz - interval '31 days'`;
  const measured: GroupAttention[] = [];
  for (const group of await listMeasured(db, organizationId))
    measured.push({ ...group, weeks: await readWeeks(db, group, period, own, null) });
  return measured;
}

const columns = [
  ...["group", "week", "approved", "denied", "amended", "expired"],
  ...["within_3_s", "share_within_3_s", "median_s", "p90_s", "read_to_end", "not_read_to_end"],
];
const toSeconds = (ms: number | null) => (ms === null ? "" : String(ms / 1_000));

function* writeAttentionCsv(groups: readonly GroupAttention[]): Generator<string> {
  yield byteOrderMark + encodeCsvLine(columns);
  for (const { name, weeks } of groups)
    for (const week of weeks) {
      const { approved, denied, amended, expired, within_3_s: hasty } = week;
      const counts = [approved, denied, amended, expired, hasty].map(String);
      const times = [week.median_ms, week.p90_ms].map(toSeconds);
      const read = [week.read_to_end, week.not_read_to_end].map(String);
      yield encodeCsvLine([
        name,
        week.week,
        ...counts,
        hastyShare(week)?.toFixed(3) ?? "",
        ...times,
        ...read,
      ]);
    }
}

export async function exportAttention(
  context: Context,
  person: MemberPrincipal,
): Promise<AsyncGenerator<string>> {
  await requireRole(context.database.db, person, "take_out");
  const groups = await readAttention(context, person);
  return (async function* () {
    yield* writeAttentionCsv(groups);
  })();
}

/*
 * Looks: people who say that they are looking at a request, so that others needn't. A look comes from a button alone and is no
 * part of the request: nothing that is signed or decided depends on it. A person who is signed in holds reminders and the next
 * turn back for some minutes; an agent, who has the link too, holds nothing back.
 */

/** Minutes for which a look counts. */
export const lookMinutes = 10;

/** Notes a look at a pending request. `user`: null for a holder of the link alone. */
export async function noteLook(
  context: Context,
  requestId: string,
  user: UserPrincipal | null,
): Promise<void> {
  const { organization_id } = await findOpen(context, requestId);
  const { db } = context.database;
  const [own] =
    user === null
      ? []
      : await db
          .select({ name: approvers.name })
          .from(approvers)
          .where(and(eq(approvers.organization_id, organization_id), eq(approvers.email, user.email)));
  const name = user === null ? "" : (own?.name ?? user.email);
  const set = { looked_at: sql`clock_timestamp()` };
  await db
    .insert(looks)
    .values({ request_id: requestId, name, ...set })
    .onConflictDoUpdate({ target: [looks.request_id, looks.name], set });
}

export async function readLooks(
  executor: Executor,
  requestId: string,
): Promise<{ name: string; at: string }[]> {
  const rows = await executor
    .select({ name: looks.name, at: looks.looked_at })
    .from(looks)
    .where(
      and(
        eq(looks.request_id, requestId),
        gt(looks.looked_at, sql`clock_timestamp() - make_interval(mins => ${lookMinutes})`),
      ),
    )
    .orderBy(asc(looks.looked_at));
  return rows.map(({ name, at }) => ({ name, at: at.toISOString() }));
}
