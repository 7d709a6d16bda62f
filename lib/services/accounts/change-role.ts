/**
 * Ends what a person may not go on with when their role in an organization changes or ends. All of it happens under the
 * organization's lock: it always has an owner, and two could step down at once.
 */
import { and, arrayOverlaps, count, eq, isNull, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import { ownerScopes, type Role } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys, memberships, openingLinks, ruleProposals, users } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { describeWithdrawn, forgetApprover } from "./approvers";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { withdrawInvitations } from "./invitations";
import { mayAct, personNotFound } from "./members";

type ChangeContext = Pick<AccountsContext, "clock" | "random">;

const isRole = (organizationId: string, userId: string) =>
  and(eq(memberships.organization_id, organizationId), eq(memberships.user_id, userId));

async function findMember(tx: Executor, organizationId: string, userId: string) {
  const [member] = await tx
    .select({ email: users.email, role: memberships.role, roleBy: memberships.role_by })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(isRole(organizationId, userId));
  if (member === undefined) throw personNotFound();
  return member;
}

async function requireOtherOwner(tx: Executor, organizationId: string): Promise<void> {
  const [owners] = await tx
    .select({ count: count() })
    .from(memberships)
    .where(and(eq(memberships.organization_id, organizationId), eq(memberships.role, "owner")));
  if ((owners?.count ?? 0) < 2)
    throw new AppError(
      "validation_error",
      "the organization needs an owner; make another member an owner first",
    );
}

const isKeyMadeBy = (organizationId: string, email: string) =>
  and(eq(apiKeys.organization_id, organizationId), eq(apiKeys.email, email), isNull(apiKeys.revoked_at));

/**
 * Ends what a former owner could go on with as one: a key that was made before, an invitation to another address of theirs, or
 * rules that wait for the second of two owners. Returns the audit log's detail.
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
  const withdrawn = await withdrawInvitations(tx, organizationId, email);
  return {
    ...(keys.length > 0 && { keys_without_owner_scopes: keys.map(({ id }) => id) }),
    ...(withdrawn.length > 0 && { withdrawn_invitations: withdrawn }),
  };
}

export async function revokeKeysMadeBy(
  context: ChangeContext,
  tx: Executor,
  organizationId: string,
  email: string,
): Promise<string[]> {
  const revoked = await tx
    .update(apiKeys)
    .set({ revoked_at: context.clock() })
    .where(isKeyMadeBy(organizationId, email))
    .returning({ id: apiKeys.id });
  return revoked.map(({ id }) => id);
}

/** A key acts as its maker's role did: who may no longer write keeps none. An auditor decides nothing either. */
async function endRights(
  context: ChangeContext,
  tx: Executor,
  organizationId: string,
  { email, role }: { email: string; role: Role },
): Promise<JsonObject> {
  if (role === "owner") return {};
  const lost = await endOwnership(tx, organizationId, email);
  const withdrawn = role === "auditor" ? await forgetApprover(tx, organizationId, email) : [];
  if (mayAct(role, "operate")) return lost;
  const revoked = await revokeKeysMadeBy(context, tx, organizationId, email);
  return { ...lost, ...describeWithdrawn(withdrawn), ...(revoked.length > 0 && { revoked_keys: revoked }) };
}

export interface RoleChange {
  organizationId: string;
  userId: string;
  actor: Actor;
  /** The provider's group that gives the role; absent: a person does. */
  roleBy?: string | null;
  detail?: JsonObject;
}

/** Runs under the organization's lock. The caller updates the roster after the commit. */
export async function setRole(
  context: ChangeContext,
  tx: Executor,
  role: Role,
  { organizationId, userId, actor, roleBy = null, detail }: RoleChange,
): Promise<void> {
  const member = await findMember(tx, organizationId, userId);
  if (member.role === role && member.roleBy === roleBy) return;
  if (member.role === role)
    return void (await tx.update(memberships).set({ role_by: roleBy }).where(isRole(organizationId, userId)));
  if (member.role === "owner") await requireOtherOwner(tx, organizationId);
  await tx.update(memberships).set({ role, role_by: roleBy }).where(isRole(organizationId, userId));
  const lost = await endRights(context, tx, organizationId, { email: member.email, role });
  await recordAudit(context, tx, {
    organizationId,
    actor,
    action: "member.role_changed",
    subject: member.email,
    detail: { role, ...lost, ...detail },
  });
}

/** Runs under the organization's lock. The caller updates the roster after the commit. */
export async function endMembership(
  context: ChangeContext,
  tx: Executor,
  { revokeKeys, as = "removed" }: { revokeKeys: boolean; as?: "removed" | "deactivated" },
  { organizationId, userId, actor, detail }: RoleChange,
): Promise<void> {
  const { email, role } = await findMember(tx, organizationId, userId);
  if (role === "owner") await requireOtherOwner(tx, organizationId);
  await tx.delete(memberships).where(isRole(organizationId, userId));
  const withdrawn = await forgetApprover(tx, organizationId, email, as);
  const revoked = revokeKeys ? await revokeKeysMadeBy(context, tx, organizationId, email) : [];
  const links = await tx
    .update(openingLinks)
    .set({ revoked_at: context.clock() })
    .where(
      and(
        eq(openingLinks.organization_id, organizationId),
        eq(openingLinks.user_id, userId),
        isNull(openingLinks.revoked_at),
      ),
    )
    .returning({ id: openingLinks.id });
  await recordAudit(context, tx, {
    organizationId,
    actor,
    action: "member.removed",
    subject: email,
    detail: {
      revoked_keys: revoked,
      ...(await endOwnership(tx, organizationId, email)),
      ...describeWithdrawn(withdrawn),
      ...(links.length > 0 && { revoked_links: links.map(({ id }) => id) }),
      ...detail,
    },
  });
}
