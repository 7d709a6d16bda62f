/**
 * The embedded database has no lock of its own: two processes on one folder lose each other's rows.
 * On Linux an abstract socket, which dies with its process, even by kill -9; elsewhere a file with the pid.
 */
import { createHash } from "node:crypto";
import { open, readFile, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
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
