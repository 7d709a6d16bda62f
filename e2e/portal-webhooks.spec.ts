/** Webhooks: an endpoint made, its secret shown once, tested, rotated, disabled and deleted; the delivery log and replay. */
import { expect, type Page } from "@playwright/test";
import { Webhook } from "standardwebhooks";
import { expectGoodPage } from "./accessibility-helpers";
import { callApi, newAddress, signIn, signInWithKey } from "./portal-helpers";
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

test("shows why a message did not arrive, and where callbacks went", async ({ page, request }) => {
  receiver.answer = ({ path }) => ({ status: path.endsWith("callback") ? 200 : 500 });
  const key = await signInWithKey(page, "callbacks");
  const body = { url: receiver.url, events: ["authorization.cancelled"] };
  const { id } = await callApi(request, key, "/v1/webhooks", body);
  const callback_url = `${receiver.url}/callback`;
  const slug = newAddress("bot").split("@")[0];
  const asked = await callApi(request, key, "/v1/authorize", {
    agent_slug: slug,
    action: "Pay",
    callback_url,
  });
  await request.delete(`/v1/authorize/${asked["request_id"]}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await receiver.expect(2);
  await page.goto(`/portal/webhooks/${id}`);
  await expect(page.getByText("HTTP 500")).toBeVisible();
  await expect(page.getByText("Failing", { exact: true })).toBeVisible();
  await expectGoodPage(page);
  await page.goto("/portal/webhooks");
  await page.getByRole("link", { name: "Deliveries" }).click();
  await expect(page.getByRole("heading", { name: "Callbacks", level: 1 })).toBeVisible();
  await expect(page.getByText(callback_url)).toBeVisible();
  await expect(page.getByText("HTTP 200")).toBeVisible();
  await expectGoodPage(page);
});
