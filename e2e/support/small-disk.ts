/** A disk of a few megabytes that can be filled (Linux, as root): a tmpfs that only who is launched into it sees. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface SmallDisk {
  /** The folder, for those on the disk's side. */
  folder: string;
  /** Command prefix that starts a program on that side. */
  launcher: readonly string[];
  /** Takes the space that is left, but for so many bytes. */
  fill(leftBytes?: number): void;
  free(): void;
  close(): Promise<void>;
}

/** Reason why this machine can't have one; null if it can. */
export function whyNoSmallDisk(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "mounts need root on Linux";
  if (spawnSync("unshare", ["-m", "true"]).status !== 0) return "mount namespaces are not permitted here";
  return null;
}

/** Mounts in a mount namespace of its own, which lives as long as this process. */
const mount = `mount -t tmpfs -o size=$2 tmpfs "$1" && echo ready && exec sleep infinity`;

/** Another writer may take the last bytes first. */
function write(file: string, bytes: number): void {
  const part = Buffer.alloc(4096, 1);
  const opened = openSync(file, "w");
  try {
    for (let written = 0; written < bytes; ) written += writeSync(opened, part);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(opened);
  }
}

export async function openSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-disk-"));
  const holder: ChildProcess = spawn(
    "unshare",
    ["-m", "--propagation", "private", "sh", "-c", mount, "sh", folder, `${megabytes}m`],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(holder.stdout as NodeJS.EventEmitter, "data");
  const pid = String(holder.pid);
  const seen = `/proc/${pid}/root${folder}`;
  const filler = path.join(seen, "filler");
  return {
    folder,
    launcher: ["nsenter", "-t", pid, "-m", `--wdns=${process.cwd()}`],
    fill: (leftBytes = 0) => {
      const { bavail, bsize } = statfsSync(seen);
      write(filler, bavail * bsize - leftBytes);
    },
    free: () => rmSync(filler, { force: true }),
    close: async () => {
      holder.kill("SIGKILL");
      await once(holder, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
