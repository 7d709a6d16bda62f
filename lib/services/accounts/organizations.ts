/** Organizations own everything; a person has one from the first contact, by API or by login. */

import { and, eq, gt, isNull, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { directoryUsers, invitations, memberships, organizations, users } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";

/*
 * Sign-up on this service (SIGN_UP). Members and invited people may always sign in; a new organization is for those who may
 * sign up.
 */
interface SignUpContext {
  settings: Pick<AccountsContext["settings"], "SIGN_UP" | "SIGN_UP_DOMAINS">;
}

export const readDomain = (email: string) => email.slice(email.lastIndexOf("@") + 1).toLowerCase();

/** Subdomains of a listed domain don't count: anybody may run a host of it. */
export function maySignUp({ settings }: SignUpContext, email: string): boolean {
  if (settings.SIGN_UP === "domains") return settings.SIGN_UP_DOMAINS.includes(readDomain(email));
  return settings.SIGN_UP === "open";
}

const signUpClosed = () =>
  new AppError(
    "forbidden",
    "sign-up is closed on this service: ask an owner of an organization to invite you",
  );

async function isMember(executor: Executor, email: string): Promise<boolean> {
  const [found] = await executor
    .select({ id: users.id })
    .from(users)
    .innerJoin(memberships, eq(memberships.user_id, users.id))
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(and(eq(users.email, email), isNull(organizations.deleted_at)))
    .limit(1);
  return found !== undefined;
}

async function isInvited(executor: Executor, email: string): Promise<boolean> {
  const [found] = await executor
    .select({ id: invitations.id })
    .from(invitations)
    .innerJoin(organizations, eq(organizations.id, invitations.organization_id))
    .where(
      and(
        eq(invitations.email, email),
        isNull(invitations.accepted_at),
        gt(invitations.expires_at, sql`now()`),
        isNull(organizations.deleted_at),
      ),
    )
    .limit(1);
  return found !== undefined;
}

export async function isDeactivated(
  executor: Executor,
  organizationId: string,
  email: string,
): Promise<boolean> {
  const [found] = await executor
    .select({ id: directoryUsers.id })
    .from(directoryUsers)
    .where(
      and(
        eq(directoryUsers.organization_id, organizationId),
        eq(directoryUsers.email, email),
        eq(directoryUsers.active, false),
      ),
    );
  return found !== undefined;
}

/** Refuses what neither an owner nor the person may undo until the organization's directory activates them again. */
export async function requireNotDeactivated(
  executor: Executor,
  organizationId: string,
  email: string,
): Promise<void> {
  if (await isDeactivated(executor, organizationId, email))
    throw fieldError(
      "validation_error",
      "email",
      "is deactivated in your company's directory: activate the person there first",
    );
}

/** A key is of an organization, so an invitation has to be accepted first. */
export const mayGetKey = async (
  context: SignUpContext,
  executor: Executor,
  email: string,
): Promise<boolean> => maySignUp(context, email) || (await isMember(executor, email));

export const maySignIn = async (
  context: SignUpContext,
  executor: Executor,
  email: string,
): Promise<boolean> => (await mayGetKey(context, executor, email)) || (await isInvited(executor, email));

/** Null if somebody belongs to an organization, or may make one. */
export async function explainNobody({ settings }: SignUpContext, executor: Executor): Promise<string | null> {
  if (settings.SIGN_UP !== "invited") return null;
  const [found] = await executor.select({ id: memberships.user_id }).from(memberships).limit(1);
  return found === undefined ? "nobody can sign in: SIGN_UP is invited, and there is no member yet" : null;
}

type NewIds = Pick<AccountsContext, "clock" | "random">;
type NewOrganization = NewIds & { settings: Pick<AccountsContext["settings"], "DEFAULT_VISIBILITY"> };

/**
 * Locks counts and roles that must still hold at the commit: transactions that change them wait here. NO KEY UPDATE, so that
 * rows which only refer to the organization (attestations above all) do not wait.
 */
export async function lockOrganization(tx: Executor, organizationId: string): Promise<void> {
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("no key update");
}

/** Prevents changes, until the commit, of anything that {@link lockOrganization} waits for. */
export async function shareOrganization(tx: Executor, organizationId: string): Promise<void> {
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("share");
}

export const onHold = () =>
  new AppError(
    "legal_hold",
    "the organization's content is on legal hold, so nothing is erased or deleted; an owner can end the hold in the portal's settings",
  );

/** Holds until the commit: a hold begins under the organization's lock. */
export async function isOnHold(tx: Executor, organizationId: string): Promise<boolean> {
  const [row] = await tx
    .select({ since: organizations.legal_hold_since })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for("share");
  return row?.since != null;
}

/** The person behind an address, made when there is none yet, and held: an account may end with its last organization. */
export async function holdOrCreateUser(context: NewIds, tx: Executor, email: string): Promise<string> {
  const id = uuidV7(context.clock().getTime(), context.random(16));
  const [user] = await tx
    .insert(users)
    .values({ id, email })
    .onConflictDoUpdate({ target: users.email, set: { email } })
    .returning({ id: users.id });
  if (!user) throw new Error("the user is gone in its own transaction");
  return user.id;
}

async function findFirst(tx: Executor, userId: string): Promise<string | null> {
  const [membership] = await tx
    .select({ organizationId: memberships.organization_id })
    .from(memberships)
    .where(eq(memberships.user_id, userId))
    .orderBy(memberships.created_at)
    .limit(1);
  return membership?.organizationId ?? null;
}

/** The first that the person belongs to. They stay its member until the commit: its lock is held, and it is looked for again. */
async function lockFirst(tx: Executor, userId: string): Promise<string | null> {
  for (let locked: string | null = null; ; ) {
    const first = await findFirst(tx, userId);
    if (first === null || first === locked) return first;
    await lockOrganization(tx, first);
    locked = first;
  }
}

async function createOrganization(
  context: NewOrganization,
  tx: Executor,
  userId: string,
  name: string | null = null,
): Promise<string> {
  const organizationId = uuidV7(context.clock().getTime(), context.random(16));
  const isPublic = context.settings.DEFAULT_VISIBILITY === "public";
  await tx.insert(organizations).values({ id: organizationId, name, default_public: isPublic });
  await tx.insert(memberships).values({ organization_id: organizationId, user_id: userId, role: "owner" });
  return organizationId;
}

/**
 * The person's first organization, made with them as owner when they have none, if they may sign up. `email` must have been
 * proven.
 */
export async function findOrCreateOrganization(
  context: AccountsContext,
  tx: Executor,
  email: string,
): Promise<{ organizationId: string; userId: string }> {
  const userId = await holdOrCreateUser(context, tx, email);
  const first = await lockFirst(tx, userId);
  if (first !== null) return { organizationId: first, userId };
  if (!maySignUp(context, email)) throw signUpClosed();
  return { organizationId: await createOrganization(context, tx, userId), userId };
}

/* An owner by the operator's command: the first of a service whose sign-up is closed, or one more. */

type CommandContext = Pick<AccountsContext, "database"> & NewOrganization;

const actor = { kind: "system", id: "operator", ip: null } as const;

const isThere = (executor: Executor, id: string) =>
  executor.$count(organizations, and(eq(organizations.id, id), isNull(organizations.deleted_at)));

/** `of`: an organization's id, or the name of a new one. Null if there is no such organization. */
export async function addOwner(
  context: CommandContext,
  email: string,
  of: { organizationId: string } | { name: string | null },
): Promise<string | null> {
  return context.database.db.transaction(async (tx) => {
    // Checked before an account is made, which would stay without one.
    if ("organizationId" in of && (await isThere(tx, of.organizationId)) === 0) return null;
    // Held before the organization's lock, in the order of invitations.
    const userId = await holdOrCreateUser(context, tx, email);
    if ("name" in of) {
      const organizationId = await createOrganization(context, tx, userId, of.name);
      const created = { organizationId, actor, subject: organizationId, detail: { owner: email } };
      await recordAudit(context, tx, { ...created, action: "organization.created" });
      return organizationId;
    }
    const { organizationId } = of;
    await lockOrganization(tx, organizationId);
    if ((await isThere(tx, organizationId)) === 0) return null;
    await tx
      .insert(memberships)
      .values({ organization_id: organizationId, user_id: userId, role: "owner" })
      .onConflictDoUpdate({
        target: [memberships.organization_id, memberships.user_id],
        set: { role: "owner" },
      });
    await recordAudit(context, tx, {
      organizationId,
      actor,
      action: "member.joined",
      subject: email,
      detail: { role: "owner" },
    });
    return organizationId;
  });
}
