/** Passkeys of approvers, with Chromium's virtual authenticators: from the link in a mail, from the portal, and lost. */
import { createECDH } from "node:crypto";
import { expect, type Page } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { addApprover, addGroup, openDevice, openElsewhere, plugIn } from "./passkey-helpers";
import { newAddress, readLink, signIn } from "./portal-helpers";
import { expectNoSidewaysScroll } from "./small-screen-helpers";
import { test } from "./test";

/** The newest mail's, which is another one than before. */
async function readFreshLink(page: Page, to: string, before: string): Promise<string> {
  await expect.poll(() => readLink(page.request, to, "It expires in 30 minutes")).not.toBe(before);
  return readLink(page.request, to, "It expires in 30 minutes");
}

test("enrols from the mail's link, and by a fresh link after the device was lost", async ({
  page,
  browser,
}) => {
  test.slow();
  const owner = newAddress("owner");
  await signIn(page, owner);
  const address = newAddress("ana");
  const link = await addApprover(page, "Ana", address);
  await addGroup(page, "Finance", "Ana");
  await expect(page.getByText("Nobody has a passkey")).toBeVisible();
  await expect(page.getByText("Nobody has created a passkey yet.")).toBeVisible();

  const ana = await openElsewhere(browser);
  const cdp = await openDevice(ana);
  const loseIt = await plugIn(cdp);
  await ana.goto(link);
  await expect(ana.getByRole("button", { name: "Create a passkey" })).toHaveCount(0);
  await ana.getByRole("button", { name: "Accept" }).click();
  // The form leads to another page.
  await expect(ana.getByRole("button", { name: "Create a passkey" })).toBeVisible();
  await expectGoodPage(ana);
  await ana.getByRole("button", { name: "Create a passkey" }).click();
  await expect(ana.getByText("You have one passkey.")).toBeVisible();
  await expect(ana.getByRole("button", { name: "Notify this device" })).toBeVisible();
  // The mail may be in anybody's archive: from now on it takes a fresh one.
  await expect(ana.getByRole("button", { name: "Add another passkey" })).toHaveCount(0);
  await expectNoSidewaysScroll(ana);
  await expectGoodPage(ana);

  const foreign = { origin: "https://evil.test", "sec-fetch-site": "cross-site" };
  const posted = await page.request.post(`${link}/passkeys`, { data: { action: "begin" }, headers: foreign });
  expect(await posted.json()).toMatchObject({ ok: false, message: expect.stringContaining("Only a page") });

  await page.reload();
  await expect(page.getByText("1 of 1 person has a passkey")).toBeVisible();
  await expect(page.getByText('Ana, in Finance: passkey "Linux" added')).toBeVisible();
  // An opened row has to fit a tablet too.
  await page.locator(".row-more > summary", { hasText: "Ana" }).click();
  await expect(page.getByRole("button", { name: "Remove passkey" })).toBeVisible();
  await expectNoSidewaysScroll(page);
  await expectGoodPage(page);
  await expect
    .poll(() => readLink(page.request, owner, 'Ana, in Finance: passkey "Linux" added'), { timeout: 60_000 })
    .toContain("/portal/approvers");

  await loseIt();
  await plugIn(cdp);
  await ana.getByRole("button", { name: "Send me a link" }).click();
  await expect(ana.getByText("Link sent")).toBeVisible();
  const fresh = await readFreshLink(ana, address, "");
  expect(fresh).not.toBe(link);
  await ana.goto(fresh);
  await ana.getByRole("button", { name: "Add another passkey" }).click();
  await expect(ana.getByText("You have 2 passkeys.")).toBeVisible();
  await ana.getByRole("button", { name: "Add another passkey" }).click();
  await expect(ana.getByText("This device already has a passkey for you.")).toBeVisible();
  const rows = ana.locator("section[aria-labelledby=passkeys] li");
  await rows.first().getByRole("button", { name: "Remove" }).click();
  await ana.getByRole("button", { name: "Remove passkey" }).click();
  await expect(rows).toHaveCount(1);
  await rows.getByRole("button", { name: "Rename" }).click();
  // The button is gone, and the keyboard goes on in its row.
  await ana.keyboard.press("Tab");
  await expect(rows.getByLabel("Name of the passkey")).toBeFocused();
  await ana.getByLabel("Name of the passkey").fill("New phone");
  await ana.getByRole("button", { name: "Save" }).click();
  await expect(rows.getByRole("button", { name: "Rename New phone" })).toBeVisible();
  await expectNoSidewaysScroll(ana);
  await expectGoodPage(ana);

  await page.reload();
  await expect(page.getByText('Ana: passkey "Linux" removed')).toBeVisible();
  await page.getByRole("table", { name: "Approvers" }).locator("summary").click();
  await page.getByRole("button", { name: "Remove passkey New phone of Ana" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).last().click();
  await expect(page.getByText("Passkey removed.")).toBeVisible();
  await page.getByRole("button", { name: "Close" }).last().click();
  await expect(page.getByText("Nobody has a passkey")).toBeVisible();
  await ana.context().close();
});

test("enrols from the portal, and stores nothing of a device that isn't unlocked", async ({ page }) => {
  test.slow();
  const address = newAddress("owner");
  await signIn(page, address);
  const link = await addApprover(page, "Me", address);
  await page.goto(link);
  await page.getByRole("button", { name: "Accept" }).click();
  await expect(page.getByText("gets these emails")).toBeVisible();
  const cdp = await openDevice(page);
  await page.goto("/portal/inbox");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "usb",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: false,
      automaticPresenceSimulation: true,
    },
  });
  await page.getByRole("button", { name: "Create a passkey" }).click();
  await expect(page.getByText(/^(Nothing was added|This device can't make)/)).toBeVisible();
  await cdp.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
  await plugIn(cdp);
  await page.getByRole("button", { name: "Create a passkey" }).click();
  await expect(page.getByRole("button", { name: "Add another passkey" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Rename Linux" })).toBeVisible();
  await expectNoSidewaysScroll(page);
  await expectGoodPage(page);
  await page.goto("/portal/audit");
  await expect(page.getByText("passkey.enrolled")).toBeVisible();
});

test("asks for a passkey before what owners change, once an owner has confirmed with theirs", async ({
  page,
}) => {
  await signIn(page, newAddress("owner"));
  await plugIn(await openDevice(page));
  await page.goto("/portal");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await expect(page.getByText("Approvers of your organization can decide by passkey now.")).toBeVisible();
  await page.goto("/portal/settings");
  const form = page.locator("#second-factor form");
  const save = () => form.getByRole("button", { name: "Save" }).click();
  await form.getByLabel("Everything that owners change").check();
  await save();
  await expect(form.getByText("press “Confirm with a passkey” at the top of the page")).toBeVisible();
  await page.getByRole("button", { name: "Confirm with a passkey" }).click();
  await expect(page.getByText("Confirmed for 10 minutes.")).toBeVisible();
  await expectGoodPage(page);
  await save();
  await expect(form.getByText("Saved.")).toBeVisible();
  await page.reload();
  await expect(form.getByLabel("Everything that owners change")).toBeChecked();
  await page.setViewportSize({ width: 390, height: 844 });
  const tops = ["Confirm with a passkey", "Find…", "Sign out"].map(async (name) => {
    const box = await page.getByRole("button", { name }).boundingBox();
    return box?.y;
  });
  expect(new Set(await Promise.all(tops)).size, "one line on a phone").toBe(1);
  await page.emulateMedia({ forcedColors: "active" });
  const sections = page.getByRole("navigation", { name: "Portal" }).getByRole("link");
  const lines = await sections.evaluateAll((links) =>
    links.map((link) => [link.ariaCurrent, getComputedStyle(link).borderBottomColor] as const),
  );
  const [current] = lines.filter(([isCurrent]) => isCurrent === "page").map(([, color]) => color);
  expect(current).toBeDefined();
  expect(
    lines.filter(([, color]) => color === current),
    "one section is marked",
  ).toHaveLength(1);
});

test("notifies a device: one tap adds it, a message shows what was sent, and offline it shows nothing old", async ({
  page,
  context,
  baseURL,
}) => {
  test.slow();
  const address = newAddress("owner");
  await signIn(page, address);
  await page.goto(await addApprover(page, "Me", address));
  await page.getByRole("button", { name: "Accept" }).click();
  await expect(page.getByText("gets these emails")).toBeVisible();
  // Debian's Chromium reaches no push service: its subscription is one of the test's, the rest is the browser's.
  const p256dh = createECDH("prime256v1").generateKeys("base64url");
  await page.addInitScript((p256dh) => {
    const subscription = {
      endpoint: "https://push.example/send/a",
      options: { applicationServerKey: null },
      unsubscribe: async () => true,
      toJSON: () => ({
        endpoint: "https://push.example/send/a",
        keys: { p256dh, auth: "A".repeat(22) },
      }),
    };
    // Made for the key of an earlier service at this address: browsers refuse another key beside it.
    const foreign = {
      ...subscription,
      endpoint: "https://push.example/send/foreign",
      options: { applicationServerKey: Uint8Array.of(4, 1, 2).buffer },
      unsubscribe: async () => {
        current = null;
        Reflect.set(globalThis, "ended", true);
        return true;
      },
    };
    let current: unknown = foreign;
    PushManager.prototype.subscribe = async ({ userVisibleOnly } = {}) => {
      if (current === foreign) throw new DOMException("another key", "InvalidStateError");
      current = userVisibleOnly === true ? subscription : null;
      return subscription as unknown as PushSubscription;
    };
    PushManager.prototype.getSubscription = async () => current as PushSubscription | null;
  }, p256dh);
  await page.goto("/portal/inbox");
  await page.getByRole("button", { name: "Notify this device" }).click();
  await expect(page.getByText("Chrome on Linux (this device)")).toBeVisible();
  expect(await page.evaluate(() => Reflect.get(globalThis, "ended"))).toBe(true);
  await expectNoSidewaysScroll(page);
  await expectGoodPage(page);

  // Calls of the worker to the browser, which shows nothing here.
  const [worker] = context.serviceWorkers();
  await worker?.evaluate(() => {
    const scope = globalThis as unknown as {
      registration: { showNotification: unknown };
      clients: { openWindow: unknown };
    };
    scope.registration.showNotification = async (...given: unknown[]) =>
      Reflect.set(globalThis, "shown", given);
    scope.clients.openWindow = async (url: string) => Reflect.set(globalThis, "opened", url);
  });
  const cdp = await context.newCDPSession(page);
  const registration = new Promise<string>((done) =>
    cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      if (registrations[0]) done(registrations[0].registrationId);
    }),
  );
  await cdp.send("ServiceWorker.enable");
  const data = JSON.stringify({ title: "12,000.50 EUR", body: "Pay", url: `${baseURL}/verify`, tag: "a" });
  await cdp.send("ServiceWorker.deliverPushMessage", {
    origin: baseURL ?? "",
    registrationId: await registration,
    data,
  });
  await expect
    .poll(() => worker?.evaluate(() => Reflect.get(globalThis, "shown")))
    .toEqual([
      "12,000.50 EUR",
      {
        ...{ body: "Pay", tag: "a", renotify: true, icon: "/icon-192.png" },
        data: { url: `${baseURL}/verify` },
      },
    ]);
  await worker?.evaluate((url) => {
    const tap = new Event("notificationclick");
    dispatchEvent(
      Object.assign(tap, { notification: { close: () => {}, data: { url } }, waitUntil: () => {} }),
    );
  }, `${baseURL}/verify`);
  expect(await worker?.evaluate(() => Reflect.get(globalThis, "opened"))).toBe(`${baseURL}/verify`);

  await context.setOffline(true);
  await page.goto("/portal/inbox").catch(() => null);
  await expect(page.getByRole("heading", { name: "You are offline" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Reload" })).toBeVisible();
  await context.setOffline(false);
  await page.goto("/portal/inbox");
  await page.getByRole("button", { name: "Remove Chrome on Linux" }).click();
  await expect(page.getByRole("button", { name: "Notify this device" })).toBeVisible();
});
