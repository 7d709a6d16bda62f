/**
 * The people who are notified of an organization's requests. Being one gives no power: an approval needs World ID, and
 * a holder of the link can decide. An address gets one mail that asks, and nothing else until its owner accepts.
 */
import { and, asc, eq, exists, inArray, isNotNull, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import unhomoglyph from "unhomoglyph";
import type { MemberPrincipal } from "#lib/api/http/context";
import { makeToken, readToken } from "#lib/api/http/opaque-text";
import type { Executor } from "#lib/db/client";
import {
  approvals,
  approverGroups,
  approvers,
  authorizationRequests,
  deputies,
  memberships,
  organizations,
  passkeys,
  requestApprovers,
  users,
} from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { isUuid, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { Names } from "#lib/protocol/record/facts";
import { textAsRead } from "#lib/protocol/text/display-text";
import { recordAct, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { approverMail } from "./mails";
import { holdRole, personNotFound, requireRole } from "./members";
import { requireNotDeactivated } from "./organizations";
import { updateRoster } from "./roster";

/*
 * The link in an approver's mails: to accept, to decline, to unsubscribe and to come back. It belongs to one address
 * and one organization, and needs no account: a reader of the mail has the address.
 */

/** Days in which a link that asks can be accepted, and an address is asked once. */
export const confirmationDays = 7;

const buildUrl = ({ secrets, settings }: AccountsContext, id: string) =>
  `${settings.baseUrl}/notices/${makeToken(secrets.approverLink, id)}`;

/** Link for the mail that asks, and for no other: for some days it enrols the first passkey. */
const approverUrl = (context: AccountsContext, approverId: string) => buildUrl(context, approverId);

/** Link for every later mail, which may be forwarded. */
export const noticeUrl = (context: AccountsContext, approverId: string) =>
  buildUrl(context, `${approverId}_0`);

const isFresh = sql`${approvers.invited_at} > now() - make_interval(days => ${confirmationDays})`;

/** Someone who left comes back whenever they want; someone who was asked has some days. */
const mayConfirm = or(eq(approvers.status, "left"), and(eq(approvers.status, "invited"), isFresh));

/** A link for passkeys has its end in it: the reader of an old mail must not become an approver by it. */
const freshMinutes = 30;

export function passkeyUrl(context: AccountsContext, approverId: string): string {
  const until = Math.floor(context.clock().getTime() / 1000) + freshMinutes * 60;
  return buildUrl(context, `${approverId}_${until}`);
}

/** `freshUntil`: seconds since 1970; 0 for a link that never is, null for that of the mail that asks. */
export function readApproverToken({ secrets }: AccountsContext, token: string) {
  const [, id = "", until] =
    /^([0-9a-f-]{36})(?:_(\d{1,12}))?$/.exec(readToken(secrets.approverLink, token) ?? "") ?? [];
  if (!isUuid(id)) throw personNotFound();
  return { id, freshUntil: until === undefined ? null : Number(until) };
}

const readId = (context: AccountsContext, token: string) => readApproverToken(context, token).id;

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
        eq(approvers.id, readId(context, token)),
        isNotNull(approvers.email),
        isNull(organizations.deleted_at),
      ),
    );
  if (!row || row.status === "removed" || row.status === "deactivated") throw personNotFound();
  return row;
}

