/** Agents, attestations and authorizations as their owner and as a stranger meet them. */
import { readFile } from "node:fs/promises";
import { expect, type Page } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { callApi, makeKey, newAddress, readLink, signIn, signInWithKey } from "./portal-helpers";
import { expectExit, runProgram } from "./support/commands";
import { test } from "./test";

const currentSection = (page: Page) =>
  page.getByRole("navigation", { name: "Portal" }).locator('[aria-current="page"]');

/** Expects one line per row on a desktop, with the naming cell the widest. */
async function expectLines(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 900 });
  const rows = await page.locator("tbody tr").evaluateAll((all) =>
    all.map((row) => {
      const widths = [...row.children].map((cell) => cell.getBoundingClientRect().width);
      return { height: row.getBoundingClientRect().height, isWidest: widths[0] === Math.max(...widths) };
    }),
  );
  expect(rows.length).toBeGreaterThan(1);
  for (const { height, isWidest } of rows) {
    expect(height).toBeLessThan(64);
    expect(isWidest).toBe(true);
  }
}

test("registers an agent with a key from this browser, which never leaves it", async ({ page }) => {
  await signIn(page, newAddress("agents"));
  const sent: string[] = [];
  page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""}`));
  await page.goto("/portal/agents");
  await expect(page.getByText("No agents yet")).toBeVisible();
  await expectGoodPage(page);
  await page.goto("/portal/agents/new");
  const slug = `robot-${Date.now()}`;
  await page.getByLabel("Slug").fill(slug);
  await page.getByLabel("Display name").fill("Robot");
  await page.getByLabel("Tools").fill("http.get\nledger.write");
  await page.getByRole("button", { name: "Generate a key pair in this browser" }).click();
  const pem = (await page.getByTestId("secret").locator("code").textContent()) ?? "";
  const privateKey = pem.replaceAll(/-----[^-]+-----|\s/g, "");
  expect(privateKey).toHaveLength(64);
  await expectGoodPage(page);
  await page.getByLabel("I've stored the private key").check();
  await page.getByRole("button", { name: "Register agent" }).click();
  await expect(page.getByRole("heading", { name: slug })).toBeVisible();
  await expect(page.getByText("Agent registered.")).toBeVisible();
  await expectGoodPage(page);
  await page.getByRole("navigation", { name: "Agent", exact: true }).getByText("Settings").click();
  await expect(page.getByText("Key proven")).toBeVisible();
  await expectGoodPage(page);
  const posted = sent.find((text) => text.includes(slug) && text.includes("BEGIN PUBLIC KEY"));
  expect(posted, "the form was seen").toBeDefined();
  const seed = Buffer.from(privateKey, "base64").subarray(-32);
  for (const secret of [privateKey, privateKey.slice(22), seed.toString("base64"), seed.toString("hex")])
    expect(sent.filter((text) => text.includes(secret) || text.includes(encodeURIComponent(secret)))).toEqual(
      [],
    );

  await page.getByLabel("Display name").fill("");
  await page.getByRole("button", { name: "Save profile" }).click();
  await expect(page.getByText("Profile saved.")).toBeVisible();
  await page.getByLabel("Tools").fill("http.get\nhttp.get");
  await page.getByRole("button", { name: "Save tools" }).click();
  await expect(page.getByText("Not accepted: must not name a tool twice")).toBeVisible();
  await page.getByRole("button", { name: "Remove key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove key" }).click();
  await expect(page.getByText("Key removed.")).toBeVisible();
});

test("searches, exports and presents attestations", { tag: "@smoke" }, async ({ page, request }) => {
  const key = await signInWithKey(page, "attestations");
  await page.goto("/portal/attestations");
  await expect(page.getByText("No attestations yet")).toBeVisible();
  const agent_slug = `bot-${Date.now()}`;
  for (const action of ["=1+1 formula", "+plus", "-minus", "@at"])
    await callApi(request, key, "/v1/attest", { agent_slug, action, inputs_hash: "x", is_public: false });
  const made = await callApi(request, key, "/v1/attest", {
    agent_slug,
    action: "Paid invoice 4711",
    inputs_hash: "x",
    enable_zk: true,
  });
  await page.goto("/portal/attestations");
  await expect(page.getByRole("row")).toHaveCount(6);
  await expectGoodPage(page);
  await expectLines(page);
  await page.getByLabel("Action, id or hash").fill("4711");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/q=4711/);
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(page.getByRole("row")).toHaveCount(6);
  await expect(page.getByLabel("Action, id or hash")).toHaveValue("");
  await page.getByText("More filters").click();
  await page.getByLabel("Visibility").selectOption("private");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByRole("row")).toHaveCount(5);

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export CSV" }).click(),
  ]);
  const csv = await readFile(await download.path(), "utf8");
  for (const cell of [`"'=1+1 formula"`, `"'+plus"`, `"'-minus"`, `"'@at"`]) expect(csv).toContain(cell);
  // The last line says where the exact text is.
  expect(csv.trimEnd().split("\r\n")).toHaveLength(6);
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(page.getByRole("row")).toHaveCount(6);
  const exported = await page.getByRole("link", { name: "Export NDJSON" }).getAttribute("href");
  const lines = await page.request.get(exported ?? "");
  const actions = (await lines.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).action);
  expect(actions).toContain("=1+1 formula");
  expect(actions).toHaveLength(5);

  const ruler = await makeKey(page, "ruler", "rules");
  const rules = { text: '@id("all") permit (principal, action, resource);', mode: "enforce" };
  const saved = await request.put("/v1/rules", {
    headers: { authorization: `Bearer ${ruler}` },
    data: rules,
  });
  expect(saved.ok(), await saved.text()).toBe(true);
  for (const value of ["20", "900"]) {
    const amount = { value, currency: "EUR" };
    const asked = await callApi(request, key, "/v1/authorize", {
      ...{ agent_slug, action: `Pay ${value} EUR`, amount, details: { complete: true } },
    });
    expect(asked["status"]).toBe("approved");
  }
  await page.goto("/portal/attestations");
  await page.getByRole("link", { name: "Evidence pack" }).click();
  await expect(page.getByRole("heading", { name: "Evidence pack" })).toBeVisible();
  await expect(currentSection(page)).toHaveText("Attestations");
  await page.getByLabel("Agents").fill(agent_slug);
  await expectGoodPage(page);
  const [pack] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download evidence pack" }).click(),
  ]);
  const checked = await runProgram(process.execPath, ["dist/verify.mjs", "pack", await pack.path()], {
    env: {},
  });
  expect(checked.out).toContain("The pack holds");
  expectExit(checked, 0);

  const visitor = await page.context().newPage();
  await visitor.goto("/verify");
  // Dropped, as mail programs and folders let people do.
  const dataTransfer = await visitor.evaluateHandle(
    (base64) => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
      transfer.items.add(new File([bytes], "evidence.zip", { type: "application/zip" }));
      return transfer;
    },
    (await readFile(await pack.path())).toString("base64"),
  );
  await expect(visitor.getByRole("button", { name: "Verify in this browser" })).toBeEnabled();
  // Checks off the thread that draws: 10,000 entries would freeze it.
  await Promise.all([
    visitor.waitForEvent("worker"),
    visitor.getByLabel("Paste it here, or drop a file").dispatchEvent("drop", { dataTransfer }),
  ]);
  await expect(visitor.locator("[data-pack]")).toHaveAttribute("data-pack", "valid");
  await expect(visitor.locator("[data-pack]")).toContainText("The pack holds");
  await expectGoodPage(visitor);
  const entries = visitor.getByRole("table", { name: "Entries of the pack" }).getByRole("rowheader");
  await expect(entries).toHaveCount(7);
  await expect(entries.last()).toContainText("Pay 900 EUR");
  await visitor.getByRole("button", { name: "By amount" }).click();
  await expect(entries).toContainText(["Pay 900 EUR", "Pay 20 EUR"]);
  const [pdf] = await Promise.all([
    visitor.waitForEvent("download"),
    visitor.getByRole("button", { name: "Download report as PDF" }).click(),
  ]);
  expect((await readFile(await pdf.path())).toString("latin1")).toMatch(/^%PDF-1\.7.*\/StructTreeRoot/s);
  await visitor.close();

  await page.keyboard.press("Control+k");
  const search = page.getByRole("combobox", { name: "Search pages, keys, agents and ids" });
  const results = page.getByRole("listbox");
  await expect(search).toBeFocused();
  await expectGoodPage(page);
  // There is a guide of the first name too.
  for (const name of ["Approvers", "Standing approvals", "Evidence pack"]) {
    await search.fill(name);
    await expect(results.getByRole("option").first()).toHaveText(`${name}Page`);
  }
  await search.fill("audit");
  await expect(results.getByRole("option").first()).toHaveText(/Audit log/);
  await search.fill(agent_slug);
  await expect(results.getByRole("option", { name: /Agent$/ })).toHaveText(`${agent_slug}Agent`);
  await page.keyboard.press("Escape");
  await expect(search).toHaveCount(0);
  await page.getByRole("button", { name: "Find…" }).click();
  await search.fill(made["attestation_id"] ?? "");
  await expect(page.getByRole("option", { name: /Attestation$/ })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/portal/attestations/${made["attestation_id"]}`);
  await expect(page.getByText("Authentic record", { exact: true })).toBeVisible();
  await expect(page).toHaveTitle("Authentic record · Attestation · Countersign");
  await expectGoodPage(page);
  await page.getByRole("checkbox", { name: /^action/ }).check();
  await page.getByLabel("Audience").fill("https://bank.example");
  await page.getByLabel("Nonce").fill("n-1");
  await page.getByRole("button", { name: "Create presentation" }).click();
  await expect(page.getByText("Presentation created.")).toBeVisible();
  const presentation = await page.getByRole("group", { name: "presentation" }).textContent();
  expect(presentation).toContain("Paid invoice 4711");
  expect(presentation).not.toContain(agent_slug);

  await page.getByRole("button", { name: "Erase content" }).click();
  await page.getByRole("button", { name: "Erase permanently" }).click();
  await expect(page.getByText("Content erased. The log entry stays.")).toBeVisible();
  await page.reload();
  await expect(page.getByText("Content erased")).toBeVisible();
  await expect(page.getByText("Paid invoice 4711")).toHaveCount(0);
});

