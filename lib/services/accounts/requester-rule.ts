/**
 * Separation of duties: whether who asks for an approval may count as one of its approvers. Where no owner has chosen, they
 * may while they are the only person: nobody else could approve. With the second person they may not any more.
 */
import { and, eq, isNull, ne, or, sql } from "drizzle-orm";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approvers, memberships, organizations, users } from "#lib/db/schema";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { holdRole } from "./members";

/** Members and approvers of the selected organization, each address once. */
const isAlone = sql<boolean>`(SELECT count(*) = 1 FROM (
  SELECT lower(${users.email}) FROM ${memberships} JOIN ${users} ON ${users.id} = ${memberships.user_id}
    WHERE ${memberships.organization_id} = ${organizations.id}
  UNION SELECT lower(one.email) FROM ${approvers} AS one
    WHERE one.organization_id = ${organizations.id} AND one.name IS NOT NULL AND one.status <> 'removed'
      AND one.email IS NOT NULL
) AS people)`;

/** A column of a select from `organizations`. */
export const requesterMayApprove = sql<boolean>`(${organizations.requester_may_approve}
  OR ${organizations.requester_rule_chosen_at} IS NULL AND ${isAlone})`;

export interface RequesterRule {
  mayApprove: boolean;
  /** False: it follows from how many people there are. */
  isChosen: boolean;
}

export async function readRequesterRule(executor: Executor, organizationId: string): Promise<RequesterRule> {
  const [row] = await executor
    .select({ mayApprove: requesterMayApprove, chosenAt: organizations.requester_rule_chosen_at })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return { mayApprove: row?.mayApprove ?? false, isChosen: row?.chosenAt != null };
}

/** For requests that are made from now on. */
export async function setRequesterMayApprove(
  context: AccountsContext,
  person: MemberPrincipal,
  mayApprove: boolean,
): Promise<void> {
  const { organizationId } = person;
  const isOther = or(
    ne(organizations.requester_may_approve, mayApprove),
    isNull(organizations.requester_rule_chosen_at),
  );
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "settings");
    const changed = await tx
      .update(organizations)
      .set({ requester_may_approve: mayApprove, requester_rule_chosen_at: context.clock() })
      .where(and(eq(organizations.id, organizationId), isOther))
      .returning({ id: organizations.id });
    if (changed.length === 0) return;
    await recordAudit(context, tx, {
      organizationId,
      actor: toActor(person),
      action: "organization.requester_rule",
      subject: organizationId,
      detail: { requester_may_approve: mayApprove },
    });
  });
}
