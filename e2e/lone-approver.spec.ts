/** One person alone: a passkey on the portal's first page, and a request that it approves. */
import { expect } from "@playwright/test";
import { expectAccessibleInBothThemes, expectGoodPage } from "./accessibility-helpers";
import { addApprover, approveByPasskey, openDevice, plugIn } from "./passkey-helpers";
import { newAddress, signInWithKey } from "./portal-helpers";
import { expectNoSidewaysScroll } from "./small-screen-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 180_000 });

test("adds a passkey in one step, approves with it, and learns when that ends", async ({ page }) => {
  await signInWithKey(page, "lone");
  await plugIn(await openDevice(page));
  await page.goto("/portal");
  await expect(page.getByText("Or approve with a passkey")).toBeVisible();
  await expectNoSidewaysScroll(page);
  await expectAccessibleInBothThemes(page);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  // The button itself says something else while the device is asked.
  await expect(page.getByText("Or approve with a passkey")).toHaveCount(0);
  await page.getByRole("button", { name: "Request an approval" }).click();
  await page.getByRole("link", { name: "Open the approval page" }).click();
  await expect(page.getByText("Who asks may be one of the approvers")).toBeVisible();
  await expectGoodPage(page);
  await approveByPasskey(page);
  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();

  await page.goto("/portal/approvers");
  await expect(page.getByText("You are the only person")).toBeVisible();
  await expect(page.getByLabel("Whoever requests an approval")).toHaveValue("yes");
  await addApprover(page, "Second", newAddress("second"));
  await page.reload();
  await expect(page.getByText("You are the only person")).toHaveCount(0);
  await expect(page.getByLabel("Whoever requests an approval")).toHaveValue("no");
});
