/**
 * Sign-in with the OpenID Connect provider of the settings. The provider is believed about an address only if it says that it
 * verified it, and only at a domain that an organization here has verified: nobody takes over, or sits in wait for, the
 * account of an address elsewhere. Of all other claims only groups are read, and only what an owner has mapped (provider-groups.ts).
 */
import { and, desc, eq, inArray, isNotNull, isNull } from "drizzle-orm";
import type { HttpContext } from "#lib/api/http/context";
import { emailAddress } from "#lib/api/schemas/keys";
import type { Executor } from "#lib/db/client";
import {
  accounts,
  auditEvents,
  memberships,
  organizationDomains,
  organizations,
  users,
  verificationTokens,
} from "#lib/db/schema";
import { base64UrlEncode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "./audit";
import type { AccountsContext } from "./context";
import { hasRoom } from "./invitations";
import { endSessions, listMemberships } from "./members";
import { holdOrCreateUser, isDeactivated, lockOrganization, maySignIn, readDomain } from "./organizations";

export const PROVIDER_ID = "oidc";

/** The provider's userinfo, of which only the subject is checked: it is the token's. */
export interface ProviderClaims {
  sub?: unknown;
  email?: unknown;
  email_verified?: unknown;
}

/** The codes of the sign-in page's sentences (app/portal/sign-in). */
export type SignInRefusal =
  | "EmailUnverified"
  | "DomainUnverified"
  | "OtherAccount"
  | "OtherAddress"
  | "AccessDenied";

/** Subjects are unique for one issuer only: another one that the settings name later can't speak for the same people. */
export const subjectKey = (issuer: string, subject: string): string => `${issuer} ${subject}`;

async function findByDomain(executor: Executor, email: string): Promise<string[]> {
  const rows = await executor
    .select({ id: organizations.id })
    .from(organizationDomains)
    .innerJoin(organizations, eq(organizations.id, organizationDomains.organization_id))
    .where(
      and(
        eq(organizationDomains.domain, readDomain(email)),
        isNotNull(organizationDomains.verified_since),
        isNull(organizations.deleted_at),
      ),
    );
  return rows.map(({ id }) => id);
}

/** The address of the account that the subject has here, and the subjects that the account of the address has. */
async function readLinks(executor: Executor, key: string, email: string) {
  const links = executor
    .select({ email: users.email, subject: accounts.providerAccountId })
    .from(accounts)
    .innerJoin(users, eq(users.id, accounts.userId));
  const isOurs = eq(accounts.provider, PROVIDER_ID);
  return {
    linked: (await links.where(and(isOurs, eq(accounts.providerAccountId, key))))[0] ?? null,
    ofAddress: await executor
      .select({ subject: accounts.providerAccountId })
      .from(accounts)
      .innerJoin(users, eq(users.id, accounts.userId))
      .where(and(isOurs, eq(users.email, email))),
  };
}

/** Spelled as accounts here are; null if it is no address. */
export function readProviderAddress(given: unknown): string | null {
  const parsed = emailAddress.safeParse(given);
  return parsed.success ? parsed.data : null;
}

/** Null if the person may sign in, and may be linked to the account of their address. */
export async function refuseProvider(
  context: AccountsContext,
  issuer: string,
  { sub, email: given, email_verified }: ProviderClaims,
): Promise<SignInRefusal | null> {
  const { db } = context.database;
  const email = readProviderAddress(given);
  if (typeof sub !== "string" || email === null || email_verified !== true) return "EmailUnverified";
  const owners = await findByDomain(db, email);
  if (owners.length === 0) return "DomainUnverified";
  const key = subjectKey(issuer, sub);
  const { linked, ofAddress } = await readLinks(db, key, email);
  if (linked !== null && linked.email !== email) return "OtherAddress";
  // The address was given to another person since: what the first one had is not theirs.
  if (linked === null && ofAddress.length > 0) return "OtherAccount";
  const mayEnter = (await findJoinable(db, owners, email)) !== null || (await maySignIn(context, db, email));
  return mayEnter ? null : "AccessDenied";
}

/**
 * The one organization of the domain. Of several none is chosen; one that has removed the person has to invite them, and one
 * whose directory deactivated them has to activate them.
 */
async function findJoinable(
  executor: Executor,
  owners: readonly string[],
  email: string,
): Promise<string | null> {
  const [organizationId, ...others] = owners;
  if (organizationId === undefined || others.length > 0) return null;
  if (await isDeactivated(executor, organizationId, email)) return null;
  const [last] = await executor
    .select({ action: auditEvents.action })
    .from(auditEvents)
    .where(
      and(
        eq(auditEvents.organization_id, organizationId),
        inArray(auditEvents.action, ["member.removed", "member.joined"]),
        eq(auditEvents.subject, email),
      ),
    )
    .orderBy(desc(auditEvents.id))
    .limit(1);
  return last?.action === "member.removed" ? null : organizationId;
}

/** The organization that the person belongs to by their domain. */
export async function findOwnByDomain(
  executor: Executor,
  { userId, email }: { userId: string; email: string },
): Promise<string | null> {
  const [organizationId, ...others] = await findByDomain(executor, email);
  if (organizationId === undefined || others.length > 0) return null;
  const own = await listMemberships(executor, userId);
  return own.some((one) => one.organizationId === organizationId) ? organizationId : null;
}

/** The person of the provider's subject; null if they never signed in here. */
async function findLinkedUser(executor: Executor, issuer: string, subject: string): Promise<string | null> {
  const [linked] = await executor
    .select({ userId: accounts.userId })
    .from(accounts)
    .where(
      and(eq(accounts.provider, PROVIDER_ID), eq(accounts.providerAccountId, subjectKey(issuer, subject))),
    );
  return linked?.userId ?? null;
}

export interface LogoutToken {
  sub: string;
  jti: string;
}

/** Longer than a logout token is taken for. */
const logoutMs = 10 * 60_000;

/** Once for each token: one that is sent again later would end the sessions that began since. */
export async function endSessionsOnce(
  context: AccountsContext,
  issuer: string,
  { sub, jti }: LogoutToken,
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    // People who never signed in here have no sessions to end.
    const userId = await findLinkedUser(tx, issuer, sub);
    if (userId === null) return;
    const fresh = await tx
      .insert(verificationTokens)
      .values({
        identifier: "back-channel logout",
        token: hexEncode(sha256(utf8Encode(subjectKey(issuer, jti)))),
        expires: new Date(context.clock().getTime() + logoutMs),
      })
      .onConflictDoNothing()
      .returning({ token: verificationTokens.token });
    if (fresh.length > 0) await endSessions(context, tx, userId);
  });
}

