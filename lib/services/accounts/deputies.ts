/**
 * Deputies: who decides in an approver's place for a time. Only an enrolled approver can be one, with their own passkey;
 * each deputyship is in the roster, so that nobody gets the power unseen. Whom the absent one may not approve, the deputy
 * may not either.
 */
import { and, eq, exists, gt, inArray, isNotNull, isNull, ne, not, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { UserPrincipal } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approverGroups, approvers, deputies, passkeys, requestApprovers } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { holdPeople } from "./approvers";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { personNotFound } from "./members";
import { type Acting, requireSecondFactor } from "./passkeys";
import { updateRoster } from "./roster";

const maxDays = 90;

const isNow = sql`${deputies.starts_at} <= clock_timestamp() AND ${deputies.ends_at} > clock_timestamp()`;

export interface ShownDeputy {
  id: string;
  name: string;
  from: string;
  until: string;
}

/** The approver's deputy, until the time is over; null without one. */
export async function readDeputy(executor: Executor, approverId: string): Promise<ShownDeputy | null> {
  const [row] = await executor
    .select({
      id: deputies.deputy_id,
      name: sql<string>`coalesce(${approvers.name}, ${approvers.email})`,
      from: deputies.starts_at,
      until: deputies.ends_at,
    })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.deputy_id))
    .where(and(eq(deputies.approver_id, approverId), gt(deputies.ends_at, sql`clock_timestamp()`)));
  return row ? { ...row, from: row.from.toISOString(), until: row.until.toISOString() } : null;
}

/** Whom an approver could name: the other enrolled ones. */
export const listPossibleDeputies = (
  executor: Executor,
  { id, organizationId }: { id: string; organizationId: string },
) =>
  executor
    .selectDistinct({ id: approvers.id, name: sql<string>`coalesce(${approvers.name}, ${approvers.email})` })
    .from(approvers)
    .innerJoin(passkeys, eq(passkeys.approver_id, approvers.id))
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        eq(approvers.status, "confirmed"),
        ne(approvers.id, id),
        isNotNull(approvers.name),
        isNull(passkeys.removed_at),
      ),
    )
    .orderBy(sql`2`);

/** Deputies of these people at this moment, who are notified too. */
export const findDeputies = (executor: Executor, approverIds: readonly string[]) =>
  executor
    .select({ id: deputies.deputy_id, replaced: deputies.approver_id })
    .from(deputies)
    .where(and(inArray(deputies.approver_id, [...approverIds]), isNow));

/** Whose deputy the person is at this moment, as approvers of any organization. */
export const findReplaced = (executor: Executor, { email }: UserPrincipal) =>
  executor
    .select({ id: deputies.approver_id })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.deputy_id))
    .where(and(eq(approvers.email, email), eq(approvers.status, "confirmed"), isNow));

/** Who decides in whose place at this moment for these groups, where not by their own right. */
export async function listDeputyships(executor: Executor, groupIds: readonly string[]) {
  if (groupIds.length === 0) return [];
  const replaced = alias(approvers, "replaced");
  const isIn = (id: typeof deputies.deputy_id | typeof deputies.approver_id) =>
    exists(
      executor
        .select({ one: sql`1` })
        .from(approverGroups)
        .where(and(eq(approverGroups.approver_id, id), inArray(approverGroups.group_id, [...groupIds]))),
    );
  return executor
    .select({
      deputyId: deputies.deputy_id,
      deputy: sql<string>`coalesce(${approvers.name}, '')`,
      replaced: sql<string>`coalesce(${replaced.name}, '')`,
    })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.deputy_id))
    .innerJoin(replaced, eq(replaced.id, deputies.approver_id))
    .where(and(isNow, isIn(deputies.approver_id), not(isIn(deputies.deputy_id))))
    .orderBy(approvers.name, replaced.name);
}

export interface WantedDeputy {
  deputyId: string;
  /** Null: at once. */
  from: Date | null;
  until: Date;
}

/** In place of the deputy before, if there is one. */
export async function nameDeputy(
  context: AccountsContext,
  { approver, actor }: Acting,
  { deputyId, from, until }: WantedDeputy,
): Promise<void> {
  const { id, organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    await holdPeople(tx, inArray(approvers.id, [id, deputyId]));
    await requireSecondFactor(tx, approver, actor);
    const possible = await listPossibleDeputies(tx, approver);
    const deputy = possible.find((one) => one.id === deputyId);
    if (deputy === undefined)
      throw fieldError("validation_error", "deputy_id", "must be another approver who has a passkey");
    const now = context.clock();
    const start = from === null || from < now ? now : from;
    if (until <= start) throw fieldError("validation_error", "until", "must be later than the start");
    if (until.getTime() - now.getTime() > maxDays * 86_400_000)
      throw fieldError("validation_error", "until", `must be within ${maxDays} days`);
    const set = { deputy_id: deputyId, starts_at: start, ends_at: until };
    await tx
      .insert(deputies)
      .values({ approver_id: id, ...set })
      .onConflictDoUpdate({ target: deputies.approver_id, set });
    if (start === now) await notifyOfWaiting(tx, eq(deputies.approver_id, id));
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "deputy.named",
      subject: approver.email,
      detail: { deputy: deputy.name, from: start.toISOString(), until: until.toISOString() },
    });
  });
  await updateRoster(context, organizationId);
}

/** Adds what waits for the approvers to what their deputies can decide, and notifies these once. */
async function notifyOfWaiting(executor: Executor, which: SQL | undefined): Promise<void> {
  await executor.execute(sql`
    WITH added AS (
      INSERT INTO ${requestApprovers} (request_id, approver_id)
        SELECT n.request_id, ${deputies.deputy_id} FROM ${deputies}
        JOIN ${requestApprovers} n ON n.approver_id = ${deputies.approver_id}
        JOIN shown_requests r ON r.id = n.request_id AND r.status = 'pending' AND r.expires_at > clock_timestamp()
        WHERE ${which}
      ON CONFLICT DO NOTHING RETURNING request_id, approver_id
    )
    INSERT INTO notices (request_id, kind, approver_id, organization_id, status, next_attempt_at)
      SELECT added.request_id, 'waiting', a.id, a.organization_id, 'pending', clock_timestamp()
      FROM added JOIN approvers a ON a.id = added.approver_id AND a.requests <> 'none'
    ON CONFLICT DO NOTHING`);
}

/** Deputyships that begin later are looked for again and again; whoever has been notified isn't a second time. */
export const notifyStarted = ({ database }: Pick<AccountsContext, "database">): Promise<void> =>
  notifyOfWaiting(database.db, and(isNow, gt(deputies.starts_at, sql`clock_timestamp() - interval '1 day'`)));

export async function endDeputy(context: AccountsContext, { approver, actor }: Acting): Promise<void> {
  const { id, organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    await holdPeople(tx, eq(approvers.id, id));
    const ended = await tx
      .delete(deputies)
      .where(eq(deputies.approver_id, id))
      .returning({ id: deputies.deputy_id });
    if (ended.length === 0) throw personNotFound();
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "deputy.ended",
      subject: approver.email,
    });
  });
  await updateRoster(context, organizationId);
}
