/**
 * Answers for our own hosts only (lib/http/next-door.ts), and gives every page a Content-Security-Policy with a fresh
 * nonce. The matcher leaves out /v1, the log, badges and static files, which have fixed headers (next.config.ts) and
 * must not pay for this; what is not there at all is answered by a page, and so is not left out.
 */
import { type NextRequest, NextResponse } from "next/server";
import { buildContentSecurityPolicy } from "#lib/http/content-security-policy";
import { admitInNext } from "#lib/http/next-door";
import { publicBaseUrl } from "#lib/http/public-base-url";
import { strictTransport } from "#lib/http/security-headers";

export function proxy(request: NextRequest): Response {
  const { host, refusal } = admitInNext(request);
  if (refusal !== null) return refusal;
  const secure = publicBaseUrl().startsWith("https://");
  const policy = buildContentSecurityPolicy({
    nonce: Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64"),
    allowWorldId: request.nextUrl.pathname.startsWith("/approve/"),
    secure,
    // biome-ignore lint/style/noProcessEnv: set by Next itself and inlined at build
    development: process.env.NODE_ENV === "development",
  });
  const headers = new Headers(request.headers);
  // Next reads the nonce from this request header and puts it on the scripts and styles that it writes.
  headers.set("Content-Security-Policy", policy);
  // Server actions and next-auth believe this header before `Host`.
  headers.set("X-Forwarded-Host", host);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("Content-Security-Policy", policy);
  if (secure) {
    for (const [name, value] of Object.entries(strictTransport)) response.headers.set(name, value);
  }
  return response;
}

export const config = {
  matcher: [
    "/((?!v1/|log/|badge/[^/]+$|_next/static/|\\.well-known/jwks\\.json$|docs/[a-z-]+\\.md$|llms\\.txt$|verify\\.mjs(?:\\.sha256)?$|robots\\.txt$|icon\\.svg$).*)",
  ],
};
