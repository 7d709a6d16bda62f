/** The main job in one run: a key by email, an attestation, and a stranger who checks it. */

import { expect } from "@playwright/test";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { test } from "./test";

test("attest an action, verify it", async ({ page, request, baseURL }) => {
  const email = `main-${Date.now()}@example.com`;
  expect((await request.post("/v1/keys/request", { data: { email } })).status()).toBe(200);
  await page.goto("/dev/mailbox");
  await expect(page.getByText(email).first()).toBeVisible();
  const mailbox = await request.get("/dev/mailbox", { headers: { accept: "application/json" } });
  const { messages } = (await mailbox.json()) as { messages: { to: string; subject: string }[] };
  const code = messages.find(({ to }) => to === email)?.subject.slice(0, 6);
  const made = await request.post("/v1/keys/verify", { data: { email, code } });
  const { api_key: key } = (await made.json()) as { api_key: string };
  const headers = { authorization: `Bearer ${key}` };
  const data = {
    agent_slug: `main-${Date.now()}`,
    action: "Paid invoice 1042 <b>100 €</b>",
    inputs_hash: "sha256:3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80",
  };
  const attested = await request.post("/v1/attest", { headers, data });
  expect(attested.status()).toBe(201);
  const receipt = (await attested.json()) as { attestation_id: string; public_url: string; payload: string };
  expect(receipt.public_url).toBe(`${baseURL}/verify/${data.agent_slug}/${receipt.attestation_id}`);
  const verified = (await (await request.get(`/v1/verify/${receipt.attestation_id}`)).json()) as {
    valid: boolean;
    payload: string;
    checks: { status: string }[];
  };
  expect([verified.valid, verified.payload, verified.checks.length]).toEqual([
    true,
    receipt.payload,
    attestationChecks.length,
  ]);
  const feed = (await (await request.get(`/v1/agent/${data.agent_slug}`)).json()) as {
    total_attestations: number;
  };
  expect(feed.total_attestations).toBe(1);
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
