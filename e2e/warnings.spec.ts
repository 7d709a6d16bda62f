/** Bad conduct of an agent is authentic evidence, and no surface may show it as simply good. */
import { generateKeyPairSync } from "node:crypto";
import { expect, type Page } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { attest, run } from "./public-pages-helpers";
import { test } from "./test";

const { publicKey: agentKey } = generateKeyPairSync("ed25519");
const slug = `violating-bot-${run}`;
const violation = {
  agent_slug: slug,
  action: "Ran a shell",
  code_hash: "git:evil",
  tools_used: ["fs.read", "shell.exec"],
  agent_signature: `${"A".repeat(85)}A==`,
};
const registered = {
  slug,
  public_key: agentKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64"),
  code_hash: "git:good",
  tools: ["fs.read"],
};
let key = "";

test.beforeAll(async ({ request }) => {
  key = await getApiKey(request, "warnings");
  const headers = { authorization: `Bearer ${key}` };
  const answer = await request.post("/v1/identity/register", { headers, data: registered });
  expect(answer.status(), await answer.text()).toBe(201);
});

const verdict = (page: Page) => page.getByRole("heading", { level: 1 });

async function openChecked(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await expect(page.locator("[data-browser-check]")).toHaveAttribute("data-browser-check", "done");
}

test("a title, which chats show, holds nothing of the agent's that they make a link of", async ({
  page,
  request,
}) => {
  const agent_slug = `evil-${run}.example.com`;
  const { public_url } = await attest(request, key, { agent_slug, action: "See https://evil.example/x" });
  for (const path of [public_url, `/agent/${agent_slug}`, `/agent/${agent_slug}/keys`]) {
    await page.goto(path);
    await expect(page).toHaveTitle(/evil-\S+\[\.\]example\[\.\]com/);
    const words = await page
      .locator("title, meta[property^='og:'], meta[name=description]")
      .evaluateAll((all) =>
        all.map((one) => [one.getAttribute("property"), one.textContent || one.getAttribute("content")]),
      );
    for (const [property, content] of words)
      if (property !== "og:url" && property !== "og:image")
        expect(content, property ?? "").not.toMatch(/evil\.example|evil-\w+\.example/);
  }
});

test("a record of three violations says so in headline, title, rows, picture, badge and feeds", async ({
  page,
  request,
}) => {
  const made = await attest(request, key, violation);
  await openChecked(page, made.public_url);
  await expect(verdict(page)).toHaveText("Authentic record, 3 warnings");
  await expect(page).toHaveTitle(/^Authentic record, 3 warnings · /);
  for (const property of ["og:title", "og:description"])
    await expect(page.locator(`meta[property="${property}"]`)).toHaveAttribute("content", /3 warnings/);
  await expect(page.locator("[data-warning=tools_not_registered]")).toHaveText(/shell\.exec/);
  for (const name of ["agent_signature", "code_hash", "tools"]) {
    const row = page.locator(`#check-${name}`);
    await expect(row).toContainText("Server: no");
    await expect(row).toContainText("Your browser: no");
    await expect(row.getByText(/: (yes|passes)$/)).toHaveCount(0);
  }
  await expect(page.locator("#check-tools")).toContainText(
    "Tools were used that are not in the registered manifest: shell.exec.",
  );
  await expect(page.getByText("none failed, 3 warnings) and agrees.")).toBeVisible();
  await expect(page.locator("main").getByRole("alert")).toHaveCount(0);
  await expectAccessibleInBothThemes(page);
  for (const address of [`/badge/${slug}.svg`, `/badge/${slug}.svg?attestation=${made.attestation_id}`]) {
    const badge = await (await request.get(address)).text();
    expect(badge).toContain("authentic, 3 warnings");
    expect(badge).not.toContain("#14603c");
  }
  const picture = await request.get(`${new URL(made.public_url).pathname}/opengraph-image`);
  expect(picture.headers()["content-type"]).toBe("image/png");
  const json = (await (await request.get(`/agent/${slug}/feed.json`)).json()) as {
    items: { title: string }[];
  };
  expect(json.items[0]?.title).toBe("[3 warnings] Ran a shell");
  expect(await (await request.get(`/agent/${slug}/feed.atom`)).text()).toContain("[3 warnings] Ran a shell");
});
