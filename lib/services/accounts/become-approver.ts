/** An owner who approves by themselves, in one step: an approver under their own address, and a group with them alone. */
import { and, eq, isNotNull, isNull, ne } from "drizzle-orm";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { approvers } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { chooseDefaultGroup, findGroupIds, saveGroup } from "./approver-groups";
import { storeApprover } from "./approvers";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { holdRole } from "./members";

/** Name of the group. */
const ownGroup = "me";

async function findOwn(tx: Executor, { organizationId, email }: MemberPrincipal) {
  const [own] = await tx
    .select({ id: approvers.id, status: approvers.status })
    .from(approvers)
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        eq(approvers.email, email),
        isNotNull(approvers.name),
        ne(approvers.status, "removed"),
      ),
    );
  return own;
}

/** The part before the @, or all of the address if another approver or group is called that. */
export async function storeUnderOwnName(
  context: AccountsContext,
  tx: Executor,
  { organizationId, email }: Pick<MemberPrincipal, "organizationId" | "email">,
): Promise<string> {
  const name = email.slice(0, email.lastIndexOf("@")).slice(0, 64);
  try {
    return (await storeApprover(context, tx, organizationId, { name, email })).id;
  } catch (error) {
    const isTaken = error instanceof AppError && error.errors?.[0]?.pointer === "/name";
    if (!isTaken) throw error;
    return (await storeApprover(context, tx, organizationId, { name: email.slice(0, 64), email })).id;
  }
}

/** The approver's id. Nobody is mailed: the person has signed in with the address. */
export async function becomeApprover(context: AccountsContext, person: MemberPrincipal): Promise<string> {
  const { organizationId, email } = person;
  const { db } = context.database;
  const id = await db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const own = await findOwn(tx, person);
    if (own?.status === "confirmed") return own.id;
    const stored = own?.id ?? (await storeUnderOwnName(context, tx, person));
    await tx.update(approvers).set({ status: "confirmed" }).where(eq(approvers.id, stored));
    await recordAudit(context, tx, {
      organizationId,
      actor: toActor(person),
      action: "approver.added",
      subject: email,
      detail: { by_themselves: true },
    });
    return stored;
  });
  const [group] = await db
    .select({ id: approvers.id })
    .from(approvers)
    .where(and(eq(approvers.organization_id, organizationId), isNull(approvers.email)))
    .limit(1);
  // Groups that are there already are the organization's own order.
  if (group !== undefined) return id;
  await saveGroup(context, person, { id: null, name: ownGroup, memberIds: [id] });
  const made = (await findGroupIds(db, organizationId, [ownGroup])).get(ownGroup);
  if (made !== undefined) await chooseDefaultGroup(context, person, made);
  return id;
}
