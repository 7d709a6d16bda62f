/**
 * Makes a clone ready: installs from the lockfile and builds, each only when it is stale. Runs before `npm start` and
 * `npm test`, where node_modules may be missing: it uses nothing but Node itself until the install is done.
 *
 *   node .ci/prepare.mjs build|test [--force]
 *
 * `build` leaves out what only tests need, a half of all packages. Two prepares at once wait for each other.
 */
import { existsSync, readFileSync } from "node:fs";
import { createBuildHash, isBuilt, stampBuild, unstampBuild } from "./build-stamp.mjs";
import { withLock } from "./lock.mjs";
import { applyPatches, canPatch, isPatched } from "./patches.mjs";
import { root, runStep, startStep } from "./step.mjs";

const oldestNode = [20, 15];

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  console.error(
    `Countersign needs Node.js ${oldestNode.join(".")} or later; this is ${process.versions.node}.`,
  );
  process.exit(1);
}

/** docs/decisions/0041-libsodium-signs-and-verifies.md */
function checkSystem() {
  if (!existsSync("/etc/alpine-release")) return;
  console.error("Countersign doesn't run on Alpine Linux: it needs glibc. Use a Debian image of Node.js.");
  process.exit(1);
}

const readPackages = (path) => JSON.parse(readFileSync(`${root}/${path}`, "utf8")).packages;

/** True if node_modules matches package-lock.json, by npm's own record, which an interrupted install lacks. */
function isInstalled(withDevelopment) {
  if (!existsSync(`${root}/node_modules/.package-lock.json`)) return false;
  const installed = readPackages("node_modules/.package-lock.json");
  return Object.entries(readPackages("package-lock.json")).every(([path, wanted]) => {
    const skipped = path === "" || wanted.optional || wanted.devOptional || (wanted.dev && !withDevelopment);
    return skipped || installed[path]?.version === wanted.version;
  });
}

function install(withDevelopment) {
  // Install scripts stay off: no dependency needs one here, and they are the usual way in for a poisoned package.
  runStep("install", "npm", [
    "ci",
    `--${withDevelopment ? "include" : "omit"}=dev`,
    "--include=optional",
    "--ignore-scripts",
    "--loglevel=error",
  ]);
}

function patch(withDevelopment) {
  try {
    applyPatches();
  } catch {
    // A package has an earlier form of its patch, which only an install takes back.
    install(withDevelopment);
    applyPatches();
  }
}

async function build(hash) {
  unstampBuild();
  const env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };
  await startStep("build pages", process.execPath, ["node_modules/next/dist/bin/next", "build"], { env });
  // Runs after the pages: Turbopack lists dist/, whose files the server's code names, and panics when one disappears.
  await Promise.all([
    startStep("compress", process.execPath, [".ci/compress.mjs"]),
    startStep("build server", process.execPath, [".ci/bundle.mjs"], { env }),
  ]);
  stampBuild(hash);
}

async function prepare(mode, force) {
  const hash = createBuildHash();
  const mustBuild = force || !isBuilt(hash);
  const withDevelopment = mode === "test";
  if (!isInstalled(withDevelopment)) install(withDevelopment);
  if (canPatch()) patch(withDevelopment);
  if (mustBuild) await build(hash);
}

function isReady(mode) {
  return isBuilt(createBuildHash()) && isInstalled(mode === "test") && (isPatched() || !canPatch());
}

checkNode();
checkSystem();
const [mode, ...flags] = process.argv.slice(2);
if ((mode !== "build" && mode !== "test") || flags.some((flag) => flag !== "--force")) {
  console.error("usage: node .ci/prepare.mjs build|test [--force]");
  process.exit(2);
}
const force = flags.includes("--force");
if (force || !isReady(mode)) await withLock("prepare", () => prepare(mode, force));
