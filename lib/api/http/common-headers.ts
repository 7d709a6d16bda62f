/** Headers of every operation's answer, whichever server it leaves through. */

import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import { isLoopbackUrl } from "#lib/protocol/text/host";
import { plainStyleSource } from "./plain-page";
import type { HttpRequest, HttpResponse } from "./problem";
import { dataOnly, everywhere, strictTransport } from "./security-headers";

const exposed =
  "Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const always = lowerCase({ ...everywhere, ...dataOnly });
const overTls = { ...always, ...lowerCase(strictTransport) };
const forEveryone = { "access-control-allow-origin": "*", "access-control-expose-headers": exposed };

export function addCommonHeaders<Kind extends HttpResponse | Response>(
  answer: Kind,
  { baseUrl }: Pick<Env, "baseUrl">,
  requestId: string,
  isForEveryone: boolean,
): Kind {
  const fixed = baseUrl.startsWith("https://") ? overTls : always;
  const added = isForEveryone ? [fixed, forEveryone] : [fixed];
  if (answer instanceof Response) {
    for (const [name, value] of added.flatMap(Object.entries)) answer.headers.set(name, value);
    answer.headers.set("request-id", requestId);
  } else Object.assign(answer.headers, ...added, { "request-id": requestId });
  return answer;
}

/*
 * The Content-Security-Policy of every page (shared rule: no inline script runs without this request's nonce).
 *
 * `style-src-attr 'unsafe-inline'`: charts and pop-ups place themselves by style attributes that React renders on
 * the server. An attribute cannot load anything (img-src, font-src and connect-src still hold) nor hold a
 * selector, so it cannot read the page; style *elements* still need the nonce.
 */

export interface PolicyOptions {
  readonly nonce: string;
  /** The approval page: World's wallet code is WebAssembly and speaks to World's bridge. */
  readonly allowWorldId: boolean;
  /** The public address is https: plain-http subresources are upgraded. */
  readonly secure: boolean;
  /** `next dev` needs eval and a web socket for its reloads. Never true in a build. */
  readonly development: boolean;
}

/** World's wallet bridge. The stand-in's bridge is on this very origin and needs no entry. */
export const worldBridgeOrigin = "https://bridge.worldcoin.org";

/** One header value. `strict-dynamic` lets Next's own loader add its chunks; 'self' is for browsers without it. */
export function buildContentSecurityPolicy(options: PolicyOptions): string {
  const script = [`'self'`, `'nonce-${options.nonce}'`, "'strict-dynamic'"];
  const connect = ["'self'"];
  if (options.allowWorldId) {
    script.push("'wasm-unsafe-eval'");
    connect.push(worldBridgeOrigin);
  }
  // A form posted without JavaScript is answered with a plain page.
  const style = ["'self'", `'nonce-${options.nonce}'`, plainStyleSource];
  if (options.development) {
    script.push("'unsafe-eval'");
    connect.push("ws:");
    style.splice(0, style.length, "'self'", "'unsafe-inline'");
  }
  const directives = [
    "default-src 'none'",
    `script-src ${script.join(" ")}`,
    `style-src ${style.join(" ")}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${connect.join(" ")}`,
    "manifest-src 'self'",
    "worker-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  if (options.secure) directives.push("upgrade-insecure-requests");
  return directives.join("; ");
}

/*
 * Rejects a request that changes something unless it comes from a page of ours. Browsers set both headers themselves:
 * `Origin` names the page's origin. It is `null` for a form on a page with `no-referrer`; then, and only then,
 * `Sec-Fetch-Site` answers.
 */

/** Loopback has several names (lib/api/http/host-check.ts): the page's and the request's must be the same. */
function isOwnOrigin(origin: string, host: string | null, baseUrl: string): boolean {
  const own = new URL(baseUrl);
  if (origin === own.origin) return true;
  const ofRequest = `${own.protocol}//${host}`;
  return origin === ofRequest && isLoopbackUrl(baseUrl) && URL.canParse(origin) && isLoopbackUrl(origin);
}

export function requireSameOrigin({ headers }: Pick<HttpRequest, "headers">, baseUrl: string): void {
  const origin = headers.get("origin");
  const isOurs =
    origin === null || origin === "null"
      ? headers.get("sec-fetch-site") === "same-origin"
      : isOwnOrigin(origin, headers.get("host"), baseUrl);
  if (!isOurs) throw new AppError("forbidden", "only a page of this service can do this");
}
