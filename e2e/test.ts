/**
 * Playwright's `test`, in which each test is a visitor with an address of their own: the server gives each address its
 * share. All are of this machine, which alone may read the mailbox and use the stand-ins.
 */
import { randomBytes } from "node:crypto";
import { test as base } from "@playwright/test";
import { passMidnight } from "./support/midnight";

export const test = base.extend<{ newDay: undefined }>({
  newDay: [
    // biome-ignore lint/correctness/noEmptyPattern: as above
    async ({}, use) => {
      await passMidnight();
      await use(undefined);
    },
    { auto: true, timeout: 90_000 },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads what a fixture uses from its pattern
  extraHTTPHeaders: async ({}, use) => {
    await use({ "x-forwarded-for": `127.${[...randomBytes(3)].join(".")}` });
  },
});
