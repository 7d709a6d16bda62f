/** Rules in the portal: mistakes in place, what a change would have changed, versions; and a standing approval's page. */
import { expect, type Page } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { callApi, newAddress, signInWithKey } from "./portal-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 180_000 });

const editor = (page: Page) => page.getByLabel("Rules, in Cedar");

test("rules are written, compared with what happened, saved, and in effect", { tag: "@smoke" }, async ({
  page,
  request,
}) => {
  const key = await signInWithKey(page, "ruler");
  const agent_slug = newAddress("ruled").split("@")[0];
  const pay = (value: string) =>
    callApi(request, key, "/v1/authorize", {
      agent_slug,
      action: `Pay ${value} EUR`,
      tool: "payments.send",
      amount: { value, currency: "EUR" },
    });
  await pay("900");
  await pay("20");
  // A template needs the page's script.
  const plain = await (await page.request.get("/portal/rules")).text();
  expect(/<button[^>]*>Never this tool/.exec(plain)?.[0]).toContain('disabled=""');

  await page.goto("/portal");
  await page.getByRole("link", { name: "Rules", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Rules", level: 1 })).toBeVisible();
  await editor(page).fill(
    '@id("a")\npermit (principal, action == Action::"act", resource)\nwhen { context.amonut.value == 1 };',
  );
  await page.getByRole("button", { name: "Save rules" }).click();
  await expect(page.getByText("Not saved: one problem")).toBeVisible();
  await expect(page.getByText("did you mean `amount`?")).toBeVisible();
  await page.getByRole("button", { name: "Line 3, column 8" }).click();
  expect(
    await editor(page).evaluate((area: HTMLTextAreaElement) =>
      area.value.slice(area.selectionStart, area.selectionStart + 7),
    ),
  ).toBe("context");
  await expectGoodPage(page);

  await editor(page).fill("");
  await page.getByRole("button", { name: "Small amounts without asking" }).click();
  await page.getByRole("button", { name: "Never this tool" }).click();
  await page.getByLabel("Mode").selectOption("enforce");
  await page.getByLabel("If no rule permits a request").selectOption("deny");
  await page.getByLabel("Changes need a second owner").check();
  await expect(page.getByText("You are the only owner: invite another in Settings first.")).toBeVisible();
  const compared = page.getByText(/of your last 2 requests would go another way/);
  await page.getByRole("button", { name: "What would this have changed?" }).click();
  await expect(compared).toBeVisible();
  await expect(page.getByLabel("Mode")).toHaveValue("enforce");
  await expect(page.getByLabel("If no rule permits a request")).toHaveValue("deny");
  await expect(page.getByLabel("Changes need a second owner")).toBeChecked();
  const differences = page
    .getByRole("table", { name: "Requests that would go another way" })
    .getByRole("rowheader");
  await expect(differences).toContainText(["Pay 20 EUR", "Pay 900 EUR"]);
  await page.getByRole("button", { name: "By amount" }).click();
  await expect(differences).toContainText(["Pay 900 EUR", "Pay 20 EUR"]);
  // The comparison doesn't match the form any more.
  await page.getByLabel("If no rule permits a request").selectOption("ask");
  await expect(compared).toHaveCount(0);
  await page.getByLabel("Changes need a second owner").uncheck();
  await page.getByRole("button", { name: "What would this have changed?" }).click();
  await expect(page.getByText("1 of your last 2 requests would go another way")).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: /Pay 20 EUR.*people asked/ })).toContainText(
    "allowed without asking",
  );
  await expect(page.getByText("Decided nothing: never-delete")).toBeVisible();
  await expectGoodPage(page);

  await page.getByRole("button", { name: "Save rules" }).click();
  await expect(page.getByText("Rules saved.")).toBeVisible();
  await expect(page.locator("[aria-live]:focus")).toHaveText("Rules saved.");
  await expect(page.getByText("never-delete: this forbid applies only if")).toBeVisible();
  await expect(page.getByRole("row", { name: /enforced/ })).toBeVisible();
  expect(await pay("30")).toMatchObject({ status: "approved", decided_by: { kind: "rule" } });
  expect(await pay("900")).toMatchObject({ status: "pending" });

  await page.getByRole("link", { name: /^1/ }).click();
  await expect(page.getByRole("heading", { name: "Version 1" })).toBeVisible();
  await expectGoodPage(page);

  // The confirming person sees the change even if the rules' text is the same.
  await page.goto("/portal/rules");
  await page.getByLabel("Changes need a second owner").check();
  await page.getByRole("button", { name: "Save rules" }).click();
  await expect(page.getByRole("link", { name: /^2/ })).toBeVisible();
  await page.getByLabel("Changes need a second owner").uncheck();
  await page.getByRole("button", { name: "Save rules" }).click();
  await expect(
    page.getByText(
      "changes need no second owner (before: enforced, otherwise ask people, changes need a second owner)",
    ),
  ).toBeVisible();
  await expect(page.getByText("Change proposed. Another owner must confirm it.")).toBeVisible();
  await expect(page.getByText("You are the only one: invite another.")).toBeVisible();
  await expect(page.getByText("Rules saved.")).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("never-delete: this forbid applies only if")).toBeVisible();
  await expectGoodPage(page);
});
