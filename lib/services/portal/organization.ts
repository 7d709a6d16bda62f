/** The organization's settings, and its end. */
import { and, arrayOverlaps, asc, count, eq, inArray, isNull, notExists, sql } from "drizzle-orm";
import { actorOf, type MemberPrincipal } from "#lib/api/http/context";
import { ownerScopes } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import {
  apiKeys,
  approvers,
  authorizationRequests,
  invitations,
  memberships,
  organizationDomains,
  organizations,
  rosters,
  ruleProposals,
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type MarkColor, organizationTitle } from "#lib/protocol/text/organization-name";
import { forgetApprover, holdPeople } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { listDomains } from "#lib/services/accounts/domains";
import { listInvitations, withdrawInvitationsOf } from "#lib/services/accounts/invitations";
import { holdRole, personNotFound, type Role, requireRole } from "#lib/services/accounts/members";
import { markOf } from "#lib/services/accounts/organization-identity";
import { onHold } from "#lib/services/accounts/organizations";
import { noDetails, updateRoster } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { cancel, findOpen } from "#lib/services/approvals/decision/decide";
import { describeRetention } from "#lib/services/attestations/retention";
import { isLiveKey } from "#lib/services/keys/api-keys";

/*
 * Who belongs to an organization. It always has an owner: every change of roles waits for the organization's lock,
 * without which two owners could step down at once and leave none.
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

async function findMember(tx: Executor, organizationId: string, userId: string) {
  const members = await listMembers(tx, organizationId);
  const member = members.find((one) => one.userId === userId);
  if (!member) throw personNotFound();
  const owners = members.filter(({ role }) => role === "owner");
  return { member, isLastOwner: member.role === "owner" && owners.length === 1 };
}

const lastOwner = () =>
  new AppError("validation_error", "the organization needs an owner; make another member an owner first");

const isRole = (organizationId: string, userId: string) =>
  and(eq(memberships.organization_id, organizationId), eq(memberships.user_id, userId));

const isKeyMadeBy = (organizationId: string, email: string) =>
  and(eq(apiKeys.organization_id, organizationId), eq(apiKeys.email, email), isNull(apiKeys.revoked_at));

/**
 * Who is an owner no longer may not go on as one: with a key that was made before, by an invitation to another address of
 * theirs, or by rules that wait for the second of two owners. Returns the audit log's detail.
 */
async function endOwnership(tx: Executor, organizationId: string, email: string): Promise<JsonObject> {
  const { organization_id, author_email } = ruleProposals;
  await tx.delete(ruleProposals).where(and(eq(organization_id, organizationId), eq(author_email, email)));
  const keys = await tx
    .update(apiKeys)
    .set({
      scopes: sql`ARRAY(SELECT unnest(${apiKeys.scopes}) EXCEPT SELECT unnest(${sql.param([...ownerScopes])}::text[]))`,
    })
    .where(and(isKeyMadeBy(organizationId, email), arrayOverlaps(apiKeys.scopes, [...ownerScopes])))
    .returning({ id: apiKeys.id });
  const withdrawn = await withdrawInvitationsOf(tx, organizationId, email);
  return {
    ...(keys.length > 0 && { keys_without_owner_scopes: keys.map(({ id }) => id) }),
    ...(withdrawn.length > 0 && { withdrawn_invitations: withdrawn }),
  };
}

export async function changeRole(
  context: AccountsContext,
  person: MemberPrincipal,
  wanted: { userId: string; role: Role },
): Promise<void> {
  const { organizationId } = person;
  const actor = actorOf(person);
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const { member, isLastOwner } = await findMember(tx, organizationId, wanted.userId);
    if (member.role === wanted.role) return;
    if (isLastOwner) throw lastOwner();
    await tx.update(memberships).set({ role: wanted.role }).where(isRole(organizationId, wanted.userId));
    const lost = wanted.role === "owner" ? {} : await endOwnership(tx, organizationId, member.email);
    const detail = { role: wanted.role, ...lost };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "member.role_changed",
      subject: member.email,
      detail,
    });
  });
}

/** Owners remove anyone, members only themselves. `revokeKeys`: also the live keys made under that address. */
export async function removeMember(
  context: AccountsContext,
  person: MemberPrincipal,
  leaving: { userId: string; revokeKeys: boolean },
): Promise<void> {
  const { organizationId } = person;
  const actor = actorOf(person);
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, leaving.userId === person.userId ? "member" : "owner");
    const { member, isLastOwner } = await findMember(tx, organizationId, leaving.userId);
    if (isLastOwner) throw lastOwner();
    await tx.delete(memberships).where(isRole(organizationId, leaving.userId));
    await forgetApprover(tx, organizationId, member.email);
    const revoked = leaving.revokeKeys
      ? await tx
          .update(apiKeys)
          .set({ revoked_at: context.clock() })
          .where(isKeyMadeBy(organizationId, member.email))
          .returning({ id: apiKeys.id })
      : [];
    const detail = {
      revoked_keys: revoked.map(({ id }) => id),
      ...(await endOwnership(tx, organizationId, member.email)),
    };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "member.removed",
      subject: member.email,
      detail,
    });
  });
  await updateRoster(context, organizationId);
}

export async function readOrganization(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const { organizationId } = person;
  const [row] = await db.select().from(organizations).where(eq(organizations.id, organizationId));
  if (!row) throw personNotFound();
  return {
    name: row.name,
    mark: { text: row.mark_text, color: row.mark_color, shown: markOf(row) },
    defaultPublic: row.default_public,
    attestationsPerDay: row.attestations_per_day ?? context.settings.LIMIT_ATTEST_PER_DAY ?? null,
    retention: describeRetention(row),
    createdAt: row.created_at.toISOString(),
    members: await listMembers(db, organizationId),
    invitations: await listInvitations(db, organizationId),
    domains: await listDomains(context, person),
  };
}

export interface OrganizationWish {
  name: string;
  defaultPublic: boolean;
  /** Null: as the name says. */
  markText: string | null;
  markColor: MarkColor | null;
}

export async function updateOrganization(
  context: Context,
  person: MemberPrincipal,
  wanted: OrganizationWish,
): Promise<void> {
  const { organizationId } = person;
  const actor = actorOf(person);
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const { name, defaultPublic, markText, markColor } = wanted;
    const detail = { name, default_public: defaultPublic, mark_text: markText, mark_color: markColor };
    await tx.update(organizations).set(detail).where(eq(organizations.id, organizationId));
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "organization.updated",
      subject: organizationId,
      detail,
    });
  });
}

/** Names the organization and says who may read its attestations, the first step of a new owner. */
export async function nameOrganization(
  context: Context,
  person: MemberPrincipal,
  { name, defaultPublic }: Pick<OrganizationWish, "name" | "defaultPublic">,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const detail = { name, default_public: defaultPublic };
    await tx.update(organizations).set(detail).where(eq(organizations.id, organizationId));
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "organization.updated",
      subject: organizationId,
      detail,
    });
  });
}

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

/** By the service, on behalf of an owner who is no longer one. */
async function cancelPending(context: Context, person: MemberPrincipal): Promise<void> {
  const cancelOne = async (id: string) => cancel(context, await findOpen(context, id), actorOf(person));
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
  const actor = actorOf(person);
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
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
    const gone = await tx
      .delete(memberships)
      .where(eq(memberships.organization_id, organizationId))
      .returning({ userId: memberships.user_id });
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "organization.deleted",
      subject: organizationId,
    });
    await deleteStranded(
      tx,
      gone.map(({ userId }) => userId),
    );
  });
  await updateRoster(context, organizationId);
  await cancelPending(context, person);
}
