/**
 * Limits that hold across processes and restarts. The shared store (Redis, else the database) counts in
 * fixed windows; each process takes small leases from it and spends them in memory, so that a public read
 * costs no write each time and no client ever gets more than the limit. A limit of 100 and less is counted one
 * by one, exactly; above, what another process (or one that died) holds of a lease, at most half a percent of
 * the limit, is not given out again.
 */
import type { Redis } from "ioredis";
import ipaddr from "ipaddr.js";
import { LRUCache } from "lru-cache";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Database } from "#lib/db/client";
import type { Env } from "#lib/env";
import type { HttpRequest } from "./problem";

export interface LimitPolicy {
  name: string;
  limit: number;
  windowSeconds: number;
}

export interface LimitState {
  allowed: boolean;
  remaining: number;
  /** End of the window, milliseconds since 1970. */
  resetMs: number;
}

export interface RateLimiter {
  /** `points`: how many requests it counts as; refused whole if they are not left. */
  consume(policy: LimitPolicy, key: string, points?: number): Promise<LimitState>;
  /** The refusal, if this process already knows that nothing is left. Counts nothing and asks no store. */
  spent(policy: LimitPolicy, key: string): LimitState | null;
}

interface Lease {
  available: number;
  sharedRemaining: number;
  resetMs: number;
}

type Counted = Pick<RateLimiterRes, "consumedPoints" | "msBeforeNext">;

const nowMs = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const hasEnded = "kept.expire <= excluded.expire - $3";

/** Uses the database's clock: a machine with a wrong one would end the others' windows. $3: a window's milliseconds. */
const countText = `INSERT INTO rate_limits AS kept (key, points, expire) VALUES ($1, $2, ${nowMs} + $3)
  ON CONFLICT (key) DO UPDATE SET points = CASE WHEN ${hasEnded} THEN 0 ELSE kept.points END + excluded.points,
    expire = CASE WHEN ${hasEnded} THEN excluded.expire ELSE kept.expire END
  RETURNING points, (expire - ${nowMs})::float8 AS ms`;

const maxLeases = 50_000;

const leaseSize = ({ limit }: LimitPolicy) => Math.max(1, Math.floor(limit / 200));

export function createRateLimiter(database: Database, redis: Redis | null, clock: () => Date): RateLimiter {
  const stores = new Map<string, RateLimiterRedis>();
  const leases = new Map<string, Lease>();
  const pending = new Map<string, Promise<Lease>>();

  async function countInDatabase(policy: LimitPolicy, key: string, points: number): Promise<Counted> {
    const { rows } = await database.query(countText, [
      `${policy.name}:${key}`,
      points,
      policy.windowSeconds * 1000,
    ]);
    return {
      consumedPoints: Number(rows[0]?.["points"]),
      msBeforeNext: Math.max(0, Number(rows[0]?.["ms"])),
    };
  }

  async function countIn(
    storeClient: Redis,
    policy: LimitPolicy,
    key: string,
    points: number,
  ): Promise<Counted> {
    const { name: keyPrefix, limit, windowSeconds: duration } = policy;
    const store =
      stores.get(keyPrefix) ?? new RateLimiterRedis({ keyPrefix, points: limit, duration, storeClient });
    stores.set(keyPrefix, store);
    return store.consume(key, points).catch((refusal: unknown) => {
      if (refusal instanceof RateLimiterRes) return refusal;
      return countInDatabase(policy, key, points);
    });
  }

  async function takeLease(
    policy: LimitPolicy,
    key: string,
    wanted: number,
    sinceMs: number,
  ): Promise<Lease> {
    const counted = await (redis === null
      ? countInDatabase(policy, key, wanted)
      : countIn(redis, policy, key, wanted));
    const excess = Math.max(0, counted.consumedPoints - policy.limit);
    return {
      available: Math.max(0, wanted - excess),
      sharedRemaining: Math.max(0, policy.limit - counted.consumedPoints),
      resetMs: sinceMs + counted.msBeforeNext,
    };
  }

  /** Sends only one request of a key to the store at once; the others wait for its lease. */
  function renew(policy: LimitPolicy, key: string, name: string, missing: number): Promise<Lease> {
    const running = pending.get(name);
    if (running) return running;
    const sinceMs = clock().getTime();
    const promise = takeLease(policy, key, Math.max(leaseSize(policy), missing), sinceMs)
      .then((lease) => {
        const before = leases.get(name);
        if (before !== undefined && before.resetMs > sinceMs) lease.available += before.available;
        if (leases.size >= maxLeases) leases.delete(leases.keys().next().value ?? "");
        leases.set(name, lease);
        return lease;
      })
      .finally(() => pending.delete(name));
    pending.set(name, promise);
    return promise;
  }

  return {
    spent: (policy, key) => {
      const lease = leases.get(`${policy.name}:${key}`);
      const isSpent = lease !== undefined && lease.available === 0 && lease.sharedRemaining === 0;
      if (!isSpent || lease.resetMs <= clock().getTime()) return null;
      return { allowed: false, remaining: 0, resetMs: lease.resetMs };
    },
    consume: async (policy, key, points = 1) => {
      const name = `${policy.name}:${key}`;
      for (;;) {
        let lease = leases.get(name);
        const isOver = lease === undefined || lease.resetMs <= clock().getTime();
        const missing = points - (isOver ? 0 : (lease?.available ?? 0));
        if (lease === undefined || isOver || (missing > 0 && lease.sharedRemaining > 0))
          lease = await renew(policy, key, name, missing);
        const { resetMs } = lease;
        if (lease.available >= points) {
          lease.available -= points;
          return { allowed: true, remaining: lease.available + lease.sharedRemaining, resetMs };
        }
        if (lease.sharedRemaining === 0) return { allowed: false, remaining: lease.available, resetMs };
      }
    },
  };
}

/*
 * Address that limits count a request for: the socket's, or the entry of X-Forwarded-For that the last trusted proxy wrote,
 * counted from the right; entries left of it are the client's own invention.
 */

/** Proxies that are believed. */
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

/** IPv4 as it is (also when mapped into IPv6), and so this machine's own address; IPv6 by its /64. */
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
  if (parsed.kind() === "ipv4" || parsed.range() === "loopback") return parsed.toString();
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

/** Shares one bucket among all clients if there is neither a known socket address (a foreign Next host) nor a trusted hop. */
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
