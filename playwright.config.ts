/**
 * The browser tests, against the built app with an embedded database that holds nothing yet. `npm test` gives the port,
 * the data folder, the browser and the report's file; alone (`npx playwright test`, after `npm run build`) the defaults
 * below hold.
 */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { defineConfig } from "@playwright/test";

const port = Number(process.env["E2E_PORT"] ?? 3210);
const baseURL = `http://localhost:${port}`;
const report = process.env["E2E_REPORT"];
const chromium =
  process.env["CHROME_PATH"] ??
  ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"].find((place) => existsSync(place));
// Workers load this file too and inherit the variable: one folder for the whole run.
process.env["E2E_DATA_DIR"] ??= path.join(os.tmpdir(), `countersign-e2e-${process.pid}`);
const dataDir = process.env["E2E_DATA_DIR"];
// Migrated already: to make and migrate one takes a start five seconds. Not in a worker, when the server has it open.
if (process.env["TEST_WORKER_INDEX"] === undefined) {
  const { copyEmbeddedTemplate } = await import("./e2e/support/database-templates");
  await mkdir(dataDir, { recursive: true });
  await copyEmbeddedTemplate(dataDir);
}

export default defineConfig({
  testDir: "e2e",
  testMatch: "**/*.spec.ts",
  outputDir: "test-results",
  // Most of a test is waiting, for a page or a proof; what each does has its own account, agents and requests.
  workers: 4,
  forbidOnly: Boolean(process.env["CI"]),
  // A second try tells whether a failure comes each time. It mends nothing: a test that needed it has failed.
  retries: process.env["CI"] ? 1 : 0,
  failOnFlakyTests: true,
  // Four at once on a busy machine: a limit that is reached there says nothing about the page.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: report ? [["line"], ["json", { outputFile: report }]] : "list",
  use: {
    baseURL,
    trace: "off",
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      ...(chromium && { executablePath: chromium }),
      // Pictures are made by the processor; in a process of its own that takes a twentieth more of it.
      args: ["--no-sandbox", "--disable-quic", "--in-process-gpu"],
    },
  },
  webServer: {
    // Limits threads: the server shares the processors with four browsers, and they take a quarter more of them.
    command: "node --liftoff-only --single-threaded-gc --max-semi-space-size=64 dist/server.mjs",
    url: `${baseURL}/v1/health`,
    timeout: 60_000,
    reuseExistingServer: false,
    gracefulShutdown: { signal: "SIGTERM", timeout: 5_000 },
    stdout: "ignore",
    stderr: "pipe",
    env: {
      PORT: String(port),
      PUBLIC_BASE_URL: baseURL,
      DATA_DIR: dataDir,
      NODE_ENV: "production",
      // Each test has an address of its own (e2e/test.ts).
      TRUSTED_PROXY_HOPS: "1",
    },
  },
});
