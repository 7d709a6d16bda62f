/** An attestation's public page: what a stranger sees, and what the stranger's own browser finds. */

import { expect, type Page } from "@playwright/test";
import { attestationChecks } from "#lib/core/statement/verify";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { makeKey, newAddress, signIn } from "./portal-helpers";
import { attest, authorize, hostileFields, pageBot, run } from "./public-pages-helpers";
import { test } from "./test";

const phone = { width: 390, height: 844 };
let key = "";

test.beforeAll(async ({ request }) => {
  key = await getApiKey(request, "verify-page");
});

/** Opens the page and waits for the browser's own outcome; nothing may be asked of another origin. */
async function openVerified(page: Page, url: string): Promise<void> {
  const origins = new Set<string>();
  page.on("request", (one) => {
    if (one.url().startsWith("http")) origins.add(new URL(one.url()).origin);
  });
  await page.goto(url);
  await expect(page.locator("[data-browser-check]")).not.toHaveAttribute("data-browser-check", "waiting");
  expect([...origins]).toEqual([new URL(url).origin]);
}

const verdict = (page: Page) => page.getByRole("heading", { level: 1 });
const agrees = (page: Page) => page.getByText("and agrees.");
const row = (page: Page, name: string) => page.locator(`#check-${name}`);

test("a stranger on a phone reads the verdict first, and the own browser repeats every check", async ({
  page,
  request,
}) => {
  await page.setViewportSize(phone);
  const made = await attest(request, key);
  await openVerified(page, made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record");
  await expect(verdict(page)).toBeInViewport();
  await expect(verdict(page)).toHaveCSS("text-decoration-line", "none");
  await expect(page.getByText("No human approval is recorded.").first()).toBeInViewport();
  await expect(agrees(page)).toBeInViewport();
  for (const name of ["payload_hash", "signature", "key_validity", "log_inclusion", "checkpoint_signature"]) {
    await expect(row(page, name)).toContainText("Server: yes");
    await expect(row(page, name)).toContainText("Your browser: yes");
  }
  await expect(page.locator("[id^=check-]")).toHaveCount(attestationChecks.length);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
  await expectAccessibleInBothThemes(page);
  await expect(page.locator('link[rel="alternate"][type="application/json"]')).toHaveAttribute(
    "href",
    new RegExp(`/v1/verify/${made.attestation_id}$`),
  );
});

test("a wrong slug leads to the right address; an unknown id is a clear 404", async ({ page, request }) => {
  const made = await attest(request, key);
  const wrong = made.public_url.replace(`/${pageBot}/`, "/other-bot/");
  const redirect = await request.get(wrong, { maxRedirects: 0 });
  expect(redirect.status()).toBe(308);
  expect(new URL(redirect.headers()["location"] ?? "", wrong).href).toBe(made.public_url);
  for (const id of ["01990000-0000-7000-8000-000000000000", "not-an-id"]) {
    const answer = await page.goto(`/verify/${pageBot}/${id}`);
    expect(answer?.status()).toBe(404);
    await expect(verdict(page)).toHaveText("Unknown");
  }
  await expectAccessibleInBothThemes(page);
});

test("the page says everything without JavaScript too", async ({ browser, request }) => {
  const made = await attest(request, key, { human_approved: true });
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record, 1 warning");
  await expect(row(page, "signature")).toContainText("Server: yes");
  await expect(row(page, "signature")).toContainText("Your browser: not checked yet");
  await expect(page.getByText("With JavaScript, your own browser repeats every check")).toBeVisible();
  await expect(page.getByText("Paid invoice 1042").first()).toBeVisible();
  await context.close();
});

test("hash-based approval is the caller's word, and says so", async ({ page, request }) => {
  const made = await attest(request, key, { human_approved: true, human_approver_hash: "sha256:9f86" });
  await openVerified(page, made.public_url);
  await expect(page.getByText("Its human approval is asserted by the caller, not proven.")).toBeVisible();
  await expect(page.getByText("Proven by World ID")).toHaveCount(0);
  await expect(agrees(page)).toBeVisible();
  await expectAccessibleInBothThemes(page);
});

test("a TEST approval is TEST everywhere, and its proofs are verified by the browser", async ({
  page,
  request,
}) => {
  const fields = { agent_slug: pageBot, action: "Pay 12,000 EUR to Example GmbH" };
  const authorization = await authorize(request, key, fields, ["ada", "grace"]);
  const made = await attest(request, key, { ...fields, human_authorization: authorization, enable_zk: true });
  await openVerified(page, made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record, 1 warning (TEST approval)");
  await expect(page.getByText("TEST approval, not a real person").first()).toBeVisible();
  await expect(page.getByText("Test wallet 2, nullifier")).toBeVisible();
  await expect(row(page, "human_authorization")).toContainText("Your browser: a TEST only");
  await expect(row(page, "zk_proof")).toContainText("Your browser: yes");
  await expect(agrees(page)).toBeVisible();
  await expectAccessibleInBothThemes(page);
  const badge = await request.get(`/badge/${pageBot}.svg?attestation=${made.attestation_id}`);
  expect(badge.headers()["content-type"]).toContain("image/svg+xml");
  expect(await badge.text()).toContain("authentic, 1 warning, TEST approval");
});

test("a private attestation shows nothing of its content", async ({ page, request }) => {
  const made = await attest(request, key, { action: "Fired Jane Doe", is_public: false, enable_zk: true });
  await openVerified(page, made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record, private");
  expect(await page.content()).not.toContain("Jane Doe");
  await expect(row(page, "payload_hash")).toContainText("Your browser: can't check this");
  await expect(row(page, "log_inclusion")).toContainText("Your browser: yes");
  await expect(row(page, "zk_proof")).toContainText("Your browser: yes");
  await expect(agrees(page)).toBeVisible();
  await expectAccessibleInBothThemes(page);
});

test("a private attestation does not hide that its approval is only asserted", async ({ page, request }) => {
  const fields = { is_public: false, human_approved: true };
  for (const enable_zk of [true, false]) {
    const made = await attest(request, key, { ...fields, enable_zk });
    await openVerified(page, made.public_url);
    await expect(verdict(page)).toHaveText("Authentic record, private, 1 warning");
    await expect(page.getByText("Its human approval is asserted by the caller, not proven.")).toBeVisible();
    await expect(page.getByText("Asserted by the caller, not proven").first()).toBeVisible();
    await expect(page.getByText("only the owner can show")).toHaveCount(0);
    await expect(agrees(page)).toBeVisible();
  }
});

test("an erased attestation is still proven to have been there", async ({ page, request }) => {
  await signIn(page, newAddress("eraser"));
  const owner = await makeKey(page, "eraser", "erase");
  const fields = { agent_slug: `erased-bot-${run}`, action: "Mentioned Jane Doe", enable_zk: true };
  const made = await attest(request, owner, fields);
  const erase = (bearer: string) =>
    request.delete(`/v1/attestations/${made.attestation_id}/content`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
  expect((await erase(key)).status()).toBe(403);
  await expect(await erase(owner)).toBeOK();
  await openVerified(page, made.public_url);
  await expect(verdict(page)).toHaveText("Erased");
  expect(await page.content()).not.toContain("Jane Doe");
  await expect(row(page, "log_inclusion")).toContainText("Your browser: yes");
  await expect(agrees(page)).toBeVisible();
  await expectAccessibleInBothThemes(page);
});

test("hostile strings in every field run nothing and are shown visibly", async ({ page, request }) => {
  const made = await attest(request, key, hostileFields);
  const agent = `/agent/${hostileFields.agent_slug}`;
  for (const url of [made.public_url, new URL(agent, made.public_url).href]) {
    await page.goto(url);
    await page.waitForLoadState("networkidle");
    await expect(page.locator("main")).toContainText("<script>window.pwned=1</script>");
    await expect(page.locator("main")).toContainText("⟨U+202E⟩001⟨U+202C⟩");
    expect(await page.evaluate(() => "pwned" in window)).toBe(false);
    expect(await page.locator("main").textContent()).not.toMatch(/[\u202e\u200b\u2066\u00ad]/);
    expect(await page.title()).not.toMatch(/[\u202e\u200b]/);
    const links = await page
      .locator("a[href]")
      .evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
    expect(links.filter((href) => !href.startsWith("http"))).toEqual([]);
  }
});

test("a lying server is caught by the browser: a verdict of valid over changed bytes", async ({
  page,
  request,
}) => {
  const made = await attest(request, key, { action: "Paid 100 EUR" });
  await page.route(`**/v1/verify/${made.attestation_id}`, async (route) => {
    const answer = await (await route.fetch()).text();
    await route.fulfill({
      contentType: "application/json",
      body: answer.replaceAll("Paid 100 EUR", "Paid 900 EUR"),
    });
  });
  await openVerified(page, made.public_url);
  await expect(page.locator("main").getByRole("alert").first()).toContainText(
    "Your browser disagrees with this server",
  );
  await expect(
    page.getByText("This page says authentic; your browser finds it not authentic."),
  ).toBeVisible();
  await expect(verdict(page)).toHaveCSS("text-decoration-line", "line-through");
  await expect(row(page, "payload_hash")).toContainText("Your browser: fails");
  await expect(row(page, "payload_hash")).toContainText("Server: yes");
  await expect(agrees(page)).toHaveCount(0);
  await expectAccessibleInBothThemes(page);
});

test("a server that answers with another valid attestation is caught too", async ({ page, request }) => {
  const [asked, other] = [await attest(request, key), await attest(request, key)];
  const answer = await (await request.get(`/v1/verify/${other.attestation_id}`)).text();
  await page.route(`**/v1/verify/${asked.attestation_id}`, (route) =>
    route.fulfill({ contentType: "application/json", body: answer }),
  );
  await openVerified(page, asked.public_url);
  await expect(page.locator("main").getByRole("alert").first()).toContainText(
    "Your browser disagrees with this server",
  );
});

const hiddenFields = {
  payload: null,
  action: null,
  inputs_hash: null,
  metadata: null,
  human_approval: null,
  human_authorization: null,
  tool_manifest: null,
};

test("an answer that hides what the page shows is no agreement, nor another document", async ({
  page,
  request,
}) => {
  const fields = { agent_slug: pageBot, action: "Pay 7 EUR to Example GmbH" };
  const authorization = await authorize(request, key, fields, ["ada"]);
  const made = await attest(request, key, { ...fields, human_authorization: authorization, enable_zk: true });
  const honest = (await (await request.get(`/v1/verify/${made.attestation_id}`)).json()) as object;
  const repeat = { independent_verification: undefined };
  for (const lie of [
    { ...honest, ...hiddenFields, ...repeat, is_public: false },
    { ...honest, ...hiddenFields, ...repeat, status: "erased", zk_proof: null, has_zk_proof: false },
    { ...honest, human_authorization: undefined },
    { ...honest, zk_proof: undefined, has_zk_proof: undefined },
    { ...honest, tool_manifest: undefined, zk_proof: undefined },
    { ...honest, request_id: "x", attestation_id: undefined, human_authorization: authorization },
  ]) {
    await page.route(`**/v1/verify/${made.attestation_id}`, (route) => route.fulfill({ json: lie }));
    await openVerified(page, made.public_url);
    await expect(page.locator("main").getByRole("alert").first()).toContainText("Your browser");
    await expect(agrees(page)).toHaveCount(0);
    await page.unrouteAll();
  }
});

test("a page that says something else than the signed bytes is caught", async ({ page, request }) => {
  const made = await attest(request, key, { action: "Paid invoice 1044" });
  for (const [from, to] of [
    ["Paid invoice 1044", "Paid invoice 9999"],
    [
      "No human approval is recorded.",
      "A key of an enrolled human approved exactly this, proven by World ID, level Orb.",
    ],
  ] as const) {
    await page.route(made.public_url, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replaceAll(from, to) });
    });
    await openVerified(page, made.public_url);
    await expect(page.getByText(to).first()).toBeVisible();
    await expect(page.locator("main").getByRole("alert").first()).toContainText("Your browser disagrees");
    await expect(agrees(page)).toHaveCount(0);
    await page.unrouteAll();
  }
});

test("where the checks cannot be repeated the page says whose word it is", async ({ page, request }) => {
  const made = await attest(request, key);
  await page.route("**/v1/pubkey", (route) => route.abort());
  await openVerified(page, made.public_url);
  await expect(page.getByText("Your browser couldn't repeat the checks")).toBeVisible();
  await expect(row(page, "signature")).toContainText("Your browser: can't check this");
});
