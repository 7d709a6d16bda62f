/** Bundles what tests of crashes start and kill, before the first test: it is no part of the product's build. */
import { build } from "esbuild";
import { testingServerFile } from "./processes";

export default async function bundleTestingServer(): Promise<void> {
  await build({
    entryPoints: ["e2e/support/testing-server.ts"],
    outfile: testingServerFile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    sourcemap: true,
    logLevel: "warning",
  });
}
