/**
 * The link in an approver's mails: to accept, to decline, to unsubscribe and to come back. It belongs to one address
 * and one organization, and needs no account: whoever reads the mail has the address.
 */

import { and, eq, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import { isUuid } from "#lib/core/encoding/uuid";
import { approvers, organizations } from "#lib/db/schema";
import { makeToken, readToken } from "#lib/http/link-token";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { personNotFound } from "./members";

/** For which a link that asks can be accepted, and in which an address is asked once. */
export const confirmationDays = 7;

export function approverUrl({ secrets, settings }: AccountsContext, approverId: string): string {
  return `${settings.baseUrl}/notices/${makeToken(secrets.approverLink, approverId)}`;
}

const isFresh = sql`${approvers.invited_at} > now() - make_interval(days => ${confirmationDays})`;

/** Someone who left comes back whenever they want; someone who was asked has some days. */
const mayConfirm = or(eq(approvers.status, "left"), and(eq(approvers.status, "invited"), isFresh));

function idOf({ secrets }: AccountsContext, token: string): string {
  const id = readToken(secrets.approverLink, token);
  if (id === null || !isUuid(id)) throw personNotFound();
  return id;
}

/** Changes nothing: mail scanners open links. */
export async function readApproverLink(context: AccountsContext, token: string) {
  const [row] = await context.database.db
    .select({
      email: approvers.email,
      status: approvers.status,
      mayConfirm: sql<boolean>`coalesce(${mayConfirm}, false)`,
      organizationName: organizations.name,
    })
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(
      and(
        eq(approvers.id, idOf(context, token)),
        isNotNull(approvers.email),
        isNull(organizations.deleted_at),
      ),
    );
  if (!row || row.status === "removed") throw personNotFound();
  return row;
}

/** Once: a second attempt finds nothing to change. */
async function changeStatus(
  context: AccountsContext,
  token: string,
  wanted: { from: SQL | undefined; to: "confirmed" | "left"; ip: string },
): Promise<void> {
  const id = idOf(context, token);
  await context.database.db.transaction(async (tx) => {
    const [changed] = await tx
      .update(approvers)
      .set({ status: wanted.to })
      .where(and(eq(approvers.id, id), isNotNull(approvers.email), wanted.from))
      .returning({ organizationId: approvers.organization_id, email: approvers.email });
    if (!changed) return;
    const email = changed.email ?? "";
    await recordAudit(context, tx, {
      organizationId: changed.organizationId,
      actor: { kind: "human", id: email, ip: wanted.ip },
      action: `approver.${wanted.to}`,
      subject: email,
    });
  });
}

export const acceptApproverLink = (context: AccountsContext, token: string, ip: string) =>
  changeStatus(context, token, { from: mayConfirm, to: "confirmed", ip });

export const leaveByLink = (context: AccountsContext, token: string, ip: string) =>
  changeStatus(context, token, {
    from: or(eq(approvers.status, "invited"), eq(approvers.status, "confirmed")),
    to: "left",
    ip,
  });
