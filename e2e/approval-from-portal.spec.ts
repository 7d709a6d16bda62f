/** An approval that is opened from the portal: its page needs headers that the portal's pages don't have. */
import { expect, type Page } from "@playwright/test";
import { approveAs, openWallet } from "./approval-helpers";
import { callApi, newAddress, signInWithKey } from "./portal-helpers";
import { test } from "./test";

// A real proof takes seconds, and more if other tests share the machine.
test.describe.configure({ timeout: 180_000 });

/** Set on the window, and gone with its document. */
const mark = (page: Page) => page.evaluate(() => Object.assign(window, { isMarked: true }));
const isMarked = (page: Page) => page.evaluate(() => "isMarked" in window);

test("opens and completes from the overview and from the inbox", { tag: "@smoke" }, async ({
  page,
  context,
  request,
}) => {
  const key = await signInWithKey(page, "opener");
  await page.goto("/portal/inbox");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("button", { name: "Request an approval", exact: true }).click();
  await page.getByRole("link", { name: "Open the approval page" }).click();
  await approveAs(await openWallet(page, context), "Ada", "Orb");
  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();

  await callApi(request, key, "/v1/authorize", {
    agent_slug: newAddress("bot").split("@")[0],
    action: "Pay D",
  });
  // The approval page is bare: nothing on it leads elsewhere.
  await page.goto("/portal/inbox");
  await page.getByRole("link", { name: "Pay D" }).click();
  await approveAs(await openWallet(page, context), "Grace", "Orb");
  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();
});

test("loads a new document on the way there, and none inside the portal", async ({ page, request }) => {
  const key = await signInWithKey(page, "walker");
  await callApi(request, key, "/v1/authorize", {
    agent_slug: newAddress("bot").split("@")[0],
    action: "Pay E",
  });
  await page.goto("/portal");
  await mark(page);
  await page.getByRole("link", { name: /^Inbox/ }).click();
  await expect(page.getByRole("link", { name: "Pay E" })).toBeVisible();
  expect(await isMarked(page)).toBe(true);
  await page.getByRole("link", { name: "Pay E" }).click();
  await expect(page.getByRole("heading", { name: "An agent is requesting your approval" })).toBeVisible();
  expect(await isMarked(page)).toBe(false);
});
