/** Installs packages on Debian and its relatives, if this process may. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { seconds } from "./step.mjs";

let _updated = false;

function runApt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = spawnSync("apt-get", args, { env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (run.status !== 0) process.stderr.write(run.stderr ?? "");
  return run.status === 0;
}

/** Installs a package and says so in a line; false when this is not root on a Debian, or when apt-get fails. */
export function installPackage(name) {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  const startedMs = Date.now();
  _updated ||= runApt(["update", "-qq"]);
  const installed = runApt(["install", "-y", "-qq", "--no-install-recommends", name]);
  console.log(`apt-get install ${name}: ${installed ? seconds(startedMs) : "failed"}`);
  return installed;
}
