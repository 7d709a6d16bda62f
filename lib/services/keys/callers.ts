/**
 * Callers as they were a moment ago, for operations that store nothing unless the caller is still the same
 * (`rechecksCaller` in lib/api/operations/operation.ts). Everyone else's key is looked up at each request.
 */

import type { KeyPrincipal, KnownKey } from "#lib/api/http/principal";
import { createTimedCache } from "#lib/jobs/timed-cache";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";

export interface Callers {
  recall(text: string): KeyPrincipal | null;
  remember(text: string, principal: KeyPrincipal): void;
  /** By the key's id: something about the key or its organization has changed. */
  forget(keyId: string): void;
  /** A key that no longer works: whose it was, for the request log alone. */
  recallDead(text: string): KnownKey | null;
  rememberDead(text: string, key: KnownKey): void;
}

/** Less than the minute after which a key's last use is written down again. */
const lifetimeMs = 20_000;
/** Longer than the minute in which a key that was missed is not looked up again (unknown-keys.ts). */
const deadLifetimeMs = 120_000;

/** By hash: this is no second place that holds keys. */
const nameOf = (text: string) => hexEncode(sha256(utf8Encode(text)));

export function createCallers(clock: () => Date): Callers {
  const principals = createTimedCache<KeyPrincipal>(clock, lifetimeMs);
  const dead = createTimedCache<KnownKey>(clock, deadLifetimeMs);
  const changed = createTimedCache<true>(clock, lifetimeMs);
  return {
    recall: (text) => {
      const principal = principals.get(nameOf(text));
      return principal !== undefined && !changed.has(principal.keyId) ? principal : null;
    },
    remember: (text, principal) => {
      changed.delete(principal.keyId);
      principals.set(nameOf(text), principal);
    },
    forget: (keyId) => void changed.set(keyId, true),
    recallDead: (text) => dead.get(nameOf(text)) ?? null,
    rememberDead: (text, key) => void dead.set(nameOf(text), key),
  };
}
