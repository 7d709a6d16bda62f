/** Login by the mailed link: opening it, however often, does nothing; the button signs in, once. */
import { expect, type Page } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { askForLink, newAddress, signIn as signInUnseen } from "./portal-helpers";
import { test } from "./test";

async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(await askForLink(page, email));
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
}

test("only the button's POST signs in, and the link works once", { tag: "@smoke" }, async ({
  page,
  browser,
}) => {
  const link = await askForLink(page, newAddress("login"));
  const scanner = await browser.newContext();
  const scannerPage = await scanner.newPage();
  for (let i = 0; i < 5; i += 1) {
    await scannerPage.goto(link, { waitUntil: "networkidle" });
    expect((await scanner.request.head(link)).status()).toBe(200);
  }
  expect((await scanner.cookies()).filter(({ name }) => name.includes("session"))).toEqual([]);
  await scannerPage.goto("/portal");
  await expect(scannerPage).toHaveURL(/\/portal\/sign-in/);

  await page.goto(link);
  await expectGoodPage(page);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  const [cookie] = (await page.context().cookies()).filter(({ name }) => name.includes("session"));
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", secure: false });

  await scannerPage.goto(link);
  await scannerPage.getByRole("button", { name: "Sign in" }).click();
  await expect(scannerPage.getByText("This link was already used")).toBeVisible();
  await scanner.close();
});

test("the focus is where the news is: on the form's answer, or on what it doesn't accept", async ({
  page,
}) => {
  await page.goto("/portal/sign-in");
  const field = page.getByLabel("Email address");
  await field.fill("nobody");
  await page.getByRole("button", { name: "Send me a sign-in link" }).click();
  await expect(page.getByText("Not accepted:")).toBeVisible();
  await expect(field).toBeFocused();
  await askForLink(page, newAddress("focus"));
  await expect(page.locator("[aria-live]:focus")).toHaveText(/a link is on its way/);
});

test("a POST from elsewhere does not use the link up", async ({ page, request }) => {
  const link = new URL(await askForLink(page, newAddress("foreign")));
  const form = { token: link.searchParams.get("token") ?? "", email: link.searchParams.get("email") ?? "" };
  for (const origin of ["https://evil.example", "null"]) {
    const refused = await request.post("/portal/sign-in/verify", { form, headers: { origin } });
    expect(refused.status()).toBe(403);
  }
  await page.goto(link.href);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("leads back to the page that was asked for, and never to a foreign one", async ({ page, browser }) => {
  await page.goto("/portal/audit");
  await expect(page).toHaveURL(/next=%2Fportal%2Faudit/);
  await page.goto("/portal/sign-in?next=//evil.example/portal");
  await expect(page.locator('input[name="next"]')).toHaveValue("/portal");
  const other = await browser.newContext();
  const otherPage = await other.newPage();
  await signIn(otherPage, newAddress("signed-in"));
  await otherPage.goto("/portal/sign-in?next=/portal/keys");
  await expect(otherPage).toHaveURL(/\/portal\/keys$/);
  await otherPage.getByRole("button", { name: "Sign out" }).click();
  await expect(otherPage.getByRole("heading", { name: "Sign in to the portal" })).toBeVisible();
  await otherPage.goto("/portal/keys");
  await expect(otherPage).toHaveURL(/sign-in/);
  await other.close();
});

test("strangers who use up an address's links don't lock out a browser in which its owner signed in", async ({
  page,
  browser,
  request,
}) => {
  const email = newAddress("wanted");
  await signInUnseen(page, email);
  const statuses: number[] = [];
  while (statuses.length < 5)
    statuses.push((await request.post("/v1/keys/request", { data: { email } })).status());
  expect(statuses).toEqual([200, 200, 200, 200, 429]);
  const stranger = await browser.newContext();
  await expect(signInUnseen(await stranger.newPage(), email)).rejects.toThrow("is signed in");
  await stranger.close();
  await page.context().clearCookies({ name: /session-token/ });
  await signInUnseen(page, email);
  await page.goto("/portal");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("works without JavaScript", async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  await signIn(await context.newPage(), newAddress("plain"));
  await context.close();
});
