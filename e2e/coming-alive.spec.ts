/** Between a page's HTML and its script: nothing moves from under a press, and what can't work yet isn't offered. */
import { expect, type Page } from "@playwright/test";
import { ask } from "./approval-helpers";
import { callApi, newAddress, signIn, signInWithKey } from "./portal-helpers";
import { test } from "./test";

/** Opens the page as it is before its scripts arrive; what it returns lets them come. */
async function openWithoutScripts(page: Page, path: string): Promise<() => Promise<void>> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const scripts = "**/_next/static/chunks/*.js*";
  await page.route(scripts, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(path, { waitUntil: "commit" });
  await expect(page.locator("main h1")).toBeVisible();
  // Waits for styles too: they may arrive after the HTML.
  await page.waitForFunction(() =>
    [...document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")].every(
      ({ sheet }) => sheet !== null,
    ),
  );
  await page.evaluate(() => document.fonts.ready.then(() => {}));
  return async () => {
    release();
    await page.waitForLoadState("load");
    await page.unroute(scripts);
  };
}

/** The button is enabled only by the page's script. */
const needsScript = (page: Page) => page.getByRole("button", { name: /^(Find…|Deny$)/ }).first();

async function waitUntilAlive(page: Page): Promise<void> {
  await expect(needsScript(page)).toBeEnabled();
  // The script's next work is done before the second frame.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

/** Returns the scroll position and the places of everything that can be pressed, except in the row that scrolls on phones. */
const readPlaces = (page: Page) =>
  page.evaluate(() => {
    const pressed = [...document.querySelectorAll("main :is(a, button, input, select, textarea, summary)")];
    const places = pressed
      .filter((element) => element.closest("nav") === null && element.checkVisibility())
      .map((element) => {
        const { left, top } = element.getBoundingClientRect();
        const name = (element.textContent || element.getAttribute("name")) ?? "";
        return `${name.slice(0, 40)} at ${Math.round(left)}, ${Math.round(top)}`;
      });
    return [`scrolled by ${Math.round(scrollY)}`, ...places];
  });

async function expectStillness(page: Page, path: string): Promise<void> {
  const letScriptsCome = await openWithoutScripts(page, path);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
  await expect(needsScript(page), `${path} before its script`).toBeDisabled();
  const before = await readPlaces(page);
  await letScriptsCome();
  await waitUntilAlive(page);
  expect(await readPlaces(page), path).toEqual(before);
}

/** An organization with something on every page, and the addresses of the pages. */
async function furnish(page: Page): Promise<string[]> {
  const key = await signInWithKey(page, "steady");
  const agent_slug = newAddress("bot").split("@")[0] ?? "";
  const attest = { agent_slug, action: "Pay H", inputs_hash: "x" };
  const { attestation_id } = await callApi(page.request, key, "/v1/attest", attest);
  const asked = await ask(page.request, key, { agent_slug, require_code: true });
  const plain = await ask(page.request, key, { agent_slug });
  await page.goto("/portal");
  const sections = page.getByRole("navigation", { name: "Portal" }).getByRole("link");
  const hrefs = await sections.evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  expect(hrefs.length).toBeGreaterThan(8);
  return [
    ...hrefs,
    `/portal/agents/${agent_slug}`,
    `/portal/attestations/${attestation_id}`,
    `/portal/authorizations/${asked.request_id}`,
    new URL(asked.approval_url).pathname,
    new URL(plain.approval_url).pathname,
  ];
}

for (const [name, width, height] of [
  ["desktop", 1280, 720],
  ["phone", 390, 780],
] as const) {
  test(`nothing moves when the script of a page arrives: ${name}`, async ({ page }) => {
    const pages = await furnish(page);
    await page.setViewportSize({ width, height });
    for (const path of pages) await expectStillness(page, path);
  });
}

test("a press that began before the script follows its link", async ({ page }) => {
  await signIn(page, newAddress("presser"));
  const letScriptsCome = await openWithoutScripts(page, "/portal/webhooks");
  const link = page.getByRole("link", { name: "Deliveries" });
  await link.hover();
  await page.mouse.down();
  await letScriptsCome();
  await waitUntilAlive(page);
  await page.mouse.up();
  await expect(page.getByRole("heading", { name: "Callbacks", level: 1 })).toBeVisible();
});
