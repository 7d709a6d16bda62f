/**
 * People and what they may do. Every service of the portal asks here first: a stranger gets the answer of an unknown
 * id, a role that is too low gets 403.
 */
import { and, asc, eq, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import { type Actor, type MemberPrincipal, toActor, type UserPrincipal } from "#lib/api/http/context";
import { type Role, roleNames } from "#lib/api/schemas/key-choices";
import { type Executor, queryRows } from "#lib/db/client";
import { approvers, memberships, organizations, sessions, users } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { recordAct, recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { findOrCreateOrganization, lockOrganization, maySignUp } from "./organizations";

/** Acts in an organization, and the roles that may. The guide "Roles" has the table, which a test holds to this one. */
export const acts = {
  read: roleNames,
  take_out: ["owner", "admin", "auditor", "member"],
  stop: ["owner", "admin", "approver", "member"],
  freeze: ["owner", "admin", "approver", "member"],
  operate: ["owner", "admin", "member"],
  limit: ["owner", "admin"],
  erase: ["owner"],
  rules: ["owner"],
  members: ["owner"],
  settings: ["owner"],
  security: ["owner"],
} as const satisfies Record<string, readonly Role[]>;
export type Act = keyof typeof acts;

export const mayAct = (role: Role, act: Act): boolean => (acts[act] as readonly Role[]).includes(role);

/** Minutes for which a passkey that was used counts. */
export const confirmedMinutes = 10;

export const personNotFound = () => new AppError("not_found", "nothing exists with this id");

export async function listMemberships(executor: Executor, userId: string) {
  return executor
    .select({
      organizationId: organizations.id,
      name: organizations.name,
      role: memberships.role,
      secondFactor: organizations.second_factor,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(and(eq(memberships.user_id, userId), isNull(organizations.deleted_at)))
    .orderBy(asc(memberships.created_at), asc(organizations.id));
}

export type MembershipView = Awaited<ReturnType<typeof listMemberships>>[number];

/**
 * Returns the memberships, at least one where the person may sign up: a person without one gets an organization of their own,
 * the one that the API would use for the address. None for an account that has just ended.
 */
export async function ensureMemberships(
  context: AccountsContext,
  person: UserPrincipal,
): Promise<MembershipView[]> {
  const { db } = context.database;
  const existing = await listMemberships(db, person.userId);
  if (existing.length > 0 || !maySignUp(context, person.email)) return existing;
  await db.transaction(async (tx) => {
    const [held] = await tx
      .select({ id: users.id })
      .from(users)
      .where(eq(users.id, person.userId))
      .for("update");
    if (held === undefined || (await listMemberships(tx, person.userId)).length > 0) return;
    const { organizationId } = await findOrCreateOrganization(context, tx, person.email);
    await recordAudit(context, tx, {
      organizationId,
      actor: toActor(person),
      action: "organization.created",
      subject: organizationId,
    });
  });
  return listMemberships(db, person.userId);
}

/**
 * True of an approver of other people's organizations who has no other: the one that the first visit made for them is empty,
 * and what waits for them is in their inbox.
 */
export async function isOnlyApprover({ database }: AccountsContext, userId: string): Promise<boolean> {
  const [row] = await queryRows<{ only: boolean }>(
    database.db,
    sql`SELECT EXISTS (
        SELECT FROM approvers a JOIN organizations o ON o.id = a.organization_id JOIN users u ON u.email = a.email
        WHERE u.id = ${userId} AND a.status = 'confirmed' AND o.deleted_at IS NULL
          AND NOT EXISTS (SELECT FROM memberships m WHERE m.organization_id = o.id AND m.user_id = u.id))
      AND NOT EXISTS (
        SELECT FROM memberships m JOIN organizations o ON o.id = m.organization_id
        WHERE m.user_id = ${userId} AND o.deleted_at IS NULL AND (
          EXISTS (SELECT FROM api_keys k WHERE k.organization_id = o.id)
          OR EXISTS (SELECT FROM memberships other WHERE other.organization_id = o.id AND other.user_id <> m.user_id))
      ) AS only`,
  );
  return row?.only === true;
}

export const isConfirmed = ({
  userId,
  session,
  organizationId,
}: Pick<MemberPrincipal, "session" | "organizationId"> & { userId: string | SQL }) => sql<boolean>`EXISTS (
  SELECT 1 FROM ${sessions} WHERE ${sessions.userId} = ${userId}
    AND 'sess_' || left(${sessions.sessionToken}, 12) = ${session} AND ${sessions.confirmedFor} = ${organizationId}
    AND ${sessions.confirmedAt} > now() - make_interval(mins => ${confirmedMinutes}))`;

export function needsPasskey(demanded: readonly string[], role: Role, act: Act): boolean {
  if (act === "read" || act === "take_out") return false;
  if (demanded.includes(act)) return true;
  return (role === "owner" && demanded.includes("owners")) || (act === "security" && demanded.length > 0);
}

export const unconfirmed = () =>
  new AppError(
    "forbidden",
    "your organization asks for a passkey here: press “Confirm with a passkey” at the top of the page, then try again",
  );

export async function requireConfirmed(executor: Executor, person: MemberPrincipal): Promise<void> {
  const [row] = await queryRows<{ confirmed: boolean }>(
    executor,
    sql`SELECT ${isConfirmed(person)} AS confirmed`,
  );
  if (row?.confirmed !== true) throw unconfirmed();
}

function refuseRole(act: Act, role: Role): AppError {
  const allowed = acts[act];
  const names = [allowed.slice(0, -1).join(", "), allowed.at(-1)].filter((one) => one !== "").join(" or ");
  const article = /^[aeiou]/.test(names) ? "an" : "a";
  return new AppError(
    "forbidden",
    `only ${article} ${names} of the organization can do this, and your role is ${role}: ask an owner`,
  );
}

/** The person's role; throws 404 for strangers, and 403 if the role may not do this or a passkey has to come first. */
export async function requireRole(executor: Executor, person: MemberPrincipal, act: Act): Promise<Role> {
  const [row] = await executor
    .select({
      role: memberships.role,
      demanded: organizations.second_factor,
      isConfirmed: isConfirmed(person),
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(
      and(
        eq(memberships.organization_id, person.organizationId),
        eq(memberships.user_id, person.userId),
        isNull(organizations.deleted_at),
      ),
    );
  if (!row) throw personNotFound();
  if (!mayAct(row.role, act)) throw refuseRole(act, row.role);
  if (needsPasskey(row.demanded, row.role, act) && !row.isConfirmed) throw unconfirmed();
  return row.role;
}

/** The work for a person of the portal whose role allows the act. */
export const forRole =
  <Context extends AccountsContext, Rest extends unknown[], Result>(
    act: Act,
    work: (context: Context, person: MemberPrincipal, ...rest: Rest) => Promise<Result>,
  ) =>
  async (context: Context, person: MemberPrincipal, ...rest: Rest): Promise<Result> => {
    await requireRole(context.database.db, person, act);
    return work(context, person, ...rest);
  };

/** The same for what a transaction is about to do: the role holds until its commit. Comes before any other lock. */
export async function holdRole(tx: Executor, person: MemberPrincipal, act: Act): Promise<Role> {
  await lockOrganization(tx, person.organizationId);
  return requireRole(tx, person, act);
}

export async function recordSignIn(
  context: AccountsContext,
  userId: string,
  from: { ip: string | null; session: string },
): Promise<void> {
  const { db } = context.database;
  const [user] = await db.select({ email: users.email }).from(users).where(eq(users.id, userId));
  if (!user) return;
  const actor: Actor = { kind: "user", id: user.email, ...from };
  for (const { organizationId } of await listMemberships(db, userId)) {
    await recordAudit(context, db, { organizationId, actor, action: "session.started", subject: user.email });
  }
}

/** Because the provider, or whoever runs its directory, says so. */
export async function endSessions(
  context: AccountsContext,
  executor: Executor,
  userId: string,
): Promise<void> {
  const ended = await executor
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ userId: sessions.userId });
  if (ended.length === 0) return;
  const [user] = await executor.select({ email: users.email }).from(users).where(eq(users.id, userId));
  const actor: Actor = { kind: "system", id: "provider", ip: null };
  for (const { organizationId } of await listMemberships(executor, userId))
    await recordAudit(context, executor, {
      organizationId,
      actor,
      action: "session.ended",
      subject: user?.email ?? userId,
      detail: { sessions: ended.length },
    });
}

/*
 * Separation of duties: whether who asks for an approval may count as one of its approvers. Where no owner has chosen, they
 * may while they are the only person: nobody else could approve. With the second person they may not any more.
 */
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

interface RequesterRule {
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

/** Applies to requests that are made from now on. */
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
    await recordAct(context, tx, person, {
      action: "organization.requester_rule",
      subject: organizationId,
      detail: { requester_may_approve: mayApprove },
    });
  });
}
