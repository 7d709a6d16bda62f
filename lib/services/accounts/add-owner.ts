/** An owner by the operator's command: the first of a service whose sign-up is closed, or one more. */
import { and, eq, isNull } from "drizzle-orm";
import { memberships, organizations } from "#lib/db/schema";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { createOrganization, holdOrCreateUser, lockOrganization } from "./organizations";

type CommandContext = Pick<AccountsContext, "database" | "clock" | "random"> & {
  settings: Pick<AccountsContext["settings"], "DEFAULT_VISIBILITY">;
};

const actor = { kind: "system", id: "operator", ip: null } as const;

/** `of`: an organization's id, or the name of a new one. Null if there is no such organization. */
export async function addOwner(
  context: CommandContext,
  email: string,
  of: { organizationId: string } | { name: string | null },
): Promise<string | null> {
  return context.database.db.transaction(async (tx) => {
    if ("name" in of) {
      const organizationId = await createOrganization(
        context,
        tx,
        await holdOrCreateUser(context, tx, email),
        of.name,
      );
      const created = { organizationId, actor, subject: organizationId, detail: { owner: email } };
      await recordAudit(context, tx, { ...created, action: "organization.created" });
      return organizationId;
    }
    const { organizationId } = of;
    await lockOrganization(tx, organizationId);
    const [found] = await tx
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(eq(organizations.id, organizationId), isNull(organizations.deleted_at)));
    if (found === undefined) return null;
    await tx
      .insert(memberships)
      .values({
        organization_id: organizationId,
        user_id: await holdOrCreateUser(context, tx, email),
        role: "owner",
      })
      .onConflictDoUpdate({
        target: [memberships.organization_id, memberships.user_id],
        set: { role: "owner" },
      });
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "member.joined",
      subject: email,
      detail: { role: "owner" },
    });
    return organizationId;
  });
}
