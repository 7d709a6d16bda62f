/**
 * Unknown API keys. A key's checksum is public, so anyone can make well-formed keys without end, and each would
 * cost the database a look-up: the misses of each client are counted, and when its limit is reached it waits.
 *
 * A client with a valid key that shares the address must not wait with it:
 * - A key that was found before is looked up at once, whatever the count. It is remembered as "worth a look-up" and
 *   nothing else: the database still answers each time, so a revoked key is refused at the next request.
 * - A key that was missed a moment ago is not looked up or counted again: keys are drawn at random and a dead one never
 *   comes back, so a client that keeps using a revoked key costs nothing and uses up no count.
 * All others pass a gate, a few at a time: a thousand at once would be looked up before the first miss is counted, and
 * a flood from a thousand addresses would leave the database no connection for the keys that are known. What remains: a
 * key that this process has never found waits while strangers use up its address's count.
 */

import { LRUCache } from "lru-cache";
import { limitExceeded } from "#lib/api/http/limits";
import type { LimitPolicy, LimitState, RateLimiter } from "#lib/api/http/rate-limit";
import type { AppError } from "#lib/errors";
import { createTimedCache } from "#lib/jobs/timed-cache";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";

/** Look-ups of keys that were never found, at a time. */
const gateWidth = 4;
const maxRemembered = 20_000;
const missLifetimeMs = 60_000;

export interface UnknownKeys {
  /** `lookUp` answers null for an unknown key; the refusal comes instead of it, or of its null. */
  find<Found>(
    text: string,
    client: string,
    lookUp: () => Promise<Found | null>,
  ): Promise<{ found: Found | null; refusal: AppError | null }>;
}

/** Resolves to the function that lets the next one in. */
function createGate(): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async () => {
    if (running < gateWidth) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return leave;
  };
}

export function createUnknownKeys(limiter: RateLimiter, policy: LimitPolicy, clock: () => Date): UnknownKeys {
  /** By hash: this is no second place that holds keys. */
  const found = new LRUCache<string, true>({ max: maxRemembered });
  const missed = createTimedCache<true>(clock, missLifetimeMs);
  const enter = createGate();
  const refuse = (state: LimitState) => limitExceeded(policy, state, clock().getTime());

  async function ask<Found>(name: string, client: string, lookUp: () => Promise<Found | null>) {
    const answer = await lookUp();
    if (answer !== null) {
      found.set(name, true);
      return { found: answer, refusal: null };
    }
    found.delete(name);
    missed.set(name, true);
    const state = await limiter.consume(policy, client);
    return { found: null, refusal: state.allowed ? null : refuse(state) };
  }

  return {
    find: async (text, client, lookUp) => {
      const name = hexEncode(sha256(utf8Encode(text)));
      if (found.get(name)) return ask(name, client, lookUp);
      const leave = await enter();
      try {
        if (missed.has(name)) return { found: null, refusal: null };
        const spent = limiter.spent(policy, client);
        return spent === null ? await ask(name, client, lookUp) : { found: null, refusal: refuse(spent) };
      } finally {
        leave();
      }
    },
  };
}
