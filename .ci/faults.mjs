/**
 * `npm run faults`: does to the built service what happens to services (e2e/faults/scenarios.ts), kills it and its
 * database at random points under load, and compares what was acknowledged with what is stored.
 *
 *   FAULTS=1000        how many kills
 *   FAULTS_MINUTES=N   fewer, if the time is up before
 *   FAULTS_SEED=N      the same choice of faults again; the seed is printed
 *   FAULTS_ONLY=NAME   one scenario, or kills
 */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./step.mjs";

/** Below node_modules, so that it finds the packages. */
const outfile = path.join(root, "node_modules/.cache/countersign/faults.mjs");
await build({
  entryPoints: [path.join(root, "e2e/faults/main.ts")],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning",
});
await import(pathToFileURL(outfile).href);
