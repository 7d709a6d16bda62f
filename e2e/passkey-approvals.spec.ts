/** Enrolled approvers decide on the approval page, with Chromium's virtual authenticators; on a phone too. */
import { type Browser, expect, type Page } from "@playwright/test";
import { expectAccessibleInBothThemes } from "./accessibility-helpers";
import { approveAs, followToWallet, poll, scrollThrough } from "./approval-helpers";
import {
  addApprover,
  addGroup,
  approveByPasskey,
  openDevice,
  openElsewhere,
  plugIn,
} from "./passkey-helpers";
import { newAddress, signIn, signInWithKey } from "./portal-helpers";
import { expectNoSidewaysScroll } from "./small-screen-helpers";
import { test } from "./test";

test.describe.configure({ timeout: 180_000 });

/** An approver in a browser of their own, with a passkey on its device. */
async function enrol(
  browser: Browser,
  owner: Page,
  name: string,
  address = newAddress(name.toLowerCase()),
): Promise<Page> {
  const link = await addApprover(owner, name, address);
  const page = await openElsewhere(browser);
  await plugIn(await openDevice(page));
  await page.goto(link);
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByRole("button", { name: "Create a passkey" }).click();
  await expect(page.getByText("You have one passkey.")).toBeVisible();
  await expect(page.getByText("You can approve now")).toBeVisible();
  return page;
}

