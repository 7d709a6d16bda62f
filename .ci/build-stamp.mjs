/** Stamps a build with a hash of all its sources, kept in dist/ beside the result, to tell if it is current. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "./step.mjs";

const inputs = [
  ".ci/bundle.mjs",
  ".ci/client-package.mjs",
  ".ci/client-types.json",
  ".ci/compress.mjs",
  ".ci/patches",
  ".ci/python-wheel.mjs",
  ".ci/verifier.mjs",
  "LICENSE",
  "app",
  "clients/python",
  "components",
  "docs/wire.md",
  "drizzle",
  "lib",
  "public",
  "instrumentation.ts",
  "next.config.ts",
  "package-lock.json",
  "package.json",
  "postcss.config.mjs",
  "proxy.ts",
  "server.ts",
  "tsconfig.json",
];
const stampPath = path.join(root, "dist", ".stamp");

function* listFiles(relative) {
  const absolute = path.join(root, relative);
  if (!existsSync(absolute)) return;
  if (!statSync(absolute).isDirectory()) {
    if (!/\.test\.tsx?$/.test(relative)) yield relative;
    return;
  }
  for (const name of readdirSync(absolute).sort()) yield* listFiles(path.join(relative, name));
}

/** Hashes names and contents, and what the build takes from the environment. */
export function createBuildHash() {
  const hash = createHash("sha256");
  for (const file of inputs.flatMap((input) => [...listFiles(input)])) {
    const content = readFileSync(path.join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  // noProcessEnv does not reach here: NEXT_PUBLIC_ values are written into the pages by the build.
  for (const name of Object.keys(process.env).sort()) {
    if (name.startsWith("NEXT_PUBLIC_")) hash.update(`${name}=${process.env[name]}\0`);
  }
  return hash.digest("hex");
}

export function isBuilt(hash) {
  const results = [".next/BUILD_ID", "dist/server.mjs"].map((file) => path.join(root, file));
  return (
    results.every((file) => existsSync(file)) &&
    existsSync(stampPath) &&
    readFileSync(stampPath, "utf8") === hash
  );
}

export function unstampBuild() {
  rmSync(stampPath, { force: true });
}

export function stampBuild(hash) {
  mkdirSync(path.dirname(stampPath), { recursive: true });
  writeFileSync(stampPath, hash);
}
