import { expect } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { attest, type Made, run } from "./public-pages-helpers";
import { test } from "./test";

const slug = `feed-bot-${run}`;
let key = "";
let latest: Made | undefined;

test.beforeAll(async ({ request }) => {
  key = await getApiKey(request, "agent-page");
  for (let index = 0; index < 23; index += 1)
    await attest(request, key, { agent_slug: slug, action: `Read file ${index}` });
  await attest(request, key, { agent_slug: slug, action: "Secret plan", is_public: false });
  latest = await attest(request, key, { agent_slug: slug, action: "Sent 100 % of it", human_approved: true });
});

test("has its record followed by the visitor's browser, and shows a hole as a hole", async ({ page }) => {
  const record = page.getByRole("region", { name: "Record" });
  await page.goto(`/agent/${slug}`);
  await expect(record).toContainText("Not counted: 25 entries, and no signed count");
  await expect(record.locator("[aria-live=polite]")).toContainText("Not counted: 25 entries");
  await expect(record).toContainText("Private: 1");
  await expect(record.getByText("Your browser: yes")).toHaveCount(3);
  await expect(record).toContainText("no snapshot counts an entry of this record yet");
  await expect(record.getByText("Your browser: not counted")).toHaveCount(1);
  await expect(record.getByRole("img")).toHaveAccessibleName("Numbers 1 to 25");
  await expectAccessibleInBothThemes(page);

  await page.route(`**/v1/agent/${slug}/record**`, async (route) => {
    const answer = await (await route.fetch()).json();
    const entries = answer.entries.filter(({ sequence }: { sequence: number }) => sequence !== 17);
    await route.fulfill({ json: { ...answer, entries } });
  });
  await page.reload();
  await expect(record.getByRole("alert")).toContainText("your browser could follow it to number 16 of 25");
  await expect(record).toContainText("number 17 is missing");
  await expect(record.getByRole("img")).toHaveAccessibleName(
    "Numbers 1 to 16, then a hole: number 17 is missing",
  );
  await expect(record.getByText("Your browser: no", { exact: true })).toHaveCount(1);
  await expectAccessibleInBothThemes(page);
});

test("lists public attestations newest first, pages by cursor, filters, and works without JavaScript", async ({
  browser,
}) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`/agent/${slug}`);
  const rows = page.locator("tbody tr");
  await expect(rows).toHaveCount(20);
  await expect(rows.first()).toContainText("Sent 100 % of it");
  await expect(rows.first()).toContainText("Asserted by the caller, not proven");
  expect(await page.content()).not.toContain("Secret plan");
  await page.getByRole("link", { name: "Older attestations" }).click();
  await expect(rows).toHaveCount(4);
  await expect(rows.last()).toContainText("Read file 0");
  await page.getByLabel("Action contains").fill("100 %");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(rows).toHaveCount(1);
  await page.getByLabel("Action contains").fill("");
  await page.getByLabel("Human approval").selectOption("none");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(rows.first()).toContainText("Read file 22");
  await context.close();
});

test("the agent's page is accessible and asks nothing of another origin", async ({ page }) => {
  const origins = new Set<string>();
  page.on("request", (one) => {
    if (one.url().startsWith("http")) origins.add(new URL(one.url()).origin);
  });
  await page.goto(`/agent/${slug}`);
  await expectAccessibleInBothThemes(page);
  expect([...origins]).toEqual([new URL(page.url()).origin]);
  expect((await page.goto("/agent/nobody-has-this-name"))?.status()).toBe(404);
});

test("/verify checks pasted and dropped evidence in the browser", async ({ page, request }) => {
  const api = `/v1/verify/${latest?.attestation_id}`;
  const answer = await (await request.get(api)).text();
  const result = page.locator("[data-outcome]");
  await page.goto("/verify");
  const paste = async (text: string) => {
    await page.getByLabel("Paste it here, or drop a file").fill(text);
    await page.getByRole("button", { name: "Verify in this browser" }).click();
  };
  await paste(answer);
  await expect(result).toContainText("Authentic record, 1 warning");
  await expect(result).toContainText("The agent says that a human approved. Not proven.");
  await expect(result.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)).toBeVisible();
  await expectAccessibleInBothThemes(page);
  await paste(answer.replaceAll("Sent 100 %", "Sent 900 %"));
  await expect(result).toContainText("Not authentic");
  await expect(result).toContainText("The file contradicts this result");
  await paste('{"hello":"world"}');
  await expect(result).toContainText("This can't be verified");
  const bundle = await (await request.get(`${api}/bundle`)).body();
  await page.getByLabel("Or choose the file").setInputFiles({
    name: "bundle.json",
    mimeType: "application/json",
    buffer: bundle,
  });
  await expect(result).toContainText(
    /Authentic as far as it can be checked, 1 warning|Authentic record, 1 warning/,
  );
  // The last line of a log proof ends like every other, whatever was copied.
  const logProof = await (await request.get(`${api}/tlog-proof`)).text();
  for (const text of [logProof, logProof.trim()]) {
    await paste(text);
    await expect(result).toContainText("Valid log proof");
  }
  await page.getByLabel("Or choose the file").setInputFiles({
    name: "x.tlog-proof",
    mimeType: "text/plain",
    buffer: Buffer.from(logProof),
  });
  await expect(result).toContainText("Valid log proof");
  // A ZIP file that is no evidence pack, of any size.
  await page.getByLabel("Or choose the file").setInputFiles({
    name: "evidence.zip",
    mimeType: "application/zip",
    buffer: Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(2_100_000)]),
  });
  await expect(result).toContainText("This pack failed verification");
  await expect(result).toBeFocused();
  await expect(page.getByLabel("Paste it here, or drop a file")).not.toHaveValue(/^PK/);
});
