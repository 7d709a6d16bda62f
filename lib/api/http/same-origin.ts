/**
 * Rejects a request that changes something unless it comes from a page of ours. Browsers set both headers themselves:
 * `Origin` names the page's origin. It is `null` for a form on a page with `no-referrer`; then, and only then,
 * `Sec-Fetch-Site` answers.
 */

import { AppError } from "#lib/errors";
import { isLoopbackUrl } from "#lib/protocol/text/host";
import type { HttpRequest } from "./messages";

/** On loopback the server has several names (lib/api/http/own-host.ts): the page's and the request's must be one. */
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
