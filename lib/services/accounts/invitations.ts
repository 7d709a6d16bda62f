/**
 * Invitations of colleagues by email. Only the mail has the token; the database has its SHA-256. It works once, within seven
 * days, and only for a person who is signed in with the invited address.
 */

import { and, count, desc, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import { type MemberPrincipal, toActor, type UserPrincipal } from "#lib/api/http/context";
import type { Role } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { invitations, memberships, organizations, users } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { base64UrlEncode, sha256, utf8Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { describeWithdrawn, forgetApprover } from "./approvers";
import { recordAct, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { invitationMail } from "./mails";
import { holdRole, personNotFound } from "./members";
import { lockOrganization, requireNotDeactivated } from "./organizations";

const lifetimeDays = 7;
const maxMembers = 100;
const maxOrganizations = 50;

const hashToken = (token: string) => sha256(utf8Encode(token));

const isOpen = and(isNull(invitations.accepted_at), gt(invitations.expires_at, sql`now()`));

export async function listInvitations(executor: Executor, organizationId: string) {
  const rows = await executor
    .select()
    .from(invitations)
    .where(and(eq(invitations.organization_id, organizationId), isOpen))
    .orderBy(desc(invitations.id))
    .limit(100);
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    role: row.role,
    invitedBy: row.invited_by,
    expiresAt: row.expires_at.toISOString(),
  }));
}

async function requireNewcomer(tx: Executor, organizationId: string, email: string): Promise<void> {
  const [member] = await tx
    .select({ id: users.id })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(and(eq(memberships.organization_id, organizationId), eq(users.email, email)));
  if (member) throw fieldError("validation_error", "email", "already belongs to a member");
}

/** Members and open invitations are listed whole. Under the organization's lock, so that invitations made at once count. */
export async function hasRoom(tx: Executor, organizationId: string): Promise<boolean> {
  const [members] = await tx
    .select({ count: count() })
    .from(memberships)
    .where(eq(memberships.organization_id, organizationId));
  const [invited] = await tx
    .select({ count: count() })
    .from(invitations)
    .where(and(eq(invitations.organization_id, organizationId), isOpen));
  return (members?.count ?? 0) + (invited?.count ?? 0) < maxMembers;
}

async function requireRoom(tx: Executor, organizationId: string): Promise<void> {
  if (await hasRoom(tx, organizationId)) return;
  throw new AppError(
    "validation_error",
    `an organization can have ${maxMembers} members, including open invitations; remove a member or withdraw an invitation first`,
  );
}

/** The organizations of a person are listed whole too. Their account is held: it may end with the last of them. */
export async function requireFewOrganizations(tx: Executor, userId: string): Promise<void> {
  const [held] = await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
  if (held === undefined) throw personNotFound();
  const [joined] = await tx
    .select({ count: count() })
    .from(memberships)
    .where(eq(memberships.user_id, userId));
  if ((joined?.count ?? 0) < maxOrganizations) return;
  throw new AppError(
    "validation_error",
    `you already belong to ${maxOrganizations} organizations, which is the maximum; leave one first`,
  );
}

/** An earlier invitation of the same address no longer works. */
export async function inviteMember(
  context: AccountsContext,
  person: MemberPrincipal,
  invited: { email: string; role: Role },
): Promise<void> {
  const { organizationId } = person;
  const now = context.clock();
  const token = base64UrlEncode(context.random(32));
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    await requireNewcomer(tx, organizationId, invited.email);
    await requireNotDeactivated(tx, organizationId, invited.email);
    await tx
      .delete(invitations)
      .where(and(eq(invitations.organization_id, organizationId), eq(invitations.email, invited.email)));
    await requireRoom(tx, organizationId);
    await tx.insert(invitations).values({
      id: uuidV7(now.getTime(), context.random(16)),
      organization_id: organizationId,
      ...invited,
      token_hash: hashToken(token),
      invited_by: person.email,
      created_at: now,
      // Set by the clock that it will be compared with.
      expires_at: sql`now() + make_interval(days => ${lifetimeDays})`,
    });
    const detail = { role: invited.role };
    await recordAct(context, tx, person, { action: "member.invited", subject: invited.email, detail });
  });
  const link = `${context.settings.baseUrl}/portal/invitations/${token}`;
  const [organization] = await context.database.db
    .select({ name: organizations.name })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  const facts = { invitedBy: person.email, organizationName: organization?.name ?? null, lifetimeDays };
  await context.mailer.send(invitationMail(invited.email, link, facts));
}

async function withdraw(tx: Executor, organizationId: string, which: SQL): Promise<string[]> {
  const gone = await tx
    .delete(invitations)
    .where(and(eq(invitations.organization_id, organizationId), which, isNull(invitations.accepted_at)))
    .returning({ email: invitations.email });
  return gone.map(({ email }) => email);
}

/** Withdraws all that the person got. */
export const withdrawInvitationsTo = (tx: Executor, organizationId: string, email: string) =>
  withdraw(tx, organizationId, eq(invitations.email, email));

/** Withdraws all that the person has sent. */
export const withdrawInvitations = (tx: Executor, organizationId: string, email: string) =>
  withdraw(tx, organizationId, eq(invitations.invited_by, email));

export async function withdrawInvitation(
  context: AccountsContext,
  person: MemberPrincipal,
  invitationId: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const [email] = await withdraw(tx, organizationId, eq(invitations.id, invitationId));
    if (email === undefined) throw personNotFound();
    const action = "member.invitation_withdrawn";
    await recordAct(context, tx, person, { action, subject: email });
  });
}

/** Changes nothing: mail scanners open links. Null for a token that does not work or works no more. */
export async function readInvitation(context: AccountsContext, token: string) {
  const [row] = await context.database.db
    .select({
      email: invitations.email,
      role: invitations.role,
      invitedBy: invitations.invited_by,
      organizationName: organizations.name,
    })
    .from(invitations)
    .innerJoin(organizations, eq(organizations.id, invitations.organization_id))
    .where(and(eq(invitations.token_hash, hashToken(token)), isOpen, isNull(organizations.deleted_at)));
  return row ?? null;
}

/** Answers the organization that was joined. Of two attempts at once one succeeds. */
export async function acceptInvitation(
  context: AccountsContext,
  user: UserPrincipal,
  token: string,
): Promise<string> {
  const isIt = and(eq(invitations.token_hash, hashToken(token)), isOpen);
  return context.database.db.transaction(async (tx) => {
    const [found] = await tx.select().from(invitations).where(isIt);
    if (!found) throw personNotFound();
    if (found.email !== user.email) throw new AppError("forbidden", "this invitation is for another address");
    const { organization_id: organizationId, role, invited_by } = found;
    await requireFewOrganizations(tx, user.userId);
    // Locked before the invitation, in inviteMember's order: else each could wait for the other.
    await lockOrganization(tx, organizationId);
    const accepted = await tx
      .update(invitations)
      .set({ accepted_at: context.clock() })
      .where(isIt)
      .returning({ id: invitations.id });
    if (accepted.length === 0) throw personNotFound();
    await tx
      .insert(memberships)
      .values({ organization_id: organizationId, user_id: user.userId, role })
      .onConflictDoNothing();
    const withdrawn = role === "auditor" ? await forgetApprover(tx, organizationId, user.email) : [];
    await recordAudit(context, tx, {
      organizationId,
      actor: toActor(user),
      action: "member.joined",
      subject: user.email,
      detail: { role, invited_by, ...describeWithdrawn(withdrawn) },
    });
    return organizationId;
  });
}
