/** An attestation's public page: what a stranger sees, and what the stranger's own browser finds. */

import { createHash } from "node:crypto";
import { expect, type Page } from "@playwright/test";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { makeKey, newAddress, signIn } from "./portal-helpers";
import { attest, authorize, hostileFields, pageBot, run, unfold } from "./public-pages-helpers";
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

test("a stranger on a phone reads the verdict first, and the own browser repeats every check", {
  tag: "@smoke",
}, async ({ page, request }) => {
  await page.setViewportSize(phone);
  const made = await attest(request, key);
  await openVerified(page, made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record");
  await expect(verdict(page)).toBeInViewport();
  await expect(verdict(page)).toHaveCSS("text-decoration-line", "none");
  for (const fact of ["what", "organization", "agent", "when", "approval"])
    await expect(page.locator(`[data-fact=${fact}]`), fact).toBeInViewport({ ratio: 1 });
  await expect(page.locator("[data-fact=approval]")).toContainText("No human approval");
  await expect(page.locator("[data-fact=what]")).toContainText("Said by the agent");
  await expect(page.locator("[data-fact=when]")).toContainText("Only Countersign says when this was made.");
  await expect(page.getByText("It doesn't prove that the action happened")).toBeInViewport();
  await expect(agrees(page)).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(4_000);
  await expect(row(page, "signature")).toBeHidden();
  await unfold(page);
  for (const name of ["payload_hash", "signature", "key_validity", "log_inclusion", "checkpoint_signature"]) {
    await expect(row(page, name)).toContainText("Server: yes");
    await expect(row(page, name)).toContainText("Your browser: yes");
  }
  await expect(page.locator("[id^=check-]")).toHaveCount(attestationChecks.length);
  const unfolded = page.locator("[id^=check-]:visible");
  const shown = await unfolded.count();
  expect(shown).toBeLessThan(attestationChecks.length);
  await expect(page.locator("[data-check-counts]")).toHaveText(
    `${shown} passed · ${attestationChecks.length - shown} not applicable`,
  );
  await page.getByText(`${attestationChecks.length - shown} checks that don't apply`).click();
  await expect(unfolded).toHaveCount(attestationChecks.length);
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

test("what isn't there says so without JavaScript, as a 404", async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  const missing = {
    [`/verify/${pageBot}/not-an-id`]: "Unknown",
    "/agent/nobody-has-this-name": "No agent is called nobody-has-this-name",
    "/approve/areq_unknown.token": "Approval link not found",
    "/agent/nobody-has-this-name/keys": "Page not found",
    "/demo/nothing": "Page not found",
    "/docs/api/nothing": "Page not found",
    "/docs/nothing": "Page not found",
    "/notices/nothing": "Page not found",
    "/portal/invitations/nothing": "Invitation not found",
    "/nothing": "Page not found",
  };
  for (const [path, words] of Object.entries(missing)) {
    const answer = await page.goto(path);
    expect([path, answer?.status()]).toEqual([path, 404]);
    await expect(page.locator("main").getByText(words).first(), path).toBeVisible();
    if (path.startsWith("/docs/")) await expect(page).toHaveTitle("Not found · Countersign");
  }
  await context.close();
});

test("a TEST approval is TEST everywhere, and its proofs are verified by the browser", async ({
  page,
  request,
}) => {
  const fields = { agent_slug: pageBot, action: "Pay 12,000 EUR to Example GmbH" };
  const amount = { value: "12000", currency: "EUR" };
  const authorization = await authorize(request, key, { ...fields, amount }, ["ada", "grace"]);
  const made = await attest(request, key, { ...fields, human_authorization: authorization, enable_zk: true });
  await page.setViewportSize(phone);
  await openVerified(page, made.public_url);
  for (const fact of ["amount", "what", "approval", "when"])
    await expect(page.locator(`[data-fact=${fact}]`), fact).toBeInViewport({ ratio: 1 });
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(4_000);
  await expect(verdict(page)).toHaveText("Authentic record, 1 warning (TEST approval)");
  await expect(page.getByText("TEST approval, not a real person").first()).toBeVisible();
  await unfold(page);
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
  await page.setViewportSize({ width: 390, height: 800 });
  const names = page.getByRole("region", { name: "Zero-knowledge proof" }).locator("dt code");
  await expect(names).toHaveCount(10);
  const heights = await names.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
  expect(Math.max(...heights), "each is on one line").toBeLessThan(25);
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

test("a lying server is caught by the browser: a verdict of valid over changed bytes", {
  tag: "@smoke",
}, async ({ page, request }) => {
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

test("a page that says something else than the signed bytes is caught", async ({ page, request }) => {
  const made = await attest(request, key, { action: "Paid invoice 1044" });
  for (const [from, to] of [
    ["Paid invoice 1044", "Paid invoice 9999"],
    ["No human approval", "One person's World ID, verified with an Orb"],
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

/** Sums movements since the page began, as the browser scores them (layout-shift entries). */
async function startCountingShifts(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(() => {
    const counted = window as unknown as { seenShifts: { sum: number } };
    counted.seenShifts = { sum: 0 };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { value: number })[])
        counted.seenShifts.sum += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  return () => page.evaluate(() => (window as unknown as { seenShifts: { sum: number } }).seenShifts.sum);
}

test("what the browser finds moves nothing that a person reads", async ({ page, request }) => {
  const made = await attest(request, key, { human_approved: true, enable_zk: true });
  const shifts = await startCountingShifts(page);
  let release = () => {};
  let held = Promise.resolve();
  await page.route("**/v1/**", async (route) => {
    await held;
    await route.continue();
  });
  for (const size of [phone, { width: 1280, height: 800 }]) {
    await page.setViewportSize(size);
    for (const url of [made.public_url, new URL(`/agent/${pageBot}`, made.public_url).href]) {
      held = new Promise((resolve) => {
        release = resolve;
      });
      await page.goto(url);
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
      // Wait for the fonts: their movements are not the browser check's.
      await page.evaluate(() => document.fonts.ready.then(() => {}));
      await page.waitForTimeout(500);
      await page.evaluate(() => Object.assign(window, { seenShifts: { sum: 0 } }));
      release();
      await page.waitForLoadState("networkidle");
      await expect(page.getByText("not checked yet")).toHaveCount(0);
      expect(await shifts(), `${url} at ${size.width}`).toBeLessThan(0.03);
    }
  }
});

test("what is typed on /verify before the page's script runs is still there afterwards", async ({ page }) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/_next/static/**/*.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/verify", { waitUntil: "commit" });
  const [field, pasted] = [page.locator("#q"), page.getByLabel("Paste it here, or drop a file")];
  await field.fill("01990000-0000-7000-8000-000000000000");
  await pasted.fill('{"not": "ours"}');
  await expect(page.getByRole("button", { name: "Verify in this browser" })).toBeDisabled();
  release();
  await expect(page.getByRole("button", { name: "Verify in this browser" })).toBeEnabled();
  await expect(field).toHaveValue("01990000-0000-7000-8000-000000000000");
  await expect(pasted).toHaveValue('{"not": "ours"}');
  await page.getByRole("button", { name: "Verify in this browser" }).click();
  await expect(page.locator("[data-outcome=failed], [data-outcome=done]")).toBeVisible();
});

test("own keys that can't be read are not exchanged for the service's", async ({ page, request }) => {
  const made = await attest(request, key);
  const answer = await (await request.get(`/v1/verify/${made.attestation_id}`)).text();
  await page.goto("/verify");
  const verify = page.getByRole("button", { name: "Verify in this browser" });
  await expect(verify).toBeEnabled();
  await page.getByLabel("Your own copy of the public keys (optional)").setInputFiles({
    name: "keys.json",
    mimeType: "application/json",
    buffer: Buffer.alloc(2_000_001, " "),
  });
  await expect(page.getByText("Not accepted: your copy of the public keys can't be used")).toBeVisible();
  await page.getByLabel("Paste it here, or drop a file").fill(answer);
  await verify.click();
  await expect(page.locator("[data-outcome=failed]")).toContainText("can't be used");
  await expectAccessibleInBothThemes(page);
  // The keys are at fault, not the evidence.
  for (const text of ["these are no keys", '{"keys": []}']) {
    await page
      .getByLabel("Your own copy of the public keys (optional)")
      .setInputFiles({ name: "keys.json", mimeType: "application/json", buffer: Buffer.from(text) });
    await expect(page.getByText("Not accepted: your copy of the public keys can't be used")).toBeVisible();
    await verify.click();
    await expect(page.locator("[data-outcome=failed]")).toContainText(
      "Your copy of the public keys can't be used",
    );
  }
  await page.getByRole("button", { name: "Use the service's keys" }).click();
  await verify.click();
  await expect(page.locator("[data-outcome=done]")).toBeVisible();
});

test("on paper a receipt is one page with its QR code, and the evidence on demand", async ({
  page,
  request,
}) => {
  const made = await attest(request, key);
  await openVerified(page, made.public_url);
  const countPages = async () => {
    const pdf = await page.pdf({ format: "A4" });
    return pdf.toString("latin1").match(/\/Type \/Page\b/g)?.length;
  };
  expect(await countPages()).toBe(1);
  await page.emulateMedia({ media: "print" });
  await expect(page.locator("[data-print-proof] svg")).toBeVisible();
  await expect(page.locator("[data-print-proof]")).toContainText(made.public_url);
  await expect(row(page, "signature")).toBeHidden();
  await page.emulateMedia({ media: "screen" });
  await page.getByLabel("Print the evidence too").check();
  expect(await countPages()).toBeGreaterThan(1);
  await page.emulateMedia({ media: "print" });
  await expect(row(page, "signature")).toBeVisible();
});

test("a file is found by its hash, and compared on the receipt; the file itself is not sent", async ({
  page,
  request,
}) => {
  const content = `the contract of ${pageBot}`;
  const hash = createHash("sha256").update(content).digest("hex");
  const made = await attest(request, key, { action: "Read the contract", inputs_hash: `sha256:${hash}` });
  const sent: string[] = [];
  page.on("request", (one) => sent.push(one.url() + (one.postData() ?? "")));
  const file = { name: "contract.txt", mimeType: "text/plain", buffer: Buffer.from(content) };
  await page.goto("/verify");
  await page.getByLabel("Choose any file, or drop it here").setInputFiles(file);
  await expect(page.locator("[data-hashed=done]")).toContainText("this is its inputs hash");
  expect(sent.filter((one) => one.includes(hash))).toHaveLength(1);
  expect(sent.filter((one) => one.includes("contract of"))).toEqual([]);
  await expectAccessibleInBothThemes(page);
  await page.getByRole("link", { name: "Read the contract" }).click();
  await expect(page).toHaveURL(made.public_url);
  await unfold(page);
  const compared = page.locator("[data-hashed=done]");
  await page.getByLabel("Do you have the file?").setInputFiles(file);
  await expect(compared).toContainText("This is the file");
  await page.getByLabel("Do you have the file?").setInputFiles({ ...file, buffer: Buffer.from("another") });
  await expect(compared).toContainText("This is another file");
});

test("the field of /verify takes a hash, a log index and what names nothing, without JavaScript too", async ({
  browser,
  request,
}) => {
  const inputs_hash = `sha256:${createHash("sha256").update(`twice ${pageBot}`).digest("hex")}`;
  const [first, second] = [
    await attest(request, key, { inputs_hash }),
    await attest(request, key, { inputs_hash }),
  ];
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  const search = async (text: string) => {
    await page.goto("/verify");
    await page.getByLabel("Attestation id or link, hash").fill(text);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
  };
  await search(String(first.log.index));
  await expect(page).toHaveURL(first.public_url);
  await search(inputs_hash);
  await expect(page.getByRole("heading", { name: "2 public attestations" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Paid invoice 1042" })).toHaveCount(2);
  await expect(page.getByRole("link", { name: "Paid invoice 1042" }).first()).toHaveAttribute(
    "href",
    new URL(second.public_url).pathname,
  );
  await search("sha256:nothing");
  await expect(page.getByText("This instance has no public attestation for “sha256:nothing”")).toBeVisible();
  await context.close();
});
