/**
 * Sign-in by email link: next-auth with sessions in the database. The mailed link leads to a page of ours that only
 * shows a button; its POST ends in `completeSignIn`, and next-auth's own routes are not
 * exposed at all. This file reaches Next: nothing that server.ts bundles may import it.
 */

import { NextRequest, NextResponse } from "next/server";
import NextAuth, { type NextAuthConfig, type Session } from "next-auth";
import { AppError } from "#lib/errors";
import { base64UrlEncode } from "#lib/protocol/encoding/bytes";
import type { App } from "#lib/server/app";
import { requestAddress } from "#lib/server/next/request-address";
import { getApp } from "#lib/server/singleton";
import { signInMail, signUpClosedMail } from "#lib/services/accounts/mails";
import { signInLinkSeconds, signInUrl } from "#lib/services/accounts/sign-in-link";
import { maySignIn } from "#lib/services/accounts/sign-up";
import { knownDeviceCookie, markDevice } from "./known-device";
import { portalCookie } from "./portal-cookie";
import { safePortalPath } from "./portal-path";
import { createSessionStore, sessionLabel } from "./session-store";
import { createSignInLogger } from "./sign-in-log";

const sessionLifetimeSeconds = 14 * 86_400;

/** Session with the fields of our session callback. */
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

function buildConfig({ context, env }: App, ip: string | null): NextAuthConfig {
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
      // When the link is used: an invitation may have been withdrawn since it was mailed.
      signIn: ({ user }) => maySignIn(context, context.database.db, user.email ?? ""),
      session: ({ session, user }) => ({
        ...session,
        portal: { userId: user.id, email: user.email, label: sessionLabel(session.sessionToken) },
      }),
    },
    providers: [
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

/** Mails a link, or that sign-up is closed: whether or not the address is known. The caller has checked the limits. */
export async function requestSignInLink(email: string, next: string): Promise<void> {
  const { env, context } = await getApp();
  if (!(await maySignIn(context, context.database.db, email)))
    return context.mailer.send(signUpClosedMail(email, env.baseUrl));
  const to: unknown = await signIn("email", { email, redirectTo: next, redirect: false });
  if (typeof to !== "string" || new URL(to, env.baseUrl).searchParams.has("error"))
    throw new AppError("service_unavailable", "the mail could not be sent; try again shortly");
}

/**
 * Uses the link's token up and answers with the session's cookie and the browser's mark, or leads back to the form with
 * `?error=`.
 */
export async function completeSignIn(
  request: Request,
  link: { token: string; email: string; next: string },
): Promise<Response> {
  const { context, env } = await getApp();
  const url = new URL("/api/auth/callback/email", env.baseUrl);
  url.searchParams.set("token", link.token);
  url.searchParams.set("email", link.email);
  url.searchParams.set("callbackUrl", safePortalPath(link.next));
  const answer = await handlers.GET(new NextRequest(url, { headers: request.headers }));
  const headers = new Headers(answer.headers);
  headers.set("cache-control", "no-store");
  const response = new NextResponse(null, { status: 303, headers });
  const isSignedIn = headers.getSetCookie().some((cookie) => /session-token=[^;]/.test(cookie));
  if (isSignedIn)
    response.cookies.set(knownDeviceCookie, markDevice(context, link.email), portalCookie(env.baseUrl));
  return response;
}

/** Null if the visitor isn't signed in. */
export async function readSession(): Promise<PortalSession | null> {
  const session: SessionWithPortal | null = await auth();
  return session?.portal ?? null;
}

export async function endSession(): Promise<void> {
  await signOut({ redirect: false });
}
