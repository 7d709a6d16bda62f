/** Guarantee: no organization uses up the mails of all, however often its rules or its roster change. */
import { expect, it } from "vitest";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { mailOwners, rulesChangedMail } from "./mails";

const { test } = setupTestApp();

it("sends owners sixty mails of a kind in an hour, and keeps no other kind or organization waiting", async () => {
  const { context } = test.app;
  const { organizationId, email } = await signInPerson(context, "often@example.com");
  const other = await signInPerson(context, "seldom@example.com");
  const write = (to: string) =>
    rulesChangedMail(to, "http://localhost:3000/portal/rules", { author: email, version: 1 });
  for (let i = 0; i < 60; i += 1)
    expect(await mailOwners(context, organizationId, "rules", write)).toEqual({ sent: 1, failed: 0 });
  expect(await mailOwners(context, organizationId, "rules", write)).toEqual({ sent: 0, failed: 1 });
  expect(await mailOwners(context, organizationId, "roster", write)).toEqual({ sent: 1, failed: 0 });
  expect(await mailOwners(context, other.organizationId, "rules", write)).toEqual({ sent: 1, failed: 0 });
  const sent = (await listMailbox(context.database)).filter(({ to }) => to === email);
  expect(sent).toHaveLength(61);
});
