/**
 * Groups of approvers, the order in which their people are notified, the one that is notified if a request names nobody, and
 * deputies.
 */

import {
  and,
  count,
  eq,
  exists,
  gt,
  inArray,
  isNotNull,
  isNull,
  ne,
  not,
  notInArray,
  type SQL,
  sql,
} from "drizzle-orm";
import { alias, type PgUpdateSetSource } from "drizzle-orm/pg-core";
import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import type { ShownDeputy } from "#lib/api/schemas/portal";
import type { Executor } from "#lib/db/client";
import {
  approverGroups,
  approvers,
  deputies,
  groupReadings,
  passkeys,
  requestApprovers,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { minGroupPeople } from "#lib/protocol/approval/attention";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import { dayMs } from "#lib/protocol/time/time-words";
import { holdPeople, isListed, requireFreeName, storeUnderOwnName } from "./approvers";
import { type AuditEvent, recordAct, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { holdRole, personNotFound } from "./members";
import { type Acting, requireSecondFactor } from "./passkeys";
import { updateRoster } from "./roster";

export interface WantedGroup {
  id: string | null;
  name: string;
  memberIds: string[];
}

/** The organization's groups are its approvers without an address. */
export const areGroups = (organizationId: string) =>
  and(eq(approvers.organization_id, organizationId), isNull(approvers.email));

const isGroup = (organizationId: string, id: string) => and(areGroups(organizationId), eq(approvers.id, id));

export async function findGroupIds(
  executor: Executor,
  organizationId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await executor
    .select({ id: approvers.id, name: approvers.name })
    .from(approvers)
    .where(and(areGroups(organizationId), inArray(approvers.name, [...names])));
  return new Map(rows.map(({ id, name }) => [name ?? "", id]));
}

async function change(
  context: AccountsContext,
  person: MemberPrincipal,
  work: (tx: Executor) => Promise<Pick<AuditEvent, "action" | "subject" | "detail">>,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "settings");
    await recordAct(context, tx, person, await work(tx));
  });
  await updateRoster(context, organizationId);
}

/** Requires approvers of the organization, not groups. */
async function requirePeople(tx: Executor, organizationId: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await tx
    .select({ id: approvers.id })
    .from(approvers)
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        inArray(approvers.id, ids),
        isNotNull(approvers.email),
        isListed,
      ),
    );
  if (found.length < new Set(ids).size)
    throw fieldError("validation_error", "members", "names a person who is not one of your approvers");
}

export async function saveGroup(
  context: AccountsContext,
  person: MemberPrincipal,
  wanted: WantedGroup,
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    await requireFreeName(tx, organizationId, wanted.name, wanted.id);
    await requirePeople(tx, organizationId, wanted.memberIds);
    const id = wanted.id ?? uuidV7(context.clock().getTime(), context.random(16));
    const row = { id, organization_id: organizationId, name: wanted.name, status: "confirmed" } as const;
    if (wanted.id === null) await tx.insert(approvers).values(row);
    else await updateGroup(tx, organizationId, id, { name: wanted.name });
    const detail = await setMembers(tx, id, wanted.memberIds);
    return { action: "approver_group.saved", subject: wanted.name, detail };
  });
}

/** Decisions hold a member and then their place: both of several members in one order. */
async function holdMembers(tx: Executor, groupId: string): Promise<void> {
  const { group_id, approver_id } = approverGroups;
  const members = tx.select({ id: approver_id }).from(approverGroups).where(eq(group_id, groupId));
  await holdPeople(tx, inArray(approvers.id, members));
}

/** Places that stay are not touched: a decision may hold one. */
async function setMembers(tx: Executor, groupId: string, memberIds: string[]) {
  const isOfGroup = eq(approverGroups.group_id, groupId);
  const isGone = memberIds.length === 0 ? undefined : notInArray(approverGroups.approver_id, memberIds);
  await holdMembers(tx, groupId);
  const gone = await tx
    .delete(approverGroups)
    .where(and(isOfGroup, isGone))
    .returning({ id: approverGroups.approver_id });
  const places = [...new Set(memberIds)].map((approver_id) => ({ group_id: groupId, approver_id }));
  const added =
    places.length === 0
      ? []
      : await tx
          .insert(approverGroups)
          .values(places)
          .onConflictDoNothing()
          .returning({ id: approverGroups.approver_id });
  return { added: added.map(({ id }) => id), removed: gone.map(({ id }) => id) };
}

