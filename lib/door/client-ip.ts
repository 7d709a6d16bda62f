/**
 * Whose request it is, for limits: the socket's address, or the entry of X-Forwarded-For that the last
 * trusted proxy wrote, counted from the right; what is left of it is the client's own invention.
 */
import ipaddr from "ipaddr.js";
import type { Env } from "#lib/env";
import { createRecent } from "#lib/workers/recent";
import type { Asked } from "./exchange";

/** Which proxies are believed. */
export type ProxySettings = Pick<Env, "TRUSTED_PROXY_HOPS" | "TRUSTED_PROXIES">;

const peerOfRequest = new WeakMap<object, string>();

/** The header by which the production server hands the socket's address to Next; it carries a secret of the server's. */
export const PEER_HEADER = "x-countersign-peer";

export function rememberPeer(request: Asked, address: string): void {
  peerOfRequest.set(request, address);
}

/** `value`: of the header PEER_HEADER. */
export function peerFromHeader(value: string | null, secret: string): string | undefined {
  return value?.startsWith(`${secret} `) ? value.slice(secret.length + 1) : undefined;
}

/** Whether it is this machine or a private network, or unknown (a foreign Next host). */
export function isNearby(bucket: string): boolean {
  const address = bucket.replace(/\/64$/, "");
  if (!ipaddr.isValid(address)) return true;
  // `unspecified` is ::1 by its /64.
  const near = ["loopback", "unspecified", "private", "uniqueLocal", "linkLocal"];
  return near.includes(ipaddr.parse(address).range());
}

/** The longest spelling of an IPv6 address; what is longer names a zone, or is none. */
const longestAddress = 45;
const buckets = createRecent<string>(10_000);

/** IPv4 as it is (also when mapped into IPv6), IPv6 by its /64. */
export function addressBucket(address: string): string {
  if (address.length > longestAddress) return toBucket(address);
  const known = buckets.get(address);
  if (known !== undefined) return known;
  const bucket = toBucket(address);
  buckets.set(address, bucket);
  return bucket;
}

function toBucket(address: string): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`);
  return `${network.toString()}/64`;
}

/**
 * Whether forwarding headers of this peer count. Without TRUSTED_PROXIES that is anybody's: the operator says by
 * TRUSTED_PROXY_HOPS that nobody but the proxy reaches the port.
 */
export function isTrustedProxy(
  peer: string,
  { TRUSTED_PROXY_HOPS, TRUSTED_PROXIES }: ProxySettings,
): boolean {
  if (TRUSTED_PROXY_HOPS === 0) return false;
  if (TRUSTED_PROXIES === undefined) return true;
  if (!ipaddr.isValid(peer)) return false;
  const address = ipaddr.process(peer);
  return TRUSTED_PROXIES.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}

/** Of a list that each proxy adds one entry to: what the outermost trusted one wrote. */
export function forwardedEntry(header: string | null | undefined, trustedHops: number): string | undefined {
  const entries = (header ?? "").split(",").map((part) => part.trim());
  const written = entries.filter((part) => part !== "");
  return written[written.length - trustedHops];
}

/** Without a known socket address (a foreign Next host) and without trusted hops, all clients share one bucket. */
export function clientAddress(
  request: Pick<Asked, "headers">,
  peerSecret: string,
  settings: ProxySettings,
): string {
  const peer =
    peerOfRequest.get(request) ?? peerFromHeader(request.headers.get(PEER_HEADER), peerSecret) ?? "unknown";
  if (!isTrustedProxy(peer, settings)) return addressBucket(peer);
  const forwarded = request.headers.get("x-forwarded-for");
  const chosen = forwardedEntry(forwarded, settings.TRUSTED_PROXY_HOPS) ?? peer;
  return addressBucket(chosen.replace(/^\[(.+)\](?::\d+)?$/, "$1").replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1"));
}
