import { type APIRequestContext, expect, type Page } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { getApiKey } from "./approval-helpers";
import { test } from "./test";

const discreet = `discreet-agent-${Date.now().toString(36)}`;

const canary = (name: string) => `canary-${name}-77c3`;
const audience = "https://bank.example";

interface Attested {
  attestation_id: string;
  payload: string;
  zk: { proof: unknown; credential: { signature: string } };
}

async function attest(request: APIRequestContext, key: string): Promise<Attested> {
  const answer = await request.post("/v1/attest", {
    headers: { authorization: `Bearer ${key}` },
    data: {
      agent_slug: discreet,
      action: canary("action"),
      inputs_hash: canary("inputs"),
      metadata: { [canary("name")]: canary("value") },
      model_id: "\u202elebom",
      is_public: false,
      enable_zk: true,
    },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return answer.json();
}

async function present(request: APIRequestContext, key: string, id: string): Promise<string> {
  const answer = await request.post(`/v1/attestations/${id}/presentations`, {
    headers: { authorization: `Bearer ${key}` },
    data: { disclose: ["human_approved", "model_id"], audience, nonce: "n-1" },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return answer.text();
}

async function check(
  page: Page,
  fields: { text?: string; audience?: string; nonce?: string },
): Promise<void> {
  if (fields.text !== undefined) await page.getByLabel("Presentation", { exact: true }).fill(fields.text);
  if (fields.audience !== undefined) await page.getByLabel("Audience you expect").fill(fields.audience);
  if (fields.nonce !== undefined) await page.getByLabel("Nonce you chose").fill(fields.nonce);
  await page.getByRole("button", { name: "Check in this browser" }).click();
  await expect(page.getByRole("button", { name: "Check in this browser" })).toBeEnabled();
}

const verdict = (page: Page) => page.locator("main").getByRole("alert").first();

test.describe
  .serial("presentations", () => {
    let key: string;
    let made: Attested;
    let text: string;
    test.beforeAll(async ({ request }) => {
      key = await getApiKey(request, "presenter");
      made = await attest(request, key);
      text = await present(request, key, made.attestation_id);
    });

    test("are checked in the browser, which sends nothing of them anywhere and loads the code only then", async ({
      page,
    }) => {
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      await page.goto("/verify/presentation", { waitUntil: "networkidle" });
      const policy =
        (await page.request.get("/verify/presentation")).headers()["content-security-policy"] ?? "";
      expect(policy).toContain("script-src");
      expect(policy).not.toContain("unsafe-eval");
      const sent: { url: string; method: string; body: string }[] = [];
      page.on("request", (one) =>
        sent.push({ url: one.url(), method: one.method(), body: one.postData() ?? "" }),
      );
      await check(page, { text, audience, nonce: "n-1" });
      await expect(verdict(page)).toContainText("This presentation is valid");
      expect(sent.some(({ url }) => url.endsWith("/v1/pubkey"))).toBe(true);
      // The BBS code was not there before.
      expect(sent.filter(({ url }) => url.includes("/_next/static/")).length).toBeGreaterThan(0);
      expect(sent.every(({ method, body }) => method === "GET" && body === "")).toBe(true);
      expect(sent.filter(({ url }) => url.includes("n-1") || url.includes("bank.example"))).toEqual([]);

      const result = page.getByRole("region", { name: "Result" });
      await expect(result).toContainText("2 of 23 fields");
      // Agent text goes through its one door: the override character is made visible.
      await expect(result).toContainText("U+202E");
      await expect(result).toContainText(audience);
      await expect(page.getByText("Not compared")).toHaveCount(0);
      expect(problems).toEqual([]);
      await expectAccessibleInBothThemes(page);
    });

    test("are refused for another audience, another nonce or a changed value, and show no value then", async ({
      page,
    }) => {
      await page.goto("/verify/presentation", { waitUntil: "networkidle" });
      await check(page, { text, audience: "https://other.example" });
      await expect(verdict(page)).toContainText("not valid");
      await expect(page.getByRole("region", { name: "Result" })).not.toContainText("Shown and proven");
      await check(page, { audience, nonce: "n-2" });
      await expect(verdict(page)).toContainText("nonce");
      await check(page, {
        text: text.replace('human_approved\\",false', 'human_approved\\",true'),
        nonce: "n-1",
      });
      await expect(verdict(page)).toContainText("proof");
      await expect(verdict(page)).toContainText("not valid");
      await expectAccessibleInBothThemes(page);
    });

    test("and the private attestation leave no hidden value on any page", async ({ request }) => {
      const { salt } = (JSON.parse(made.payload) as { predicate: { salt: string } }).predicate;
      const secrets = [
        ...["action", "inputs", "name", "value"].map(canary),
        salt,
        made.zk.credential.signature,
      ];
      expect(secrets.filter((secret) => JSON.stringify(made).includes(secret))).toEqual(secrets);
      const id = made.attestation_id;
      for (const address of [
        `/verify/${discreet}/${id}`,
        `/agent/${discreet}`,
        "/verify/presentation",
        "/verify",
        "/",
        `/badge/${discreet}.svg`,
        `/badge/${discreet}.svg?attestation=${id}`,
        `/agent/${discreet}/feed.json`,
        `/agent/${discreet}/feed.atom`,
        "/sitemap.xml",
        "/llms.txt",
        "/log/checkpoint",
        "/log/tile/entries/000.p/5",
        `/v1/agent/${discreet}`,
        `/v1/verify/${id}`,
        `/v1/verify/${id}/bundle`,
        `/v1/verify/${id}/envelope`,
        "/v1/pubkey",
      ]) {
        // Both the browser's response and the payload that Next sends for a soft navigation.
        for (const headers of [{}, { rsc: "1" }] as Record<string, string>[]) {
          const answer = await request.get(address, { headers });
          const page = await answer.text();
          expect(page, `${answer.status()} ${address}`).not.toBe("");
          expect(
            secrets.filter((secret) => page.includes(secret)),
            address,
          ).toEqual([]);
        }
      }
    });
  });
