/**
 * Folders of this service's user alone, whatever the umask: mailed codes and keys are in them, and the embedded database
 * makes files that anybody may read. What a backup brought back is closed at each start.
 */
import { chmod, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { logger } from "#lib/logger";
import { makeFolder } from "#lib/make-folder";

const mode = 0o700;

async function warnIfOpen(folder: string, reason: string): Promise<void> {
  const isOpen = ((await stat(folder)).mode & 0o077) !== 0;
  if (isOpen)
    logger.warn(`Other users of this machine may open ${folder}, which ${reason}. Close it: chmod 700.`);
}

/** Nothing happens if it isn't there. */
async function closeToOthers(folder: string): Promise<void> {
  try {
    await chmod(folder, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    // Like the root of a mounted volume.
    if (code !== "EPERM" && code !== "EROFS") throw error;
    await warnIfOpen(folder, "this service's user may not close");
  }
}

export async function makePrivateFolder(folder: string): Promise<void> {
  await makeFolder(folder, mode);
  await closeToOthers(folder);
}

/** The folder of these folders, as far as they exist. One that holds others' things too may be anybody's, like /tmp. */
export async function makePrivateParent(folder: string, names: readonly string[]): Promise<void> {
  await makeFolder(folder, mode);
  for (const name of names) await closeToOthers(path.join(folder, name));
  const isOurs = (await readdir(folder)).every((name) => names.includes(name));
  if (isOurs) await closeToOthers(folder);
  else await warnIfOpen(folder, "holds other things too");
}
