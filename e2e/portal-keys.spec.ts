/** Keys: made with a scope, shown once, used, rotated with an overlap, revoked and refused at once. */
import { spawnSync } from "node:child_process";
import { expect } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { makeKey, newAddress, readLink, signIn } from "./portal-helpers";
import { test } from "./test";

test("makes, rotates and revokes a key by keyboard and mouse", { tag: "@smoke" }, async ({
  page,
  request,
}) => {
  await signIn(page, newAddress("keys"));
  await page.goto("/portal/keys");
  await expect(page.getByText("No keys yet")).toBeVisible();
  await expectGoodPage(page);
  const statusOf = async (key: string) =>
    (await request.get("/v1/keys/info", { headers: { authorization: `Bearer ${key}` } })).status();
  const first = await makeKey(page, "worker");
  expect(await statusOf(first)).toBe(200);
  await expect(page.locator("[aria-live]:focus")).toHaveText(/created/);
  const sample = await page.getByRole("group", { name: "Create an attestation, curl" }).textContent();
  const env = { ...process.env, COUNTERSIGN_API_KEY: first };
  const ran = spawnSync("sh", ["-c", sample ?? ""], { encoding: "utf8", env });
  expect(JSON.parse(ran.stdout)).toMatchObject({ action: "Pay invoice 1042" });
  await page.reload();
  await expect(page.getByText("TEST key", { exact: true })).toBeVisible();
  await expect(page.getByText("Live", { exact: true })).toHaveCount(0);
  await expect(page.getByText(first)).toHaveCount(0);
  await expectGoodPage(page);

  await page.getByRole("button", { name: "Limit worker" }).click();
  await page.getByRole("dialog").getByLabel("Attestations per day").fill("none");
  await page.getByRole("button", { name: "Save limit" }).click();
  await expect(page.getByText("Some fields were not accepted.")).toBeVisible();
  await page.getByRole("dialog").getByLabel("Attestations per day").fill("1");
  await page.getByRole("button", { name: "Save limit" }).click();
  await expect(page.getByText("Limit saved.")).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByRole("rowheader").locator("summary").first().click();
  await expect(page.getByText("At most 1 attestation a day")).toBeVisible();
  const over = spawnSync("sh", ["-c", sample ?? ""], { encoding: "utf8", env });
  expect(JSON.parse(over.stdout)).toMatchObject({ status: 429, code: "daily_limit_exceeded" });
  await page.goto(`/portal/requests?id=${JSON.parse(over.stdout).request_id}`);
  await expect
    .poll(async () => {
      await page.reload();
      return page.getByText("daily_limit_exceeded", { exact: true }).count();
    })
    .toBe(1);
  await page.getByRole("rowheader").locator("summary").click();
  await expect(page.getByText("By a TEST key")).toBeVisible();
  await expectGoodPage(page);
  await page.goto("/portal/keys");

  const rotate = page.getByRole("button", { name: "Rotate worker" });
  await expect(rotate).toBeEnabled();
  await rotate.press("Enter");
  await page.getByLabel("Old key expires").selectOption("1");
  await expectGoodPage(page);
  // Closed at the very moment in which the key appears: the list has it all the same.
  const secret = page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const observer = new MutationObserver(() => {
          const text = document.querySelector("[data-testid=secret] code")?.textContent;
          if (!text) return;
          observer.disconnect();
          for (const button of document.querySelectorAll<HTMLElement>("dialog button"))
            if (button.textContent === "Close") button.click();
          resolve(text.trim());
        });
        observer.observe(document.body, { childList: true, subtree: true });
      }),
  );
  await page.getByRole("button", { name: "Create new key" }).click();
  const second = await secret;
  expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200]);
  await expect(page.getByRole("button", { name: "Revoke worker" })).toHaveCount(2);

  await page.getByRole("button", { name: "Revoke worker" }).first().click();
  await page.getByRole("button", { name: "Revoke key" }).click();
  await expect(page.getByText("Key revoked.")).toBeVisible();
  expect([await statusOf(first), await statusOf(second)]).toEqual([200, 401]);
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await expect(page.getByText("Revoked", { exact: true })).toBeVisible();

  // A coding agent gets a name of its own beside the agent that the sample made.
  await page.getByLabel("Name", { exact: true }).fill("coder");
  await expect(page.getByRole("checkbox", { name: "erase" })).toBeHidden();
  await page.getByRole("radio", { name: "A coding agent’s hook asks" }).check();
  await page.getByRole("button", { name: "Create key", exact: true }).click();
  await expect(page.getByText(/hook install --url \S+ --agent coder-[0-9a-f]{8} /)).toBeVisible();
});

test("a colleague joins by invitation, and is removed again", async ({ page, browser }) => {
  const colleagueAddress = newAddress("colleague");
  await signIn(page, newAddress("owner"));
  await page.goto("/portal/settings");
  await expectGoodPage(page);
  await page.getByLabel("Email address").fill(colleagueAddress);
  await page.getByRole("button", { name: "Send invitation" }).click();
  await expect(page.getByText(`Invitation sent to ${colleagueAddress}`)).toBeVisible();

  const context = await browser.newContext();
  const colleague = await context.newPage();
  await colleague.goto(await readLink(page.request, colleagueAddress, "/portal/invitations/"));
  await expectGoodPage(colleague);
  await colleague.getByRole("button", { name: "Send me a sign-in link" }).click();
  await expect(colleague.getByText("a link is on its way")).toBeVisible();
  await colleague.goto(await readLink(page.request, colleagueAddress, "/portal/sign-in/confirm"));
  await colleague.getByRole("button", { name: "Sign in" }).click();
  await colleague.getByRole("button", { name: "Join organization" }).click();
  await expect(colleague.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(colleague.getByText(`${colleagueAddress} · member`)).toBeVisible();
  await colleague.goto("/portal/settings");
  await expect(colleague.locator("#organization").getByText("Only owners can change this.")).toBeVisible();
  await expect(colleague.getByText("Only owners can change domains.")).toBeVisible();
  await expect(colleague.getByRole("button", { name: "Delete organization" })).toHaveCount(0);

  await page.reload();
  await page.getByRole("button", { name: `Remove ${colleagueAddress}` }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByText("Done.")).toBeVisible();
  await colleague.goto("/portal/settings");
  await expect(colleague.getByText(`${colleagueAddress} · owner`)).toBeVisible();
  await context.close();
});

test("a dialog whose action turns its button into the opposite keeps its words until it is closed", async ({
  page,
}) => {
  await signIn(page, newAddress("holder"));
  await page.goto("/portal/settings");
  await page.getByRole("button", { name: "Begin legal hold" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("Case 7");
  await dialog.getByRole("button", { name: "Begin legal hold" }).click();
  await expect(dialog.getByText("Legal hold is on.")).toBeVisible();
  await expect(page.getByText("End legal hold")).toBeVisible();
  await expect(dialog.getByRole("heading", { name: "Begin a legal hold" })).toBeVisible();
  await expect(dialog).not.toContainText("Content can be erased again");
});
