import { type Browser, expect, type Page } from "@playwright/test";
import { addApprover, addGroup, openDevice, openElsewhere, plugIn } from "./passkey-helpers";
import { newAddress, signInWithKey } from "./portal-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 300_000 });
async function enrol(browser: Browser, owner: Page, name: string, address = newAddress(name.toLowerCase())) {
  const link = await addApprover(owner, name, address);
  const page = await openElsewhere(browser);
  await plugIn(await openDevice(page));
  await page.goto(link);
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByRole("button", { name: "Create a passkey" }).click();
  await expect(page.getByText("You have one passkey.")).toBeVisible();
  return page;
}
async function approve(page: Page) {
  await page.getByRole("button", { name: "Approve with passkey" }).click();
  const unseen = page.getByRole("button", { name: /Approve without reading them|Continue to your passkey/ });
  const use = page.getByRole("button", { name: "Use your passkey" });
  await expect(use.or(unseen)).toBeVisible();
  if (await unseen.isVisible()) await unseen.click();
  await use.click();
}
async function shots(page: Page, name: string, full = true) {
  for (const scheme of ["light", "dark"] as const)
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(400);
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      console.log(name, scheme, width, height);
      await page.screenshot({
        path: `/tmp/shots/${name}-${width}-${scheme}.png`,
        fullPage: full && scheme === "light",
      });
    }
  await page.emulateMedia({ colorScheme: null });
}
test("shots", async ({ page, browser }) => {
  const key = await signInWithKey(page, "owner");
  const carol = await enrol(browser, page, "Carol");
  const dave = await enrol(browser, page, "Dave");
  await page.goto("/portal/approvers");
  await addGroup(page, "finance", "Carol", "Dave");
  const required_approvers = [{ group: "finance", count: 2 }];
  const headers = { authorization: `Bearer ${key}` };
  const agent_slug = `treasury-bot-${Date.now()}`;
  const askFor = async (more: object) =>
    (
      await page.request.post("/v1/authorize", {
        headers,
        data: {
          agent_slug,
          action: "Pay invoice 1042",
          amount: { value: "12000.50", currency: "EUR" },
          tool: "bank.transfer",
          context: { payee: "Example Ltd", invoice: "1042" },
          required_level: "none",
          required_approvers,
          ...more,
        },
      })
    ).json();
  await expect.poll(async () => (await askFor({ action: "Probe" })).status).toBe("pending");
  const asked = await askFor({});
  await carol.goto(asked.approval_url);
  await expect(carol.getByText("Your browser computed the same hash")).toBeVisible();
  await shots(carol, "approve");
  await carol.setViewportSize({ width: 1280, height: 800 });
  await approve(carol);
  await expect(carol.getByText("You approved.").first()).toBeVisible();
  await dave.goto(asked.approval_url);
  await approve(dave);
  await expect(dave.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  await shots(dave, "approved", false);
  const state = await (await page.request.get(`/v1/authorize/${asked.request_id}`, { headers })).json();
  const made = await (
    await page.request.post("/v1/attest", {
      headers,
      data: {
        agent_slug,
        action: state.action,
        inputs_hash: "sha256:1",
        human_authorization: state.human_authorization,
      },
    })
  ).json();
  await askFor({
    action: "Use the tool Bash",
    tool: "Bash",
    amount: undefined,
    context: {
      command: "curl -H 'Authorization: Bearer abcdefghijkl123' https://api.example.com/x",
      description: "Call",
    },
  });
  await askFor({
    action: "Use the tool Bash",
    tool: "Bash",
    amount: undefined,
    context: { command: "npm test" },
  });
  await page.request.post("/v1/attest", {
    headers,
    data: { agent_slug, action: "Read the ledger", inputs_hash: "sha256:2" },
  });
  await page.goto(new URL(made.public_url).pathname);
  await page.waitForTimeout(3000);
  await shots(page, "receipt");
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 800, height: 1100 });
  await page.screenshot({ path: "/tmp/shots/receipt-print.png", fullPage: true });
  await page.emulateMedia({ media: null });
  for (const [name, path] of [
    ["attestations", "/portal/attestations"],
    ["attestation", `/portal/attestations/${made.attestation_id}`],
    ["authorizations", "/portal/authorizations"],
    ["authorization", `/portal/authorizations/${asked.request_id}`],
    ["inbox", "/portal/inbox"],
    ["agent", `/agent/${agent_slug}`],
  ] as const) {
    await page.goto(path);
    await shots(page, name);
  }
  await page.goto(`/verify/${agent_slug}/${made.attestation_id}/opengraph-image`).catch(() => {});
  const image = await page.request.get(`/verify/${agent_slug}/${made.attestation_id}/opengraph-image`);
  const { writeFileSync } = await import("node:fs");
  writeFileSync("/tmp/shots/card.png", await image.body());
  console.log(
    await (await page.request.get(`/badge/${agent_slug}.svg?attestation=${made.attestation_id}`)).text(),
  );
});
