/**
 * Bundles what runs outside Next into dist/: the server, the workers for proofs and pictures, the command lines, and what
 * people download (verifier.mjs). What several of them use is in shared chunks; the World ID stand-in is a file of its own,
 * which the server imports only if World is not configured. The packages for agents are the business of
 * client-package.mjs and python-wheel.mjs.
 */
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { bundleCommand, bundleHook, packClient } from "./client-package.mjs";
import { applyPatches, canPatch } from "./patches.mjs";
import { packWheel } from "./python-wheel.mjs";
import { root } from "./step.mjs";
import { oneFile } from "./verifier.mjs";

const inRoot = (file) => path.join(root, file);

// Programs in dist/ send values that an unpatched driver garbles.
if (canPatch()) applyPatches();

const commands = readdirSync(inRoot("lib/cli")).filter((file) => /(?<!\.test)\.ts$/.test(file));

const entryPoints = {
  server: inRoot("server.ts"),
  "stand-in": inRoot("lib/emulators/world-id.ts"),
  prover: inRoot("lib/emulators/prover-process.ts"),
  "embedded-worker": inRoot("lib/db/embedded/worker.ts"),
  "rules-process": inRoot("lib/services/policies/rules-process.ts"),
  "zk-worker": inRoot("lib/jobs/zk-worker.ts"),
  "log-worker": inRoot("lib/log/signing/log-worker.ts"),
  "picture-worker": inRoot("lib/jobs/picture-worker.ts"),
  ...Object.fromEntries(
    commands.map((file) => [`cli/${path.basename(file, ".ts")}`, inRoot(`lib/cli/${file}`)]),
  ),
};

/** Next has no `exports` map, so Node's ESM loader needs the ending that bundlers guess: next/headers → next/headers.js. */
const nextSubpaths = {
  name: "next-subpaths",
  setup({ onResolve }) {
    onResolve({ filter: /^next\/[^.]+$/ }, (args) => ({ path: `${args.path}.js`, external: true }));
  },
};

/**
 * Packages that stay in node_modules. The others are bundled, because a start that reads hundreds of their files takes half
 * as long again.
 */
const external = [
  // Packages that load files of their own from beside themselves.
  "@cedar-policy/cedar-wasm",
  "@electric-sql/pglite",
  "@worldcoin/idkit-server",
  "next",
  "piscina",
  "sodium-native",
  // Next loads its own.
  "react",
  // Large, and loaded only if a setting asks for them.
  "@aws-sdk/client-kms",
  "@aws-sdk/client-s3",
  "@opentelemetry/*",
  "google-auth-library",
  "prom-client",
];

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

rmSync(common.outdir, { recursive: true, force: true });
await build({
  ...common,
  entryPoints,
  splitting: true,
  chunkNames: "shared/[hash]",
  external,
  // CommonJS packages require Node's modules.
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
  },
  plugins: [nextSubpaths],
});
await bundleHook();
await build({
  ...oneFile(root),
  entryPoints: {
    verify: inRoot("lib/verifier/cli/command.ts"),
  },
});
await bundleCommand();
await packClient();
packWheel();
