/** Finds the Redis server that the tests of shared limits start, or brings one. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { installPackage } from "./debian.mjs";

const folders = ["/usr/bin", "/usr/local/bin", ...(process.env.PATH ?? "").split(path.delimiter)];
const servicePolicy = "/usr/sbin/policy-rc.d";

function findInstalled() {
  return folders
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, "redis-server"))
    .find((place) => existsSync(place));
}

/** Without the service that Debian would start: the tests start their own. */
function installServer() {
  if (existsSync(servicePolicy)) return installPackage("redis-server");
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  writeFileSync(servicePolicy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return installPackage("redis-server");
  } finally {
    rmSync(servicePolicy);
  }
}

/** The path of a Redis server: installed, or from Debian's packages when root. Throws when there is none. */
export function findRedis() {
  if (!findInstalled()) installServer();
  const found = findInstalled();
  if (found) return found;
  throw new Error(
    "Redis is needed by the tests and is not installed: run `apt-get install redis-server` as root",
  );
}
