/** The landing page, a guide with wide tables, and a page that is not there. */
import { expect } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { test } from "./test";

for (const [path, status] of [
  ["/", 200],
  ["/docs/attest", 200],
  ["/nothing-here", 404],
] as const)
  test(`${path} is a good page`, async ({ page }) => {
    expect((await page.goto(path))?.status()).toBe(status);
    await expectGoodPage(page);
  });
