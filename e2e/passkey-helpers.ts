/** For tests of passkeys: Chromium's virtual authenticators, and approvers with groups in the portal. */
import { type Browser, type CDPSession, expect, type Page } from "@playwright/test";
import { readLink } from "./portal-helpers";

/** A device that is unlocked by its user, and how to put it away. */
export async function plugIn(cdp: CDPSession): Promise<() => Promise<void>> {
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return async () => {
    await cdp.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
  };
}

export async function openDevice(page: Page): Promise<CDPSession> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  return cdp;
}

export async function addApprover(owner: Page, name: string, email: string): Promise<string> {
  await owner.goto("/portal/approvers");
  await owner.getByLabel("Name", { exact: true }).fill(name);
  await owner.getByLabel("Email address").fill(email);
  await owner.getByRole("button", { name: "Add approver" }).click();
  await expect(owner.getByText(`${name} added.`)).toBeVisible();
  return readLink(owner.request, email, "/notices/");
}

export async function addGroup(owner: Page, name: string, ...members: string[]): Promise<void> {
  await owner.getByLabel("New group").fill(name);
  const people = owner.getByRole("group", { name: "People of the new group" });
  for (const member of members) await people.getByLabel(member).check();
  await owner.getByRole("button", { name: "Create group" }).click();
  await expect(owner.getByText(`Delete ${name}`)).toBeVisible();
}

/** Opens a browser context of its own. */
export async function openElsewhere(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: "reduce", extraHTTPHeaders: {} });
  return context.newPage();
}

/** Approves, whatever was on the screen before. */
export async function approveByPasskey(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve with passkey" }).click();
  const unseen = page.getByRole("button", { name: "Approve without reading them" });
  const next = page.getByText(/^Approve with your passkey$|^You approved|was approved$/);
  await expect(unseen.or(next).first()).toBeVisible();
  if (await unseen.isVisible()) await unseen.click();
}
