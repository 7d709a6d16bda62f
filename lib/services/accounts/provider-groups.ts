/**
 * Applies the groups of the company's provider to their people in an organization: a role, and places in groups of approvers. An
 * owner maps each group. Groups come from the company's directory at once (SCIM, lib/services/directory) if it has sent any; else
 * from the provider's userinfo at every sign-in, and only in the organization that has verified the person's domain. What a group
 * gave is taken back as soon as they aren't in it; what an owner gave by hand stays. The directory's key makes nobody an owner:
 * whoever steals it would be one.
 */
import { and, asc, eq, inArray, isNotNull, notInArray } from "drizzle-orm";
import { type Actor, type MemberPrincipal, toActor } from "#lib/api/http/context";
import { type Role, roleNames } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import {
  approverGroups,
  approvers,
  directoryGroups,
  directoryMembers,
  directoryUsers,
  memberships,
  providerGroups,
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { areGroups } from "./approver-groups";
import { storeUnderOwnName } from "./approvers";
import { recordAct, recordAudit } from "./audit";
import { setRole } from "./change-role";
import type { AccountsContext } from "./context";
import { holdRole, personNotFound } from "./members";
import { lockOrganization } from "./organizations";
import { updateRoster } from "./roster";

const maxMapped = 100;
const maxClaimed = 1_000;

/** Texts of the claim; everything else in it is nothing. */
export function readGroups(claim: unknown): string[] {
  const given: unknown[] = Array.isArray(claim) ? claim : [claim];
  return given.slice(0, maxClaimed).filter((one): one is string => typeof one === "string" && one !== "");
}

export async function listProviderGroups(executor: Executor, organizationId: string) {
  return executor
    .select({
      name: providerGroups.name,
      role: providerGroups.role,
      groupId: providerGroups.group_id,
      groupName: approvers.name,
      mappedBy: providerGroups.mapped_by,
    })
    .from(providerGroups)
    .leftJoin(approvers, eq(approvers.id, providerGroups.group_id))
    .where(eq(providerGroups.organization_id, organizationId))
    .orderBy(asc(providerGroups.name));
}

export interface ProviderGroupWish {
  name: string;
  role: Role | null;
  groupId: string | null;
}

/** Applies it to the directory's people at once; others see it at their next sign-in. */
async function changeMapping(
  context: AccountsContext,
  person: MemberPrincipal,
  work: (tx: Executor) => Promise<void>,
): Promise<void> {
  const { organizationId } = person;
  const isChanged = await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    await work(tx);
    if (!(await hasDirectoryGroups(tx, organizationId))) return false;
    return applyDirectoryGroups(context, tx, { organizationId, actor: toActor(person) });
  });
  if (isChanged) await updateRoster(context, organizationId);
}

export async function saveProviderGroup(
  context: AccountsContext,
  person: MemberPrincipal,
  { name, role, groupId }: ProviderGroupWish,
): Promise<void> {
  const { organizationId } = person;
  if (role === null && groupId === null)
    throw fieldError("validation_error", "role", "choose a role, a group of approvers, or both");
  await changeMapping(context, person, async (tx) => {
    if (role === "owner" && (await hasDirectoryGroups(tx, organizationId)))
      throw fieldError(
        "validation_error",
        "role",
        "your directory makes nobody an owner; choose another role",
      );
    const mapped = await listProviderGroups(tx, organizationId);
    if (mapped.length >= maxMapped && !mapped.some((one) => one.name === name))
      throw new AppError("validation_error", `at most ${maxMapped} groups can be mapped; remove one first`);
    const [group] =
      groupId === null
        ? [null]
        : await tx
            .select({ name: approvers.name })
            .from(approvers)
            .where(and(areGroups(organizationId), eq(approvers.id, groupId)));
    if (group === undefined) throw personNotFound();
    const set = { role, group_id: groupId, mapped_by: person.email };
    await tx
      .insert(providerGroups)
      .values({ organization_id: organizationId, name, ...set })
      .onConflictDoUpdate({ target: [providerGroups.organization_id, providerGroups.name], set });
    await recordAct(context, tx, person, {
      action: "provider_group.mapped",
      subject: name,
      detail: { role, approver_group: group?.name ?? null },
    });
  });
}

