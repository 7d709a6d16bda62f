/** The store of LOG_STORE; the S3 client is loaded only if it is asked for. */
import { randomBytes } from "node:crypto";
import { link, open, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Env } from "#lib/env";
import { makeFolder } from "#lib/make-folder";
import { parseStoreAddress } from "#lib/protocol/text/host";
import type { ObjectStore } from "./object-store";
import type { Patience } from "./s3-store";

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

/** So many stay: a process must find the one that it made, although others made newer ones before it could look. */
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
