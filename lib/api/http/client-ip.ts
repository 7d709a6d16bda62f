/**
 * Whose request it is, for limits: the socket's address, or the entry of X-Forwarded-For that the last
 * trusted proxy wrote, counted from the right; what is left of it is the client's own invention.
 */
import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";
import type { Env } from "#lib/env";
import type { HttpRequest } from "./messages";

/** Which proxies are believed. */
export type ProxySettings = Pick<Env, "TRUSTED_PROXY_HOPS" | "TRUSTED_PROXIES">;

const peerOfRequest = new WeakMap<object, string>();

/** The header by which the production server hands the socket's address to Next; it carries a secret of the server's. */
export const PEER_HEADER = "x-countersign-peer";

export function rememberPeer(request: HttpRequest, address: string): void {
  peerOfRequest.set(request, address);
}

/** `value`: of the header PEER_HEADER. */
export function peerFromHeader(value: string | null, secret: string): string | undefined {
  return value?.startsWith(`${secret} `) ? value.slice(secret.length + 1) : undefined;
}

/** The longest spelling of an IPv6 address; what is longer names a zone, or is none. */
const longestAddress = 45;
const buckets = new LRUCache<string, string>({ max: 10_000 });

/** IPv4 as it is (also when mapped into IPv6), IPv6 by its /64. */
function addressBucket(address: string): string {
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
 * True if forwarding headers of this peer count. Without TRUSTED_PROXIES anybody's do: the operator says by
 * TRUSTED_PROXY_HOPS that only the proxy reaches the port.
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

/** Entry of the outermost trusted proxy, in a list that each proxy adds one to. */
export function forwardedEntry(header: string | null | undefined, trustedHops: number): string | undefined {
  const entries = (header ?? "").split(",").map((part) => part.trim());
  const written = entries.filter((part) => part !== "");
  return written[written.length - trustedHops];
}

type Headed = Pick<HttpRequest, "headers">;

const readPeer = (request: Headed, peerSecret: string): string =>
  peerOfRequest.get(request) ?? peerFromHeader(request.headers.get(PEER_HEADER), peerSecret) ?? "unknown";

function readClient(request: Headed, peer: string, settings: ProxySettings): string {
  if (!isTrustedProxy(peer, settings)) return peer;
  const forwarded = request.headers.get("x-forwarded-for");
  const chosen = forwardedEntry(forwarded, settings.TRUSTED_PROXY_HOPS) ?? peer;
  return chosen.replace(/^\[(.+)\](?::\d+)?$/, "$1").replace(/^(\d+(?:\.\d+){3}):\d+$/, "$1");
}

/** Without a known socket address (a foreign Next host) and without trusted hops, all clients share one bucket. */
export const clientAddress = (request: Headed, peerSecret: string, settings: ProxySettings): string =>
  addressBucket(readClient(request, readPeer(request, peerSecret), settings));

const isLoopback = (address: string) =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";

/** True if a proxy says that it asks for another machine. Next writes X-Forwarded-For itself: the socket's address. */
function isForwarded({ headers }: Headed): boolean {
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").map((entry) => entry.trim());
  return entries.some((entry) => entry !== "" && !isLoopback(entry));
}

/**
 * True if this machine asks: the socket says so, and so does the client behind a trusted proxy of this machine. A proxy
 * here that the settings don't name may have any client, and so may one that sends Forwarded (RFC 7239), which this
 * service doesn't read. Not if the socket is unknown (a foreign Next host).
 */
export function isFromThisMachine(request: Headed, peerSecret: string, settings: ProxySettings): boolean {
  if (request.headers.get("forwarded") !== null) return false;
  const peer = readPeer(request, peerSecret);
  if (!isTrustedProxy(peer, settings) && isForwarded(request)) return false;
  return isLoopback(peer) && isLoopback(readClient(request, peer, settings));
}
