/**
 * Writes the conformance suite (public/vectors/conformance/) again: the same bytes each time, unless what it is made from
 * (e2e/support/conformance.ts) has changed. What was published is not changed: a new version has another number.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./step.mjs";

const outfile = path.join(root, "dist", "make-conformance.mjs");
await build({
  stdin: {
    contents: 'export { conformanceFolder, makeConformance } from "#support/conformance";',
    resolveDir: root,
    loader: "ts",
  },
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning",
});
const { conformanceFolder, makeConformance } = await import(pathToFileURL(outfile).href);
rmSync(outfile);

const files = await makeConformance();
mkdirSync(conformanceFolder, { recursive: true });
for (const entry of readdirSync(conformanceFolder, { withFileTypes: true }))
  if (entry.isDirectory()) rmSync(path.join(conformanceFolder, entry.name), { recursive: true });
for (const [name, bytes] of files) {
  const file = path.join(conformanceFolder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}
console.log(`${files.size} files in ${conformanceFolder}`);
