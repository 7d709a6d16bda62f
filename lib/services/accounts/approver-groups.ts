/** Groups of approvers, the order in which their people are notified, and the one that is notified if a request names nobody. */
import { and, count, eq, inArray, isNotNull, isNull, ne, notInArray, sql } from "drizzle-orm";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approverGroups, approvers } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { minGroupPeople } from "#lib/protocol/approval/attention";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import { holdPeople, requireFreeName } from "./approvers";
import { type AuditEvent, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { holdRole, personNotFound } from "./members";
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
    await recordAudit(context, tx, { organizationId, actor: toActor(person), ...(await work(tx)) });
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
        isNotNull(approvers.name),
        ne(approvers.status, "removed"),
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
    else await renameGroup(tx, organizationId, id, wanted.name);
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

async function renameGroup(tx: Executor, organizationId: string, id: string, name: string): Promise<void> {
  const renamed = await tx
    .update(approvers)
    .set({ name })
    .where(isGroup(organizationId, id))
    .returning({ id: approvers.id });
  if (renamed.length === 0) throw personNotFound();
}

export interface WantedEscalation {
  groupId: string;
  /** Null: all are notified at once. */
  afterMinutes: number | null;
  /** Turns of members, from 1. */
  steps: ReadonlyMap<string, number>;
  lastResort: string | null;
}

/** In which order the people of a group are notified of requests that are made from now on. It gives nobody power. */
export async function saveEscalation(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, afterMinutes, steps, lastResort }: WantedEscalation,
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    await requirePeople(tx, organizationId, lastResort === null ? [] : [lastResort]);
    await holdMembers(tx, groupId);
    const [group] = await tx
      .update(approvers)
      .set({ escalate_after: afterMinutes, last_resort: lastResort })
      .where(isGroup(organizationId, groupId))
      .returning({ name: approvers.name });
    if (!group) throw personNotFound();
    for (const [id, step] of steps)
      await tx
        .update(approverGroups)
        .set({ step })
        .where(and(eq(approverGroups.group_id, groupId), eq(approverGroups.approver_id, id)));
    const detail = { after_minutes: afterMinutes, steps: Object.fromEntries(steps), last_resort: lastResort };
    return { action: "approver_group.escalation", subject: group.name ?? "", detail };
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

/** From now on, or no longer: what was decided before is never measured. */
export async function measureAttention(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, isOn }: { groupId: string; isOn: boolean },
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    if (isOn) await requireMeasurable(tx, groupId, "be measured");
    const [group] = await tx
      .update(approvers)
      .set({ attention_since: isOn ? sql`coalesce(${approvers.attention_since}, clock_timestamp())` : null })
      .where(isGroup(organizationId, groupId))
      .returning({ name: approvers.name });
    if (!group) throw personNotFound();
    return { action: "approver_group.attention", subject: group.name ?? "", detail: { measured: isOn } };
  });
}

/** How many requests are planted for the group in 30 days; null: none, also none of a schedule that runs. */
export async function armPlanted(
  context: AccountsContext,
  person: MemberPrincipal,
  { groupId, perMonth }: { groupId: string; perMonth: number | null },
): Promise<void> {
  const { organizationId } = person;
  await change(context, person, async (tx) => {
    if (perMonth !== null) await requireMeasurable(tx, groupId, "get planted requests");
    const [group] = await tx
      .update(approvers)
      .set({ planted_per_month: perMonth })
      .where(isGroup(organizationId, groupId))
      .returning({ name: approvers.name });
    if (!group) throw personNotFound();
    return { action: "approver_group.planted", subject: group.name ?? "", detail: { per_month: perMonth } };
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
    const [chosen] = await tx
      .update(approvers)
      .set({ is_default: true })
      .where(isGroup(organizationId, groupId))
      .returning({ name: approvers.name });
    if (!chosen) throw personNotFound();
    return { action: "approver_group.default", subject: chosen.name ?? "" };
  });
}
