/** The public pages of text: good pages, small ones, with a card for chats, at every width, and each as Markdown. */
import { type APIRequestContext, expect } from "@playwright/test";
import { expectAccessibleInBothThemes, expectGoodPage } from "./accessibility-helpers";
import { expectNoSidewaysScroll } from "./small-screen-helpers";
import { test } from "./test";

for (const [path, status] of [
  ["/", 200],
  ["/docs/attest", 200],
  ["/docs/api", 200],
  ["/docs/api/attest", 200],
  ["/nothing-here", 404],
] as const)
  test(`${path} is a good page`, { tag: path === "/" ? "@smoke" : [] }, async ({ page }) => {
    expect((await page.goto(path))?.status()).toBe(status);
    await expectGoodPage(page);
    await expectNoSidewaysScroll(page);
  });

async function listPages(request: APIRequestContext): Promise<string[]> {
  const sitemap = await (await request.get("/sitemap.xml")).text();
  return [...sitemap.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url = ""]) => new URL(url).pathname);
}

const maxBytes = 195_000;

test("every public page has a card for chats and is at most 195 KB", async ({ request }) => {
  // Renders every page for the first time.
  test.slow();
  const pages = await listPages(request);
  expect(pages.length).toBeGreaterThan(50);
  const heaviest = { path: "", bytes: 0 };
  for (const path of pages) {
    const answer = await request.get(path);
    expect(answer.status(), path).toBe(200);
    const html = await answer.text();
    for (const name of ["title", "description", "type", "site_name", "image"])
      expect(html, `${path}: og:${name}`).toMatch(new RegExp(`<meta property="og:${name}" content="[^"]+"`));
    const bytes = Buffer.byteLength(html);
    expect(bytes, path).toBeLessThanOrEqual(maxBytes);
    if (bytes > heaviest.bytes) Object.assign(heaviest, { path, bytes });
  }
  test.info().annotations.push({ type: "heaviest", description: JSON.stringify(heaviest) });
  const [, image = ""] = /og:image" content="([^"]+)"/.exec(await (await request.get("/")).text()) ?? [];
  expect((await request.get(image)).headers()["content-type"]).toBe("image/png");
});

test("the documentation is searched by Ctrl+K: guides, operations, errors and reasons", async ({ page }) => {
  await page.goto("/docs/attest");
  const find = page.getByRole("combobox", { name: "Search guides, operations, errors and reasons" });
  for (const [text, choice, address] of [
    ["validation_error", "Errors: validation_error", "/docs/errors#validation_error"],
    ["payload_hash_mismatch", "payload_hash_mismatch", "/docs/reasons"],
    ["post /v1/attest", "POST /v1/attest", "/docs/api/attest"],
  ] as const) {
    // A choice leads to a new document; a press before its script runs would be lost.
    await expect(page.getByRole("button", { name: /^Find…/ })).toBeEnabled();
    await page.keyboard.press("Control+k");
    await find.fill(text);
    await expect(page.getByRole("option").first()).toContainText(choice);
    await expectAccessibleInBothThemes(page);
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(address);
    await expect(find).toHaveCount(0);
  }
});

test("the API reference reads without JavaScript and loads nothing from elsewhere", async ({
  browser,
  baseURL,
}) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  const foreign: string[] = [];
  page.on("request", (one) => {
    if (!one.url().startsWith(baseURL ?? "")) foreign.push(one.url());
  });
  await page.goto(`${baseURL}/docs/api`);
  await expect(page.getByRole("heading", { level: 1, name: "API reference" })).toBeVisible();
  await expect(page.locator("#attest")).toContainText("/v1/attest");
  await expect(
    page.getByRole("navigation", { name: "Guides" }).getByRole("link", { name: "API reference" }),
  ).toBeVisible();
  await page.locator("#attest").getByRole("link").click();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByText("agent_slug", { exact: true }).first()).toBeVisible();
  await page.getByText("TypeScript", { exact: true }).first().click();
  await expect(page.getByText("createCountersign({")).toBeVisible();
  expect(foreign).toEqual([]);
  await context.close();
});
