/** The organization's settings, and its end. */

import { and, eq, inArray, isNull, notExists } from "drizzle-orm";
import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
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
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import type { MarkColor } from "#lib/protocol/text/organization-logo";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { holdPeople } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import { listDomains } from "#lib/services/accounts/domains";
import { listInvitations } from "#lib/services/accounts/invitations";
import { holdRole, personNotFound, requireRole } from "#lib/services/accounts/members";
import { markOf } from "#lib/services/accounts/organization-identity";
import { updateRoster } from "#lib/services/accounts/roster";
import { noDetails } from "#lib/services/accounts/roster-state";
import type { Context } from "#lib/services/approvals/context";
import { cancel, findOpen } from "#lib/services/approvals/decision/decide";
import { listMembers } from "./organization-members";

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
