/**
 * One step of a script: runs a command in the repository's folder, prints one line with its duration, and its output if
 * it fails.
 */
import { spawn, spawnSync } from "node:child_process";
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

const running = new Set();

/** The same beside others. If it fails, they end too. */
export function startStep(name, command, args, { env = process.env } = {}) {
  const startedMs = Date.now();
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output.push(data));
  return new Promise((resolve) => {
    child.on("error", (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.on("close", (status) => {
      running.delete(child);
      if (status === 0) {
        console.log(`${name}: ${seconds(startedMs)}`);
        resolve();
        return;
      }
      for (const other of running) other.kill();
      process.stderr.write(Buffer.concat(output));
      console.error(`${name}: failed after ${seconds(startedMs)}`);
      process.exit(status > 0 ? status : 1);
    });
  });
}
