/**
 * Bundles what runs outside Next into dist/: the server, the workers for proofs and pictures, the command lines (packages
 * stay in node_modules), and the offline verifier as one file that needs nothing but Node.
 */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { root } from "./step.mjs";

const inRoot = (file) => path.join(root, file);

function listEntries() {
  const commands = existsSync(inRoot("lib/cli")) ? readdirSync(inRoot("lib/cli")) : [];
  const entries = [
    ["server", "server.ts"],
    ["zk-worker", "lib/services/zk-worker.ts"],
    ["picture-worker", "lib/http/picture-worker.ts"],
    ["testing-server", "lib/http/testing-server.ts"],
    ...commands
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .map((file) => [`cli/${path.basename(file, ".ts")}`, `lib/cli/${file}`]),
  ];
  return Object.fromEntries(
    entries.filter(([, file]) => existsSync(inRoot(file))).map(([to, file]) => [to, inRoot(file)]),
  );
}

/** Next has no `exports` map, so Node's ESM loader needs the ending that bundlers guess: next/headers → next/headers.js. */
const nextSubpaths = {
  name: "next-subpaths",
  setup({ onResolve }) {
    onResolve({ filter: /^next\/[^.]+$/ }, (args) => ({ path: `${args.path}.js`, external: true }));
  },
};

const common = {
  absWorkingDir: root,
  outdir: inRoot("dist"),
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: true,
  logLevel: "warning",
};

await build({ ...common, entryPoints: listEntries(), packages: "external", plugins: [nextSubpaths] });
if (existsSync(inRoot("lib/verifier/command.ts"))) {
  await build({
    ...common,
    entryPoints: { verify: inRoot("lib/verifier/command.ts") },
    sourcemap: false,
    // CommonJS dependencies bundled into an ES module still call require for Node's own modules.
    banner: {
      js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
    },
  });
}
