/** Separation of duties: whether who asks for an approval may count as one of its approvers. */
import { and, eq, ne } from "drizzle-orm";
import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { organizations } from "#lib/db/schema";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { holdRole } from "./members";

export async function mayRequesterApprove(executor: Executor, organizationId: string): Promise<boolean> {
  const [row] = await executor
    .select({ mayApprove: organizations.requester_may_approve })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return row?.mayApprove ?? false;
}

/** For requests that are made from now on. */
export async function setRequesterMayApprove(
  context: AccountsContext,
  person: MemberPrincipal,
  mayApprove: boolean,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const changed = await tx
      .update(organizations)
      .set({ requester_may_approve: mayApprove })
      .where(and(eq(organizations.id, organizationId), ne(organizations.requester_may_approve, mayApprove)))
      .returning({ id: organizations.id });
    if (changed.length === 0) return;
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "organization.requester_rule",
      subject: organizationId,
      detail: { requester_may_approve: mayApprove },
    });
  });
}
