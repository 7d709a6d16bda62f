/**
 * The people who are notified of an organization's requests. Being one gives no power: an approval needs World ID, and
 * a holder of the link can decide. An address gets one mail that asks, and nothing else until its owner accepts.
 */

import { and, asc, eq, isNotNull, isNull, ne, type SQL, sql } from "drizzle-orm";
import unhomoglyph from "unhomoglyph";
import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { approverGroups, approvers, passkeys, requestApprovers } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import { textAsRead } from "#lib/protocol/text/display-text";
import { approverUrl, confirmationDays } from "./approver-links";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { approverMail } from "./mails";
import { holdRole, personNotFound, requireRole } from "./members";
import { updateRoster } from "./roster";

const maxApprovers = 100;

const isOf = (organizationId: string) => eq(approvers.organization_id, organizationId);
const isListed = and(isNotNull(approvers.name), ne(approvers.status, "removed"));

/** Holds several people in the order that every transaction takes, before their passkeys and their places in groups. */
export async function holdPeople(tx: Executor, which: SQL | undefined): Promise<void> {
  await tx
    .select({ id: approvers.id })
    .from(approvers)
    .where(which)
    .orderBy(approvers.id)
    .for("no key update");
}

export async function listApprovers(context: AccountsContext, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const rows = await db
    .select()
    .from(approvers)
    .where(and(isOf(person.organizationId), isListed))
    .orderBy(asc(sql`lower(${approvers.name})`));
  const places = await db
    .select({ groupId: approverGroups.group_id, id: approverGroups.approver_id })
    .from(approverGroups)
    .innerJoin(approvers, eq(approvers.id, approverGroups.group_id))
    .where(isOf(person.organizationId));
  const enrolled = await listEnrolled(db, person.organizationId);
  const people = rows.flatMap(({ id, name, email, status }) =>
    email === null ? [] : [{ id, name: name ?? "", email, status, passkeys: enrolled.get(id) ?? [] }],
  );
  /** As request_audience has them. */
  const notified = new Set(
    rows.flatMap(({ id, status, requests }) => (status === "confirmed" && requests !== "none" ? [id] : [])),
  );
  const groups = rows.flatMap(({ id, name, email, is_default: isDefault }) => {
    if (email !== null) return [];
    const members = membersOf(id);
    const reached = members.filter((one) => notified.has(one.id)).length;
    const enrolledCount = members.filter((one) => enrolled.has(one.id)).length;
    return [{ id, name: name ?? "", isDefault, members, reached, enrolled: enrolledCount }];
  });
  function membersOf(groupId: string) {
    const ids = new Set(places.filter((place) => place.groupId === groupId).map(({ id }) => id));
    return people.filter(({ id }) => ids.has(id)).map(({ id, name }) => ({ id, name }));
  }
  return { people, groups };
}

/** The passkeys of each person who has some. */
async function listEnrolled(executor: Executor, organizationId: string) {
  const rows = await executor
    .select({
      approverId: passkeys.approver_id,
      id: passkeys.id,
      name: passkeys.name,
      createdAt: passkeys.created_at,
      lastUsedAt: passkeys.last_used_at,
    })
    .from(passkeys)
    .where(and(eq(passkeys.organization_id, organizationId), isNull(passkeys.removed_at)))
    .orderBy(asc(passkeys.created_at));
  const byPerson = new Map<
    string,
    { id: string; name: string; createdAt: string; lastUsedAt: string | null }[]
  >();
  for (const { approverId, id, name, createdAt, lastUsedAt } of rows) {
    const one = {
      id,
      name,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    };
    byPerson.set(approverId, [...(byPerson.get(approverId) ?? []), one]);
  }
  return byPerson;
}

/** Skeletons of Unicode TS 39, of the name in lower case and as it is: capitals look like other letters. */
const skeletonsOf = (name: string) => {
  const read = textAsRead(name);
  const skeletonOf = (text: string) => textAsRead(unhomoglyph(text.normalize("NFKD"))).toLowerCase();
  return [skeletonOf(read.toLowerCase()), skeletonOf(read)];
};

/** True if people could take one name for the other. */
function isLookAlike(one: string, other: string): boolean {
  const skeletons = skeletonsOf(other);
  return skeletonsOf(one).some((skeleton) => skeletons.includes(skeleton));
}

/**
 * People and groups share their names, and are listed whole: who is asked is chosen by what is read there. Under the
 * organization's lock.
 */
