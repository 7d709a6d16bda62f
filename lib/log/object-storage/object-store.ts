/**
 * Where the log lies outside the database: a bucket of any S3 (s3-store.ts) or a folder (open-store.ts). What both must
 * keep: an object is whole or not there, and stays once a call has returned; `replace` changes it for one caller alone.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotStart } from "#lib/db/migrations";
import { bytesEqual } from "#lib/protocol/encoding/bytes";

export type ObjectKey = string;

export interface StoredObject {
  bytes: Uint8Array;
  /** Tag of these bytes in this object: each change makes another one. */
  tag: string;
}

export type ObjectKind = "immutable" | "checkpoint" | "lock";

export interface ObjectStore {
  readonly name: string;
  read(key: ObjectKey): Promise<StoredObject | null>;
  /** False if there is one already, whatever it holds. */
  create(key: ObjectKey, bytes: Uint8Array, kind: ObjectKind): Promise<boolean>;
  write(key: ObjectKey, bytes: Uint8Array, kind: ObjectKind): Promise<void>;
  /**
   * Only if the object still has this tag (null: if there is none); its new tag, or null if it has another one. Rejects if
   * nobody knows: then it may have been changed, or be changed later.
   */
  replace(key: ObjectKey, bytes: Uint8Array, tag: string | null): Promise<string | null>;
  /** The last parts of the names right below `folder`. */
  list(folder: string): Promise<string[]>;
  close(): void;
}

export function within(store: ObjectStore, folder: string): ObjectStore {
  if (folder === "") return store;
  const inside = (key: string) => `${folder}/${key}`;
  return {
    name: `${store.name}/${folder}`,
    read: (key) => store.read(inside(key)),
    create: (key, bytes, kind) => store.create(inside(key), bytes, kind),
    write: (key, bytes, kind) => store.write(inside(key), bytes, kind),
    replace: (key, bytes, tag) => store.replace(inside(key), bytes, tag),
    list: (below) => store.list(inside(below)),
    close: () => store.close(),
  };
}

/*
 * Probes if a store honours conditions. Some servers accept the headers and ignore them; others look first and write
 * later, so that several writers win if they come at once. Then the lock would hold no machine.
 */

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

const writers = 20;

/** All write at once on the same condition. The one that won; null if nobody did. */
async function race(store: ObjectStore, before: string | null): Promise<StoredObject | null> {
  const drafts = Array.from({ length: writers }, () => randomBytes(16));
  const ends = await Promise.allSettled(drafts.map((bytes) => store.replace(key, bytes, before)));
  const won = drafts.flatMap((bytes, i): StoredObject[] => {
    const end = ends[i];
    return end?.status === "fulfilled" && end.value !== null ? [{ bytes, tag: end.value }] : [];
  });
  if (won.length > 1)
    throw new IgnoresConditions(
      store,
      `ignores ${before === null ? "If-None-Match" : "If-Match"} when writers come at once: ${won.length} of ${writers} won`,
    );
  const failed = ends.find((end) => end.status === "rejected");
  if (won.length === 0 && failed !== undefined) throw failed.reason;
  return won[0] ?? null;
}

/** False if somebody else tried at the same moment, so that nothing is known. */
async function tryOnce(store: ObjectStore): Promise<boolean> {
  const before = (await store.read(key))?.tag ?? null;
  const made = before === null ? await race(store, null) : null;
  const old = made?.tag ?? before;
  const won = old === null ? null : await race(store, old);
  if (old === null || won === null) return false;
  const { bytes, tag } = won;
  const late = randomBytes(16);
  for (const [condition, name] of [
    [old, "If-Match"],
    [null, "If-None-Match"],
    ['"00000000000000000000000000000000"', "If-Match"],
  ] as const)
    if ((await store.replace(key, late, condition)) !== null)
      throw new IgnoresConditions(store, `ignores ${name}`);
  const found = await store.read(key);
  if (found === null) throw new IgnoresConditions(store, "does not keep what was written");
  if (bytesEqual(found.bytes, late)) throw new IgnoresConditions(store, "stores what it refused");
  if (found.tag === tag && !bytesEqual(found.bytes, bytes))
    throw new IgnoresConditions(store, "has one tag for two contents");
  return true;
}

const maxAttempts = 20;
const apartMs = 100;

/** Leaves an object, `probe`, that is written over each time. */
export async function requireConditions(store: ObjectStore): Promise<void> {
  const failed = (error: { code?: unknown; name: string }) => {
    if (error instanceof IgnoresConditions) throw error;
    const says = `the store ${store.name} (LOG_STORE) can't be used (${error.code ?? error.name})`;
    throw new CannotStart({ says, mend: storeAdvice }, error);
  };
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (await tryOnce(store).catch(failed)) return;
    // Processes that start together would go on getting in each other's way.
    await sleep(Math.random() * apartMs * attempt);
  }
  throw new IgnoresConditions(store, "refuses every change");
}
