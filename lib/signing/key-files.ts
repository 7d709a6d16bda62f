/** Secrets kept under DATA_DIR: files of mode 0600 in a folder of mode 0700, created exclusively. */
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";

export interface SecretFiles {
  /** Where messages say it lies. */
  describe(name: string): string;
  read(name: string): Promise<string | null>;
  /** Throws EEXIST if there is one already. */
  create(name: string, text: string): Promise<void>;
  /** Moves `next` into the place of `name`; nothing happens if another process has done so. */
  replace(name: string, next: string): Promise<void>;
}

export function openSecretFiles(folder: string): SecretFiles {
  const file = (name: string) => path.join(folder, name);
  return {
    describe: file,
    read: async (name) => {
      try {
        return (await readFile(file(name), "utf8")).trim();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw error;
      }
    },
    create: async (name, text) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Whole or not at all, and never over another: a second process sees the finished file or none.
      const draft = file(`.${name}.${process.pid}`);
      const handle = await open(/* turbopackIgnore: true */ draft, "w", 0o600);
      try {
        await handle.writeFile(`${text}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await link(draft, file(name)).finally(() => rm(draft, { force: true }));
    },
    replace: async (name, next) => {
      await rename(file(next), file(name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    },
  };
}
