/**
 * Sign-in by email link: next-auth with sessions in the database. The mailed link leads to a page of ours that only
 * shows a button; its POST ends in `completeSignIn`. Of next-auth's own routes only the provider's callback is
 * exposed at all. This file reaches Next: nothing that server.ts bundles may import it.
 */

import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { eq } from "drizzle-orm";
import { NextRequest, NextResponse } from "next/server";
import NextAuth, { type NextAuthConfig, type Session } from "next-auth";
import type { Adapter, AdapterSession } from "next-auth/adapters";
import { decode } from "next-auth/jwt";
import type { HttpContext } from "#lib/api/http/context";
import { makeToken, readToken } from "#lib/api/http/opaque-text";
import { limitPolicy } from "#lib/api/http/pipeline";
import { accounts, sessions, users, verificationTokens } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { clip, type Logger } from "#lib/logger";
import {
  base64UrlDecode,
  base64UrlEncode,
  bytesEqual,
  concatBytes,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { requestAddress } from "#lib/server/next/node-http";
import { type App, getApp } from "#lib/server/singleton";
import { signInMail, signUpClosedMail } from "#lib/services/accounts/mails";
import { isOnlyApprover, recordSignIn } from "#lib/services/accounts/members";
import { maySignIn } from "#lib/services/accounts/organizations";
import { applyProviderGroups, readGroups } from "#lib/services/accounts/provider-groups";
import {
  endSessionsOnce,
  findOwnByDomain,
  isOperatorToken,
  joinByDomain,
  PROVIDER_ID,
  signInLinkSeconds,
  signInUrl,
} from "#lib/services/accounts/provider-sign-in";
import type { Context } from "#lib/services/approvals/context";
import { admitByProvider, listProviders, readLogoutToken } from "./provider";

/*
 * The mark of a browser in which somebody signed in: a cookie for their address. Sign-in links that such a browser asks for are
 * counted by themselves, so that strangers who use up an address's links don't lock its owner out (OWASP, "Slow Down Online
 * Guessing Attacks with Device Cookies").
 */

export const knownDeviceCookie = "countersign-known-device";

const randomBytes = 16;
const hashAddress = (email: string) => sha256(utf8Encode(email.toLowerCase()));

export function markDevice({ secrets, random }: HttpContext, email: string): string {
  const id = concatBytes(random(randomBytes), hashAddress(email));
  return makeToken(secrets.knownDevice, base64UrlEncode(id));
}

/** The browser's id; null if `email` has not signed in there. */
export function findKnownDevice(
  { secrets }: HttpContext,
  email: string,
  mark: string | undefined,
): string | null {
  const id = readToken(secrets.knownDevice, mark ?? "");
  if (id === null) return null;
  const address = base64UrlDecode(id).subarray(randomBytes);
  return bytesEqual(address, hashAddress(email)) ? id : null;
}

/** Options of the portal's own cookies: a year, HttpOnly. */
export const portalCookie = (baseUrl: string) =>
  ({
    path: "/portal",
    httpOnly: true,
    sameSite: "lax",
    secure: baseUrl.startsWith("https://"),
    maxAge: 365 * 86_400,
  }) as const;

/* Targets of a sign-in: a path of the portal and nowhere else. */

/** `/portal` for everything that is not such a path, with `//`, `\` and dots refused. */
export function safePortalPath(path: string | null | undefined): string {
  return path && /^\/portal(?:\/[A-Za-z0-9_-]+)*$/.test(path) ? path : "/portal";
}

/*
 * Storage of next-auth's people, sessions and link tokens: our tables, through the drizzle adapter. Session tokens are stored
 * as SHA-256, so that a copy of the database can't be used to sign in.
 */

const hashToken = (token: string) => hexEncode(sha256(utf8Encode(token)));

/** Names a session in the audit log: enough to tell two apart, useless for signing in. */
function sessionLabel(storedToken: string): string {
  return `sess_${storedToken.slice(0, 12)}`;
}

function requireMethods(adapter: Adapter) {
  const { createSession, getSessionAndUser, updateSession, deleteSession } = adapter;
  if (!createSession || !getSessionAndUser || !updateSession || !deleteSession)
    throw new Error("the adapter keeps no sessions");
  return { createSession, getSessionAndUser, updateSession, deleteSession };
}

/** `ip`: of the request that signs in, for the audit log. */
function createSessionStore(context: Context, ip: string | null): Adapter {
  const adapter = DrizzleAdapter(context.database.db, {
    usersTable: users,
    accountsTable: accounts,
    sessionsTable: sessions,
    verificationTokensTable: verificationTokens,
  });
  const kept = requireMethods(adapter);
  return {
    ...adapter,
    createSession: async (session): Promise<AdapterSession> => {
      const sessionToken = hashToken(session.sessionToken);
      const stored = await kept.createSession({ ...session, sessionToken });
      await recordSignIn(context, stored.userId, { ip, session: sessionLabel(sessionToken) });
      return { ...stored, sessionToken: session.sessionToken };
    },
    getSessionAndUser: async (token) => kept.getSessionAndUser(hashToken(token)),
    updateSession: async (session) =>
      kept.updateSession({ ...session, sessionToken: hashToken(session.sessionToken) }),
    deleteSession: async (token) => {
      await kept.deleteSession(hashToken(token));
    },
  };
}

/* Logs next-auth's reports, at the level that they have for an operator. */

/** A visitor's matter, which their page explains: by next-auth's type of the problem. */
const visitors = new Map([
  ["Verification", "a sign-in link was refused: it was used already or is too old"],
  ["AccessDenied", "a sign-in was refused: sign-up is closed to this person"],
]);

const readType = (problem: unknown) =>
  problem instanceof Error && "type" in problem ? String(problem.type) : "";

/** The type of what the provider refused in the browser; only the address that it leads back to says why. */
const providerRefusal = "OAuthCallbackError";

/** A refusal in the words of the provider (RFC 6749, sections 4.1.2.1 and 5.2). */
function readAnswer(error: unknown, description: unknown): { answer?: string } {
  const words = [error, description].filter((text) => typeof text === "string");
  return words.length === 0 ? {} : { answer: clip(words.join(": ")) };
}

interface AuthCause {
  err?: unknown;
  error?: unknown;
  error_description?: unknown;
  0?: { parameters?: { error?: unknown; error_description?: unknown } };
}

/** next-auth has what failed, and the provider's answer, in a cause that is no error. */
function readFailure(problem: unknown) {
  const cause = problem instanceof Error ? (problem.cause as AuthCause | undefined) : undefined;
  if (!(cause?.err instanceof Error)) return { err: problem };
  const { error, error_description } = cause[0]?.parameters ?? cause;
  return { err: cause.err, ...readAnswer(error, error_description) };
}

export function createSignInLogger(logger: Logger) {
  return {
    error: (problem: unknown) => {
      const type = readType(problem);
      const words = visitors.get(type);
      if (words !== undefined) logger.info(words);
      else if (type !== providerRefusal) logger.error(readFailure(problem), "sign-in");
    },
    warn: (problem: unknown) => logger.warn({ err: problem }, "sign-in"),
    debug: () => {},
  };
}

const sessionLifetimeSeconds = 14 * 86_400;

export interface PortalSession {
  userId: string;
  email: string;
  label: string;
}

interface SessionWithPortal extends Session {
  portal?: PortalSession;
}

function confirmUrl(baseUrl: string, token: string, email: string, callbackUrl: string | null): string {
  const url = signInUrl(baseUrl, token, email);
  const next = safePortalPath(callbackUrl === null ? null : new URL(callbackUrl, baseUrl).pathname);
  if (next !== "/portal") url.searchParams.set("next", next);
  return url.href;
}

function buildConfig(app: App, ip: string | null): NextAuthConfig {
  const { context, env } = app;
  return {
    adapter: createSessionStore(context, ip),
    basePath: "/api/auth",
    secret: context.secrets.session,
    trustHost: true,
    useSecureCookies: env.baseUrl.startsWith("https://"),
    pages: { signIn: "/portal/sign-in", error: "/portal/sign-in" },
    session: {
      strategy: "database",
      maxAge: sessionLifetimeSeconds,
      generateSessionToken: () => base64UrlEncode(context.random(32)),
    },
    logger: createSignInLogger(context.logger),
    callbacks: {
      // Checked when the link is used: an invitation may have been withdrawn since it was mailed.
      signIn: ({ user, account, profile }) =>
        account?.provider === PROVIDER_ID
          ? admitByProvider(app, profile)
          : maySignIn(context, context.database.db, user.email ?? ""),
      session: ({ session, user }) => ({
        ...session,
        portal: { userId: user.id, email: user.email, label: sessionLabel(session.sessionToken) },
      }),
    },
    events: {
      signIn: async ({ user: { id, email }, account, profile }) => {
        if (account?.provider !== PROVIDER_ID || !id || !email) return;
        const person = { userId: id, email, ip };
        await joinByDomain(context, person);
        const { OIDC_GROUPS_CLAIM: claim } = env;
        const organizationId = await findOwnByDomain(context.database.db, person);
        if (claim === undefined || organizationId === null) return;
        await applyProviderGroups(context, { ...person, organizationId }, readGroups(profile?.[claim]));
      },
    },
    providers: [
      ...listProviders(app),
      {
        id: "email",
        type: "email",
        name: "Email",
        maxAge: signInLinkSeconds,
        generateVerificationToken: () => base64UrlEncode(context.random(32)),
        sendVerificationRequest: async ({ identifier, token, url }) => {
          const next = new URL(url).searchParams.get("callbackUrl");
          const link = confirmUrl(env.baseUrl, token, identifier, next);
          await context.mailer.send(signInMail(identifier, link, signInLinkSeconds / 60));
        },
      },
    ],
  };
}

/** `auth`, `signIn` and `signOut` ask for the settings at each call: the app is built at run time. */
const { auth, handlers, signIn, signOut } = NextAuth(async (request) => {
  const app = await getApp();
  return buildConfig(app, request === undefined ? null : requestAddress(app, request.headers));
});

const mailedLinksOff = () =>
  new AppError("forbidden", "links by email are off on this service: sign in with your company account");

/** Mails a link, or that sign-up is closed: whether or not the address is known. The caller has checked the limits. */
export async function requestSignInLink(email: string, next: string): Promise<void> {
  const { env, context } = await getApp();
  if (env.OIDC_ENFORCED === "on") throw mailedLinksOff();
  if (!(await maySignIn(context, context.database.db, email)))
    return context.mailer.send(signUpClosedMail(email, env.baseUrl));
  const to: unknown = await signIn("email", { email, redirectTo: next, redirect: false });
  if (typeof to !== "string" || new URL(to, env.baseUrl).searchParams.has("error"))
    throw new AppError("service_unavailable", "the mail could not be sent; try again shortly");
}

const sessionCookie = /authjs\.session-token=([^;]+)/;

/** Leads those who only approve for others to their inbox, whichever way they signed in, unless they were on their way elsewhere. */
async function leadToInbox({ context, env }: App, headers: Headers): Promise<void> {
  const token = headers.getSetCookie().flatMap((cookie) => sessionCookie.exec(cookie)?.[1] ?? [])[0];
  const location = new URL(headers.get("location") ?? "", env.baseUrl);
  if (token === undefined || location.pathname !== "/portal") return;
  const [session] = await context.database.db
    .select({ userId: sessions.userId })
    .from(sessions)
    .where(eq(sessions.sessionToken, hashToken(token)));
  if (session !== undefined && (await isOnlyApprover(context, session.userId)))
    headers.set("location", new URL("/portal/inbox", env.baseUrl).href);
}

function redirectTo(location: string): Response {
  return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
}

/**
 * Uses the link's token up and answers with the session's cookie and the browser's mark, or leads back to the form with
 * `?error=`.
 */
export async function completeSignIn(
  request: Request,
  link: { token: string; email: string; next: string },
): Promise<Response> {
  const app = await getApp();
  const { context, env } = app;
  // Refuses links that were mailed before this was turned off, too.
  if (env.OIDC_ENFORCED === "on" && !isOperatorToken(link.token))
    return redirectTo("/portal/sign-in?error=MailedLinksOff");
  const url = new URL("/api/auth/callback/email", env.baseUrl);
  url.searchParams.set("token", link.token);
  url.searchParams.set("email", link.email);
  url.searchParams.set("callbackUrl", safePortalPath(link.next));
  const answer = await handlers.GET(new NextRequest(url, { headers: request.headers }));
  const headers = new Headers(answer.headers);
  headers.set("cache-control", "no-store");
  await leadToInbox(app, headers);
  const response = new NextResponse(null, { status: 303, headers });
  const isSignedIn = headers.getSetCookie().some((cookie) => sessionCookie.test(cookie));
  if (isSignedIn)
    response.cookies.set(knownDeviceCookie, markDevice(context, link.email), portalCookie(env.baseUrl));
  return response;
}

/** Leads to the provider, which leads back to {@link completeProviderSignIn}; what binds the two is in cookies. */
export async function startProviderSignIn(request: Request): Promise<Response> {
  const { context, env } = await getApp();
  if (env.OIDC_ISSUER === undefined) return redirectTo("/portal/sign-in");
  const next = safePortalPath(new URL(request.url).searchParams.get("next"));
  // next-auth wants its own proof that a page of ours asks. Whoever else starts it gets no further than the provider.
  const csrfToken = base64UrlEncode(context.random(32));
  const hash = hexEncode(sha256(utf8Encode(`${csrfToken}${context.secrets.session}`)));
  const prefix = env.baseUrl.startsWith("https://") ? "__Host-" : "";
  const headers = new Headers(request.headers);
  headers.set("cookie", `${prefix}authjs.csrf-token=${encodeURIComponent(`${csrfToken}|${hash}`)}`);
  headers.set("content-type", "application/x-www-form-urlencoded");
  const body = new URLSearchParams({ csrfToken, callbackUrl: new URL(next, env.baseUrl).href });
  const url = new URL(`/api/auth/signin/${PROVIDER_ID}`, env.baseUrl);
  return asRedirect(await handlers.POST(new NextRequest(url, { method: "POST", headers, body: `${body}` })));
}

/**
 * False if the person was away longer than next-auth's cookie lasts, has begun another sign-in since, in another tab, or never
 * began one: no fault of the service's or of the provider's. next-auth checks it again.
 */
async function isLastSignIn({ context, env }: App, state: string | null, cookies: readonly string[]) {
  const salt = `${env.baseUrl.startsWith("https://") ? "__Secure-" : ""}authjs.state`;
  const token = cookies.find((cookie) => cookie.startsWith(`${salt}=`))?.slice(salt.length + 1) ?? "";
  const kept = await decode({ token, salt, secret: context.secrets.session }).catch(() => null);
  return state !== null && kept?.["value"] === state;
}

export async function completeProviderSignIn(request: Request): Promise<Response> {
  const app = await getApp();
  const { context, env } = app;
  if (env.OIDC_ISSUER === undefined) return redirectTo("/portal/sign-in");
  const url = new URL(`/api/auth/callback/${PROVIDER_ID}`, env.baseUrl);
  url.search = new URL(request.url).search;
  const headers = new Headers(request.headers);
  // Prevents next-auth from linking the provider's account to whoever is signed in here, whatever their address.
  const cookies = (headers.get("cookie") ?? "").split(/;\s*/);
  if (!(await isLastSignIn(app, url.searchParams.get("state"), cookies))) {
    context.logger.info("a sign-in came back from the provider too late, or after another one was begun");
    return redirectTo("/portal/sign-in?error=OutdatedSignIn");
  }
  headers.set("cookie", cookies.filter((cookie) => !/authjs\.session-token/.test(cookie)).join("; "));
  const answer = asRedirect(await handlers.GET(new NextRequest(url, { headers })));
  logProviderRefusal(app, url.searchParams, answer.headers);
  await leadToInbox(app, answer.headers);
  return answer;
}

/** A refusal that next-auth has taken for the provider's own: its state is that of this browser. */
function logProviderRefusal({ context: { logger }, env }: App, query: URLSearchParams, headers: Headers) {
  const to = new URL(headers.get("location") ?? "", env.baseUrl);
  if (to.searchParams.get("error") !== providerRefusal) return;
  const error = query.get("error");
  if (error === "access_denied") logger.info("a sign-in was broken off at the provider");
  else logger.error(readAnswer(error, query.get("error_description")), "the provider refused a sign-in");
}

const badLogout = (description: string, status = 400) =>
  Response.json(
    { error: "invalid_request", error_description: description },
    { status, headers: { "cache-control": "no-store" } },
  );

/**
 * OpenID Connect Back-Channel Logout 1.0: the provider ends a person's sessions here, all of them. Only tokens that don't verify
 * are limited here: a provider doesn't send a logout again that was refused. As requests, all count and wait as pages do.
 */
export async function endProviderSessions(request: Request): Promise<Response> {
  const { context, env } = await getApp();
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: audience } = env;
  if (issuer === undefined || audience === undefined) return badLogout("no provider is set here");
  const { limiter } = context;
  const policy = limitPolicy(env, "approve");
  const client = requestAddress(await getApp(), request.headers) ?? "";
  const tooMany = "too many tokens that don't verify; try again in a minute";
  if (limiter.spent(policy, client) !== null) return badLogout(tooMany, 429);
  const token = await readLogoutToken(request, issuer, audience);
  if (token === null) return badLogout("the provider's keys can't be read now; send it again", 503);
  if (typeof token !== "object")
    return (await limiter.consume(policy, client)).allowed ? badLogout(token) : badLogout(tooMany, 429);
  await endSessionsOnce(context, issuer, token);
  return new Response(null, { status: 200, headers: { "cache-control": "no-store" } });
}

function asRedirect(answer: Response): Response {
  const headers = new Headers(answer.headers);
  headers.set("cache-control", "no-store");
  return new Response(null, { status: 303, headers });
}

export async function readSession(): Promise<PortalSession | null> {
  const session: SessionWithPortal | null = await auth();
  return session?.portal ?? null;
}

export async function endSession(): Promise<void> {
  await signOut({ redirect: false });
}
