/** Which emails each person wants, for each organization that they belong to or are an approver of. */

import { and, eq, isNull } from "drizzle-orm";
import type { UserPrincipal } from "#lib/api/http/principal";
import { approvers, organizations } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import type { AccountsContext } from "./context";
import { holdRole, listMemberships, personNotFound } from "./members";

export interface NoticeSettings {
  /** Which requests that wait; `all`: members only. */
  requests: "all" | "named" | "none";
  decisions: boolean;
  /** Once, before a request expires. */
  reminders: boolean;
}

const off: NoticeSettings = { requests: "none", decisions: false, reminders: false };
const usual: NoticeSettings = { requests: "named", decisions: false, reminders: false };

export async function listNoticeSettings(context: AccountsContext, user: UserPrincipal) {
  const { db } = context.database;
  const memberships = await listMemberships(db, user.userId);
  const rows = await db
    .select({
      organizationId: approvers.organization_id,
      organizationName: organizations.name,
      status: approvers.status,
      requests: approvers.requests,
      decisions: approvers.decisions,
      reminders: approvers.reminders,
    })
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.email, user.email), isNull(organizations.deleted_at)));
  const settingsOf = (row: (typeof rows)[number] | undefined): NoticeSettings => {
    if (row === undefined) return usual;
    const { status, requests, decisions, reminders } = row;
    return status === "left" ? off : { requests, decisions, reminders };
  };
  const isOwn = (organizationId: string) => memberships.some((one) => one.organizationId === organizationId);
  const asMember = memberships.map(({ organizationId, name }) => ({
    organizationId,
    organizationName: name,
    isMember: true,
    ...settingsOf(rows.find((row) => row.organizationId === organizationId)),
  }));
  const asApprover = rows
    .filter(({ organizationId, status }) => status === "confirmed" && !isOwn(organizationId))
    .map((row) => ({
      organizationId: row.organizationId,
      organizationName: row.organizationName,
      isMember: false,
      ...settingsOf(row),
    }));
  return [...asMember, ...asApprover];
}

/** For a member this is also the confirmation: they are signed in with the address. */
export async function saveNoticeSettings(
  context: AccountsContext,
  user: UserPrincipal,
  organizationId: string,
  wanted: NoticeSettings,
): Promise<void> {
  const { db } = context.database;
  const memberships = await listMemberships(db, user.userId);
  if (memberships.some((one) => one.organizationId === organizationId)) {
    const id = uuidV7(context.clock().getTime(), context.random(16));
    const set = { ...wanted, status: "confirmed" } as const;
    await db.transaction(async (tx) => {
      await holdRole(tx, { ...user, organizationId }, "member");
      await tx
        .insert(approvers)
        .values({ id, organization_id: organizationId, email: user.email, ...set })
        .onConflictDoUpdate({ target: [approvers.organization_id, approvers.email], set });
    });
    return;
  }
  if (wanted.requests === "all")
    throw fieldError("validation_error", "requests", "only members can get emails about all requests");
  const changed = await db
    .update(approvers)
    .set({ ...wanted })
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        eq(approvers.email, user.email),
        eq(approvers.status, "confirmed"),
      ),
    )
    .returning({ id: approvers.id });
  if (changed.length === 0) throw personNotFound();
}
