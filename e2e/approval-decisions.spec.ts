/** Denying with and without JavaScript, hostile strings, the keyboard, the states in words and what fails on the way. */
import { webcrypto } from "node:crypto";
import { expect, type Page } from "@playwright/test";
import { levelWords } from "#lib/api/schemas/approval-page";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import {
  type Asked,
  approveAs,
  ask,
  chooseApprove,
  getApiKey,
  openWallet,
  poll,
  scrollThrough,
} from "./approval-helpers";
import { test } from "./test";

// A real proof takes seconds, and more if other tests share the machine.
test.describe.configure({ timeout: 120_000 });

let key = "";
/** A minute takes a minute: it runs out for this page while the other tests have theirs. */
let late: { page: Page; asked: Asked; announced: Promise<unknown> };

test.beforeAll(async ({ browser, request }) => {
  key = await getApiKey(request, "decisions");
  const asked = await ask(request, key, { action: "Too late", expires_in_minutes: 1 });
  const page = await browser.newPage();
  await page.goto(asked.approval_url);
  const spoken = page.locator("[aria-live=polite].sr-only").filter({ hasText: "seconds left" });
  await expect(spoken).toHaveCount(0);
  const announced = page.waitForFunction(
    () =>
      [...document.querySelectorAll("[aria-live=polite].sr-only")].some(
        ({ textContent }) => textContent === "10 seconds left to decide",
      ),
    undefined,
    { polling: 250, timeout: 60_000 },
  );
  // A test of its own reports this failure.
  announced.catch(() => {});
  late = { page, asked, announced };
});

test.afterAll(() => late.page.close());

test("denied with a ready reason and free text, and an equal request says so on top", {
  tag: "@smoke",
}, async ({ page, request }) => {
  const fields = { action: "Delete the archive", context: { path: "/archive/2019" } };
  const asked = await ask(request, key, fields);
  await page.goto(asked.approval_url);
  await expectAccessibleInBothThemes(page);
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByLabel("in your own words").fill("Ask Eve first.");
  await expectAccessibleInBothThemes(page);
  await page.getByRole("button", { name: "Deny: I did not expect this request" }).click();

  await expect(page.getByRole("heading", { name: "This request was denied" })).toBeFocused();
  await expect(page.getByText("I did not expect this request: Ask Eve first.")).toBeVisible();
  await expectAccessibleInBothThemes(page);
  expect(await poll(request, asked)).toMatchObject({
    status: "denied",
    denial_reason: "I did not expect this request: Ask Eve first.",
  });
  await page.reload();
  await expect(page.getByText("Denied before you opened this page")).toBeVisible();

  const again = await ask(request, key, fields);
  await page.goto(again.approval_url);
  await expect(page.getByText("A request like this one was denied in the last 24 hours")).toBeVisible();
  await expectAccessibleInBothThemes(page);
});

test("a request with require_code shows no code, asks for it, and counts wrong ones", async ({
  page,
  context,
  request,
}) => {
  const asked = await ask(request, key, { action: "Rotate the root key", require_code: true });
  const code = asked.confirmation_code;
  await page.goto(asked.approval_url);
  expect(await page.content()).not.toContain(code);
  const field = page.getByLabel("Confirmation code");
  // Tab reaches both once the page's script runs, and they say what is missing.
  await expect(page.getByRole("button", { name: "Approve with World ID" })).toBeEnabled();
  await field.focus();
  for (const name of ["Deny", "Approve with World ID"]) {
    const button = page.getByRole("button", { name, exact: true });
    await page.keyboard.press("Tab");
    if (name !== "Deny") await page.keyboard.press("Tab");
    await expect(button).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(field).toBeFocused();
    await expect(field).toHaveAccessibleDescription(/enter the code first/);
    await expect(button).toHaveAttribute("aria-expanded", "false");
  }
  await expectAccessibleInBothThemes(page);
  await field.fill(code.startsWith("A") ? "BBB-BBB" : "AAA-AAA");
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByRole("button", { name: "Deny request" }).click();
  await expect(
    page.getByText("Nothing was decided: this is not the confirmation code; 4 tries are left."),
  ).toBeVisible();
  // The keyboard goes on in the form, whose button was disabled meanwhile.
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Deny: I did not expect this request" })).toBeFocused();
  await expect(page.getByText("A wrong code was entered", { exact: true })).toBeVisible();
  await chooseApprove(page);
  await expect(page.getByText("The confirmation code is wrong")).toBeVisible();
  await expect(page.getByText("A wrong code was entered 2 times")).toBeVisible();
  await expectAccessibleInBothThemes(page);

  await field.fill(` ${code.toLowerCase().replace("-", " ")}`);
  const wallet = await openWallet(page, context);
  await approveAs(wallet, "Ada", "Orb");
  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  expect(await page.content()).not.toContain(code);
  expect((await poll(request, asked)).status).toBe("approved");
});

