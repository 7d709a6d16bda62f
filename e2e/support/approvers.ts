/** For tests only: approvers who have accepted, and what they were mailed. */
import { expect } from "vitest";
import { acceptApproverLink } from "#lib/accounts/approver-links";
import { addApprover, listApprovers } from "#lib/accounts/approvers";
import { beginEnrolment, finishEnrolment } from "#lib/accounts/passkeys";
import type { MemberPrincipal } from "#lib/http/principal";
import { listMailbox } from "#lib/mail/mailbox";
import { createNotices } from "#lib/notifications/send";
import type { TestApp } from "./app";
import { createPasskey } from "./authenticator";

/** An approver with a passkey on a device of software. */
export async function enrolApprover(test: TestApp, owner: MemberPrincipal, name: string) {
  const { context } = test.app;
  const email = `${name.toLowerCase()}@example.com`;
  await addConfirmed(test, owner, name, email);
  const found = (await listApprovers(context, owner)).people.find((one) => one.name === name);
  const approver = { id: found?.id ?? "", organizationId: owner.organizationId, email, name };
  const passkey = createPasskey({ origin: context.settings.baseUrl });
  const { challenge } = await beginEnrolment(context, approver);
  const actor = { kind: "user", id: "test", ip: null } as const;
  await finishEnrolment(context, approver, { name: "Phone", response: passkey.register(challenge) }, actor);
  return { ...approver, approver, passkey };
}

/** Newest first. */
export async function mailsTo({ app }: TestApp, email: string) {
  return (await listMailbox(app.context.database)).filter(({ to }) => to === email);
}

/** The secret part of the link in the first mail to this address that has one; owners get others too. */
export async function tokenOf(test: TestApp, email: string): Promise<string> {
  const links = (await mailsTo(test, email)).flatMap(({ text }) => /\/notices\/(\S+)/.exec(text)?.[1] ?? []);
  return links.at(-1) ?? "";
}

export async function addConfirmed(
  test: TestApp,
  owner: MemberPrincipal,
  name: string,
  email: string,
): Promise<void> {
  await addApprover(test.app.context, owner, { name, email });
  await acceptApproverLink(test.app.context, await tokenOf(test, email), "192.0.2.9");
}

const slowly = { timeout: 30_000 };

/** When everything that is due was sent or dropped, by whichever round. */
export async function sendAll({ app }: TestApp): Promise<void> {
  const { database } = app.context;
  const isOpen = `SELECT FROM notices WHERE status = 'pending' AND (next_attempt_at <= clock_timestamp()
    OR attempts > 0 AND next_attempt_at < clock_timestamp() + interval '61 seconds')`;
  await expect
    .poll(async () => {
      await createNotices(app.context).run();
      return (await database.query(isOpen, [])).rows.length;
    }, slowly)
    .toBe(0);
}

/** When this is what became of a request's notices, as `kind status`. */
export async function expectNotices({ app }: TestApp, requestId: string, ...wanted: string[]): Promise<void> {
  const ofRequest = "SELECT kind, status FROM notices WHERE request_id = $1 ORDER BY kind";
  await expect
    .poll(async () => {
      await createNotices(app.context).run();
      const { rows } = await app.context.database.query(ofRequest, [requestId]);
      return rows.map((row) => `${row["kind"]} ${row["status"]}`);
    }, slowly)
    .toEqual(wanted);
}

/** As if the time of the reminder had come. */
export async function makeReminderDue({ app }: TestApp, requestId: string): Promise<void> {
  await app.context.database.query(
    "UPDATE notices SET next_attempt_at = clock_timestamp() WHERE kind = 'reminder' AND request_id = $1",
    [requestId],
  );
}