export async function removeProviderGroup(
  context: AccountsContext,
  person: MemberPrincipal,
  name: string,
): Promise<void> {
  const { organizationId } = person;
  await changeMapping(context, person, async (tx) => {
    const removed = await tx
      .delete(providerGroups)
      .where(and(eq(providerGroups.organization_id, organizationId), eq(providerGroups.name, name)))
      .returning({ name: providerGroups.name });
    if (removed.length === 0) throw personNotFound();
    await recordAct(context, tx, person, { action: "provider_group.removed", subject: name });
  });
}

type Mapped = Awaited<ReturnType<typeof listProviderGroups>>[number];

interface Placed {
  organizationId: string;
  userId: string;
  email: string;
  actor: Actor;
  isByDirectory: boolean;
}

/** The mightiest role of the person's groups. */
const findRole = (mapped: readonly Mapped[]) =>
  roleNames.flatMap((role) => mapped.find((one) => one.role === role) ?? [])[0];

async function applyRole(context: AccountsContext, tx: Executor, of: Placed, mapped: readonly Mapped[]) {
  const [member] = await tx
    .select({ role: memberships.role, roleBy: memberships.role_by })
    .from(memberships)
    .where(and(eq(memberships.organization_id, of.organizationId), eq(memberships.user_id, of.userId)));
  if (member === undefined) return null;
  if (of.isByDirectory && member.role === "owner") return member.role;
  const wanted = findRole(of.isByDirectory ? mapped.filter(({ role }) => role !== "owner") : mapped);
  const isByHand = member.roleBy === null && member.role !== "member";
  if (isByHand || (wanted === undefined && member.roleBy === null)) return member.role;
  const role = wanted?.role ?? "member";
  const detail = { by_provider_group: wanted?.name ?? null, mapped_by: wanted?.mappedBy ?? null };
  try {
    await setRole(context, tx, role, { ...of, roleBy: wanted?.name ?? null, detail });
    return role;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    context.logger.warn(
      { organizationId: of.organizationId },
      "the last owner left their provider's group, and stays owner",
    );
    return member.role;
  }
}

/** Null for who unsubscribed, or was taken off by an owner. */
async function findOrStoreApprover(
  context: AccountsContext,
  tx: Executor,
  of: Placed,
): Promise<string | null> {
  const [known] = await tx
    .select({ id: approvers.id, name: approvers.name, status: approvers.status })
    .from(approvers)
    .where(and(eq(approvers.organization_id, of.organizationId), eq(approvers.email, of.email)));
  if (known?.status === "left" || known?.status === "removed") return null;
  const id = known?.name ? known.id : await storeUnderOwnName(context, tx, of);
  // The company's provider or directory vouches for an address at the company's verified domain.
  await tx.update(approvers).set({ status: "confirmed" }).where(eq(approvers.id, id));
  return id;
}

async function applyPlaces(
  context: AccountsContext,
  tx: Executor,
  of: Placed,
  given: readonly Mapped[],
): Promise<boolean> {
  const wanted = new Map(given.flatMap((one) => (one.groupId === null ? [] : [[one.groupId, one] as const])));
  const approverId = wanted.size === 0 ? null : await findOrStoreApprover(context, tx, of);
  const ids = approverId === null ? [] : [...wanted.keys()];
  const added =
    approverId === null
      ? []
      : await tx
          .insert(approverGroups)
          .values(
            ids.map((group_id) => ({
              group_id,
              approver_id: approverId,
              by_provider: wanted.get(group_id)?.name ?? null,
            })),
          )
          .onConflictDoNothing()
          .returning({ id: approverGroups.group_id });
  const own = tx
    .select({ id: approvers.id })
    .from(approvers)
    .where(and(eq(approvers.organization_id, of.organizationId), eq(approvers.email, of.email)));
  const gone = await tx
    .delete(approverGroups)
    .where(
      and(
        inArray(approverGroups.approver_id, own),
        isNotNull(approverGroups.by_provider),
        ids.length === 0 ? undefined : notInArray(approverGroups.group_id, ids),
      ),
    )
    .returning({ id: approverGroups.group_id, by: approverGroups.by_provider });
  if (added.length + gone.length === 0) return false;
  await recordAudit(context, tx, {
    organizationId: of.organizationId,
    actor: of.actor,
    action: "approver_group.by_provider",
    subject: of.email,
    detail: {
      added: added.map(({ id }) => {
        const { groupName = null, name = null, mappedBy = null } = wanted.get(id) ?? {};
        return { approver_group: groupName, provider_group: name, mapped_by: mappedBy };
      }),
      removed: gone.map(({ id, by }) => ({ approver_group_id: id, provider_group: by })),
    },
  });
  return true;
}