test("without JavaScript everything can be read, and denied by the form alone", async ({
  browser,
  request,
}) => {
  const asked = await ask(request, key, { action: "Send the newsletter" });
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(asked.approval_url);
  await expect(page.getByText("Send the newsletter", { exact: true }).first()).toBeVisible();
  await expect(page.getByText("100.00 EUR").first()).toBeVisible();
  await expect(page.getByText(asked.confirmation_code)).toBeVisible();
  // Playwright's text and role locators pass over <noscript>, though it is on the page here.
  const plain = page.locator("noscript");
  await expect(plain.locator("p").first()).toBeVisible();
  await expect(plain.locator("p").first()).toHaveText("Approving needs JavaScript");
  await expect(page.getByRole("button", { name: "Approve with World ID" })).toBeDisabled();

  await plain.locator("textarea").fill("It is 10 EUR.");
  await plain.locator("textarea").press("Enter");
  await page.waitForTimeout(500);
  expect((await poll(request, asked)).status, "Enter in a field submits nothing").toBe("pending");
  await plain.locator('button[value="The amount or the recipient is wrong"]').click();
  await expect(page.getByRole("heading", { name: "This request was denied" })).toBeVisible();
  await expect(page.getByText("before you opened this page")).toBeHidden();
  expect(page.url()).toBe(asked.approval_url);
  expect(await poll(request, asked)).toMatchObject({
    status: "denied",
    denial_reason: "The amount or the recipient is wrong: It is 10 EUR.",
  });
  await context.close();
});

test("with the keyboard alone: Enter is bound to neither, Deny comes before Approve", {
  tag: "@smoke",
}, async ({ page, request }) => {
  const asked = await ask(request, key, { action: "By keyboard" });
  await page.goto(asked.approval_url);
  const deny = page.getByRole("button", { name: "Deny", exact: true });
  const approve = page.getByRole("button", { name: "Approve with World ID" });
  await expect(deny).toBeEnabled();
  await page.keyboard.press("Enter");
  const [denyBox, approveBox] = [await deny.boundingBox(), await approve.boundingBox()];
  expect([denyBox?.width, denyBox?.height]).toEqual([approveBox?.width, approveBox?.height]);

  for (let i = 0; i < 30; i += 1) {
    await page.keyboard.press("Tab");
    if (await deny.evaluate((button) => button === document.activeElement)) break;
  }
  await expect(deny).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(approve).toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Deny this request" })).toBeVisible();
  await page.keyboard.press("Enter");
  for (let i = 0; i < 5; i += 1) await page.keyboard.press("Tab");
  await expect(page.getByLabel("in your own words")).toBeFocused();
  await page.keyboard.type("one\ntwo");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(500);
  expect((await poll(request, asked)).status, "no Enter so far has decided").toBe("pending");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Deny request" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "This request was denied" })).toBeFocused();
});

const hostile = [
  "<script>window.pwned=1</script>",
  "</script><script>window.pwned=2</script>",
  "<img src=x onerror=window.pwned=3>",
  "<svg onload=window.pwned=4>",
  "javascript:window.pwned=5",
  "{{constructor.constructor('window.pwned=6')()}}",
  "pay \u202e001\u202c to \u200bBob\u2066\u2069\ufeff\u00ad",
  "a\u2028b\u0007c\u{e0041}d\u3164e",
  "  edges  ",
];

