/**
 * Secrets kept under DATA_DIR: files of mode 0600 in a folder of mode 0700, created exclusively, and wrapped by a key
 * management service if one is set.
 */
import { existsSync } from "node:fs";
import { link, open, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "#lib/make-folder";
import type { KeyWrapping } from "./key-wrapping";

export interface SecretFiles {
  /** Where messages say it lies. */
  describe(name: string): string;
  read(name: string): Promise<string | null>;
  /** Throws EEXIST if there is one already. */
  create(name: string, text: string): Promise<void>;
  /** Moves `next` into the place of `name`; nothing happens if another process has done so. */
  replace(name: string, next: string): Promise<void>;
}

/** A next key is moved into its place as it is. */
const purposeOf = (name: string) => name.replace(/\.next$/, "");

async function readIfThere(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function writeDraft(draft: string, text: string): Promise<void> {
  const handle = await open(/* turbopackIgnore: true */ draft, "w", 0o600);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function openSecretFiles(folder: string, wrapping: KeyWrapping): SecretFiles {
  const file = (name: string) => path.join(folder, name);
  return {
    describe: file,
    read: async (name) => {
      const text = await readIfThere(file(name));
      return text === null ? null : wrapping.open(text, purposeOf(name), file(name));
    },
    create: async (name, text) => {
      const sealed = await wrapping.seal(text, purposeOf(name));
      await makeFolder(folder, 0o700);
      // Whole or not at all, and never over another: a second process sees the finished file or none.
      const draft = file(`.${name}.${process.pid}`);
      await writeDraft(draft, sealed);
      await link(draft, file(name)).finally(() => rm(draft, { force: true }));
    },
    replace: async (name, next) => {
      await rename(file(next), file(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    },
  };
}

/**
 * Wraps every secret of the folder in place that the wrapping key has not wrapped yet. Drafts that an end of the process
 * left behind may hold plain keys, and nothing reads them: they are removed.
 */
export async function wrapSecretFiles(
  folder: string,
  wrapping: KeyWrapping,
): Promise<{ seen: number; wrapped: string[]; removed: string[] }> {
  const all = existsSync(folder) ? await readdir(folder) : [];
  const wrapped: string[] = [];
  const removed = all.filter((name) => /^\..+\.\d+$/.test(name)).map((name) => path.join(folder, name));
  for (const draft of removed) await rm(draft, { force: true });
  const names = all.filter((name) => !name.startsWith("."));
  for (const name of names) {
    const file = path.join(folder, name);
    const sealed = await wrapping.rewrap((await readIfThere(file)) ?? "", purposeOf(name), file);
    if (sealed === null) continue;
    const draft = path.join(/* turbopackIgnore: true */ folder, `.${name}.${process.pid}`);
    await writeDraft(draft, sealed);
    await rename(draft, file);
    wrapped.push(file);
  }
  return { seen: names.length, wrapped, removed };
}
