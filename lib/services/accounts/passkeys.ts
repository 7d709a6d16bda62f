/** Passkeys of an approver: listed, renamed and removed, by them or an owner (enrol-passkey.ts: enrolled). */
import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { Actor, MemberPrincipal } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { passkeys } from "#lib/db/schema";
import { noticeUrl } from "./approver-links";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { passkeyEventMail } from "./mails";
import { holdRole, personNotFound } from "./members";
import { lockOrganization } from "./organizations";
import { updateRoster } from "./roster";

export const maxPasskeys = 10;

/** An approver who has shown who they are. */
export interface Approver {
  id: string;
  organizationId: string;
  email: string;
  /** Name in the organization. */
  name: string;
}

export const isLive = (approverId: string) =>
  and(eq(passkeys.approver_id, approverId), isNull(passkeys.removed_at));

export async function listPasskeys(executor: Executor, approverId: string) {
  const rows = await executor
    .select({
      id: passkeys.id,
      name: passkeys.name,
      credentialId: passkeys.credential_id,
      transports: passkeys.transports,
      backedUp: passkeys.backed_up,
      createdAt: passkeys.created_at,
      lastUsedAt: passkeys.last_used_at,
    })
    .from(passkeys)
    .where(isLive(approverId))
    .orderBy(asc(passkeys.created_at), asc(passkeys.id));
  return rows.map(({ createdAt, lastUsedAt, ...row }) => ({
    ...row,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  }));
}

/** The person hears of what was done with their passkeys, also if they did it themselves; a mail that fails stops nothing. */
export async function mailPerson(
  context: AccountsContext,
  { id, email }: Approver,
  event: Parameters<typeof passkeyEventMail>[2],
): Promise<void> {
  await context.mailer
    .send(passkeyEventMail(email, noticeUrl(context, id), event))
    .catch((error: unknown) =>
      context.logger.warn({ err: error }, "a mail to an approver could not be sent"),
    );
}

export async function renamePasskey(
  context: AccountsContext,
  approver: Approver,
  wanted: { passkeyId: string; name: string },
  actor: Actor,
): Promise<void> {
  const { organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    const renamed = await tx
      .update(passkeys)
      .set({ name: wanted.name })
      .where(and(eq(passkeys.id, wanted.passkeyId), isLive(approver.id)))
      .returning({ id: passkeys.id });
    if (renamed.length === 0) throw personNotFound();
    const detail = { passkey: wanted.passkeyId, name: wanted.name };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "passkey.renamed",
      subject: approver.email,
      detail,
    });
  });
}

/** From its commit on it decides nothing. What it decided before stays valid. `owner`: who removes another person's. */
export async function removePasskey(
  context: AccountsContext,
  approver: Approver,
  passkeyId: string,
  actor: Actor,
  owner: MemberPrincipal | null = null,
): Promise<void> {
  const { organizationId } = approver;
  await context.database.db.transaction(async (tx) => {
    if (owner === null) await lockOrganization(tx, organizationId);
    else await holdRole(tx, owner, "owner");
    const [removed] = await tx
      .update(passkeys)
      .set({ removed_at: sql`now()` })
      .where(and(eq(passkeys.id, passkeyId), isLive(approver.id)))
      .returning({ name: passkeys.name });
    if (!removed) throw personNotFound();
    const detail = { passkey: passkeyId, name: removed.name };
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "passkey.removed",
      subject: approver.email,
      detail,
    });
  });
  await updateRoster(context, organizationId);
  await mailPerson(context, approver, "removed");
}
