/** The landing page's two things to try, as a visitor without an account meets them. */
import { expect } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { approveAs, getApiKey, openWallet } from "./approval-helpers";
import { attest, run } from "./public-pages-helpers";
import { expectNoSidewaysScroll } from "./small-screen-helpers";
import { test } from "./test";

test("a visitor approves a test payment and gets its receipt", { tag: "@smoke" }, async ({
  page,
  context,
}) => {
  test.slow();
  await page.goto("/");
  await page.getByRole("button", { name: "Approve a test payment" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Approve a test payment");
  await expect(page.getByText("so a phone can't reach it")).toBeVisible();
  await expect(page.getByRole("img", { name: "QR code of the approval page" })).toHaveCount(0);
  await expectGoodPage(page);
  await expectNoSidewaysScroll(page);
  const [approval] = await Promise.all([
    context.waitForEvent("page"),
    page.getByRole("link", { name: "Open the approval page" }).click(),
  ]);
  await expect(approval.getByText("TEST: Pay invoice 1042").first()).toBeVisible();
  await approveAs(await openWallet(approval, context), "Ada", "Orb");
  const receipt = page.getByRole("link", { name: "Open the receipt" });
  await expect(receipt).toBeVisible();
  await receipt.click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Authentic record");
  await expect(page.getByText("TEST approval, not a real person").first()).toBeVisible();

  // The receipt is the landing page's example from the next visit on, and that page is cached: one that Next renders has no
  // Content-Length.
  const { pathname } = new URL(page.url());
  expect(await (await page.request.get("/")).text()).toContain(pathname);
  const lengthOf = async (path: string) => (await page.request.get(path)).headers()["content-length"];
  await expect.poll(() => lengthOf("/")).toMatch(/^\d{4,}$/);
  expect(await lengthOf("/?demo=none")).toBeUndefined();
  expect(await (await page.request.get("/")).text()).toContain(pathname);
});

test("the example is the service's own, never a stranger's", async ({ page, request }) => {
  const key = await getApiKey(request, "stranger");
  await attest(request, key, { agent_slug: `stranger-bot-${run}`, action: "The very latest action" });
  await page.goto("/");
  await expect(page.locator("figure").first()).toContainText(/An example receipt|made by this instance/);
  await expect(page.getByText("The very latest action")).toHaveCount(0);
});
