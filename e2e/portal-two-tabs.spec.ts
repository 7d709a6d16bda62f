/** Two tabs and two organizations: what is done in a tab is done for the organization that the tab shows, or not at all. */
import { expect, type Page } from "@playwright/test";
import { makeKey, nameOrganization, newAddress, readLink, signIn } from "./portal-helpers";
import { test } from "./test";

const refusal = "You switched to another organization in another tab";

/** A person who belongs to an organization of their own and to one that they were invited to, which is chosen. */
async function joinSecond(page: Page, owner: Page): Promise<{ own: string; invited: string }> {
  const [own, invited] = [newAddress("tabs"), newAddress("host")];
  const names = { own: own.split("@")[0] ?? "", invited: invited.split("@")[0] ?? "" };
  await signIn(owner, invited);
  await nameOrganization(owner, names.invited);
  await owner.getByLabel("Email address").fill(own);
  await owner.getByLabel("As", { exact: true }).selectOption("owner");
  await owner.getByRole("button", { name: "Send invitation" }).click();
  await expect(owner.getByText(`Invitation sent to ${own}`)).toBeVisible();
  await signIn(page, own);
  await nameOrganization(page, names.own);
  await page.goto(await readLink(page.request, own, "/portal/invitations/"));
  await page.getByRole("button", { name: "Join organization" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  return names;
}

const shown = (page: Page) => page.locator("p.font-medium").first();

async function switchTo(page: Page, name: string): Promise<void> {
  await page.getByRole("combobox", { name: "Organization", exact: true }).selectOption({ label: name });
  await page.getByRole("button", { name: "Switch", exact: true }).click();
  await expect(shown(page)).toHaveText(name);
}

test("a form of one tab is refused after a switch in another, and works after a reload", async ({
  page,
  browser,
}) => {
  const other = await browser.newContext();
  const names = await joinSecond(page, await other.newPage());
  await makeKey(page, "of the host");
  await page.goto("/portal/settings");
  await expect(shown(page)).toHaveText(names.invited);

  const second = await page.context().newPage();
  await second.goto("/portal");
  await switchTo(second, names.own);

  await page.getByLabel("Organization name").fill("Renamed");
  await page.getByRole("button", { name: "Save", exact: true }).first().click();
  await expect(page.getByText(refusal)).toBeVisible();
  await page.getByRole("button", { name: "Delete organization" }).click();
  await page.getByLabel(/^Type the organization's name/).fill(names.own);
  await page.getByRole("button", { name: "Delete permanently" }).click();
  await expect(page.getByRole("dialog").getByText(refusal)).toBeVisible();
  await second.goto("/portal/settings");
  await expect(second.getByLabel("Organization name")).toHaveValue(names.own);

  await page.reload();
  await expect(shown(page)).toHaveText(names.own);
  await page.getByLabel("Organization name").fill("Renamed");
  await page.getByRole("button", { name: "Save", exact: true }).first().click();
  await expect(page.getByText("Settings saved.")).toBeVisible();
  await switchTo(second, names.invited);
  await second.goto("/portal/keys");
  await expect(
    second.getByRole("table", { name: "API keys" }).getByRole("row", { name: /of the host/ }),
  ).toBeVisible();
  await other.close();
});
