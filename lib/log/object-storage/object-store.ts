/**
 * Storage of the log outside the database: a bucket of any S3 (s3-store.ts) or a folder. Both guarantee: an object is whole or
 * not there, and stays once a call has returned; `replace` changes it for one caller alone.
 */
import { randomBytes } from "node:crypto";
import { link, open, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotStart } from "#lib/db/migrations";
import type { Env } from "#lib/env";
import { makeFolder } from "#lib/make-folder";
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { parseStoreAddress } from "#lib/protocol/text/host";

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
   * Replaces the object if it still has this tag (null: if there is none) and returns the new tag, or null if it has another
   * one. Rejects if the outcome is unknown: then it may have been changed, or be changed later.
   */
  replace(key: ObjectKey, bytes: Uint8Array, tag: string | null): Promise<string | null>;
  /** The last parts of the names right below `folder`. */
  list(folder: string): Promise<string[]>;
  close(): void;
}

export interface Patience {
  /** A request that gets no answer for so long counts as lost. */
  patienceMs: number;
  attempts: number;
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
 * A store in a folder. Files are written beside their place and renamed, and are on the disk when a call returns. An object
 * that is replaced by condition is a folder of numbered versions: making the next number is exclusive, so one caller wins.
 */

async function orNull<T>(work: Promise<T>, ...codes: string[]): Promise<T | null> {
  return work.catch((error: NodeJS.ErrnoException) => {
    if (codes.includes(error.code ?? "")) return null;
    throw error;
  });
}

/** Windows cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

async function writeDraft(file: string, bytes: Uint8Array, place: (draft: string) => Promise<void>) {
  const folder = path.dirname(file);
  await makeFolder(folder);
  const draft = path.join(folder, `.${path.basename(file)}.${randomBytes(6).toString("hex")}`);
  try {
    const handle = await open(draft, "wx");
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(draft);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** False if it is there already. */
async function createFile(file: string, bytes: Uint8Array): Promise<boolean> {
  let isMade = true;
  await writeDraft(file, bytes, async (draft) => {
    isMade =
      (await orNull(
        link(draft, file).then(() => true),
        "EEXIST",
      )) ?? false;
    await rm(draft);
  });
  return isMade;
}

/** Versions that are kept: a process must find the one that it made, although others made newer ones before it could look. */
const keptVersions = 64;

const versionName = (version: number) => String(version).padStart(12, "0");

async function newestVersion(folder: string): Promise<number> {
  const names = (await orNull(readdir(folder), "ENOENT")) ?? [];
  return Math.max(0, ...names.filter((name) => /^\d{12}$/.test(name)).map(Number));
}

async function readVersion(folder: string): Promise<{ bytes: Uint8Array; tag: string } | null> {
  for (;;) {
    const version = await newestVersion(folder);
    if (version === 0) return null;
    const bytes = await orNull(readFile(path.join(folder, versionName(version))), "ENOENT");
    if (bytes !== null) return { bytes, tag: String(version) };
  }
}

export function openFolderStore(root: string): ObjectStore {
  const at = (key: string) => path.join(root, ...key.split("/"));

  async function replace(key: string, bytes: Uint8Array, tag: string | null): Promise<string | null> {
    const folder = at(key);
    const next = Number(tag ?? 0) + 1;
    if ((await newestVersion(folder)) !== next - 1) return null;
    if (!(await createFile(path.join(folder, versionName(next)), bytes))) return null;
    // A number that nobody has removed yet was never there before. A caller that slept for longer may have made one again.
    const isFirst = (await newestVersion(folder)) - next < keptVersions;
    await rm(path.join(folder, versionName(isFirst ? next - keptVersions : next)), { force: true });
    if (!isFirst) throw new Error(`nobody knows whether ${key} was changed`);
    return String(next);
  }

  return {
    name: root,
    read: async (key) => {
      const bytes = await orNull(readFile(at(key)), "ENOENT", "EISDIR");
      return bytes === null ? readVersion(at(key)) : { bytes, tag: "" };
    },
    create: (key, bytes) => createFile(at(key), bytes),
    write: (key, bytes) => writeDraft(at(key), bytes, (draft) => rename(draft, at(key))),
    replace,
    list: async (folder) => {
      const names = (await orNull(readdir(at(folder)), "ENOENT", "ENOTDIR")) ?? [];
      return names.filter((name) => !name.startsWith("."));
    },
    close: () => {},
  };
}

/** The store of LOG_STORE; the S3 client is loaded only if it is asked for. */
export async function openStore(
  address: string | undefined,
  { LOG_STORE_ENDPOINT: endpoint }: Pick<Env, "LOG_STORE_ENDPOINT">,
  patience?: Patience,
): Promise<ObjectStore | null> {
  if (address === undefined) return null;
  const parsed = parseStoreAddress(address);
  if (parsed === null) throw new Error(`${address} is neither s3://bucket/prefix nor file:/path`);
  const { bucket, path } = parsed;
  if (bucket === null) return openFolderStore(path);
  const { openS3Store } = await import("./s3-store");
  return openS3Store({ bucket, prefix: path, endpoint, ...patience });
}

/*
 * Probes if a store honours conditions. Some servers accept the headers and ignore them; others look first and write
 * later, so that several writers win if they come at once. Then the lock would hold no machine.
 */

const probeKey = "probe";

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

/** Writes all at once on the same condition. Returns the winner; null if nobody won. */
async function race(store: ObjectStore, before: string | null): Promise<StoredObject | null> {
  const drafts = Array.from({ length: writers }, () => randomBytes(16));
  const ends = await Promise.allSettled(drafts.map((bytes) => store.replace(probeKey, bytes, before)));
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
  const before = (await store.read(probeKey))?.tag ?? null;
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
    if ((await store.replace(probeKey, late, condition)) !== null)
      throw new IgnoresConditions(store, `ignores ${name}`);
  const found = await store.read(probeKey);
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
