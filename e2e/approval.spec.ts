/** The approval page against the built app: real IDKit WebAssembly, the stand-in's bridge and wallet, real proofs. */
import { expect } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { approveAs, ask, chooseApprove, getApiKey, openWallet, poll } from "./approval-helpers";
import { test } from "./test";

// A real proof takes seconds, and more if other tests share the machine.
test.describe.configure({ timeout: 120_000 });

let key = "";
test.beforeAll(async ({ request }) => {
  key = await getApiKey(request, "approvals");
});

test("a human approves in the browser, and the agent's receipt proves it", { tag: "@smoke" }, async ({
  page,
  context,
  request,
}) => {
  const asked = await ask(request, key, {
    inputs_hash: "sha256:inputs-of-1042",
    requester: "Accounts payable",
  });
  const foreign: string[] = [];
  context.on("request", (sent) => {
    if (new URL(sent.url()).hostname !== "localhost") foreign.push(sent.url());
  });

  await page.goto(asked.approval_url);
  await expect(page.getByText("Pay invoice 1042", { exact: true }).first()).toBeVisible();
  await expect(page.getByText(asked.confirmation_code)).toBeVisible();
  await expect(page.getByText("Your browser computed the same hash")).toBeVisible();
  for (const shown of ["Accounts payable", "No verified domain", "It hasn't given itself a name."])
    await expect(page.getByText(shown, { exact: true })).toBeVisible();
  await expect(page.getByText("TEST: a stand-in for World ID")).toBeVisible();
  const wallet = await openWallet(page, context);
  await expect(wallet.getByText(`${asked.agent_slug}: Pay invoice 1042`, { exact: true })).toBeVisible();
  await expectAccessibleInBothThemes(wallet);
  await approveAs(wallet, "Ada", "Orb");

  await expect(page.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  await expect(page.getByText("TEST approval, not a real person")).toBeVisible();
  await expectAccessibleInBothThemes(page);
  const state = await poll(request, asked);
  expect(state.status).toBe("approved");
  expect(state.human_authorization.approvals[0].environment).toBe("local");

  const attested = await request.post("/v1/attest", {
    headers: { authorization: `Bearer ${key}` },
    data: {
      agent_slug: asked.agent_slug,
      action: asked.action,
      inputs_hash: "sha256:inputs-of-1042",
      human_authorization: state.human_authorization,
    },
  });
  expect(attested.status(), await attested.text()).toBe(201);
  const { attestation_id } = await attested.json();
  const verified = await (await request.get(`/v1/verify/${attestation_id}`)).json();
  expect(verified.valid).toBe(true);
  expect(verified.human_approval).toMatchObject({ method: "proof_of_personhood", environment: "local" });
  const check = verified.checks.find(({ name }: { name: string }) => name === "human_authorization");
  expect(check.status).toBe("pass");
  expect(check.detail).toContain("nothing about a real person is proven");

  await page.reload();
  await expect(page.getByRole("link", { name: "see the receipt" })).toHaveAttribute(
    "href",
    `/verify/${asked.agent_slug}/${attestation_id}`,
  );
  expect(foreign).toEqual([]);
});

test("refused in the wallet: said in words, still pending, and it can be tried again", async ({
  page,
  context,
  request,
}) => {
  const asked = await ask(request, key, { action: "Refused by its reader" });
  await page.goto(asked.approval_url);
  const starts: string[] = [];
  page.on("response", async (response) => {
    if (response.url().endsWith("/world-id")) starts.push((await response.json()).rp_context.nonce);
  });
  const wallet = await openWallet(page, context);
  await wallet.getByRole("button", { name: "Refuse" }).click();
  await expect(wallet.getByText("user rejected")).toBeVisible();
  await expect(page.getByText("Refused in the wallet", { exact: true })).toBeVisible();
  expect((await poll(request, asked)).status).toBe("pending");
  await expectAccessibleInBothThemes(page);

  await page.getByRole("button", { name: "Start again" }).click();
  await expect(page.getByRole("img", { name: "QR code for the test wallet" }).first()).toBeVisible();
  await expect.poll(() => starts.length).toBeGreaterThanOrEqual(2);
  expect(new Set(starts).size, "every retry has its own nonce").toBe(starts.length);
});

test("a page altered on its way is found out before anything is asked", async ({ page, request }) => {
  const asked = await ask(request, key, { action: "Pay 100 EUR to Example" });
  let started = 0;
  await page.route("**/world-id", (route) => {
    started += 1;
    return route.abort();
  });
  await page.route(asked.approval_url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({
      response,
      body: (await response.text()).replaceAll("Pay 100 EUR", "Pay 1.00 EUR"),
    });
  });
  await page.goto(asked.approval_url);
  await expect(page.getByText("Pay 1.00 EUR to Example").first()).toBeVisible();
  await expect(page.getByText("Your browser computed a different hash")).toBeVisible();
  await chooseApprove(page);
  // Beside the hashes, and in the place of World ID.
  await expect(page.getByText("Do not approve:")).toHaveCount(2);
  expect(started).toBe(0);
});

