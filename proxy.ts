/**
 * Answers for our own hosts only (lib/api/http/host-check.ts), counts pages that no production server has counted, and gives
 * every page a Content-Security-Policy with a fresh nonce. The matcher leaves out /v1, the log, badges and static
 * files, which have fixed headers (next.config.ts) and must not pay for this; what is not there at all is answered by
 * a page, and so is not left out.
 */
import { type NextRequest, NextResponse } from "next/server";
import { buildContentSecurityPolicy } from "#lib/api/http/common-headers";
import { admitInNext, publicBaseUrl } from "#lib/api/http/host-check";
import { toResponse } from "#lib/api/http/problem";
import { strictTransport } from "#lib/api/http/security-headers";
import { isWalletPage } from "#lib/api/schemas/page-headers";
import { COUNTED_HEADER, limitOfPage, refusePage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";

/** The 429, or null; what is counted says so to the page, in a header that only this process can write. */
async function refuse(request: NextRequest, headers: Headers): Promise<Response | null> {
  const { peerSecret } = await getApp();
  if (headers.get(COUNTED_HEADER) === peerSecret) return null;
  try {
    const refusal = await refusePage(request, limitOfPage(request.nextUrl.pathname) ?? "public_read");
    headers.set(COUNTED_HEADER, peerSecret);
    return refusal === null ? null : toResponse(refusal);
  } catch {
    // The counter is out of reach: the page will find that out too, and says so.
    return null;
  }
}

export async function proxy(request: NextRequest): Promise<Response> {
  const { host, refusal: foreign } = admitInNext(request);
  if (foreign !== null) return foreign;
  const headers = new Headers(request.headers);
  const refusal = await refuse(request, headers);
  if (refusal !== null) return refusal;
  const secure = publicBaseUrl().startsWith("https://");
  const policy = buildContentSecurityPolicy({
    nonce: Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64"),
    allowWorldId: isWalletPage(request.nextUrl.pathname),
    secure,
    // biome-ignore lint/style/noProcessEnv: set by Next itself and inlined at build
    development: process.env.NODE_ENV === "development",
  });
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
    "/((?!v1/|log/|badge/[^/]+$|_next/static/|\\.well-known/jwks\\.json$|docs/(?:api/)?[a-z-]+\\.md$|llms(?:-full)?\\.txt$|(?:verify|countersign)\\.mjs(?:\\.sha256)?$|countersign\\.tgz$|mcp$|robots\\.txt$|icon\\.svg$).*)",
  ],
};
