/** The stop buttons as people press them: an agent in the portal, and an approval on the page where it was given. */
import { expect } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { callApi, signInWithKey } from "./portal-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 180_000 });

test("freezes an agent with a reason, shows it to everyone, and lets it go on", { tag: "@smoke" }, async ({
  page,
  request,
}) => {
  const key = await signInWithKey(page, "stops");
  const slug = `stopped-${Date.now()}`;
  await callApi(request, key, "/v1/attest", {
    agent_slug: slug,
    action: "Paid",
    inputs_hash: "a",
    is_public: true,
  });
  const asked = await callApi(request, key, "/v1/authorize", { agent_slug: slug, action: "Pay again" });
  await page.goto(`/portal/agents/${slug}`);
  await page.getByRole("button", { name: "Freeze agent" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("It paid the same invoice twice");
  await expectGoodPage(page);
  await dialog.getByRole("button", { name: "Freeze now" }).click();
  await expect(dialog.getByText("Agent frozen.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect(page.getByText("This agent is frozen")).toBeVisible();
  await expect(page.getByText("It paid the same invoice twice")).toHaveCount(2);
  await expectGoodPage(page);
  await page.goto("/portal/agents");
  await expect(page.getByText("Frozen", { exact: true })).toBeVisible();
  await page.goto(`/agent/${slug}`);
  await expect(page.getByText("Frozen by its organization")).toBeVisible();
  await expect(page.getByText("It paid the same invoice twice")).toHaveCount(0);
  await expectGoodPage(page);
  await page.goto(String(asked["approval_url"]));
  await expect(page.getByRole("button", { name: "Deny", exact: true })).toBeEnabled();
  await expect(page.getByRole("button", { name: "Approve with World ID" })).toBeDisabled();
  await page.goto(`/portal/authorizations/${asked["request_id"]}`);
  await expect(page.getByText("The organization has frozen this agent")).toBeVisible();
  await expect(page.getByText("Anyone with this link can deny.")).toBeVisible();
  await expectGoodPage(page);
  await page.goto(`/portal/agents/${slug}`);
  await page.getByRole("button", { name: "Unfreeze agent" }).click();
  await dialog.getByRole("button", { name: "Unfreeze", exact: true }).click();
  await expect(dialog.getByText("Unfrozen. The agent may go on.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect(page.getByRole("button", { name: "Freeze agent" })).toBeVisible();
  await page.goto(`/portal/authorizations/${asked["request_id"]}`);
  await expect(page.getByText("Anyone with this link can approve or deny.")).toBeVisible();
  await expect(page.getByText("The organization has frozen this agent")).toHaveCount(0);
});