test("hostile strings in every field run nothing and are shown for what they are", async ({
  page,
  context,
  request,
}) => {
  const registered = await request.post("/v1/identity/register", {
    headers: { authorization: `Bearer ${key}` },
    data: { slug: `hostile-${key.slice(-6)}`, name: `Bank\u202e <img src=x onerror=window.pwned=7>` },
  });
  expect(registered.ok(), await registered.text()).toBe(true);
  const entries = hostile.map((text, i) => [`${i} ${text}`.slice(0, 64), text]);
  const asked = await ask(request, key, {
    agent_slug: `hostile-${key.slice(-6)}`,
    action: hostile.join(" "),
    context: Object.fromEntries(entries),
    inputs_hash: "<script>window.pwned=8</script>",
  });
  const problems: string[] = [];
  page.on("dialog", (dialog) => problems.push(dialog.message()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  // Chromium's console says nothing of a policy that was asked about in a `try`, as Firefox's does.
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error(violatedDirective, blockedURI),
    ),
  );

  const expectHarmless = async (where: Page) => {
    expect(await where.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined();
    expect(await where.locator("main img[src=x], main svg[onload], main a[href^=javascript]").count()).toBe(
      0,
    );
    const text = (await where.locator("main").textContent()) ?? "";
    expect(text).toContain("<script>window.pwned=1</script>");
    for (const label of ["U+202E", "U+202C", "U+200B", "U+2066", "U+FEFF", "U+2028", "U+0007"])
      expect(text).toContain(`⟨${label}⟩`);
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u00ad\u2028\u3164]/);
  };
  await page.goto(asked.approval_url);
  await expect(page.getByText("Your browser computed the same hash")).toBeVisible();
  await page.getByText("What the approval covers, byte for byte").click();
  await expectHarmless(page);
  await expectAccessibleInBothThemes(page);
  const wallet = await openWallet(page, context);
  await expectHarmless(wallet);
  await wallet.close();

  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByLabel("in your own words").fill(hostile.join(" "));
  await page.getByRole("button", { name: "Deny request" }).click();
  await expect(page.getByRole("heading", { name: "This request was denied" })).toBeVisible();
  await expect(page).toHaveTitle("This request was denied · Countersign");
  await expectHarmless(page);
  await page.reload();
  await expectHarmless(page);
  expect(problems).toEqual([]);
});

test("on a phone the decision is in reach, and what was not on the screen is named", async ({
  browser,
  request,
}) => {
  const asked = await ask(request, key, {
    action: "Pay invoice 2077",
    context: { memo: "x\n".repeat(60), recipient: "Example Ltd", amount: "77.00 EUR", last: "read me" },
  });
  const context = await browser.newContext({ viewport: { width: 320, height: 640 }, hasTouch: true });
  const page = await context.newPage();
  await page.goto(asked.approval_url);
  const bar = page.getByRole("region", { name: "Decision, in short" });
  await expect(bar.getByText("Pay invoice 2077")).toBeVisible();
  expect((await bar.boundingBox())?.height).toBeLessThan(180);
  await expect(bar.getByText("77.00 EUR")).toBeVisible();
  await expect(bar.getByText(/\d+ min \d+ s/)).toBeVisible();
  await expectAccessibleInBothThemes(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  await page.setViewportSize({ width: 320, height: 256 });
  await expect(bar, "covers nothing where it would be half of the screen").toBeHidden();
  await page.setViewportSize({ width: 320, height: 640 });
  const names = await page.locator("[data-part] dt, [data-part^=context] dt").allInnerTexts();
  expect(names.slice(0, 4)).toEqual(["Amount", "Recipient", "Memo", "Last"]);

  const looking = page.getByRole("button", { name: "I'm looking at it" });
  const { height, reach } = await looking.evaluate((button) => {
    button.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, bottom, width } = button.getBoundingClientRect();
    const isHit = (y: number) => document.elementFromPoint(left + width / 2, y) === button;
    return { height: bottom - top, reach: [isHit(top - 3), isHit(bottom + 3), isHit(top - 6)] };
  });
  expect(height, "a small button").toBeLessThan(40);
  expect(reach, "takes a finger 44 px high").toEqual([true, true, false]);
  await page.evaluate(() => window.scrollTo({ top: 0, behavior: "instant" }));

  await bar.getByRole("button", { name: "Approve" }).click();
  await expect(bar).toHaveCount(0);
  const unseen = page.getByRole("alert").filter({ hasText: "You haven't seen everything yet" });
  await expect(unseen.getByText("memo")).toBeVisible();
  await expectAccessibleInBothThemes(page);
  await scrollThrough(page);
  await page.evaluate(() => window.scrollTo({ top: 0, behavior: "instant" }));
  await bar.getByRole("button", { name: "Deny" }).click();
  await expect(page.getByRole("heading", { name: "Deny this request" })).toBeVisible();
  await page.getByRole("button", { name: "Approve with World ID" }).click();
  await expect(page.getByRole("link", { name: "Open the test wallet" }).first()).toBeVisible();
  await context.close();
});

