/**
 * The link in an approver's mails: to accept, to decline, to unsubscribe and to come back. It belongs to one address
 * and one organization, and needs no account: a reader of the mail has the address.
 */

import { and, eq, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import { makeToken, readToken } from "#lib/api/http/link-token";
import { approvers, organizations } from "#lib/db/schema";
import { isUuid } from "#lib/protocol/encoding/uuid";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { personNotFound } from "./members";
import { updateRoster } from "./roster";

/** For which a link that asks can be accepted, and in which an address is asked once. */
export const confirmationDays = 7;

const urlOf = ({ secrets, settings }: AccountsContext, id: string) =>
  `${settings.baseUrl}/notices/${makeToken(secrets.approverLink, id)}`;

/** In the mail that asks, and in no other: for some days it enrols the first passkey. */
export const approverUrl = (context: AccountsContext, approverId: string) => urlOf(context, approverId);

/** In every later mail, which may be forwarded. */
export const noticeUrl = (context: AccountsContext, approverId: string) => urlOf(context, `${approverId}_0`);

const isFresh = sql`${approvers.invited_at} > now() - make_interval(days => ${confirmationDays})`;

/** Someone who left comes back whenever they want; someone who was asked has some days. */
const mayConfirm = or(eq(approvers.status, "left"), and(eq(approvers.status, "invited"), isFresh));

/** A link for passkeys has its end in it: the reader of an old mail must not become an approver by it. */
const freshMinutes = 30;

export function passkeyUrl(context: AccountsContext, approverId: string): string {
  const until = Math.floor(context.clock().getTime() / 1000) + freshMinutes * 60;
  return urlOf(context, `${approverId}_${until}`);
}

/** `freshUntil`: seconds since 1970; 0 for a link that never is, null for that of the mail that asks. */
export function readApproverToken({ secrets }: AccountsContext, token: string) {
  const [, id = "", until] =
    /^([0-9a-f-]{36})(?:_(\d{1,12}))?$/.exec(readToken(secrets.approverLink, token) ?? "") ?? [];
  if (!isUuid(id)) throw personNotFound();
  return { id, freshUntil: until === undefined ? null : Number(until) };
}

const idOf = (context: AccountsContext, token: string) => readApproverToken(context, token).id;

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
  const organizationId = await context.database.db.transaction(async (tx) => {
    const [changed] = await tx
      .update(approvers)
      .set({ status: wanted.to })
      .where(and(eq(approvers.id, id), isNotNull(approvers.email), wanted.from))
      .returning({ organizationId: approvers.organization_id, email: approvers.email });
    if (!changed) return null;
    const email = changed.email ?? "";
    await recordAudit(context, tx, {
      organizationId: changed.organizationId,
      actor: { kind: "human", id: email, ip: wanted.ip },
      action: `approver.${wanted.to}`,
      subject: email,
    });
    return changed.organizationId;
  });
  if (organizationId !== null) await updateRoster(context, organizationId);
}

export const acceptApproverLink = (context: AccountsContext, token: string, ip: string) =>
  changeStatus(context, token, { from: mayConfirm, to: "confirmed", ip });

export const leaveByLink = (context: AccountsContext, token: string, ip: string) =>
  changeStatus(context, token, {
    from: or(eq(approvers.status, "invited"), eq(approvers.status, "confirmed")),
    to: "left",
    ip,
  });
