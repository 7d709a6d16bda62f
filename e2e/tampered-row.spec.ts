/** A row that someone changed in the database: the server itself says invalid, and the browser agrees with that. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { expect } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { type ServerProcess, startServer } from "./http/server-process";
import { attest, authorize, pageBot } from "./public-pages-helpers";
import { makeDataDir } from "./support/databases";
import { findPort } from "./support/ports";
import { test } from "./test";

let server: ServerProcess | undefined;
let folder = "";
test.afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a tampered row is shown as invalid by the server, and the browser agrees", { tag: "@smoke" }, async ({
  page,
  playwright,
}) => {
  test.setTimeout(180_000);
  folder = await makeDataDir();
  const PORT = String(await findPort());
  server = await startServer("server", folder, { PORT });
  const request = await playwright.request.newContext({ baseURL: server.base });
  const key = await getApiKey(request, "tampered");
  const made = await attest(request, key, { action: "Paid 100 EUR" });
  const action = "Paid 70 EUR, as a test human approved";
  const human_authorization = await authorize(request, key, { agent_slug: pageBot, action }, ["ada"]);
  const approved = await attest(request, key, { action, human_authorization });
  await request.dispose();
  await server.stop();

  const database = await PGlite.create({ dataDir: path.join(folder, "pglite") });
  const changed = await database.query(
    "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid 100', 'Paid 900'), 'UTF8') WHERE id = $1",
    [made.attestation_id],
  );
  expect(changed.affectedRows).toBe(1);
  const relabelled = await database.query(
    `UPDATE attestations SET payload = convert_to(replace(replace(convert_from(payload, 'UTF8'), '"local"', '"production"'), 'Paid 70', 'Paid 7000'), 'UTF8') WHERE id = $1`,
    [approved.attestation_id],
  );
  expect(relabelled.affectedRows).toBe(1);
  await database.close();
  server = await startServer("server", folder, { PORT });

  await page.goto(made.public_url);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Not authentic");
  await expect(page.getByText("Don't rely on what this record says.")).toBeVisible();
  await expect(page.locator("#check-payload_hash")).toContainText("Server: fails");
  await expect(page.locator("#check-payload_hash")).toContainText("Your browser: fails");
  await expect(
    page.getByText("Your browser repeated the checks and also found it not authentic."),
  ).toBeVisible();
  await expect(page.locator("main").getByRole("alert")).toHaveCount(0);
  await expectAccessibleInBothThemes(page);
  const badge = await fetch(`${server.base}/badge/${pageBot}.svg`);
  expect(await badge.text()).toContain("NOT AUTHENTIC");

  await page.goto(approved.public_url);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Not authentic");
  await expect(page.getByText("TEST approval, not a real person")).toHaveCount(2);
  await expect(page.getByText("Claimed, not verified").first()).toBeVisible();
  await expect(page.getByText("Proven by World ID")).toHaveCount(0);
  await expectAccessibleInBothThemes(page);
  await page.goto(`${server.base}/agent/${pageBot}`);
  await expect(page.getByText("(cannot be read)")).toHaveCount(2);
  await expect(page.getByRole("table").getByText(/Proven by World ID|Paid/)).toHaveCount(0);
  for (const address of ["/agent/BOT/feed.json", "/agent/BOT/feed.atom", "/v1/agent/BOT"]) {
    const text = await (await fetch(`${server.base}${address.replace("BOT", pageBot)}`)).text();
    expect([address, text.match(/proven by World ID|production|Paid 7|Paid 9/i)]).toEqual([address, null]);
  }
  const home = await (await fetch(server.base)).text();
  expect(home).not.toMatch(/Paid 7/);
});
