/** Finds a server program that tests start, or installs it from Debian's packages. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { installPackage } from "./debian.mjs";

const folders = [
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  ...(process.env.PATH ?? "").split(path.delimiter),
];
const servicePolicy = "/usr/sbin/policy-rc.d";

function findInstalled(binary) {
  return folders
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, binary))
    .find((place) => existsSync(place));
}

/** Keeps Debian from starting the service: the tests start their own. */
function install(name) {
  if (existsSync(servicePolicy)) return installPackage(name);
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return false;
  writeFileSync(servicePolicy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return installPackage(name);
  } finally {
    rmSync(servicePolicy);
  }
}

/** The program's path: installed, or from Debian's packages when root. Throws when there is none. */
function findDaemon(title, binary, packageName) {
  if (!findInstalled(binary)) install(packageName);
  const found = findInstalled(binary);
  if (found) return found;
  throw new Error(
    `${title} is needed by the tests and is not installed: run \`apt-get install ${packageName}\` as root`,
  );
}

export const findRedis = () => findDaemon("Redis", "redis-server", "redis-server");
export const findNginx = () => findDaemon("nginx", "nginx", "nginx");
export const findPgbouncer = () => findDaemon("PgBouncer", "pgbouncer", "pgbouncer");
