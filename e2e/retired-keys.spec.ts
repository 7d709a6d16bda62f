/** Page of an attestation whose signing key was rotated, and later revoked from an index on. */
import { expect, type Page } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { makeOwnServer, type OwnServer } from "./own-server";
import { attest } from "./public-pages-helpers";
import { test } from "./test";

let server: OwnServer;

test.beforeAll(async () => {
  server = await makeOwnServer();
});
test.afterAll(() => server.remove());

const verdict = (page: Page) => page.getByRole("heading", { level: 1 });
const keyCheck = (page: Page) => page.locator("#check-key_validity");

async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await expect(page.locator("[data-browser-check]")).not.toHaveAttribute("data-browser-check", "waiting");
}

test("retired and revoked keys have words of their own, and both sides hold to the key's range", async ({
  page,
  playwright,
}) => {
  test.setTimeout(240_000);
  await server.start();
  const request = await playwright.request.newContext({ baseURL: server.base });
  const key = await getApiKey(request, "rotated");
  const early = await attest(request, key);
  const late = await attest(request, key, { action: "Signed by whoever had the key" });
  await server.stop();
  await server.runKeys("rotate", "attestation");
  await server.start();
  const next = await attest(request, key);
  expect(next.key_id).not.toBe(early.key_id);

  await open(page, early.public_url);
  await expect(verdict(page)).toHaveText("Authentic record");
  await expect(
    page.getByText("has since been retired. It was valid at this position in the log"),
  ).toBeVisible();
  await expect(keyCheck(page)).toContainText("Server: yes");
  await expect(keyCheck(page)).toContainText("Your browser: yes");
  await expectAccessibleInBothThemes(page);
  await open(page, next.public_url);
  await expect(verdict(page)).toHaveText("Authentic record");
  await expect(page.getByText("retired since")).toHaveCount(0);

  await server.stop();
  await server.runKeys("revoke", "attestation", early.key_id, "--from-index", String(late.log.index));
  await server.start();
  await open(page, early.public_url);
  await expect(verdict(page)).toHaveText("Authentic record, 1 warning");
  await expect(page.getByText("was revoked later").first()).toBeVisible();
  await expect(page.getByText("and agrees.")).toBeVisible();
  await open(page, late.public_url);
  await expect(verdict(page)).toHaveText("Not authentic");
  await expect(keyCheck(page)).toContainText("Server: fails");
  await expect(keyCheck(page)).toContainText("Your browser: fails");
  await expect(page.locator("main").getByRole("alert")).toHaveCount(0);
  await expectAccessibleInBothThemes(page);
  await request.dispose();
});