test("opening the page, also five times and with HEAD, changes nothing", async ({ page, request }) => {
  const asked = await ask(request, key, { action: "Only looked at" });
  const before = await poll(request, asked);
  for (let i = 0; i < 5; i += 1) {
    await page.goto(asked.approval_url, { waitUntil: "networkidle" });
    expect((await request.head(asked.approval_url)).status()).toBe(200);
  }
  expect(await poll(request, asked)).toEqual(before);
  expect(before.status).toBe("pending");
});

test("the page's headers keep its address to itself", async ({ request }) => {
  const asked = await ask(request, key, { action: "Headers" });
  const known = await request.get(asked.approval_url);
  const unknown = await request.get(`${asked.approval_url.slice(0, -2)}xx`);
  expect([known.status(), unknown.status()]).toEqual([200, 404]);
  for (const response of [known, unknown]) {
    const headers = response.headers();
    expect(headers["cache-control"]).toContain("no-store");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["x-robots-tag"]).toContain("noindex");
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*'unsafe-(inline|eval)'/);
  }
  expect(await unknown.text()).toContain("Approval link not found");
});

test("a command breaks at its spaces, not behind a hyphen, and is copied as it was sent", async ({
  page,
  request,
}) => {
  const command = "git push --force-with-lease origin my-branch";
  const asked = await ask(request, key, { action: "Use the tool Bash", tool: "Bash", context: { command } });
  await page.goto(asked.approval_url);
  const shown = page.locator("dl").first().locator("dd bdi").first();
  await expect(shown).toHaveText(command);
  for (let width = 320; width <= 420; width += 10) {
    await page.setViewportSize({ width, height: 844 });
    const found = await shown.evaluate((text) => {
      const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
      const words = new Map<number, Set<number>>();
      let at = 0;
      for (let node = nodes.nextNode(); node; node = nodes.nextNode())
        for (const [i, sign] of [...(node.textContent ?? "")].entries()) {
          const range = document.createRange();
          range.setStart(node, i);
          range.setEnd(node, i + 1);
          if (sign === " ") at += 1;
          else words.set(at, (words.get(at) ?? new Set()).add(range.getBoundingClientRect().top));
        }
      getSelection()?.selectAllChildren(text);
      return { lines: [...words.values()].map((tops) => tops.size), copied: getSelection()?.toString() };
    });
    expect(found, `${width} px`).toEqual({ lines: [1, 1, 1, 1, 1], copied: command });
  }
});

test("on a phone the first screen has the action, the amount, the payee and the decision, and nothing else around it", async ({
  browser,
  request,
}) => {
  const asked = await ask(request, key, {
    action: "Pay invoice 2078\nfor the second quarter",
    context: { memo: "as agreed", recipient: "Example Ltd", amount: "78.00 EUR" },
  });
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({
      viewport: { width: 390, height: 844 },
      javaScriptEnabled,
    });
    const page = await context.newPage();
    await page.goto(asked.approval_url);
    await expect(page.getByText("for the second quarter").first()).toBeInViewport({ ratio: 1 });
    await expect(page.locator("main")).not.toContainText("⟨U+000A⟩");
    const details = page.locator("dl").first().locator("dd");
    await expect(details.nth(0)).toHaveText("78.00 EUR");
    for (const at of [0, 1]) await expect(details.nth(at)).toBeInViewport({ ratio: 1 });
    const bar = page.getByRole("region", { name: "Decision, in short" });
    await expect(bar.getByRole("button")).toHaveCount(2);
    for (const one of await bar.getByRole("button").all()) await expect(one).toBeInViewport({ ratio: 1 });
    await expect(page.getByRole("banner")).toHaveCount(0);
    await expect(page.getByRole("contentinfo")).toHaveCount(0);
    await context.close();
  }
});