/** Runs under the organization's lock; true if the caller has to update the roster after the commit. */
async function applyGroups(
  context: AccountsContext,
  tx: Executor,
  of: Placed,
  groups: readonly string[],
): Promise<boolean> {
  const mapped = (await listProviderGroups(tx, of.organizationId)).filter(({ name }) =>
    groups.includes(name),
  );
  const role = await applyRole(context, tx, of, mapped);
  if (role === null) return false;
  return applyPlaces(context, tx, of, role === "auditor" ? [] : mapped);
}

/** Applied at a sign-in; `groups`: the provider's current claim. */
export async function applyProviderGroups(
  context: AccountsContext,
  { ip, ...person }: Pick<Placed, "organizationId" | "userId" | "email"> & { ip: string | null },
  groups: readonly string[],
): Promise<void> {
  const { db } = context.database;
  const of = { ...person, actor: { kind: "user", id: person.email, ip } as const, isByDirectory: false };
  const isChanged = await db.transaction(async (tx) => {
    await lockOrganization(tx, of.organizationId);
    if (await hasDirectoryGroups(tx, of.organizationId)) return false;
    return applyGroups(context, tx, of, groups);
  });
  if (isChanged) await updateRoster(context, of.organizationId);
}

export async function hasDirectoryGroups(executor: Executor, organizationId: string): Promise<boolean> {
  const isOfIt = eq(directoryGroups.organization_id, organizationId);
  return (
    (await executor.select({ id: directoryGroups.id }).from(directoryGroups).where(isOfIt).limit(1)).length >
    0
  );
}

/**
 * The groups of the directory, to its active people who are members here; `only`: their ids in the directory, default: all. A
 * group may be mapped by its name or by its id in the directory, as Entra ID's claims name it. Under the organization's lock; true
 * if the caller has to update the roster after the commit.
 */
export async function applyDirectoryGroups(
  context: AccountsContext,
  tx: Executor,
  { organizationId, actor, only }: { organizationId: string; actor: Actor; only?: readonly string[] },
): Promise<boolean> {
  if (only?.length === 0) return false;
  const people = await tx
    .select({ id: directoryUsers.id, userId: users.id, email: users.email })
    .from(directoryUsers)
    .innerJoin(users, eq(users.email, directoryUsers.email))
    .innerJoin(
      memberships,
      and(eq(memberships.user_id, users.id), eq(memberships.organization_id, directoryUsers.organization_id)),
    )
    .where(
      and(
        eq(directoryUsers.organization_id, organizationId),
        eq(directoryUsers.active, true),
        only === undefined ? undefined : inArray(directoryUsers.id, [...only]),
      ),
    )
    .orderBy(directoryUsers.id);
  const places = await tx
    .select({
      id: directoryMembers.user_id,
      name: directoryGroups.display_name,
      externalId: directoryGroups.external_id,
    })
    .from(directoryMembers)
    .innerJoin(directoryGroups, eq(directoryGroups.id, directoryMembers.group_id))
    .where(eq(directoryGroups.organization_id, organizationId));
  let isChanged = false;
  for (const { id, ...person } of people) {
    const own = places.filter((place) => place.id === id);
    const groups = own.flatMap(({ name, externalId }) => (externalId === null ? [name] : [name, externalId]));
    const of = { ...person, organizationId, actor, isByDirectory: true };
    isChanged = (await applyGroups(context, tx, of, groups)) || isChanged;
  }
  return isChanged;
}
