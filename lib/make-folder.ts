/** A folder and what is missing above it. Node's own `recursive` never ends below /proc, where a parent that exists makes no folder. */
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";

async function makeOne(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, mode);
  } catch (error) {
    // Read-only mounts may answer with another code though the folder is there.
    const isThere = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) throw error;
  }
}

/** Tries each folder once, so that this ends. */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const parent = path.dirname(folder);
  try {
    await makeOne(folder, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === folder) throw error;
    await makeFolder(parent, mode);
    await makeOne(folder, mode);
  }
}
