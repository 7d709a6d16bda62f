/**
 * Does at once as the company's directory says about a person's access. Who is activated becomes a member if the organization
 * has verified the domain of their address: the key speaks for nobody else. Who is deactivated loses sessions, API keys, the
 * membership and their places as approver in the transaction that says so, and comes back only by the directory.
 */
import { and, eq, isNotNull } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { memberships, organizationDomains, sessions, users } from "#lib/db/schema";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { describeWithdrawn, forgetApprover } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import { endMembership, revokeKeysMadeBy } from "#lib/services/accounts/change-role";
import type { AccountsContext } from "#lib/services/accounts/context";
import { hasRoom, requireFewOrganizations, withdrawInvitationsTo } from "#lib/services/accounts/invitations";
import { listMemberships } from "#lib/services/accounts/members";
import { readDomain } from "#lib/services/accounts/sign-up";

interface Of {
  organizationId: string;
  email: string;
  actor: Actor;
}

export async function isOwnDomain(
  executor: Executor,
  organizationId: string,
  email: string,
): Promise<boolean> {
  const [found] = await executor
    .select({ id: organizationDomains.id })
    .from(organizationDomains)
    .where(
      and(
        eq(organizationDomains.organization_id, organizationId),
        eq(organizationDomains.domain, readDomain(email)),
        isNotNull(organizationDomains.verified_since),
      ),
    );
  return found !== undefined;
}

async function findMember(tx: Executor, { organizationId, email }: Of): Promise<string | null> {
  const [member] = await tx
    .select({ userId: users.id })
    .from(users)
    .innerJoin(memberships, eq(memberships.user_id, users.id))
    .where(and(eq(users.email, email), eq(memberships.organization_id, organizationId)));
  return member?.userId ?? null;
}

export type Admission = "member" | "unverified_domain" | "organization_full";

/** `userId`: of their account, which is held; null where the domain isn't the organization's. Under its lock. */
export async function admitPerson(
  context: AccountsContext,
  tx: Executor,
  of: Of,
  userId: string | null,
): Promise<Admission> {
  const { organizationId, email, actor } = of;
  if ((await findMember(tx, of)) !== null) return "member";
  if (userId === null) return "unverified_domain";
  if (!(await hasRoom(tx, organizationId))) return "organization_full";
  await requireFewOrganizations(tx, userId);
  await tx.insert(memberships).values({ organization_id: organizationId, user_id: userId, role: "member" });
  await recordAudit(context, tx, {
    organizationId,
    actor,
    action: "member.joined",
    subject: email,
    detail: { role: "member", by_directory: true },
  });
  return "member";
}

/** For the audit log. The caller updates the roster after the commit. Under the organization's lock. */
export async function endAccess(context: AccountsContext, tx: Executor, of: Of): Promise<JsonObject> {
  const { organizationId, email, actor } = of;
  const invited = await withdrawInvitationsTo(tx, organizationId, email);
  const detail: JsonObject = {
    by_directory: true,
    ...(invited.length > 0 && { withdrawn_invitations: true }),
  };
  const userId = await findMember(tx, of);
  if (userId === null) {
    // An approver may belong to no organization, and a former member's keys may have been left to work.
    const revoked_keys = await revokeKeysMadeBy(context, tx, organizationId, email);
    const withdrawn = await forgetApprover(tx, organizationId, email, "deactivated");
    return { ...detail, revoked_keys, ...describeWithdrawn(withdrawn) };
  }
  const how = { revokeKeys: true, as: "deactivated" } as const;
  await endMembership(context, tx, how, { organizationId, userId, actor, detail });
  // A session is the person's in all organizations: a guest's other ones keep it, for their address isn't this one's to end.
  const isOurs = await isOwnDomain(tx, organizationId, email);
  if (!isOurs && (await listMemberships(tx, userId)).length > 0) return { ...detail, sessions: 0 };
  const ended = await tx
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ userId: sessions.userId });
  return { ...detail, sessions: ended.length };
}