test("follows requests live, shows the link, cancels it, and notifies an approver", async ({
  page,
  request,
}) => {
  test.slow();
  const key = await signInWithKey(page, "authorizations");
  await page.goto("/portal/authorizations");
  await expect(page.getByText("No approval requests yet")).toBeVisible();
  await expectGoodPage(page);
  const agent_slug = `bot-${Date.now()}`;
  await callApi(request, key, "/v1/authorize", { agent_slug, action: "Pay A", context: { amount: "1 EUR" } });
  const other = await callApi(request, key, "/v1/authorize", { agent_slug, action: "Pay B" });
  await page.goto("/portal/authorizations");
  await expect(page.getByText("Pending", { exact: true })).toHaveCount(2);
  for (const name of ["Copy approval link of Pay A", "Cancel Pay A"])
    await expect(page.getByRole("button", { name, exact: true })).toBeVisible();
  await expectGoodPage(page);
  await expectLines(page);

  await request.delete(`/v1/authorize/${other["request_id"]}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await expect(page.getByText("Cancelled", { exact: true })).toBeVisible({ timeout: 60_000 });

  await page.getByRole("link", { name: "Pay A" }).click();
  await expect(page.getByText("1 EUR")).toBeVisible();
  await expect(page).toHaveTitle("Pending · Approval request · Countersign");
  await expect(page.getByText(/\/approve\/areq_/)).toBeVisible();
  await expectGoodPage(page);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Cancel request" }).click();
  await expect(page.getByText("Request cancelled.")).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
  await expect(page).toHaveTitle("Cancelled · Approval request · Countersign");

  await page.goto("/portal/approvers");
  await expect(currentSection(page)).toHaveText("Approvers");
  const ana = newAddress("ana");
  await page.getByLabel("Name", { exact: true }).fill("Ana");
  await page.getByLabel("Email address").fill(ana);
  await page.getByRole("button", { name: "Add approver" }).click();
  await expect(page.getByText("Not accepted yet")).toBeVisible();
  await page.getByLabel("New group").fill("Nobody yet");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByText("This group has no people.")).toBeVisible();
  await expectGoodPage(page);
  await page.getByRole("button", { name: "Delete Nobody yet" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  // The button says "Cancel" until the group is gone.
  await page.getByRole("dialog").getByText("Close", { exact: true }).click();
  await page.getByLabel("New group").fill("Finance");
  await page.getByRole("group", { name: "People of the new group" }).getByLabel("Ana").check();
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByText("Delete Finance")).toBeVisible();
  await expect(page.getByText("None of the people in this group has accepted yet.")).toBeVisible();
  await expect(page.getByLabel("Group Finance")).toBeVisible();
  await expect(page.getByRole("button", { name: "Save Finance" })).toBeVisible();
  await expectGoodPage(page);
  const link = await readLink(request, ana, "/notices/");
  for (let look = 0; look < 3; look += 1) {
    const headers = (await page.goto(link))?.headers();
    expect([headers?.["referrer-policy"], headers?.["cache-control"]]).toEqual([
      "no-referrer",
      expect.stringContaining("no-store"),
    ]);
  }
  await expect(page.getByRole("button", { name: "Decline" })).toBeVisible();
  await expectGoodPage(page);
  await page.getByRole("button", { name: "Accept" }).click();
  await expect(page.getByText("gets these emails")).toBeVisible();
  const asked = await callApi(request, key, "/v1/authorize", {
    agent_slug,
    action: "Pay C",
    approvers: ["Finance"],
  });
  await expect
    .poll(() => readLink(request, ana, "/approve/"), { timeout: 60_000 })
    .toBe(asked["approval_url"]);
  await page.goto("/portal/inbox");
  await expect(page.getByRole("link", { name: "Pay C" })).toHaveAttribute("href", /\/approve\/areq_/);
  await expect(page.getByRole("link", { name: "Inbox 1 waiting" })).toBeVisible();
  await page.getByLabel("Email me pending requests").selectOption("all");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved.")).toBeVisible();
  await expect(page.getByLabel("Email me pending requests")).toHaveValue("all");
  await expectGoodPage(page);
  await page.goto(`${link}?from=mail`);
  await page.getByRole("button", { name: "Unsubscribe" }).click();
  await expect(page.getByText("no longer gets these emails")).toBeVisible();
});
