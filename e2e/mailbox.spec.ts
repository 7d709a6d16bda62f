/** The development mailbox for people, and as JSON for tools at the same address. */
import { expect } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { test } from "./test";

test("the mailbox shows mail to people and gives it to tools", async ({ page, request }) => {
  await expect(await request.post("/v1/keys/request", { data: { email: "mailbox@example.com" } })).toBeOK();
  const json = await request.get("/dev/mailbox", { headers: { accept: "application/json" } });
  const { messages } = (await json.json()) as { messages: { to: string; subject: string }[] };
  const sent = messages.find(({ to }) => to === "mailbox@example.com");
  expect(sent).toBeDefined();

  await page.goto("/dev/mailbox");
  const card = page
    .getByRole("region")
    .or(page.locator("section"))
    .filter({ hasText: "mailbox@example.com" });
  await expect(card.first()).toContainText(sent?.subject ?? "no mail");
  const hrefs = await page
    .locator("main a")
    .evaluateAll((links) => links.map((a) => (a as HTMLAnchorElement).origin));
  expect(hrefs.every((origin) => origin === new URL(page.url()).origin)).toBe(true);
  await expectAccessibleInBothThemes(page);
});
