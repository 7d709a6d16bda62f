/**
 * The offline verifier as one file that needs nothing but Node. The same sources and packages give the same bytes in any
 * folder, so docs/verify.mjs.sha256 can say what they are.
 *
 *   node .ci/verifier.mjs          writes the checksum of the present sources into docs/verify.mjs.sha256
 *   node .ci/verifier.mjs --check  changes nothing; exit code 1 if the file says something else
 */
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { applyPatches } from "./patches.mjs";
import { root } from "./step.mjs";

/** Bundles programs that people download: one readable file, packages included. */
export const oneFile = (folder) => ({
  absWorkingDir: folder,
  outdir: path.join(folder, "dist"),
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // CommonJS dependencies bundled into an ES module still call require for Node's own modules.
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  },
  logLevel: "warning",
});

/** `{sha256Hex, inputs}`: of the file as it would be built in `folder`, and the files that go into it. */
export async function hashVerifier(folder = root) {
  const entryPoints = { verify: path.join(folder, "lib/verifier/cli/command.ts") };
  const { outputFiles, metafile } = await build({
    ...oneFile(folder),
    entryPoints,
    write: false,
    metafile: true,
  });
  const sha256Hex = createHash("sha256").update(outputFiles[0].contents).digest("hex");
  return { sha256Hex, inputs: Object.keys(metafile.inputs) };
}

export const verifierHashFile = "docs/verify.mjs.sha256";
/** The format that `sha256sum -c` reads. */
export const encodeVerifierHash = (sha256Hex) => `${sha256Hex}  verify.mjs\n`;

async function main(isCheck) {
  applyPatches();
  const file = path.join(root, verifierHashFile);
  const line = encodeVerifierHash((await hashVerifier()).sha256Hex);
  if (!isCheck) writeFileSync(file, line);
  else if (readFileSync(file, "utf8") !== line) {
    console.error(`${verifierHashFile} is of other sources: run node .ci/verifier.mjs and commit the file`);
    process.exitCode = 1;
    return;
  }
  process.stdout.write(line);
}

const [, program = "", ...args] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url))
  await main(args.includes("--check"));
