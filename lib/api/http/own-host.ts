/**
 * Which hosts are this service's (RFC 9110 section 7.4). A page of another site can make its own name resolve to this
 * machine (DNS rebinding) and is then the server's own origin to the browser; only `Host` still differs. So every
 * request names the host of PUBLIC_BASE_URL, or gets 421.
 */

import { AppError } from "#lib/errors";
import { httpRequestId } from "#lib/protocol/encoding/ids";
import { isIpAddress, isLoopbackUrl, parseHost } from "#lib/protocol/text/host";
import { addCommonHeaders } from "./common-headers";
import type { HttpResponse } from "./messages";
import { writeProblem } from "./problem";

export interface OwnHosts {
  baseUrl: string;
  /** Port of a host that names none. */
  defaultPort: number;
  /** `Host` of PUBLIC_BASE_URL itself. */
  authority: string;
  isLoopback: boolean;
  /** `name:port`, the port always written. */
  known: ReadonlySet<string>;
}

/** The host that a request names. */
export interface HostClaim {
  /** Every `Host` header; Node's parser has refused HTTP/1.1 without one. */
  hosts: readonly string[];
  /** The authority of a target in absolute form (RFC 9112 section 3.2.2), else undefined. */
  targetAuthority?: string | undefined;
  /** X-Forwarded-Host, as a trusted proxy wrote it, else undefined. */
  forwardedHost?: string | undefined;
  /** Without the query. */
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
export function refuseHost(error: unknown, { baseUrl }: OwnHosts): HttpResponse {
  if (!(error instanceof AppError)) throw error;
  const requestId = httpRequestId(crypto.getRandomValues(new Uint8Array(12)));
  return addCommonHeaders(writeProblem(error, baseUrl, requestId), { baseUrl }, requestId, false);
}
