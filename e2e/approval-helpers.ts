/**
 * Shared by the approval specs: a key by email, a request, and answering in the stand-in's wallet as a person would.
 */
import { type APIRequestContext, type BrowserContext, expect, type Page } from "@playwright/test";

/** Gets a key as a developer would: ask, read the mail, send the code back. An address of its own for each worker. */
export async function getApiKey(
  request: APIRequestContext,
  name: string,
  email = `${name}-${Date.now()}@example.com`,
): Promise<string> {
  await expect(await request.post("/v1/keys/request", { data: { email } })).toBeOK();
  const box = await request.get("/dev/mailbox", { headers: { accept: "application/json" } });
  const { messages } = (await box.json()) as { messages: { to: string; text: string }[] };
  const code = messages.find(({ to }) => to === email)?.text.match(/\b\d{6}\b/)?.[0];
  expect(code, `a code in the mail to ${email}`).toBeDefined();
  const verified = await request.post("/v1/keys/verify", { data: { email, code } });
  expect(verified.status()).toBe(201);
  return ((await verified.json()) as { api_key: string }).api_key;
}

export interface Asked {
  request_id: string;
  approval_url: string;
  poll_url: string;
  confirmation_code: string;
  action: string;
  agent_slug: string;
}

/** A slug belongs to one account: each key has its own agent. */
const agentOf = (key: string) => `bot-${key.slice(-6)}`;

export async function ask(
  request: APIRequestContext,
  key: string,
  fields: Record<string, unknown> = {},
): Promise<Asked> {
  const answer = await request.post("/v1/authorize", {
    headers: { authorization: `Bearer ${key}` },
    data: {
      agent_slug: agentOf(key),
      action: "Pay invoice 1042",
      context: { amount: "100.00 EUR", recipient: "Example Ltd" },
      ...fields,
    },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return (await answer.json()) as Asked;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely
export async function poll(request: APIRequestContext, asked: Asked): Promise<any> {
  const answer = await request.get(asked.poll_url);
  expect(answer.status()).toBe(200);
  return answer.json();
}

/** Scrolls as a reader does: every line is on the screen once. */
export async function scrollThrough(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let top = 0; top < document.documentElement.scrollHeight; top += window.innerHeight / 3) {
      window.scrollTo({ top, behavior: "instant" });
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
  });
}

/** A click jumps over what lies between, of which the page then says that it was not on the screen. */
export async function chooseApprove(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve with World ID" }).click();
  const unseen = page.getByRole("button", { name: /Approve without reading them|Continue to World ID/ });
  await expect(page.getByRole("heading", { name: "Approve with World ID" }).or(unseen)).toBeVisible();
  if (await unseen.isVisible()) await unseen.click();
}

/** Opens the wallet from the approval page, as a click on its link does. */
export async function openWallet(page: Page, context: BrowserContext): Promise<Page> {
  await chooseApprove(page);
  return followToWallet(page, context);
}

/** Starts from the panel that is already open. */
export async function followToWallet(page: Page, context: BrowserContext): Promise<Page> {
  const link = page.getByRole("link", { name: "Open the test wallet" });
  await expect(link.first()).toBeVisible();
  const [wallet] = await Promise.all([
    context.waitForEvent("page"),
    link.filter({ visible: true }).first().click(),
  ]);
  await expect(wallet.getByRole("heading", { name: "What is asked" })).toBeVisible();
  return wallet;
}

/** Approves as this test human; the proof is real. */
export async function approveAs(wallet: Page, human: string, level: "Orb" | "Device"): Promise<void> {
  await wallet.getByRole("radio", { name: new RegExp(`^${human}`) }).check();
  await wallet.getByRole("radio", { name: level, exact: true }).check();
  await wallet.getByRole("button", { name: "Approve" }).click();
  await expect(wallet.getByText("The proof was sent")).toBeVisible();
}
