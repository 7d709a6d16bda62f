/**
 * Bundles, before the first test, the program that evaluates rules and the server that crash tests start and kill, which is no
 * part of the product's build; opens the prover that all workers share. Runs once for all of vitest's projects, each of which
 * asks for it.
 */
import { build } from "esbuild";
import { testingServerFile } from "./processes";
import { proverAddress, shareProver } from "./shared-prover";

export default async function prepareTests(): Promise<() => void> {
  if (process.env[proverAddress] !== undefined) return () => {};
  await build({
    entryPoints: ["e2e/support/testing-server.ts"],
    outfile: testingServerFile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Bundles everything except packages that load files from beside themselves: the server starts some fifty times, and one
    // file is read faster than a thousand.
    external: ["piscina", "next", "sodium-native"],
    minify: true,
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  await build({
    entryPoints: ["lib/services/policies/rules-process.ts"],
    outfile: "dist/rules-process.mjs",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["@cedar-policy/cedar-wasm"],
    logLevel: "warning",
  });
  return shareProver();
}