export async function requireFreeName(
  tx: Executor,
  organizationId: string,
  name: string,
  ownId: string | null,
): Promise<void> {
  const listed = await tx
    .select({ id: approvers.id, name: approvers.name })
    .from(approvers)
    .where(and(isOf(organizationId), isListed));
  const taken = listed.find((other) => other.id !== ownId && isLookAlike(other.name ?? "", name));
  if (taken?.name?.toLowerCase() === name.toLowerCase())
    throw fieldError("validation_error", "name", "is already used by another approver or group");
  if (taken !== undefined)
    throw fieldError(
      "validation_error",
      "name",
      `looks like "${taken.name}", which is already used by another approver or group`,
    );
  if (ownId === null && listed.length >= maxApprovers)
    throw new AppError(
      "validation_error",
      `an organization can have ${maxApprovers} approvers and groups; remove one first`,
    );
}

async function findByAddress(tx: Executor, organizationId: string, email: string) {
  const [known] = await tx
    .select({
      id: approvers.id,
      name: approvers.name,
      status: approvers.status,
      isAsked: sql<boolean>`coalesce(${approvers.invited_at} > now() - make_interval(days => ${confirmationDays}), false)`,
    })
    .from(approvers)
    .where(and(isOf(organizationId), eq(approvers.email, email)));
  if (known === undefined || known.status === "removed") return known;
  if (known.status === "left")
    throw fieldError(
      "validation_error",
      "email",
      "this person unsubscribed; only they can change that, with the link in any of their emails",
    );
  if (known.name !== null)
    throw fieldError("validation_error", "email", "already belongs to one of your approvers");
  return known;
}

/** The row, and whether its address must be asked. A member who has chosen their emails has confirmed by that. */
async function storeApprover(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
  added: { name: string; email: string },
): Promise<{ id: string; mustAsk: boolean }> {
  const known = await findByAddress(tx, organizationId, added.email);
  await requireFreeName(tx, organizationId, added.name, null);
  const status = known?.status === "confirmed" ? "confirmed" : "invited";
  const mustAsk = status === "invited" && known?.isAsked !== true;
  const set = { name: added.name, status, ...(mustAsk && { invited_at: sql`now()` }) } as const;
  if (known !== undefined) {
    await tx.update(approvers).set(set).where(eq(approvers.id, known.id));
    return { id: known.id, mustAsk };
  }
  const id = uuidV7(context.clock().getTime(), context.random(16));
  await tx.insert(approvers).values({ id, organization_id: organizationId, email: added.email, ...set });
  return { id, mustAsk };
}

/** False if the person need not be asked, or was asked a few days ago: that link still works. */
export async function addApprover(
  context: AccountsContext,
  person: MemberPrincipal,
  added: { name: string; email: string },
): Promise<boolean> {
  const { organizationId } = person;
  const { id, mustAsk } = await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const stored = await storeApprover(context, tx, organizationId, added);
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "approver.added",
      subject: added.email,
      detail: { name: added.name },
    });
    return stored;
  });
  if (!mustAsk) return false;
  const words = { invitedBy: person.email, lifetimeDays: confirmationDays };
  try {
    await context.mailer.send(approverMail(added.email, approverUrl(context, id), words));
  } catch (error) {
    await context.database.db.update(approvers).set({ invited_at: null }).where(eq(approvers.id, id));
    throw error;
  }
  return true;
}

/** Forgets the person's own choices; that they were asked, or left, stays known. */
export async function forgetApprover(tx: Executor, organizationId: string, email: string): Promise<void> {
  const [gone] = await tx
    .update(approvers)
    .set({
      name: null,
      status: sql`CASE WHEN ${approvers.status} = 'left' THEN 'left' ELSE 'removed' END`,
      requests: "named",
      decisions: false,
      reminders: false,
    })
    .where(and(isOf(organizationId), eq(approvers.email, email)))
    .returning({ id: approvers.id });
  if (!gone) return;
  await tx.delete(approverGroups).where(eq(approverGroups.approver_id, gone.id));
  await tx.delete(requestApprovers).where(eq(requestApprovers.approver_id, gone.id));
}

export async function removeApprover(
  context: AccountsContext,
  person: MemberPrincipal,
  approverId: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "owner");
    const [found] = await tx
      .select({ email: approvers.email })
      .from(approvers)
      .where(and(isOf(organizationId), isListed, eq(approvers.id, approverId)));
    if (!found || found.email === null) throw personNotFound();
    await forgetApprover(tx, organizationId, found.email);
    await recordAudit(context, tx, {
      organizationId,
      actor: actorOf(person),
      action: "approver.removed",
      subject: found.email,
    });
  });
  await updateRoster(context, organizationId);
}
