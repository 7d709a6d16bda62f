/**
 * One step of a script: runs a command in the repository's folder, prints one line with its duration, and its output if
 * it fails.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");

export const seconds = (startedMs) => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;

/** Runs a command quietly and ends the process when it fails. */
export function runStep(name, command, args, { env = process.env } = {}) {
  const startedMs = Date.now();
  const run = spawnSync(command, args, {
    cwd: root,
    env,
    encoding: "utf8",
    shell: process.platform === "win32" && command === "npm",
    maxBuffer: 256 * 1024 * 1024,
  });
  if (run.status === 0) {
    console.log(`${name}: ${seconds(startedMs)}`);
    return;
  }
  process.stderr.write(`${run.stdout ?? ""}${run.stderr ?? ""}`);
  console.error(`${name}: failed after ${seconds(startedMs)}${run.error ? ` (${run.error.message})` : ""}`);
  process.exit(run.status || 1);
}