/** Returns its name, which the audit log is about. */
async function updateGroup(
  tx: Executor,
  organizationId: string,
  groupId: string,
  set: PgUpdateSetSource<typeof approvers>,
): Promise<string> {
  const [group] = await tx
    .update(approvers)
    .set(set)
    .where(isGroup(organizationId, groupId))
    .returning({ name: approvers.name });
  if (!group) throw personNotFound();
  return group.name ?? "";
}

export interface WantedEscalation {
  groupId: string;
  /** Null: all are notified at once. */
  afterMinutes: number | null;
  /** Turns of members, from 1. */
  steps: ReadonlyMap<string, number>;
  lastResort: string | null;
}

/** Sets the order in which the people of a group are notified of requests that are made from now on. It gives nobody power. */
export async function saveEscalation(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, afterMinutes, steps, lastResort }: WantedEscalation,
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    await requirePeople(tx, organizationId, lastResort === null ? [] : [lastResort]);
    await holdMembers(tx, groupId);
    const subject = await updateGroup(tx, organizationId, groupId, {
      escalate_after: afterMinutes,
      last_resort: lastResort,
    });
    for (const [id, step] of steps)
      await tx
        .update(approverGroups)
        .set({ step })
        .where(and(eq(approverGroups.group_id, groupId), eq(approverGroups.approver_id, id)));
    const detail = { after_minutes: afterMinutes, steps: Object.fromEntries(steps), last_resort: lastResort };
    return { action: "approver_group.escalation", subject, detail };
  });
}

async function requireMeasurable(tx: Executor, groupId: string, what: string): Promise<void> {
  const [{ people = 0 } = {}] = await tx
    .select({ people: count() })
    .from(approverGroups)
    .where(eq(approverGroups.group_id, groupId));
  if (people < minGroupPeople)
    throw new AppError("validation_error", `a group needs ${minGroupPeople} people to ${what}`);
}

/** Starts or stops measuring: earlier decisions are never measured. */
export async function measureAttention(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, isOn }: { groupId: string; isOn: boolean },
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    if (isOn) await requireMeasurable(tx, groupId, "be measured");
    const subject = await updateGroup(tx, organizationId, groupId, {
      attention_since: isOn ? sql`coalesce(${approvers.attention_since}, clock_timestamp())` : null,
    });
    if (!isOn) await tx.delete(groupReadings).where(eq(groupReadings.group_id, groupId));
    return { action: "approver_group.attention", subject, detail: { measured: isOn } };
  });
}

/** Sets how many requests are planted for the group in 30 days; null: none, also none of a schedule that runs. */
export async function armPlanted(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, perMonth }: { groupId: string; perMonth: number | null },
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    if (perMonth !== null) await requireMeasurable(tx, groupId, "get planted requests");
    const subject = await updateGroup(tx, organizationId, groupId, { planted_per_month: perMonth });
    return { action: "approver_group.planted", subject, detail: { per_month: perMonth } };
  });
}

/**
 * Minutes until each of these people and groups is notified, by person: those of a group in its order, then its last
 * resort. Who is named twice is notified at the earlier time.
 */
export async function readTurns(
  executor: Executor,
  { people, groups }: { people: readonly string[]; groups: readonly string[] },
): Promise<Map<string, number>> {
  const turns = new Map<string, number>();
  const add = (id: string, minutes: number) =>
    turns.set(id, Math.min(minutes, turns.get(id) ?? Number.POSITIVE_INFINITY));
  for (const id of people) add(id, 0);
  if (groups.length === 0) return turns;
  const places = await executor
    .select({
      groupId: approverGroups.group_id,
      id: approverGroups.approver_id,
      step: approverGroups.step,
      after: approvers.escalate_after,
      lastResort: approvers.last_resort,
    })
    .from(approverGroups)
    .innerJoin(approvers, eq(approvers.id, approverGroups.group_id))
    .where(inArray(approverGroups.group_id, [...groups]));
  for (const groupId of groups) {
    const members = places.filter((place) => place.groupId === groupId);
    const steps = [...new Set(members.map(({ step }) => step))].sort((one, other) => one - other);
    for (const { id, step, after } of members) add(id, steps.indexOf(step) * (after ?? 0));
    const [{ after = null, lastResort = null } = {}] = members;
    if (after !== null && lastResort !== null) add(lastResort, steps.length * after);
  }
  return turns;
}

