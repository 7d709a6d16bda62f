/** Webhooks: an endpoint made, its secret shown once, tested, rotated, disabled and deleted; the delivery log and replay. */
import { expect, type Page } from "@playwright/test";
import { Webhook } from "standardwebhooks";
import { expectGoodPage } from "./accessibility-helpers";
import { newAddress, signIn } from "./portal-helpers";
import { type Receiver, startReceiver } from "./support/webhook-receiver";
import { test } from "./test";

let receiver: Receiver;
test.beforeEach(async () => {
  receiver = await startReceiver();
});
test.afterEach(() => receiver.close());

const secretOn = async (page: Page) =>
  ((await page.getByTestId("secret").locator("code").textContent()) ?? "").trim();

test("an endpoint from its creation to its end", async ({ page }) => {
  await signIn(page, newAddress("hooks"));
  await page.goto("/portal/webhooks");
  await expect(page.getByRole("link", { name: "Webhooks", exact: true })).toHaveCount(1);
  await expect(page.getByText("No webhook endpoints yet")).toBeVisible();
  await expectGoodPage(page);
  await page.getByLabel("URL").fill("http://example.com/hook");
  await page.getByRole("button", { name: "Create endpoint" }).click();
  await expect(page.getByText("Not accepted: must be an https URL")).toBeVisible();
  await expect(page.getByLabel("URL")).toHaveValue("http://example.com/hook");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByRole("button", { name: "Create endpoint" }).click();
  await expect(page.getByText("Endpoint created.")).toBeVisible();
  const secret = await secretOn(page);
  expect(secret).toMatch(/^whsec_/);
  await expectGoodPage(page);
  await page.reload();
  await expect(page.getByText(secret)).toHaveCount(0);

  await page.getByRole("link", { name: receiver.url }).click();
  await expect(page.getByText("Nothing has been sent in the last 30 days.")).toBeVisible();
  await page.getByRole("button", { name: "Send test message" }).click();
  await expect(page.getByText("Test message on its way.")).toBeVisible();
  const [tested] = await receiver.expect(1);
  expect(() => new Webhook(secret).verify(tested?.body ?? "", tested?.headers ?? {})).not.toThrow();
  await expect(page.getByText("Delivered")).toBeVisible();
  await expectGoodPage(page);

  await page.getByRole("button", { name: "Rotate secret" }).click();
  await page.getByLabel("Old secret expires").selectOption("0");
  await expectGoodPage(page);
  await page.getByRole("button", { name: "Create new secret" }).click();
  await expect(page.getByText("The old secret has expired.")).toBeVisible();
  const newSecret = await secretOn(page);
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByRole("button", { name: "Send again" }).click();
  const [, again] = await receiver.expect(2);
  expect(again?.headers["webhook-id"]).toBe(tested?.headers["webhook-id"]);
  expect(() => new Webhook(newSecret).verify(again?.body ?? "", again?.headers ?? {})).not.toThrow();

  await page.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByText("Endpoint disabled.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Send test message" })).toHaveCount(0);
  await page.getByRole("button", { name: "Enable" }).click();
  await expect(page.getByText("Endpoint enabled.")).toBeVisible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete endpoint" }).click();
  await expect(page.getByText("No webhook endpoints yet")).toBeVisible();
});