async function ask(page: Page, key: string, more: object) {
  const answer = await page.request.post("/v1/authorize", {
    headers: { authorization: `Bearer ${key}` },
    data: {
      agent_slug: `payer-${Date.now()}`,
      action: "Pay invoice 1042",
      amount: { value: "12000.5", currency: "EUR" },
      tool: "bank.transfer",
      context: { recipient: "Example Ltd" },
      required_level: "none",
      ...more,
    },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return answer.json();
}

test("two of finance approve by passkey, one denies, and the link alone does neither", {
  tag: "@smoke",
}, async ({ page, browser }) => {
  const key = await signInWithKey(page, "owner");
  const carolsAddress = newAddress("carol");
  const carol = await enrol(browser, page, "Carol", carolsAddress);
  const dave = await enrol(browser, page, "Dave");
  await page.goto("/portal/approvers");
  await addGroup(page, "finance", "Carol", "Dave");
  const required_approvers = [{ group: "finance", count: 2 }];
  const agent_slug = `probe-${Date.now()}`;
  await expect
    .poll(async () => {
      const tried = await page.request.post("/v1/authorize", {
        headers: { authorization: `Bearer ${key}` },
        data: { agent_slug, action: "Probe", required_level: "none", required_approvers },
      });
      return tried.status();
    })
    .toBe(201);

  const asked = await ask(page, key, { required_approvers });
  await carol.setViewportSize({ width: 390, height: 844 });
  await carol.goto(asked.approval_url);
  await expect(carol.getByText("Your browser computed the same hash")).toBeVisible();
  await expect(carol.locator("[data-amount]")).toHaveText("12,000.50 EUR");
  await expect(carol.getByText("Two people of finance are needed.").first()).toBeVisible();
  await expectNoSidewaysScroll(carol);
  await expectAccessibleInBothThemes(carol);
  // One click approves a request that was read, and leaves nothing to press.
  await scrollThrough(carol);
  await carol.getByRole("button", { name: "Approve with passkey" }).click();
  await expect(carol.getByText("You approved.").first()).toBeVisible();
  await expect(carol.getByRole("button", { name: /^(Approve|Deny)/ })).toHaveCount(0);
  await expect(carol.getByText("One more person of finance is needed.").first()).toBeVisible();
  await expectNoSidewaysScroll(carol);

  // The stranger has the link and no passkey of an approver.
  const stranger = await openElsewhere(browser);
  await plugIn(await openDevice(stranger));
  await stranger.goto(asked.approval_url);
  await approveByPasskey(stranger);
  await expect(stranger.getByText("No passkey was used")).toBeVisible();

  await dave.goto(asked.approval_url);
  await approveByPasskey(dave);
  await expect(dave.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  const state = await poll(page.request, asked);
  expect(state.human_authorization.approvals).toHaveLength(2);

  // An auditor's link names the approvers, checked by the auditor's own browser, until it is revoked.
  const attested = await page.request.post("/v1/attest", {
    headers: { authorization: `Bearer ${key}` },
    data: {
      agent_slug: state.agent_slug,
      action: state.action,
      inputs_hash: "sha256:aa",
      human_authorization: state.human_authorization,
    },
  });
  await page.goto(`/portal/attestations/${(await attested.json()).attestation_id}`);
  await page.getByLabel("What to open").selectOption("all");
  await page.getByRole("button", { name: "Create link" }).click();
  const link = (await page.getByTestId("secret").locator("code").textContent()) ?? "";
  const auditor = await openElsewhere(browser);
  const shown = await auditor.goto(link.trim());
  expect(shown?.headers()).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
  await expect(auditor.getByText("Example Ltd")).toHaveCount(0);
  await auditor.getByRole("button", { name: "Open the receipt" }).click();
  await expect(auditor.getByText("Example Ltd")).toBeVisible();
  await expect(auditor.getByText(/Carol, by passkey.*Dave, by passkey/)).toBeVisible();
  await expect(auditor.getByText("2 names as the roster has them")).toBeVisible();
  await expectAccessibleInBothThemes(auditor);
  await page.getByRole("button", { name: "Erase content" }).click();
  await page.getByRole("button", { name: "Erase permanently" }).click();
  await expect(page.getByText("Content erased. The log entry stays.")).toBeVisible();
  await auditor.getByRole("button", { name: "Open the receipt" }).click();
  await expect(auditor.getByText("What it showed was erased since the link was made.")).toBeVisible();
  await page.goto("/portal/evidence");
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke link" }).click();
  await expect(page.getByText("Link revoked.")).toBeVisible();
  await auditor.getByRole("button", { name: "Open the receipt" }).click();
  await expect(auditor.getByText("the link has ended or was revoked")).toBeVisible();
  await auditor.reload();
  await expect(auditor.getByRole("heading", { name: "This link doesn't work" })).toBeVisible();

  const other = await ask(page, key, { required_approvers, action: "Pay invoice 1043" });
  await dave.goto(other.approval_url);
  await dave.getByRole("button", { name: "Deny", exact: true }).click();
  await dave.getByRole("button", { name: "Deny: I did not expect this request" }).click();
  await expect(dave.getByRole("heading", { name: "This request was denied" })).toBeVisible();
  expect((await poll(page.request, other)).status).toBe("denied");

  // One tap in the inbox approves once all of the request, which is all there, was on the screen.
  const quick = await ask(page, key, {
    required_approvers: [{ group: "finance", count: 1 }],
    action: "Pay invoice 1045",
    context: { memo: `first\n${"line\n".repeat(120)}last` },
  });
  await signIn(carol, carolsAddress);
  // The page tells others who is looking, and only because of the button.
  await dave.goto(quick.approval_url);
  await expect(dave.getByText("Let the others know:")).toBeVisible();
  await carol.goto("/portal/inbox");
  const waiting = carol.getByRole("article").filter({ hasText: "Pay invoice 1045" });
  await expect(waiting.getByText(/^12,000\.50 EUR$/)).toBeVisible();
  await waiting.getByRole("button", { name: "I'm looking at it" }).click();
  await expect(waiting.getByText("The others see that you are looking at it.")).toBeVisible();
  await expect(carol.locator(":focus")).toContainText("The others see");
  await expect
    .poll(async () => {
      await dave.reload();
      return dave.getByText("Carol is looking at it").count();
    })
    .toBe(1);
  await expect(waiting.getByText("Identity not verified")).toBeVisible();
  await expect(waiting.getByText(quick.confirmation_code)).toBeVisible();
  await expectAccessibleInBothThemes(carol);
  await waiting.getByRole("button", { name: "Use your passkey" }).click();
  await expect(waiting.getByRole("alert").getByText("memo")).toBeVisible();
  expect((await poll(page.request, quick)).status).toBe("pending");
  await scrollThrough(carol);
  await expect(waiting.getByRole("alert")).toHaveCount(0);
  await waiting.getByRole("button", { name: "Use your passkey" }).click();
  await expect(carol.getByRole("alert").getByText("Pay invoice 1045")).toBeVisible();
  await expect(waiting).toBeHidden();
  await expect(carol.locator(":focus")).toContainText("You approved.");
  expect((await poll(page.request, quick)).status).toBe("approved");
  await page.goto(`/portal/authorizations/${quick.request_id}`);
  await expect(page.getByText("Carol, by passkey")).toBeVisible();
  await page.goto(`/portal/authorizations/${other.request_id}`);
  await expect(page.getByText("Denied by")).toBeVisible();
  await expect(page.getByText("Dave, by passkey")).toBeVisible();

  // The approver takes it back with the same passkey.
  await carol.goto(quick.approval_url);
  await carol.getByText("Changed your mind? Take it back").click();
  await carol.getByRole("button", { name: "Take back the approval" }).click();
  await expect(carol.getByRole("heading", { name: "This approval was taken back" })).toBeFocused();

  // Equal requests are a table, and one touch approves those that are chosen, once all of them were on the screen.
  const agent = `payer-${Date.now()}`;
  const rows = [];
  for (const [number, value] of [
    ["1051", "10.5"],
    ["1052", "20"],
    ["1053", "30"],
    ["1054", "40"],
  ])
    rows.push(
      await ask(page, key, {
        agent_slug: agent,
        required_approvers: [{ group: "finance", count: 1 }],
        action: `Pay invoice ${number}`,
        amount: { value, currency: number === "1053" ? "USD" : "EUR" },
        context: { recipient: "Example Ltd", memo: "line\n".repeat(number === "1052" ? 60 : 2).trim() },
      }),
    );
  await carol.goto("/portal/inbox");
  const list = carol.getByRole("article", { name: "4 requests of " });
  await expect(list.locator("[data-sums]")).toHaveText("4 requests · 70.50 EUR · 30.00 USD");
  await list.getByLabel("Include Pay invoice 1054").uncheck();
  await expect(list.locator("[data-sums]")).toHaveText("3 requests · 30.50 EUR · 30.00 USD");
  await expectNoSidewaysScroll(carol);
  await expectAccessibleInBothThemes(carol);
  const approveAll = list.getByRole("button", { name: "Approve 3 requests with your passkey" });
  await approveAll.click();
  await expect(list.getByRole("alert").getByText("Pay invoice 1052")).toBeVisible();
  await expect(list.getByRole("button", { name: "Approve without reading them" })).toHaveCount(0);
  await scrollThrough(carol);
  await expect(list.getByRole("alert")).toHaveCount(0);
  await list.getByRole("button", { name: "Continue to your passkey" }).click();
  await expect(carol.getByRole("alert").getByText("You approved 3 requests.")).toBeVisible();
  await expect(list).toBeHidden();
  await expect(carol.locator(":focus")).toContainText("You approved 3 requests.");
  const states = await Promise.all(rows.map((row) => poll(page.request, row)));
  expect(states.map(({ status }) => status)).toEqual(["approved", "approved", "approved", "pending"]);
  expect(states[1]?.human_authorization.approvals[0].list).toMatchObject({
    index: expect.any(Number),
    size: 3,
  });

  // Away for a while: a deputy of no group decides in Carol's place, and the request says so.
  const erin = await enrol(browser, page, "Erin");
  await carol.goto("/portal/inbox");
  await carol.getByLabel("Deputy", { exact: true }).selectOption({ label: "Erin" });
  await carol.getByLabel("Last day (UTC)").fill(new Date(Date.now() + 86_400_000).toISOString().slice(0, 10));
  await carol.getByRole("button", { name: "Name deputy" }).click();
  await expect(carol.getByText("decides in your place")).toBeVisible();
  await expectNoSidewaysScroll(carol);
  await expectAccessibleInBothThemes(carol);
  const away = await ask(page, key, {
    required_approvers: [{ group: "finance", count: 1 }],
    action: "Pay invoice 1060",
  });
  await erin.goto(away.approval_url);
  await approveByPasskey(erin);
  await expect(erin.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  await page.goto(`/portal/authorizations/${away.request_id}`);
  await expect(page.getByText("Erin, as deputy of Carol, by passkey")).toBeVisible();
  await carol.getByRole("button", { name: "End now" }).click();
  await expect(carol.getByText("decides in your place")).toBeHidden();
  await erin.context().close();

  // Turns of a group.
  await page.goto("/portal/approvers");
  await page.getByText("Order of notifications of finance").click();
  await page.getByLabel("Minutes until the next are notified").fill("5");
  await page.getByRole("combobox", { name: "Dave" }).selectOption("Turn 2");
  await page.getByLabel("Last resort, after everybody else").selectOption({ label: "Erin" });
  await expectAccessibleInBothThemes(page);
  await page.getByRole("button", { name: "Save order" }).click();
  await expect(page.getByText("Order saved.")).toBeVisible();
  await page.reload();
  await expect(page.getByText(": the next after 5 min")).toBeVisible();

  const both = await ask(page, key, {
    required_approvers: [{ group: "finance", count: 1 }],
    required_level: "orb",
    action: "Pay invoice 1044",
  });
  await carol.setViewportSize({ width: 1280, height: 900 });
  await carol.goto(both.approval_url);
  await approveByPasskey(carol);
  const wallet = await followToWallet(carol, carol.context());
  await approveAs(wallet, "Ada", "Orb");
  await expect(carol.getByRole("heading", { name: "This request was approved" })).toBeVisible();
  for (const one of [carol, dave, stranger]) await one.context().close();
});
