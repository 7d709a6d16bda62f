/** Who belongs to an organization. It always has an owner: every change of roles waits for the organization's lock. */
import { and, asc, count, eq, gt, isNull, or, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { apiKeys, memberships, organizations, users } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { recordAudit } from "./audit";
import type { Context } from "./context";
import { type Person, personNotFound, type Role, requireRole } from "./members";

const isLiveKey = and(
  isNull(apiKeys.revoked_at),
  or(isNull(apiKeys.expires_at), gt(apiKeys.expires_at, sql`now()`)),
);

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

/** Without this lock two owners could step down at once and leave none. */
async function lockOrganization(tx: Executor, organizationId: string): Promise<void> {
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("update");
}

async function findMember(tx: Executor, organizationId: string, userId: string) {
  const members = await listMembers(tx, organizationId);
  const member = members.find((one) => one.userId === userId);
  if (!member) throw personNotFound();
  const owners = members.filter(({ role }) => role === "owner");
  return { member, isLastOwner: member.role === "owner" && owners.length === 1 };
}

const lastOwner = () =>
  new AppError("validation_error", "the organization needs an owner: make another member one first");

const isRole = (organizationId: string, userId: string) =>
  and(eq(memberships.organization_id, organizationId), eq(memberships.user_id, userId));

export async function changeRole(
  context: Context,
  person: Person,
  wanted: { userId: string; role: Role },
): Promise<void> {
  const { organizationId, actor } = person;
  await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await requireRole(tx, person, "owner");
    const { member, isLastOwner } = await findMember(tx, organizationId, wanted.userId);
    if (member.role === wanted.role) return;
    if (isLastOwner) throw lastOwner();
    await tx.update(memberships).set({ role: wanted.role }).where(isRole(organizationId, wanted.userId));
    const detail = { role: wanted.role };
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
  context: Context,
  person: Person,
  leaving: { userId: string; revokeKeys: boolean },
): Promise<void> {
  const { organizationId, actor } = person;
  await context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await requireRole(tx, person, leaving.userId === person.userId ? "member" : "owner");
    const { member, isLastOwner } = await findMember(tx, organizationId, leaving.userId);
    if (isLastOwner) throw lastOwner();
    await tx.delete(memberships).where(isRole(organizationId, leaving.userId));
    const revoked = leaving.revokeKeys
      ? await tx
          .update(apiKeys)
          .set({ revoked_at: context.clock() })
          .where(
            and(
              eq(apiKeys.organization_id, organizationId),
              eq(apiKeys.email, member.email),
              isNull(apiKeys.revoked_at),
            ),
          )
          .returning({ id: apiKeys.id })
      : [];
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "member.removed",
      subject: member.email,
      detail: { revoked_keys: revoked.map(({ id }) => id) },
    });
  });
}