export async function removeGroup(
  context: AccountsContext,
  person: MemberPrincipal,
  groupId: string,
): Promise<void> {
  await change(context, person, async (tx) => {
    await holdMembers(tx, groupId);
    const [gone] = await tx
      .delete(approvers)
      .where(isGroup(person.organizationId, groupId))
      .returning({ name: approvers.name });
    if (!gone) throw personNotFound();
    return { action: "approver_group.removed", subject: gone.name ?? "" };
  });
}

/** Null: a request that names nobody goes to nobody. */
export async function chooseDefaultGroup(
  context: AccountsContext,
  person: MemberPrincipal,
  groupId: string | null,
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    await tx
      .update(approvers)
      .set({ is_default: false })
      .where(and(eq(approvers.organization_id, organizationId), eq(approvers.is_default, true)));
    if (groupId === null) return { action: "approver_group.default", subject: "none" };
    const subject = await updateGroup(tx, organizationId, groupId, { is_default: true });
    return { action: "approver_group.default", subject };
  });
}

/* An owner who approves by themselves, in one step: an approver under their own address, and a group with them alone. */

/** Name of the group. */
const ownGroup = "approvers";

async function findOwn(tx: Executor, { organizationId, email }: MemberPrincipal) {
  const [own] = await tx
    .select({ id: approvers.id, status: approvers.status })
    .from(approvers)
    .where(and(eq(approvers.organization_id, organizationId), eq(approvers.email, email), isListed));
  return own;
}

/** The approver's id. Nobody is mailed: the person has signed in with the address. */
export async function becomeApprover(context: AccountsContext, person: MemberPrincipal): Promise<string> {
  const { organizationId, email } = person;
  const { db } = context.database;
  const id = await db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const own = await findOwn(tx, person);
    if (own?.status === "confirmed") return own.id;
    const stored = own?.id ?? (await storeUnderOwnName(context, tx, person));
    await tx.update(approvers).set({ status: "confirmed" }).where(eq(approvers.id, stored));
    await recordAct(context, tx, person, {
      action: "approver.added",
      subject: email,
      detail: { by_themselves: true },
    });
    return stored;
  });
  const [group] = await db
    .select({ id: approvers.id })
    .from(approvers)
    .where(and(eq(approvers.organization_id, organizationId), isNull(approvers.email)))
    .limit(1);
  // Groups that are there already are the organization's own order.
  if (group !== undefined) return id;
  await saveGroup(context, person, { id: null, name: ownGroup, memberIds: [id] });
  const made = (await findGroupIds(db, organizationId, [ownGroup])).get(ownGroup);
  if (made !== undefined) await chooseDefaultGroup(context, person, made);
  return id;
}

/*
 * Deputies: who decides in an approver's place for a time. Only an enrolled approver can be one, with their own passkey;
 * each deputyship is in the roster, so that nobody gets the power unseen. Whom the absent one may not approve, the deputy
 * may not either.
 */
const maxDays = 90;

const isNow = sql`${deputies.starts_at} <= clock_timestamp() AND ${deputies.ends_at} > clock_timestamp()`;

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

/** Lists people whom an approver could name: the other enrolled ones. */
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

/** Finds the people whose deputy this person is at the moment, as approvers of any organization. */
export const findReplaced = (executor: Executor, { email }: UserPrincipal) =>
  executor
    .select({ id: deputies.approver_id })
    .from(deputies)
    .innerJoin(approvers, eq(approvers.id, deputies.deputy_id))
    .where(and(eq(approvers.email, email), eq(approvers.status, "confirmed"), isNow));

/** Lists who decides for whom at this moment in these groups, where not by their own right. */
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

interface WantedDeputy {
  deputyId: string;
  /** Null: at once. */
  from: Date | null;
  until: Date;
}

/** Replaces the earlier deputy, if there is one. */
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
    if (until.getTime() - now.getTime() > maxDays * dayMs)
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
