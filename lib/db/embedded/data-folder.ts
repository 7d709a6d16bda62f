/**
 * The embedded database has no lock of its own: two processes on one folder lose each other's rows.
 * On Linux an abstract socket, which dies with its process, even by kill -9; elsewhere a file with the pid.
 */
import { createHash } from "node:crypto";
import { chmod, open, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { logger } from "#lib/logger";
import { makeFolder } from "#lib/make-folder";

function inUse(folder: string): Error {
  return new Error(
    `Countersign cannot start: another process is using the embedded database in ${folder}. Stop it, or give this one its own DATA_DIR, or use PostgreSQL (DATABASE_URL) for several processes.`,
  );
}

async function lockBySocket(folder: string): Promise<() => Promise<void>> {
  const name = `\0countersign-${createHash("sha256").update(folder).digest("hex")}`;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? inUse(folder) : error),
    );
    server.listen(name, resolve);
  });
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function lockByFile(folder: string): Promise<() => Promise<void>> {
  const file = path.join(folder, "countersign.pid");
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const holder = Number(await readFile(file, "utf8"));
      if (holder > 0 && isAlive(holder)) throw inUse(folder);
      await rm(file, { force: true });
    }
  }
  throw inUse(folder);
}

/** Resolves to the function that gives the folder back; throws if another live process holds it. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await makeFolder(folder);
  const real = await realpath(folder);
  return process.platform === "linux" ? lockBySocket(real) : lockByFile(real);
}

/*
 * Folders of this service's user alone, whatever the umask: mailed codes and keys are in them, and the embedded database
 * makes files that anybody may read. What a backup brought back is closed at each start.
 */

const mode = 0o700;

async function warnIfOpen(folder: string, reason: string): Promise<void> {
  const isOpen = ((await stat(folder)).mode & 0o077) !== 0;
  if (isOpen)
    logger.warn(`Other users of this machine may open ${folder}, which ${reason}. Close it: chmod 700.`);
}

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
