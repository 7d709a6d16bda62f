/** Answers that are lost on the way: the page stays, says that nobody knows, and shows what became of it when it can. */
import { expect, type Page } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { ask, chooseApprove, getApiKey } from "./approval-helpers";
import { makeKey, newAddress, signIn } from "./portal-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 120_000 });

/** The server has done it, and nobody hears of it. */
async function loseAnswers(page: Page, url: string): Promise<void> {
  await page.route(url, async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    await route.fetch();
    await route.abort();
  });
}

const cutOff = (page: Page) => page.route("**/*", (route) => route.abort());

test("a form of the portal keeps what was typed and shows what became of it", async ({ page }) => {
  await signIn(page, newAddress("loser"));
  await page.goto("/portal/keys");
  await loseAnswers(page, "**/portal/keys");
  await page.getByLabel("Name", { exact: true }).fill("lost on the way");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(
    page.getByText("We lost the connection and don't know whether this went through. Reload to see."),
  ).toBeVisible();
  await expect(page.getByRole("heading", { name: "Something went wrong" })).toHaveCount(0);
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("lost on the way");
  await expect(page.getByRole("rowheader", { name: "lost on the way" })).toBeVisible();
  await expectAccessibleInBothThemes(page);
});

test("a dialog of the portal keeps what was chosen, which the next press sends", async ({
  page,
  request,
}) => {
  await signIn(page, newAddress("rotator"));
  const key = await makeKey(page, "replaced");
  await page.goto("/portal/keys");
  await page.route("**/portal/keys", (route) =>
    route.request().method() === "POST" ? route.abort() : route.fallback(),
  );
  await page.getByRole("button", { name: "Rotate replaced" }).click();
  const expires = page.getByRole("dialog").getByLabel("Old key expires");
  await expires.selectOption("0");
  await page.getByRole("button", { name: "Create new key" }).click();
  await expect(page.getByText("We lost the connection")).toBeVisible();
  await expect(expires).toHaveValue("0");
  await page.unroute("**/portal/keys");
  await page.getByRole("button", { name: "Create new key" }).click();
  await expect(page.getByText("Copy the new key now")).toBeVisible();
  const info = await request.get("/v1/keys/info", { headers: { authorization: `Bearer ${key}` } });
  expect(info.status()).toBe(401);
});

test("a page that shows itself again stays while the server is away, and goes on when it is back", async ({
  page,
  request,
}) => {
  const key = await getApiKey(request, "away");
  const asked = await ask(request, key, { action: "Sent into the dark" });
  await page.goto(asked.approval_url);
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Deny this request" })).toBeVisible();
  await cutOff(page);
  await page.getByRole("button", { name: "Deny request" }).click();
  await expect(page.getByText("don't know whether your denial went through")).toBeVisible();
  await page.waitForTimeout(5_000);
  await expect(page.getByRole("heading", { name: "An agent is requesting your approval" })).toBeVisible();
  await request.post(`${new URL(asked.approval_url).pathname}/deny`, {
    headers: { origin: new URL(asked.approval_url).origin },
    data: { reason: "from elsewhere" },
    // The server closes a connection that was idle for five seconds, as this one was, maybe at this very moment.
    maxRetries: 2,
  });
  await page.unroute("**/*");
  await expect(page.getByRole("heading", { name: "This request was denied" })).toBeVisible();
});

test("after a wrong code, the button that was clicked does it again with the right one", async ({
  page,
  request,
}) => {
  const key = await getApiKey(request, "wrong-code");
  const asked = await ask(request, key, { action: "Rotate the root key", require_code: true });
  await page.goto(asked.approval_url);
  await page.getByLabel("Confirmation code").fill("AAA-AAA");
  await chooseApprove(page);
  await expect(page.getByText("The confirmation code is wrong")).toBeVisible();
  await page.getByLabel("Confirmation code").fill(asked.confirmation_code);
  await page.getByRole("button", { name: "Approve with World ID" }).click();
  await expect(page.getByRole("link", { name: "Open the test wallet" }).first()).toBeVisible();
  await page.getByRole("button", { name: "Approve with World ID" }).click();
  await expect(page.getByRole("link", { name: "Open the test wallet" }).first()).toBeVisible();
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Deny this request" })).toBeVisible();
});
