/** A row that someone changed in the database: the server itself says invalid, and the browser agrees with that. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "@playwright/test";
import { getApiKey } from "./approval-helpers";
import { attest, pageBot } from "./public-pages-helpers";

const port = Number(process.env["E2E_PORT"] ?? 3210) + 1;
const base = `http://localhost:${port}`;
let folder = "";
let server: ChildProcess | null = null;

async function start(): Promise<void> {
  server = spawn(process.execPath, ["dist/server.mjs"], {
    stdio: "ignore",
    env: {
      ...process.env,
      PORT: String(port),
      PUBLIC_BASE_URL: base,
      DATA_DIR: folder,
      NODE_ENV: "production",
    },
  });
  await expect
    .poll(
      () =>
        fetch(`${base}/v1/health`).then(
          (answer) => answer.status,
          () => 0,
        ),
      { timeout: 60_000 },
    )
    .toBe(200);
}

async function stop(): Promise<void> {
  if (server === null || server.exitCode !== null) return;
  server.kill("SIGTERM");
  await once(server, "exit");
}

test.afterAll(async () => {
  await stop();
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

test("a tampered row is shown as invalid by the server, and the browser agrees", async ({
  page,
  playwright,
}) => {
  test.setTimeout(180_000);
  folder = await mkdtemp(path.join(os.tmpdir(), "countersign-tampered-"));
  await start();
  const request = await playwright.request.newContext({ baseURL: base });
  const key = await getApiKey(request, "tampered");
  const made = await attest(request, key, { action: "Paid 100 EUR" });
  await request.dispose();
  await stop();

  const database = await PGlite.create({ dataDir: path.join(folder, "pglite") });
  const changed = await database.query(
    "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid 100', 'Paid 900'), 'UTF8') WHERE id = $1",
    [made.attestation_id],
  );
  expect(changed.affectedRows).toBe(1);
  await database.close();
  await start();

  await page.goto(made.public_url);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Invalid");
  await expect(page.getByText("Do not rely on what this record says.")).toBeVisible();
  await expect(page.locator("#check-payload_hash")).toContainText("Server: fails");
  await expect(page.locator("#check-payload_hash")).toContainText("Your browser: fails");
  await expect(page.getByText("Your browser repeated the checks and finds it invalid too.")).toBeVisible();
  await expect(page.locator("main").getByRole("alert")).toHaveCount(0);
  const badge = await fetch(`${base}/badge/${pageBot}.svg`);
  expect(await badge.text()).toContain("INVALID");
});
