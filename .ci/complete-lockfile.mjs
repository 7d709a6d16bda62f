/**
 * Completes package-lock.json with the address of each package, so that npm reads no package's metadata, which is two thirds
 * of an install. In place of npm's own registry, which they name, npm asks the one that is configured. `npm install` leaves them
 * out by this folder's .npmrc, so that no mirror's gets in.
 *
 * Adds the optional packages of other platforms as well. npm leaves out those its registry does not
 * offer, and then `npm ci` refuses the lockfile (EUSAGE, "Missing … from lock file"), here and everywhere else. The
 * entries are made from the names (`…-linux-arm64-musl`). They have no `integrity`, because a package that the registry
 * at hand does not offer cannot be hashed; npm then holds the tarball against the digest in the registry's metadata
 * (e2e/http/lockfile-integrity.process.test.ts shows it), and writes `integrity` on the first install that has it.
 *
 *   node .ci/complete-lockfile.mjs          adds what is missing
 *   node .ci/complete-lockfile.mjs --check  changes nothing; exit code 1 if something is missing, or an entry that every
 *                                           platform installs has lost its `integrity`
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const lockPath = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const systems = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const processors = [
  "arm64",
  "arm",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
];

/** True if `name` has an entry that the package at `from` would load, searched as node does. */
function isLocked(packages, from, name) {
  const parent = from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/")));
  if (packages[`${from ? `${from}/` : ""}node_modules/${name}`]) return true;
  return from !== "" && isLocked(packages, parent, name);
}

function platformOf(name) {
  const words = name.split("/").at(-1).split("-");
  const os = systems.find((word) => words.includes(word));
  const cpu = processors.find((word) => words.includes(word));
  const libcWord = words.find((word) => /^(gnu|musl)/.test(word));
  const libc = os === "linux" && libcWord ? [libcWord.startsWith("musl") ? "musl" : "glibc"] : undefined;
  if (!cpu) throw new Error(`no platform is named by ${name}: complete the lockfile by hand`);
  return { cpu: [cpu], libc, os: os && [os] };
}

/** Adds an entry for every optional dependency that has none, beside the package that asks for it. */
function complete(packages) {
  const added = [];
  for (const [from, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(packages, from, name)) continue;
      if (!/^\d+\.\d+\.\d+[\w.+-]*$/.test(version))
        throw new Error(`${name}@${version} is not an exact version`);
      const { cpu, libc, os } = platformOf(name);
      // Fields in npm's order, so that `npm install` leaves the file unchanged.
      packages[`node_modules/${name}`] = {
        version,
        cpu,
        ...(entry.dev && { dev: true }),
        ...(entry.devOptional && { devOptional: true }),
        ...(libc && { libc }),
        optional: true,
        ...(os && { os }),
      };
      added.push(`${name}@${version}`);
    }
  }
  return added;
}

/** Undefined for what has no digest: npm takes that of the registry's metadata then, and would take none with an address. */
function findAddress(place, { name = place.split("node_modules/").at(-1), version, integrity }) {
  if (integrity === undefined) return undefined;
  return `https://registry.npmjs.org/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
}

/** Returns how many packages had no address. Throws if an address belongs to another package. */
function addAddresses(packages) {
  let count = 0;
  for (const [place, entry] of Object.entries(packages)) {
    const address = findAddress(place, entry);
    if (entry.resolved !== undefined && entry.resolved !== address)
      throw new Error(`package-lock.json: ${place} is from ${entry.resolved}`);
    if (address === undefined || entry.resolved === address) continue;
    const { name, version, ...others } = entry;
    packages[place] = { ...(name && { name }), version, resolved: address, ...others };
    count += 1;
  }
  return count;
}

const lock = JSON.parse(readFileSync(lockPath, "utf8"));
const added = complete(lock.packages);
const addressed = addAddresses(lock.packages);
const undigested = Object.entries(lock.packages).filter(
  ([place, { integrity, link, optional }]) => place !== "" && !integrity && !link && !optional,
);
if (undigested.length > 0) {
  console.error(`package-lock.json has no integrity for ${undigested.map(([place]) => place).join(", ")}`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  if (added.length + addressed > 0) {
    const lacks = added.length > 0 ? added.join(", ") : `${addressed} addresses`;
    console.error(`package-lock.json lacks ${lacks}: run node .ci/complete-lockfile.mjs`);
    process.exit(1);
  }
} else if (added.length + addressed > 0) {
  const [root, ...others] = Object.entries(lock.packages);
  others.sort(([a], [b]) => a.localeCompare(b, "en"));
  lock.packages = Object.fromEntries([root, ...others]);
  writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(
    `package-lock.json: added ${added.length} optional packages of other platforms and ${addressed} addresses`,
  );
}
