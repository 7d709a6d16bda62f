/** The organization's settings, and its end. */
import { and, asc, count, eq, inArray, isNull, notExists, sql } from "drizzle-orm";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import type { Role, SecondFactor } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import {
  apiKeys,
  approvers,
  authorizationRequests,
  directoryGroups,
  directoryUsers,
  invitations,
  memberships,
  organizationDomains,
  organizations,
  providerGroups,
  rosters,
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type MarkColor, organizationTitle } from "#lib/protocol/text/organization-name";
import { holdPeople } from "#lib/services/accounts/approvers";
import { recordAct } from "#lib/services/accounts/audit";
import { endMembership, setRole } from "#lib/services/accounts/change-role";
import type { AccountsContext } from "#lib/services/accounts/context";
import { listDomains, toMark } from "#lib/services/accounts/domains";
import { listInvitations } from "#lib/services/accounts/invitations";
import { holdRole, personNotFound, requireConfirmed, requireRole } from "#lib/services/accounts/members";
import { onHold } from "#lib/services/accounts/organizations";
import { noDetails, updateRoster } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { cancel, findOpen } from "#lib/services/approvals/decision/decide";
import { describeRetention } from "#lib/services/attestations/erase";
import { isLiveKey } from "#lib/services/keys/api-keys";
import { removeEndpoints } from "#lib/services/webhooks/endpoints";

/*
 * Members of an organization. It always has an owner: every change of roles waits for the organization's lock, without which
 * two owners could step down at once and leave none.
 */

export async function listMembers(executor: Executor, organizationId: string) {
  const rows = await executor
    .select({
      userId: users.id,
      email: users.email,
      role: memberships.role,
      since: memberships.created_at,
      liveKeys: sql<number>`(SELECT ${count()}::int FROM ${apiKeys} WHERE ${and(
        eq(apiKeys.organization_id, memberships.organization_id),
        eq(apiKeys.email, users.email),
        isLiveKey,
      )})`,
    })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(eq(memberships.organization_id, organizationId))
    .orderBy(asc(memberships.created_at), asc(users.id));
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}

export async function changeRole(
  context: AccountsContext,
  person: MemberPrincipal,
  { userId, role }: { userId: string; role: Role },
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    await setRole(context, tx, role, { organizationId, userId, actor: toActor(person) });
  });
  await updateRoster(context, organizationId);
}

/** Owners remove anyone, the others only themselves. `revokeKeys`: also the live keys made under that address. */
export async function removeMember(
  context: AccountsContext,
  person: MemberPrincipal,
  { userId, revokeKeys }: { userId: string; revokeKeys: boolean },
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, userId === person.userId ? "read" : "members");
    await endMembership(context, tx, { revokeKeys }, { organizationId, userId, actor: toActor(person) });
  });
  await updateRoster(context, organizationId);
}

/** Replaces what the organization asks a passkey for. Whoever asks for one has just used theirs: nobody locks themselves out. */
export async function setSecondFactor(
  context: AccountsContext,
  person: MemberPrincipal,
  factors: readonly SecondFactor[],
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "security");
    await requireConfirmed(tx, person);
    await tx
      .update(organizations)
      .set({ second_factor: [...factors] })
      .where(eq(organizations.id, organizationId));
    await recordAct(context, tx, person, {
      action: "organization.second_factor",
      subject: organizationId,
      detail: { second_factor: [...factors] },
    });
  });
}

export async function readOrganization(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { organizationId } = person;
  const [row] = await db.select().from(organizations).where(eq(organizations.id, organizationId));
  if (!row) throw personNotFound();
  return {
    name: row.name,
    mark: { text: row.mark_text, color: row.mark_color, shown: toMark(row) },
    defaultPublic: row.default_public,
    pushShowsFacts: row.push_shows_facts,
    attestationsPerDay: row.attestations_per_day ?? context.settings.LIMIT_ATTEST_PER_DAY ?? null,
    retention: describeRetention(row),
    createdAt: row.created_at.toISOString(),
    members: await listMembers(db, organizationId),
    invitations: await listInvitations(db, organizationId),
    domains: await listDomains(context, person),
    secondFactor: row.second_factor,
  };
}

export interface OrganizationWish {
  name: string;
  defaultPublic: boolean;
  /** Null: as the name says. */
  markText: string | null;
  markColor: MarkColor | null;
  pushShowsFacts: boolean;
}

