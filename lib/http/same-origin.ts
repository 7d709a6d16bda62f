/**
 * Whether a request that changes something comes from a page of ours. Browsers set both headers themselves: `Origin`
 * is `null` for a form on a page with `no-referrer`, for which `Sec-Fetch-Site` answers.
 */
import { AppError } from "#lib/errors";

export function requireSameOrigin(request: Request, baseUrl: string): void {
  const isOurs =
    request.headers.get("origin") === new URL(baseUrl).origin ||
    request.headers.get("sec-fetch-site") === "same-origin";
  if (!isOurs) throw new AppError("forbidden", "only a page of this service may do this");
}
