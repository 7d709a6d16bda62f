/** Who may change an approver's passkeys: the person, by a mail that is fresh or signed in with its address. */
import { and, count, eq, isNotNull, isNull, sql } from "drizzle-orm";
import { type Actor, actorOf, type MemberPrincipal, type UserPrincipal } from "#lib/api/http/principal";
import { approvers, organizations, passkeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { isUuid } from "#lib/protocol/encoding/uuid";
import { confirmationDays, passkeyUrl, readApproverToken } from "./approver-links";
import type { AccountsContext } from "./context";
import { passkeyMail } from "./mails";
import { personNotFound, requireRole } from "./members";
import type { Approver } from "./passkeys";

export interface Acting {
  approver: Approver;
  actor: Actor;
}

const columns = {
  id: approvers.id,
  organizationId: approvers.organization_id,
  email: sql<string>`${approvers.email}`,
  name: sql<string>`${approvers.name}`,
  organizationName: organizations.name,
  /** The mail that asked them to be an approver came lately. */
  isAskedLately: sql<boolean>`coalesce(${approvers.invited_at} > now() - make_interval(days => ${confirmationDays}), false)`,
};

/** Confirmed people whom the organization has named. */
const isApprover = and(
  eq(approvers.status, "confirmed"),
  isNotNull(approvers.email),
  isNotNull(approvers.name),
  isNull(organizations.deleted_at),
);

async function findById({ database }: AccountsContext, id: string) {
  const [row] = await database.db
    .select(columns)
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.id, id), isApprover));
  return row;
}

/**
 * The approver of a link; null for one who may not enrol. `mayManage`: by a fresh link, or to enrol the first passkey
 * ever by the mail that asked them. Every other mail may be old, forwarded or in somebody else's archive.
 */
export async function readPasskeyLink(context: AccountsContext, token: string) {
  const { id, freshUntil } = readApproverToken(context, token);
  const approver = await findById(context, id);
  if (!approver) return null;
  const [ever] = await context.database.db
    .select({ count: count() })
    .from(passkeys)
    .where(eq(passkeys.approver_id, id));
  const isFirst = freshUntil === null && (ever?.count ?? 0) === 0 && approver.isAskedLately;
  const isFresh = freshUntil !== null && freshUntil * 1000 > context.clock().getTime();
  return { approver, mayManage: isFresh || isFirst, isExpired: !!freshUntil && !isFresh };
}

export async function requirePasskeyLink(
  context: AccountsContext,
  token: string,
  ip: string,
): Promise<Acting> {
  const link = await readPasskeyLink(context, token);
  if (link === null) throw personNotFound();
  if (!link.mayManage)
    throw new AppError("forbidden", "this link has expired; request a new one on its page");
  return { approver: link.approver, actor: { kind: "human", id: link.approver.email, ip } };
}

/** To the approver's own address, never to the holder of the old link. */
export async function mailPasskeyLink(context: AccountsContext, token: string): Promise<void> {
  const approver = await findById(context, readApproverToken(context, token).id);
  if (!approver) throw personNotFound();
  await context.mailer.send(passkeyMail(approver.email, passkeyUrl(context, approver.id)));
}

/** All organizations that the signed-in person approves for. */
export async function listOwnApprovers({ database }: AccountsContext, { email }: UserPrincipal) {
  return database.db
    .select(columns)
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.email, email), isApprover))
    .orderBy(approvers.created_at);
}

export async function requireOwnApprover(
  context: AccountsContext,
  user: UserPrincipal,
  approverId: string,
): Promise<Acting> {
  const approver = isUuid(approverId) ? await findById(context, approverId) : undefined;
  if (approver?.email !== user.email) throw personNotFound();
  return { approver, actor: actorOf(user) };
}

/** An owner, about one of the organization's approvers. */
export async function requireOwnerOf(
  context: AccountsContext,
  person: MemberPrincipal,
  approverId: string,
): Promise<Acting> {
  await requireRole(context.database.db, person, "owner");
  const approver = await findById(context, approverId);
  if (approver?.organizationId !== person.organizationId) throw personNotFound();
  return { approver, actor: actorOf(person) };
}
