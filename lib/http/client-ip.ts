/**
 * Whose request it is, for limits: the socket's address, or the entry of X-Forwarded-For that the last
 * trusted proxy wrote, counted from the right; what stands left of it is the client's own invention.
 */
import ipaddr from "ipaddr.js";

const peerOfRequest = new WeakMap<Request, string>();

/** The header by which the production server hands the socket's address to Next; it carries a secret of the process. */
export const PEER_HEADER = "x-countersign-peer";

export function rememberPeer(request: Request, address: string): void {
  peerOfRequest.set(request, address);
}

function peerFromHeader(headers: Headers, secret: string): string | undefined {
  const value = headers.get(PEER_HEADER);
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

/** IPv4 as it is (also when mapped into IPv6), IPv6 by its /64. */
export function addressBucket(address: string): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`);
  return `${network.toString()}/64`;
}

/** Without a known socket address (a foreign Next host) and without trusted hops, all clients share one bucket. */
export function clientAddress(request: Request, peerSecret: string, trustedHops: number): string {
  const peer = peerOfRequest.get(request) ?? peerFromHeader(request.headers, peerSecret) ?? "unknown";
  if (trustedHops === 0) return addressBucket(peer);
  const forwarded = (request.headers.get("x-forwarded-for") ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const chosen = forwarded[forwarded.length - trustedHops] ?? peer;
  return addressBucket(chosen.replace(/^\[(.+)\](?::\d+)?$/, "$1").replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1"));
}
