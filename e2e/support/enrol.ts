/** For tests only: approvers who have accepted, with their passkeys, and what they were mailed. */

import type { MemberPrincipal } from "#lib/api/http/context";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { acceptApproverLink, addApprover, listApprovers } from "#lib/services/accounts/approvers";
import { type Approver, beginEnrolment, finishEnrolment } from "#lib/services/accounts/passkeys";
import { listMailbox } from "#lib/services/notifications/mailbox";
import type { TestApp } from "./app";
import { createPasskey } from "./authenticator";
import { signInPerson } from "./portal";

/** An approver with a passkey on a device of software. */
export async function enrolApprover(
  test: TestApp,
  owner: MemberPrincipal,
  name: string,
  algorithm?: "ML-DSA-44",
) {
  const { context } = test.app;
  const email = `${name.toLowerCase()}@example.com`;
  const approver = await addConfirmed(test, owner, name, email);
  const passkey = createPasskey({ origin: context.settings.baseUrl, ...(algorithm && { algorithm }) });
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
): Promise<Approver> {
  const { context } = test.app;
  await addApprover(context, owner, { name, email });
  await acceptApproverLink(context, await tokenOf(test, email), "192.0.2.9");
  const found = (await listApprovers(context, owner)).people.find((one) => one.name === name);
  return { id: found?.id ?? "", organizationId: owner.organizationId, email, name };
}

/** A group of these enrolled approvers in the organization of that address. */
export async function enrolGroup(test: TestApp, ownerEmail: string, name: string, ...members: string[]) {
  const owner = await signInPerson(test.app.context, ownerEmail);
  const people: Awaited<ReturnType<typeof enrolApprover>>[] = [];
  for (const member of members) people.push(await enrolApprover(test, owner, member));
  const memberIds = people.map(({ id }) => id);
  await saveGroup(test.app.context, owner, { id: null, name, memberIds });
  return people;
}