/** Joins as a member; groups that an owner has mapped give more afterwards. */
export async function joinByDomain(
  context: AccountsContext,
  { userId, email, ip }: { userId: string; email: string; ip: string | null },
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    const organizationId = await findJoinable(tx, await findByDomain(tx, email), email);
    if (organizationId === null) return;
    const own = await listMemberships(tx, userId);
    if (own.some((one) => one.organizationId === organizationId)) return;
    await lockOrganization(tx, organizationId);
    if (await isDeactivated(tx, organizationId, email)) return;
    if (!(await hasRoom(tx, organizationId))) {
      context.logger.warn(
        { organizationId },
        "an organization is full, so a person of its domain didn't join it",
      );
      return;
    }
    const joined = await tx
      .insert(memberships)
      .values({ organization_id: organizationId, user_id: userId, role: "member" })
      .onConflictDoNothing()
      .returning({ id: memberships.user_id });
    if (joined.length === 0) return;
    await recordAudit(context, tx, {
      organizationId,
      actor: { kind: "user", id: email, ip },
      action: "member.joined",
      subject: email,
      detail: { role: "member", by_domain: readDomain(email) },
    });
  });
}

/* Sign-in links: the address that a mail has, and one that an operator hands over, also where a provider is enforced. */

export const signInLinkSeconds = 1800;

/** No mailed token begins with it: a point is no letter of base64url. */
const operatorMark = "operator.";

export const isOperatorToken = (token: string): boolean => token.startsWith(operatorMark);

export function signInUrl(baseUrl: string, token: string, email: string): URL {
  const url = new URL("/portal/sign-in/confirm", baseUrl);
  url.searchParams.set("token", token);
  url.searchParams.set("email", email);
  return url;
}

type LinkContext = Pick<HttpContext, "database" | "clock" | "random"> & {
  settings: Pick<HttpContext["settings"], "baseUrl">;
  secrets: Pick<HttpContext["secrets"], "session">;
};

/** Works once, as a mailed one. Null if the address belongs to no organization. */
export async function createSignInLink(context: LinkContext, email: string): Promise<string | null> {
  const { clock, random, settings, secrets } = context;
  const token = `${operatorMark}${base64UrlEncode(random(32))}`;
  return context.database.db.transaction(async (tx) => {
    const own = await listMemberships(tx, await holdOrCreateUser(context, tx, email));
    if (own.length === 0) return null;
    await tx.insert(verificationTokens).values({
      identifier: email,
      // Hash in the form in which next-auth looks it up (@auth/core, callback/index.js).
      token: hexEncode(sha256(utf8Encode(`${token}${secrets.session}`))),
      expires: new Date(clock().getTime() + signInLinkSeconds * 1000),
    });
    const actor = { kind: "system", id: "operator", ip: null } as const;
    for (const { organizationId } of own)
      await recordAudit(context, tx, {
        organizationId,
        actor,
        action: "session.link_created",
        subject: email,
      });
    return signInUrl(settings.baseUrl, token, email).href;
  });
}
