/** The production server's first step: is the request for this service at all? */

import type { IncomingMessage } from "node:http";
import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
import { isIpAddress, isLoopbackUrl, parseHost, plainAddress } from "#lib/protocol/text/host";
import { addCommonHeaders } from "./common-headers";
import { type HttpResponse, toResponse, writeProblem } from "./problem";
import { forwardedEntry, isTrustedProxy } from "./rate-limit";

/*
 * Hosts of this service (RFC 9110 section 7.4). A page of another site can make its own name resolve to this machine (DNS
 * rebinding) and is then the server's own origin to the browser; only `Host` still differs. So every request names the host of
 * PUBLIC_BASE_URL, or gets 421.
 */

export interface OwnHosts {
  baseUrl: string;
  defaultPort: number;
  /** `Host` of PUBLIC_BASE_URL itself. */
  authority: string;
  isLoopback: boolean;
  /** `name:port`, the port always written. */
  known: ReadonlySet<string>;
}

export interface HostClaim {
  /** Every `Host` header; Node's parser has refused HTTP/1.1 without one. */
  hosts: readonly string[];
  /** The authority of a target in absolute form (RFC 9112 section 3.2.2), else undefined. */
  targetAuthority?: string | undefined;
  /** X-Forwarded-Host, as a trusted proxy wrote it, else undefined. */
  forwardedHost?: string | undefined;
  /** Path without the query. */
  path: string;
}

/** `port`: what the server binds. On loopback its names are all one machine's, and a tunnel may end on either port. */
export function listOwnHosts(baseUrl: string, port: number): OwnHosts {
  const url = new URL(baseUrl);
  const defaultPort = url.protocol === "https:" ? 443 : 80;
  const isLoopback = isLoopbackUrl(baseUrl);
  const ownPort = url.port === "" ? defaultPort : Number(url.port);
  const names = isLoopback ? [url.hostname, "localhost", "127.0.0.1", "[::1]"] : [url.hostname];
  const ports = isLoopback ? [ownPort, port] : [ownPort];
  const known = new Set(names.flatMap((name) => ports.map((each) => `${name.replace(/\.$/, "")}:${each}`)));
  return { baseUrl, defaultPort, authority: url.host, isLoopback, known };
}

function misdirected({ baseUrl }: OwnHosts): AppError {
  return new AppError(
    "misdirected_request",
    `this server only answers requests for ${new URL(baseUrl).host}; if that is not its address, set PUBLIC_BASE_URL`,
  );
}

/** Load balancers and container engines ask by address, or (HTTP/1.0) without any host. No rebound name is either. */
function isProbe(name: string | null, path: string): boolean {
  if (path.replaceAll(/\/{2,}/g, "/") !== "/v1/health") return false;
  return name === null || name === "localhost" || isIpAddress(name);
}

/** The one host that the request names, as it was written; throws 400 if it names two. */
function claimedHost({ hosts, targetAuthority }: HostClaim, defaultPort: number): string | undefined {
  if (hosts.length > 1) throw new AppError("bad_request", "Host: is given more than once");
  const [host] = hosts;
  if (targetAuthority === undefined) return host;
  const [inTarget, inHeader] = [targetAuthority, host ?? ""].map((text) => parseHost(text, defaultPort));
  const isSame = inTarget?.name === inHeader?.name && inTarget?.port === inHeader?.port;
  // A client sends both alike; a proxy between it and us may have looked at only one of them.
  if (host !== undefined && !isSame) throw new AppError("bad_request", "Host: is not the target's");
  return targetAuthority;
}

/** The host as `Host` should have it: one of ours. Throws 421 for another's, 400 for what is no host. */
export function requireOwnHost(claim: HostClaim, own: OwnHosts): string {
  const claimed = claimedHost(claim, own.defaultPort);
  const text = claim.forwardedHost ?? claimed;
  if (text === undefined || text === "") {
    if (!own.isLoopback && isProbe(null, claim.path)) return own.authority;
    throw misdirected(own);
  }
  const host = parseHost(text, own.defaultPort);
  if (host === null) throw new AppError("bad_request", "Host: is not a host");
  if (own.known.has(`${host.name}:${host.port}`))
    return host.port === own.defaultPort ? host.name : `${host.name}:${host.port}`;
  if (!own.isLoopback && isProbe(host.name, claim.path)) return own.authority;
  throw misdirected(own);
}

/** The answer to a request that is not ours to answer: no other origin may read it. */
function refuseHost(error: unknown, { baseUrl }: OwnHosts): HttpResponse {
  if (!(error instanceof AppError)) throw error;
  const requestId = httpRequestId(crypto.getRandomValues(new Uint8Array(12)));
  return addCommonHeaders(writeProblem(error, baseUrl, requestId), { baseUrl }, requestId, false);
}

/** Null: it is, and its target and headers are as everything behind may believe them. Else the refusal. */
export type CheckHost = (incoming: IncomingMessage) => HttpResponse | null;

const absoluteForm = /^https?:\/\/([^/?#]*)\/?/i;

/** Headers that say what a proxy saw; Next and next-auth would believe anyone's. */
const forwardingHeaders = ["x-forwarded-host", "x-forwarded-port", "x-forwarded-proto"] as const;

function hostHeaders(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === "host");
}

/** The outermost trusted proxy's entry; proxies that replace instead of adding leave one. */
function readForwardedHost(incoming: IncomingMessage, env: Env): string | undefined {
  const header = incoming.headers["x-forwarded-host"]?.toString();
  if (header === undefined || !isTrustedProxy(incoming.socket.remoteAddress ?? "", env)) return undefined;
  return forwardedEntry(header, env.TRUSTED_PROXY_HOPS) ?? header.split(",")[0]?.trim();
}

export function createHostCheck(env: Env): CheckHost {
  const own = listOwnHosts(env.baseUrl, env.PORT);
  const protocol = new URL(env.baseUrl).protocol.slice(0, -1);
  return (incoming) => {
    const sent = incoming.url ?? "/";
    const target = sent.replace(absoluteForm, "/");
    const claim: HostClaim = {
      hosts: hostHeaders(incoming.rawHeaders),
      targetAuthority: absoluteForm.exec(sent)?.[1],
      forwardedHost: readForwardedHost(incoming, env),
      path: target.split("?")[0] ?? "/",
    };
    let host: string;
    try {
      host = requireOwnHost(claim, own);
    } catch (error) {
      return refuseHost(error, own);
    }
    incoming.url = target;
    const { headers } = incoming;
    // Deleting an absent header would make every later look at the headers slower.
    for (const name of forwardingHeaders) if (name in headers) delete headers[name];
    headers.host = host;
    headers["x-forwarded-proto"] = protocol;
    return null;
  };
}

/* The address that the service prints in links and commands, without a trailing slash. */

/** PUBLIC_BASE_URL, or http://localhost:PORT. Read at each call: one build serves any address. */
export function publicBaseUrl(): string {
  // biome-ignore lint/style/noProcessEnv: proxy.ts runs apart from the app and must not load the whole environment
  const { PUBLIC_BASE_URL, PORT } = process.env;
  return plainAddress(PUBLIC_BASE_URL?.trim() || `http://localhost:${PORT?.trim() || "3000"}`);
}

/*
 * The host check for when Next itself is the server (`next start`, any Next host): the production server has done it
 * before (lib/api/http/host-check.ts). proxy.ts asks for pages, route handlers ask here.
 */

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

export function forOwnHosts<Rest extends unknown[]>(
  handler: (request: Request, ...rest: Rest) => Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => admitInNext(request).refusal ?? handler(request, ...rest);
}
