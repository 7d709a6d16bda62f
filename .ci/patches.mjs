/**
 * Applies .ci/patches to the installed packages. A stamp says which patches were applied to which install, so the
 * next `npm start` or `npm test` applies a patch that was pulled.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { root } from "./step.mjs";

const folder = `${root}/.ci/patches`;
const stampPath = `${root}/node_modules/.patches-stamp`;
const program = `${root}/node_modules/patch-package/index.js`;

export const listPatches = () =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".patch"))
    .sort();

function createStamp() {
  const hash = createHash("sha256");
  // npm rewrites its record when it installs another version of anything.
  const files = [
    ...listPatches().map((file) => `${folder}/${file}`),
    `${root}/node_modules/.package-lock.json`,
  ];
  for (const file of files) hash.update(`${file.slice(root.length)}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

export const isPatched = () => existsSync(stampPath) && readFileSync(stampPath, "utf8") === createStamp();

/** A production install has no patch-package. Nor does it need one: what runs from dist/ was bundled after patching. */
export const canPatch = () => existsSync(program);

/** Throws if a package is another than the one that its patch was made for, or has an earlier form of it. */
export function applyPatches() {
  if (isPatched()) return;
  const args = [program, "--patch-dir", ".ci/patches", "--error-on-fail", "--error-on-warn"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`The patches don't apply:\n${stdout}${stderr}`);
  writeFileSync(stampPath, createStamp());
}
