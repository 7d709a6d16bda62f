/** Shared by the portal's tests: people who are signed in, their keys, their mail. */
import { type APIRequestContext, expect, type Page } from "@playwright/test";
import { getApiKey } from "./approval-helpers";

let counter = 0;

/** Each test has people of its own, so that limits and lists of others do not show. */
export function newAddress(name: string): string {
  counter += 1;
  return `${name}-${Date.now().toString(36)}${counter}@example.com`;
}

/** The newest mail to the address whose text has `word`: its link. */
export async function readLink(request: APIRequestContext, to: string, word: string): Promise<string> {
  const answer = await request.get("/dev/mailbox", { headers: { accept: "application/json" } });
  const { messages } = (await answer.json()) as { messages: { to: string; text: string }[] };
  const mail = messages.find((message) => message.to === to && message.text.includes(word));
  return /http\S+/.exec(mail?.text ?? "")?.[0] ?? `no mail with "${word}" to ${to}`;
}

export async function askForLink(page: Page, email: string): Promise<string> {
  await page.goto("/portal/sign-in");
  await page.getByLabel("Email address").fill(email);
  await page.getByRole("button", { name: "Send me a sign-in link" }).click();
  await expect(page.getByText(`If ${email} can receive mail, a link is on its way.`)).toBeVisible();
  return readLink(page.request, email, "/portal/sign-in/confirm");
}

/**
 * Sends the two forms of a sign-in as a browser without JavaScript does, and opens no page: what a person sees of it,
 * portal-login.spec.ts does by hand.
 */
export async function signIn({ request }: Page, email: string): Promise<void> {
  const shown = await request.get("/portal/sign-in");
  const hidden = (await shown.text()).matchAll(/<input type="hidden" name="([^"]*)"(?: value="([^"]*)")?/g);
  const multipart: Record<string, string> = { email };
  for (const [, name = "", value = ""] of hidden) multipart[name] = value.replaceAll("&quot;", '"');
  const headers = { origin: new URL(shown.url()).origin };
  await request.post("/portal/sign-in", { multipart, headers });
  const link = new URL(await readLink(request, email, "/portal/sign-in/confirm"));
  const form = Object.fromEntries(link.searchParams);
  const answer = await request.post("/portal/sign-in/verify", { form, headers, maxRedirects: 0 });
  // Leads to the inbox if they only approve for others.
  const ends = ["/portal", "/portal/inbox"].map((path) => `${headers.origin}${path}`);
  expect(ends, `${email} is signed in`).toContain(answer.headers()["location"]);
}

/** Signs a new person in who has a key, and gives that. */
export async function signInWithKey(page: Page, name: string): Promise<string> {
  const email = newAddress(name);
  const key = await getApiKey(page.request, name, email);
  await signIn(page, email);
  return key;
}

/** Creates a key with the default scopes and those named here. */
export async function makeKey(page: Page, name: string, ...more: string[]): Promise<string> {
  await page.goto("/portal/keys");
  await page.getByLabel("Name", { exact: true }).fill(name);
  if (more.length > 0) await page.getByRole("radio", { name: "Something else" }).check();
  for (const scope of more) await page.getByRole("checkbox", { name: new RegExp(`^${scope}`) }).check();
  await page.getByRole("button", { name: "Create key" }).click();
  return ((await page.getByTestId("secret").locator("code").textContent()) ?? "").trim();
}

/** A call of the API with the key; not with the browser's cookies. */
export async function callApi(
  request: APIRequestContext,
  key: string,
  path: string,
  data: object,
): Promise<Record<string, string>> {
  const answer = await request.post(path, { headers: { authorization: `Bearer ${key}` }, data });
  expect(answer.ok(), `${path}: ${await answer.text()}`).toBe(true);
  return (await answer.json()) as Record<string, string>;
}

/** Gives the shown organization a name. */
export async function nameOrganization(page: Page, name: string): Promise<void> {
  await page.goto("/portal/settings");
  await page.getByLabel("Organization name").fill(name);
  await page.locator("#organization").getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Settings saved.")).toBeVisible();
}
