/** The limits (docs/wire.md, Limits) and the headers that announce them. */

import type { LimitName } from "#lib/api/operations/operation";
import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import { count } from "#lib/instrumentation";
import type { HttpContext, ServiceSettings } from "./context";
import type { LimitPolicy, LimitState } from "./rate-limit";

export function limitPolicy(env: Env, name: LimitName): LimitPolicy {
  const perMinute = {
    attest: env.LIMIT_ATTEST_PER_MINUTE,
    verify: env.LIMIT_VERIFY_PER_MINUTE,
    feed: env.LIMIT_FEED_PER_MINUTE,
    authorize: env.LIMIT_AUTHORIZE_PER_MINUTE,
    approve: env.LIMIT_APPROVE_PER_MINUTE,
    read_authorization: env.LIMIT_READ_AUTHORIZATION_PER_MINUTE,
    public_read: env.LIMIT_PUBLIC_READ_PER_MINUTE,
    keyed: env.LIMIT_KEYED_PER_MINUTE,
  };
  if (name === "key_request")
    return { name, limit: env.LIMIT_KEY_REQUEST_PER_IP_PER_HOUR, windowSeconds: 3600 };
  return { name, limit: perMinute[name], windowSeconds: 60 };
}

const organizationSettings = {
  attest: "LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE",
  authorize: "LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE",
  keyed: "LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE",
} as const satisfies Partial<Record<LimitName, keyof Env>>;

/** The second limit on what a key does: all keys of its organization together. Null if clients are counted by address. */
export function organizationPolicy(env: Env, name: LimitName): LimitPolicy | null {
  if (!(name in organizationSettings)) return null;
  const limit = env[organizationSettings[name as keyof typeof organizationSettings]];
  return { name: `${name}_organization`, limit, windowSeconds: 60 };
}

/** The second limit on key requests: by the address that mail goes to. */
export function keyRequestAddressPolicy(settings: ServiceSettings): LimitPolicy {
  return {
    name: "key_request_address",
    limit: settings.LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR,
    windowSeconds: 3600,
  };
}

/** In its place for a browser in which that address signed in before. */
export function knownDevicePolicy(settings: ServiceSettings): LimitPolicy {
  return { ...keyRequestAddressPolicy(settings), name: "known_device" };
}

/** Limits unknown keys by the client's address, before every keyed route's own limit. */
export function unknownKeyPolicy(env: Env): LimitPolicy {
  return { name: "unknown_key", limit: env.LIMIT_UNKNOWN_KEY_PER_MINUTE, windowSeconds: 60 };
}

/** IETF draft-ietf-httpapi-ratelimit-headers, and the older X- form. */
function limitHeaders(policy: LimitPolicy, state: LimitState, nowMs: number): Record<string, string> {
  const resetSeconds = Math.max(1, Math.ceil((state.resetMs - nowMs) / 1000));
  return {
    "ratelimit-policy": `"${policy.name}";q=${policy.limit};w=${policy.windowSeconds}`,
    ratelimit: `"${policy.name}";r=${state.remaining};t=${resetSeconds}`,
    "x-ratelimit-limit": String(policy.limit),
    "x-ratelimit-remaining": String(state.remaining),
    "x-ratelimit-reset": String(Math.ceil(state.resetMs / 1000)),
    ...(state.allowed ? {} : { "retry-after": String(resetSeconds) }),
  };
}

async function consume(context: HttpContext, policy: LimitPolicy, key: string, points = 1) {
  const state = await context.limiter.consume(policy, key, points);
  if (state.allowed) return { policy, state };
  count("limit refused", policy.name);
  throw limitExceeded(policy, state, context.clock().getTime());
}

const describe = ({ clock }: HttpContext, { policy, state }: Awaited<ReturnType<typeof consume>>) =>
  limitHeaders(policy, state, clock().getTime());

/**
 * The limit of the key and then that of its organization, so that many keys do not multiply it; the headers describe
 * the one with less left. Refused requests of a key don't count for its organization, so one runaway key can't use up
 * what the others need.
 */
export async function enforceKeyLimit(
  context: HttpContext,
  policies: { key: LimitPolicy; organization: LimitPolicy },
  caller: { keyId: string; organizationId: string },
  points: number,
): Promise<Record<string, string>> {
  const ofKey = await consume(context, policies.key, caller.keyId, points);
  const ofAll = await consume(context, policies.organization, caller.organizationId, points);
  return describe(context, ofAll.state.remaining < ofKey.state.remaining ? ofAll : ofKey);
}

export function limitExceeded(policy: LimitPolicy, state: LimitState, nowMs: number): AppError {
  return new AppError(
    "rate_limit_exceeded",
    `at most ${policy.limit} requests in ${policy.windowSeconds} seconds; try again after the time in Retry-After`,
    { headers: limitHeaders(policy, state, nowMs) },
  );
}

/** The headers of the limited route; throws 429 with the same headers if the limit is used up. */
export async function enforceLimit(
  context: HttpContext,
  policy: LimitPolicy,
  key: string,
): Promise<Record<string, string>> {
  return describe(context, await consume(context, policy, key));
}
