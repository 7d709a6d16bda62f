/**
 * Who belongs to an organization. It always has an owner: every change of roles waits for the organization's lock,
 * without which two owners could step down at once and leave none.
 */

import { and, arrayOverlaps, asc, count, eq, isNull, sql } from "drizzle-orm";
import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import { ownerScopes } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys, memberships, ruleProposals, users } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { forgetApprover } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { withdrawInvitationsOf } from "#lib/services/accounts/invitations";
import { holdRole, personNotFound, type Role } from "#lib/services/accounts/members";
import { updateRoster } from "#lib/services/accounts/roster";
import { isLiveKey } from "#lib/services/keys/api-keys";

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
