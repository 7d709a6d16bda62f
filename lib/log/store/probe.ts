/** Whether a store keeps conditions: some servers accept the headers and ignore them, and then the lock would hold no machine. */
import { randomBytes } from "node:crypto";
import { bytesEqual } from "#lib/core/encoding/bytes";
import { CannotStart } from "#lib/db/start";
import type { ObjectStore } from "./object-store";

const key = "probe";

export const storeAdvice =
  "Check LOG_STORE, LOG_STORE_ENDPOINT, the network, and whether the credentials may read, list and write there.";

class IgnoresConditions extends Error {
  constructor(store: ObjectStore, what: string) {
    super(
      `Countersign cannot start: the store ${store.name} (LOG_STORE) ${what}. The log's lock needs a store that keeps If-Match and If-None-Match.`,
    );
  }
}

/** False if somebody else tried at the same moment, so that nothing is known. */
async function tryOnce(store: ObjectStore): Promise<boolean> {
  const before = (await store.read(key))?.tag ?? null;
  const bytes = randomBytes(16);
  const tag = await store.replace(key, bytes, before);
  if (tag === null) return false;
  const late = randomBytes(16);
  for (const [old, name] of [
    [before, before === null ? "If-None-Match" : "If-Match"],
    [null, "If-None-Match"],
    ['"00000000000000000000000000000000"', "If-Match"],
  ] as const)
    if ((await store.replace(key, late, old)) !== null) throw new IgnoresConditions(store, `ignores ${name}`);
  const found = await store.read(key);
  if (found === null) throw new IgnoresConditions(store, "does not keep what was written");
  if (bytesEqual(found.bytes, late)) throw new IgnoresConditions(store, "stores what it refused");
  if (found.tag === tag && !bytesEqual(found.bytes, bytes))
    throw new IgnoresConditions(store, "has one tag for two contents");
  return true;
}

const maxAttempts = 20;

/** Leaves an object, `probe`, that is written over each time. */
export async function requireConditions(store: ObjectStore): Promise<void> {
  const failed = (error: { code?: unknown; name: string }) => {
    if (error instanceof IgnoresConditions) throw error;
    const says = `the store ${store.name} (LOG_STORE) can't be used (${error.code ?? error.name})`;
    throw new CannotStart({ says, mend: storeAdvice }, error);
  };
  for (let left = maxAttempts; left > 0; left -= 1) if (await tryOnce(store).catch(failed)) return;
  throw new IgnoresConditions(store, "refuses every change");
}