/** Changes it once: a second attempt finds nothing to change. */
async function changeStatus(
  context: AccountsContext,
  token: string,
  wanted: { from: SQL | undefined; to: "confirmed" | "left"; ip: string },
): Promise<void> {
  const id = readId(context, token);
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

const maxApprovers = 100;

const belongsTo = (organizationId: string) => eq(approvers.organization_id, organizationId);
/** Approver or group that no owner has removed. */
export const isListed = and(isNotNull(approvers.name), ne(approvers.status, "removed"));

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
  await requireRole(db, person, "read");
  const rows = await db
    .select()
    .from(approvers)
    .where(and(belongsTo(person.organizationId), isListed))
    .orderBy(asc(sql`lower(${approvers.name})`));
  const places = await db
    .select({ groupId: approverGroups.group_id, id: approverGroups.approver_id, step: approverGroups.step })
    .from(approverGroups)
    .innerJoin(approvers, eq(approvers.id, approverGroups.group_id))
    .where(belongsTo(person.organizationId));
  const enrolled = await listEnrolled(db, person.organizationId);
  const people = rows.flatMap(({ id, name, email, status }) =>
    email === null ? [] : [{ id, name: name ?? "", email, status, passkeys: enrolled.get(id) ?? [] }],
  );
  const notified = new Set(
    rows.flatMap(({ id, status, requests }) => (status === "confirmed" && requests !== "none" ? [id] : [])),
  );
  const groups = rows.flatMap(({ id, name, email, is_default: isDefault, ...row }) => {
    if (email !== null) return [];
    const members = listMembers(id);
    const reached = members.filter((one) => notified.has(one.id)).length;
    const enrolledCount = members.filter((one) => enrolled.has(one.id)).length;
    const escalation = { afterMinutes: row.escalate_after, lastResort: row.last_resort };
    const measuredSince = row.attention_since?.toISOString() ?? null;
    return [
      {
        ...{ id, name: name ?? "", isDefault, members, reached },
        ...{ enrolled: enrolledCount, escalation, measuredSince },
      },
    ];
  });
  function listMembers(groupId: string) {
    const steps = new Map(
      places.filter((place) => place.groupId === groupId).map(({ id, step }) => [id, step]),
    );
    return people.flatMap(({ id, name }) => {
      const step = steps.get(id);
      return step === undefined ? [] : [{ id, name, step }];
    });
  }
  return { people, groups };
}

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
const toSkeletons = (name: string) => {
  const read = textAsRead(name);
  const toSkeleton = (text: string) => textAsRead(unhomoglyph(text.normalize("NFKD"))).toLowerCase();
  return [toSkeleton(read.toLowerCase()), toSkeleton(read)];
};

/** True if people could take one name for the other. */
function isLookAlike(one: string, other: string): boolean {
  const skeletons = toSkeletons(other);
  return toSkeletons(one).some((skeleton) => skeletons.includes(skeleton));
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
    .where(and(belongsTo(organizationId), isListed));
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
      isAsked: sql<boolean>`coalesce(${isFresh}, false)`,
    })
    .from(approvers)
    .where(and(belongsTo(organizationId), eq(approvers.email, email)));
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

/** An auditor changes nothing, so decides nothing. */
async function requireNoAuditor(tx: Executor, organizationId: string, email: string): Promise<void> {
  const [auditor] = await tx
    .select({ id: users.id })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(
      and(
        eq(memberships.organization_id, organizationId),
        eq(memberships.role, "auditor"),
        eq(users.email, email),
      ),
    );
  if (auditor !== undefined)
    throw fieldError("validation_error", "email", "is an auditor's: change their role first");
}

/** The row, and whether its address must be asked. A member who has chosen their emails has confirmed by that. */
async function storeApprover(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
  added: { name: string; email: string },
): Promise<{ id: string; mustAsk: boolean }> {
  await requireNoAuditor(tx, organizationId, added.email);
  await requireNotDeactivated(tx, organizationId, added.email);
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

/** False if the person need not be asked, or was asked a few days ago: that link still works. */
export async function addApprover(
  context: AccountsContext,
  person: MemberPrincipal,
  added: { name: string; email: string },
): Promise<boolean> {
  const { organizationId } = person;
  const { id, mustAsk } = await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const stored = await storeApprover(context, tx, organizationId, added);
    await recordAct(context, tx, person, {
      action: "approver.added",
      subject: added.email,
      detail: { name: added.name },
    });
    return stored;
  });
  if (!mustAsk) return false;
  await askApprover(context, person, { id, email: added.email });
  return true;
}

/** A mail that could not be sent counts as none. */
async function askApprover(
  context: AccountsContext,
  person: MemberPrincipal,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const words = { invitedBy: person.email, lifetimeDays: confirmationDays };
  try {
    await context.mailer.send(approverMail(email, approverUrl(context, id), words));
  } catch (error) {
    await context.database.db.update(approvers).set({ invited_at: null }).where(eq(approvers.id, id));
    throw error;
  }
}

