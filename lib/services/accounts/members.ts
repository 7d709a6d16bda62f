/**
 * People and what they may do. Every service of the portal asks here first: a stranger gets the answer of an unknown
 * id, a role that is too low gets 403.
 */
import { and, asc, eq, isNull } from "drizzle-orm";
import { type Actor, actorOf, type MemberPrincipal, type UserPrincipal } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { memberships, organizations, users } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { findOrCreateOrganization, lockOrganization } from "./organizations";
import { maySignUp } from "./sign-up";

export type Role = "owner" | "member";

export const personNotFound = () => new AppError("not_found", "nothing exists with this id");

/** With the organizations that the person belongs to, oldest membership first. */
export async function listMemberships(executor: Executor, userId: string) {
  return executor
    .select({
      organizationId: organizations.id,
      name: organizations.name,
      role: memberships.role,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(and(eq(memberships.user_id, userId), isNull(organizations.deleted_at)))
    .orderBy(asc(memberships.created_at), asc(organizations.id));
}

export type MembershipView = Awaited<ReturnType<typeof listMemberships>>[number];

/**
 * At least one where the person may sign up: who has none gets an organization of their own, the one that the API would use
 * for the address. None of an account that has just ended.
 */
export async function ensureMemberships(
  context: AccountsContext,
  person: UserPrincipal,
): Promise<MembershipView[]> {
  const { db } = context.database;
  const existing = await listMemberships(db, person.userId);
  if (existing.length > 0 || !maySignUp(context, person.email)) return existing;
  await db.transaction(async (tx) => {
    const [held] = await tx
      .select({ id: users.id })
      .from(users)
      .where(eq(users.id, person.userId))
      .for("update");
    if (held === undefined || (await listMemberships(tx, person.userId)).length > 0) return;
    const { organizationId } = await findOrCreateOrganization(context, tx, person.email);
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "organization.created",
      subject: organizationId,
    });
  });
  return listMemberships(db, person.userId);
}

/** The person's role; throws 404 for strangers and 403 for members if an owner is needed. */
export async function requireRole(executor: Executor, person: MemberPrincipal, needed: Role): Promise<Role> {
  const [row] = await executor
    .select({ role: memberships.role })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(
      and(
        eq(memberships.organization_id, person.organizationId),
        eq(memberships.user_id, person.userId),
        isNull(organizations.deleted_at),
      ),
    );
  if (!row) throw personNotFound();
  if (needed === "owner" && row.role !== "owner")
    throw new AppError("forbidden", "only an owner of the organization can do this");
  return row.role;
}

/** The same for what a transaction is about to do: the role holds until its commit. Comes before any other lock. */
export async function holdRole(tx: Executor, person: MemberPrincipal, needed: Role): Promise<Role> {
  await lockOrganization(tx, person.organizationId);
  return requireRole(tx, person, needed);
}

/** One line in the audit log of each organization that the person belongs to. */
export async function recordSignIn(
  context: AccountsContext,
  userId: string,
  from: { ip: string | null; session: string },
): Promise<void> {
  const { db } = context.database;
  const [user] = await db.select({ email: users.email }).from(users).where(eq(users.id, userId));
  if (!user) return;
  const actor: Actor = { kind: "user", id: user.email, ...from };
  for (const { organizationId } of await listMemberships(db, userId)) {
    await recordAudit(context, db, { organizationId, actor, action: "session.started", subject: user.email });
  }
}