for (const viewport of [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
])
  test(`at ${viewport.width} pixels a part whose middle was skipped is named, and one that was read is not`, async ({
    browser,
    request,
  }) => {
    const lines = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`);
    const action = [...lines, "and 9,000 EUR to a second account", ...lines].join("\n");
    const asked = await ask(request, key, { action, inputs_hash: `sha256:${"ab".repeat(32)}` });
    const context = await browser.newContext({ viewport });
    const page = await context.newPage();
    await page.goto(asked.approval_url);
    const approve = page.getByRole("button", { name: "Approve with World ID" });
    await expect(approve).toBeEnabled();
    const bar = page.getByRole("region", { name: "Decision, in short" });
    for (const one of await bar.getByRole("button").all()) await expect(one).toBeInViewport({ ratio: 1 });
    await page.evaluate(() => window.scrollTo({ top: document.documentElement.scrollHeight }));
    await approve.click();
    const unseen = page.getByRole("alert").filter({ hasText: "You haven't seen everything yet" });
    await expect(unseen.getByText("What it wants to do")).toBeVisible();
    await expect(page.getByRole("link", { name: "Open the test wallet" })).toHaveCount(0);

    await unseen.getByRole("button", { name: "Show the first one" }).click();
    await expect(page.getByText("line 30").first()).toBeInViewport();
    await scrollThrough(page);
    await expect(page.getByText("You've seen everything now")).toBeVisible();
    await page.getByRole("button", { name: "Continue to World ID" }).click();
    await expect(page.getByRole("heading", { name: "Approve with World ID" })).toBeVisible();
    // The way to the wallet opens where the person looks: a code on a desk, a link on a phone.
    const way =
      viewport.width > 768
        ? page.getByRole("img", { name: /QR code/ })
        : page.getByRole("link", { name: "Open the test wallet" });
    await expect(way.filter({ visible: true }).first()).toBeInViewport({ ratio: 1 });
    await context.close();
  });

/** Answers the bridge as a wallet that cannot make the proof. */
async function answerWithError(connector: string, errorCode: string): Promise<void> {
  const url = new URL(connector);
  const id = url.searchParams.get("i");
  const raw = Buffer.from(url.searchParams.get("k") ?? "", "base64");
  const bridgeKey = await webcrypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]);
  const iv = webcrypto.getRandomValues(new Uint8Array(12));
  const reply = new TextEncoder().encode(JSON.stringify({ error_code: errorCode }));
  const sealed = await webcrypto.subtle.encrypt({ name: "AES-GCM", iv }, bridgeKey, reply);
  await fetch(`${url.origin}/request/${id}`);
  const put = await fetch(`${url.origin}/response/${id}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      iv: Buffer.from(iv).toString("base64"),
      payload: Buffer.from(sealed).toString("base64"),
    }),
  });
  expect(put.status).toBe(201);
}

test("World ID 4.0 is asked for first, a device credential in its place, and back again", async ({
  page,
  context,
  request,
}) => {
  const asked = await ask(request, key, { action: "No device proofs" });
  await page.goto(asked.approval_url);
  await chooseApprove(page);
  const link = page.getByRole("link", { name: "Open the test wallet" });
  await expect(link).toBeVisible();
  await answerWithError((await link.getAttribute("href")) ?? "", "credential_unavailable");
  await expect(page.getByText("does not have the credential that is needed")).toBeVisible();
  await page.getByRole("button", { name: "Use a World ID verified on a device only" }).click();
  await expect(link).toBeVisible();
  await answerWithError((await link.getAttribute("href")) ?? "", "world_id_3_not_available");
  await expect(page.getByText("This wallet no longer makes World ID 3.0 proofs")).toBeVisible();
  await expectAccessibleInBothThemes(page);
  await page.getByRole("button", { name: "Use World ID 4.0" }).click();
  await expect(link).toBeVisible();
  await page.getByRole("button", { name: "Use a World ID verified on a device only" }).click();
  await expect(link).toBeVisible();
  const [wallet] = await Promise.all([context.waitForEvent("page"), link.click()]);
  await expect(wallet.getByText(levelWords.device, { exact: true })).toBeVisible();
  await approveAs(wallet, "Alan", "Device");
  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();
});

test("the time runs out: announced at ten seconds, then expired in words", async ({ request }) => {
  const { page, asked, announced } = late;
  await announced;
  await expect(page.getByRole("heading", { name: "This request has expired" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve with World ID" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("Expired before you opened this page")).toBeVisible();
  await expectAccessibleInBothThemes(page);
  expect((await poll(request, asked)).status).toBe("expired");
});
