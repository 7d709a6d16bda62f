/**
 * The host check for when Next itself is the server (`next start`, any Next host): the production server has done it
 * before (lib/api/http/host-check.ts). proxy.ts asks for pages, route handlers ask here.
 */
import { forwardedEntry } from "./client-ip";
import { toResponse } from "./messages";
import { listOwnHosts, type OwnHosts, refuseHost, requireOwnHost } from "./own-host";
import { publicBaseUrl } from "./public-base-url";

/** The socket's address is not known in Next: with TRUSTED_PROXIES set, no forwarding headers count. */
function readHops(): number {
  // biome-ignore lint/style/noProcessEnv: proxy.ts runs apart from the app and must not load the whole environment
  const { TRUSTED_PROXY_HOPS, TRUSTED_PROXIES } = process.env;
  return TRUSTED_PROXIES ? 0 : Number(TRUSTED_PROXY_HOPS || 0);
}

function readOwnHosts(): OwnHosts {
  // biome-ignore lint/style/noProcessEnv: see above
  return listOwnHosts(publicBaseUrl(), Number(process.env["PORT"] || 3000));
}

export type Admission = { host: string; refusal: null } | { host: null; refusal: Response };

/** Next has set X-Forwarded-Host to `Host` if there was none. */
export function admitInNext(request: Request): Admission {
  const own = readOwnHosts();
  const hops = readHops();
  const forwarded = request.headers.get("x-forwarded-host");
  const host = request.headers.get("host");
  const claim = {
    hosts: host === null ? [] : [host],
    forwardedHost:
      hops > 0 ? (forwardedEntry(forwarded, hops) ?? forwarded?.split(",")[0]?.trim()) : undefined,
    path: new URL(request.url).pathname,
  };
  try {
    return { host: requireOwnHost(claim, own), refusal: null };
  } catch (error) {
    return { host: null, refusal: toResponse(refuseHost(error, own)) };
  }
}

/** A route handler that answers for our hosts only. */
export function forOwnHosts<Rest extends unknown[]>(
  handler: (request: Request, ...rest: Rest) => Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => admitInNext(request).refusal ?? handler(request, ...rest);
}
