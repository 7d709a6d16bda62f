/**
 * Who may begin on this service (SIGN_UP). Whoever belongs to an organization or is invited to one may always sign in; a
 * new organization is for those who may sign up.
 */
import { and, eq, gt, isNull, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { directoryUsers, invitations, memberships, organizations, users } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import type { AccountsContext } from "./context";

interface SignUpContext {
  settings: Pick<AccountsContext["settings"], "SIGN_UP" | "SIGN_UP_DOMAINS">;
}

export const readDomain = (email: string) => email.slice(email.lastIndexOf("@") + 1).toLowerCase();

/** Not below a listed domain: whoever runs a host of it may be anybody. */
export function maySignUp({ settings }: SignUpContext, email: string): boolean {
  if (settings.SIGN_UP === "domains") return settings.SIGN_UP_DOMAINS.includes(readDomain(email));
  return settings.SIGN_UP === "open";
}

export const signUpClosed = () =>
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

/** Until the organization's directory activates them again, neither an owner nor the person undoes that. */
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