export async function askApproverAgain(
  context: AccountsContext,
  person: MemberPrincipal,
  approverId: string,
): Promise<string> {
  const { organizationId } = person;
  const email = await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const [asked] = await tx
      .update(approvers)
      .set({ invited_at: sql`now()` })
      .where(and(eq(approvers.id, approverId), belongsTo(organizationId), eq(approvers.status, "invited")))
      .returning({ email: approvers.email });
    if (!asked?.email) throw personNotFound();
    await recordAct(context, tx, person, { action: "approver.asked_again", subject: asked.email });
    return asked.email;
  });
  await askApprover(context, person, { id: approverId, email });
  return email;
}

/** Takes back what the person, or a deputy in their place, gave for requests that still wait. One that is decided has counted it. */
async function withdrawApprovals(tx: Executor, organizationId: string, personId: string): Promise<string[]> {
  const isTheirs = or(
    eq(approvals.approver_id, personId),
    sql`strpos(${approvals.records}, ${`"deputy_for":"${personId}"`}) > 0`,
  );
  const open = await tx
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .where(
      and(
        eq(authorizationRequests.organization_id, organizationId),
        eq(authorizationRequests.status, "pending"),
        exists(
          tx
            .select({ id: approvals.id })
            .from(approvals)
            .where(and(eq(approvals.request_id, authorizationRequests.id), isTheirs)),
        ),
      ),
    )
    .orderBy(authorizationRequests.id)
    .for("update");
  const ids = open.map(({ id }) => id);
  if (ids.length > 0) await tx.delete(approvals).where(and(inArray(approvals.request_id, ids), isTheirs));
  return ids;
}

/**
 * Forgets the person's own choices; that they were asked, or left, stays known. Returns the waiting requests that they had
 * approved, for the audit log.
 */
export async function forgetApprover(
  tx: Executor,
  organizationId: string,
  email: string,
  as: "removed" | "deactivated" = "removed",
): Promise<string[]> {
  const isIt = and(belongsTo(organizationId), eq(approvers.email, email));
  const [person] = await tx.select({ id: approvers.id }).from(approvers).where(isIt);
  if (person === undefined) return [];
  const { id } = person;
  // Requests come before people and their places, as decisions take them.
  const withdrawn = await withdrawApprovals(tx, organizationId, id);
  await tx
    .update(approvers)
    .set({
      name: null,
      status: sql`CASE WHEN ${approvers.status} IN ('left', 'removed') THEN ${approvers.status} ELSE ${as} END`,
      requests: "named",
      decisions: false,
      reminders: false,
    })
    .where(eq(approvers.id, id));
  await tx.delete(approverGroups).where(eq(approverGroups.approver_id, id));
  await tx.delete(requestApprovers).where(eq(requestApprovers.approver_id, id));
  await tx.delete(deputies).where(or(eq(deputies.approver_id, id), eq(deputies.deputy_id, id)));
  // Includes those that were being stored meanwhile: no other can be any more.
  return [...withdrawn, ...(await withdrawApprovals(tx, organizationId, id))];
}

/** Part of an audit entry's detail. */
export const describeWithdrawn = (requestIds: readonly string[]) =>
  requestIds.length === 0 ? {} : { withdrawn_approvals: [...requestIds] };

export async function removeApprover(
  context: AccountsContext,
  person: MemberPrincipal,
  approverId: string,
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "members");
    const [found] = await tx
      .select({ email: approvers.email })
      .from(approvers)
      .where(and(belongsTo(organizationId), isListed, eq(approvers.id, approverId)));
    if (!found || found.email === null) throw personNotFound();
    const withdrawn = await forgetApprover(tx, organizationId, found.email);
    await recordAct(context, tx, person, {
      action: "approver.removed",
      subject: found.email,
      detail: describeWithdrawn(withdrawn),
    });
  });
  await updateRoster(context, organizationId);
}

/* An organization's names of its approvers and groups, for its own members: signed objects have ids. */

export async function readNames(executor: Executor, organizationId: string): Promise<Names> {
  const rows = await executor
    .select({ id: approvers.id, name: approvers.name, email: approvers.email })
    .from(approvers)
    .where(eq(approvers.organization_id, organizationId));
  const named = rows.map(({ id, name, email }) => [id, name ?? email ?? "", email === null] as const);
  const pick = (isWanted: boolean) =>
    Object.fromEntries(named.filter(([, , isGroup]) => isGroup === isWanted).map(([id, name]) => [id, name]));
  return { groups: pick(true), approvers: pick(false) };
}
