/** The folder in which tests keep temporary files. */
import { accessSync, constants, statfsSync } from "node:fs";
import os from "node:os";

const memory = "/dev/shm";
const neededBytes = 4 * 2 ** 30;

/**
 * Memory, if there is plenty: a test's database is some hundreds of files, and to copy, write and delete them on a disk
 * takes the system ten times as long. What TMPDIR names comes first.
 */
export function findScratch() {
  if (process.env.TMPDIR) return os.tmpdir();
  try {
    accessSync(memory, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(memory);
    return Math.min(bavail * bsize, os.freemem()) < neededBytes ? os.tmpdir() : memory;
  } catch {
    return os.tmpdir();
  }
}