async function update(
  context: Context,
  person: MemberPrincipal,
  detail: Partial<typeof organizations.$inferInsert> & JsonObject,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "settings");
    await tx.update(organizations).set(detail).where(eq(organizations.id, organizationId));
    await recordAct(context, tx, person, { action: "organization.updated", subject: organizationId, detail });
  });
}

export const updateOrganization = (context: Context, person: MemberPrincipal, wanted: OrganizationWish) =>
  update(context, person, {
    name: wanted.name,
    default_public: wanted.defaultPublic,
    mark_text: wanted.markText,
    mark_color: wanted.markColor,
    push_shows_facts: wanted.pushShowsFacts,
  });

/** Names the organization and says who may read its attestations, the first step of a new owner. */
export const nameOrganization = (
  context: Context,
  person: MemberPrincipal,
  { name, defaultPublic }: Pick<OrganizationWish, "name" | "defaultPublic">,
) => update(context, person, { name, default_public: defaultPublic });

/**
 * People who no longer belong to any organization. Their sessions are deleted with them. Whom another transaction holds is
 * just joining an organization.
 */
async function deleteStranded(tx: Executor, userIds: string[]): Promise<void> {
  const free = await tx
    .select({ id: users.id })
    .from(users)
    .where(inArray(users.id, userIds))
    .for("update", { skipLocked: true });
  const ids = free.map(({ id }) => id);
  const others = tx
    .select({ id: memberships.user_id })
    .from(memberships)
    .where(eq(memberships.user_id, users.id));
  await tx.delete(users).where(and(inArray(users.id, ids), notExists(others)));
}

/** Cancels as the service, on behalf of an owner who is no longer one. */
async function cancelPending(context: Context, person: MemberPrincipal): Promise<void> {
  const cancelOne = async (id: string) => cancel(context, await findOpen(context, id), toActor(person));
  const pending = await context.database.db
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .where(
      and(
        eq(authorizationRequests.organization_id, person.organizationId),
        eq(authorizationRequests.status, "pending"),
      ),
    );
  for (const { id } of pending) {
    await cancelOne(id).catch((error: unknown) => {
      if (!(error instanceof AppError && error.errorName === "authorization_not_pending")) throw error;
    });
  }
}

/**
 * Deletes an organization. Its entries stay in the log. Keys, members, invitations and pending requests end; the row
 * itself stays, because attestations and the slugs of agents point to it.
 */
export async function deleteOrganization(
  context: Context,
  person: MemberPrincipal,
  confirmation: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "security");
    const [organization] = await tx.select().from(organizations).where(eq(organizations.id, organizationId));
    if (organization?.legal_hold_since != null) throw onHold();
    if (!organization || confirmation !== organizationTitle(organization.name))
      throw fieldError("validation_error", "confirmation", "is not the name of the organization");
    const now = context.clock();
    await tx.update(organizations).set({ deleted_at: now }).where(eq(organizations.id, organizationId));
    await tx
      .update(apiKeys)
      .set({ revoked_at: now })
      .where(and(eq(apiKeys.organization_id, organizationId), isNull(apiKeys.revoked_at)));
    await tx.delete(invitations).where(eq(invitations.organization_id, organizationId));
    await holdPeople(tx, eq(approvers.organization_id, organizationId));
    await tx.delete(approvers).where(eq(approvers.organization_id, organizationId));
    // Heads and entries stay, without the names of people and groups.
    await tx
      .update(rosters)
      .set({ details: JSON.stringify(noDetails), changes: "[]" })
      .where(eq(rosters.organization_id, organizationId));
    await tx.delete(organizationDomains).where(eq(organizationDomains.organization_id, organizationId));
    await tx.delete(directoryGroups).where(eq(directoryGroups.organization_id, organizationId));
    await tx.delete(directoryUsers).where(eq(directoryUsers.organization_id, organizationId));
    await tx.delete(providerGroups).where(eq(providerGroups.organization_id, organizationId));
    await removeEndpoints(tx, organizationId);
    const gone = await tx
      .delete(memberships)
      .where(eq(memberships.organization_id, organizationId))
      .returning({ userId: memberships.user_id });
    await recordAct(context, tx, person, { action: "organization.deleted", subject: organizationId });
    await deleteStranded(
      tx,
      gone.map(({ userId }) => userId),
    );
  });
  await updateRoster(context, organizationId);
  await cancelPending(context, person);
}
