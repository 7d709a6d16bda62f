/**
 * Guarantees: the guide's table of roles is the code's; whoever may write no longer goes on by no key, link or group of before;
 * and where an organization asks for a passkey, neither a session nor a mailbox alone is enough.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { roleNames, secondFactors } from "#lib/api/schemas/key-choices";
import { listOwnAgents } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import { makeApiKey } from "#lib/services/keys/api-keys";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { changeRole, setSecondFactor } from "#lib/services/portal/organization";
import { startTestApp, type TestApp } from "#support/app";
import { createPasskey, type TestPasskey } from "#support/authenticator";
import { enrolApprover } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { becomeApprover } from "./approver-groups";
import { addApprover, listApprovers } from "./approvers";
import { acceptInvitation, inviteMember } from "./invitations";
import { saveNoticeSettings } from "./mails";
import { acts } from "./members";
import {
  beginConfirmation,
  beginEnrolment,
  finishConfirmation,
  finishEnrolment,
  listPasskeys,
  removePasskey,
  requireOwnApprover,
} from "./passkeys";

describe("the guide of roles", () => {
  const guide = readFileSync("components/guides/content/roles.md", "utf8");
  const rows = guide
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  it("has a row for each act, as the code has it", () => {
    const [header = [], , ...listed] = rows.filter((row) => row.length === roleNames.length + 1);
    expect(header.slice(1)).toEqual(roleNames);
    const table = listed.map(([name = "", ...cells]) => [
      /\(`(\w+)`\)$/.exec(name)?.[1],
      roleNames.filter((_, place) => cells[place] === "yes"),
    ]);
    expect(Object.fromEntries(table)).toEqual(acts);
    expect(
      rows
        .filter((row) => row.length === 2)
        .slice(2)
        .map(([name]) => name),
    ).toEqual(secondFactors.map((name) => `\`${name}\``));
  });
});

let test: TestApp;
let context: Context;
let owner: MemberPrincipal;
let counter = 0;
beforeAll(async () => {
  test = await startTestApp();
  ({ context } = test.app);
});
afterAll(() => test.close());
const query = async (text: string, ...values: unknown[]) => (await context.database.query(text, values)).rows;
const newAddress = () => {
  counter += 1;
  return `p${counter}@example.com`;
};

/** With a session of the database, which the label names. */
async function signIn(email: string, organizationId?: string): Promise<MemberPrincipal> {
  const person = await signInPerson(context, email, organizationId);
  counter += 1;
  const token = `${counter}`.padStart(12, "0");
  await query(
    "INSERT INTO sessions (session_token, user_id, expires) VALUES ($1, $2, now() + interval '1 day')",
    `${token}${"0".repeat(52)}`,
    person.userId,
  );
  return { ...person, session: `sess_${token}` };
}

async function join(role: (typeof roleNames)[number]): Promise<MemberPrincipal> {
  const email = newAddress();
  await inviteMember(context, owner, { email, role });
  const mail = (await listMailbox(context.database)).find(({ to }) => to === email);
  const person = await signIn(email, owner.organizationId);
  await acceptInvitation(context, person, /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "");
  return person;
}

describe("a person who may write no longer", () => {
  beforeAll(async () => {
    owner = await signIn(newAddress());
  });
  const readKeys = (email: string) =>
    query("SELECT revoked_at IS NULL AS live FROM api_keys WHERE email = $1", email);

  it.each(["auditor", "approver"] as const)(
    "has no key any more as %s, and gets none by email",
    async (role) => {
      const person = await join("member");
      const { text: key } = await makeApiKey(context, person, {
        name: "k",
        scopes: ["attest", "read"],
        lifetimeDays: null,
      });
      await changeRole(context, owner, { userId: person.userId, role });
      expect(await readKeys(person.email)).toEqual([{ live: false }]);
      expect((await test.call("GET", "/v1/attestations", { key })).status).toBe(401);
      await test.call("POST", "/v1/keys/request", { body: { email: person.email } });
      const [mail] = await listMailbox(context.database);
      const code = /code is (\d{6})/.exec(mail?.text ?? "")?.[1];
      const { status, body } = await test.call("POST", "/v1/keys/verify", {
        body: { email: person.email, code },
      });
      expect([status, body.detail]).toEqual([
        403,
        `only an owner, admin or member of the organization can do this, and your role is ${role}: ask an owner`,
      ]);
      expect((await listOwnAgents(context, person, { cursor: undefined, limit: 1 })).rows).toEqual([]);
    },
  );

  it("is no approver as auditor, and becomes none", async () => {
    const name = `Ana${counter}`;
    await enrolApprover(test, owner, name);
    const email = `${name.toLowerCase()}@example.com`;
    await inviteMember(context, owner, { email, role: "auditor" });
    const mail = (await listMailbox(context.database)).find(
      ({ subject, to }) => to === email && /invit/i.test(subject),
    );
    const ana = await signIn(email, owner.organizationId);
    await acceptInvitation(context, ana, /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "");
    expect((await listApprovers(context, owner)).people).toEqual([]);
    await expect(addApprover(context, owner, { name, email })).rejects.toThrow("is an auditor's");
    await changeRole(context, owner, { userId: ana.userId, role: "member" });
    await addApprover(context, owner, { name, email });
    await changeRole(context, owner, { userId: ana.userId, role: "auditor" });
    expect((await listApprovers(context, owner)).people).toEqual([]);
    const mails = { requests: "all", decisions: false, reminders: false } as const;
    const save = (wanted: Parameters<typeof saveNoticeSettings>[3]) =>
      saveNoticeSettings(context, ana, owner.organizationId, wanted);
    await expect(save(mails)).rejects.toThrow("an auditor decides nothing");
    await expect(save({ ...mails, requests: "none" })).resolves.toBeUndefined();
  });
});

describe("a second factor", () => {
  let passkey: TestPasskey;
  const rename = () => inviteMember(context, owner, { email: newAddress(), role: "member" });
  const asks = "your organization asks for a passkey here";

  /** Adds a passkey like the portal's first step. */
  async function addPasskey(person: MemberPrincipal): Promise<TestPasskey> {
    const { approver, actor } = await requireOwnApprover(
      context,
      person,
      await becomeApprover(context, person),
    );
    const { challenge } = await beginEnrolment(context, approver);
    const made = createPasskey({ origin: context.settings.baseUrl });
    await finishEnrolment(context, approver, { name: "Laptop", response: made.register(challenge) }, actor);
    return made;
  }
  async function confirm(person: MemberPrincipal, by: TestPasskey, said = {}): Promise<void> {
    const { challenge } = await beginConfirmation(context, person);
    const { credential_id: id, ...signed } = by.assert(Buffer.from(challenge, "base64url"), said);
    await finishConfirmation(context, person, {
      id,
      rawId: id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: signed.client_data_json,
        authenticatorData: signed.authenticator_data,
        signature: signed.signature,
      },
    });
  }

  beforeAll(async () => {
    owner = await signIn(newAddress());
    passkey = await addPasskey(owner);
  });

  it("is asked for only by an owner who has just used one, so that nobody locks themselves out", async () => {
    await expect(setSecondFactor(context, owner, ["members"])).rejects.toThrow(asks);
    await confirm(owner, passkey);
    await setSecondFactor(context, owner, ["members"]);
    await rename();
  });

  it("counts in the session and organization where it was used, and for minutes", async () => {
    const elsewhere = await signIn(owner.email, owner.organizationId);
    await expect(inviteMember(context, elsewhere, { email: newAddress(), role: "member" })).rejects.toThrow(
      asks,
    );
    await query(
      "UPDATE sessions SET confirmed_at = now() - interval '11 minutes' WHERE user_id = $1",
      owner.userId,
    );
    await expect(rename()).rejects.toThrow(asks);
    await query(
      "UPDATE sessions SET confirmed_at = now(), confirmed_for = gen_random_uuid() WHERE user_id = $1",
      owner.userId,
    );
    await expect(rename()).rejects.toThrow(asks);
    await confirm(owner, passkey);
    await rename();
  });

  it.each([
    ["another site", { origin: "https://elsewhere.example" }],
    ["no user's verification", { flags: 0x01 }],
    ["a counter that went back", { signCount: 1 }],
    ["a challenge of another time", { challenge: "AAAA" }],
  ])("is refused with %s", async (_, said) => {
    await expect(confirm(owner, passkey, said)).rejects.toMatchObject({ errorName: "passkey_refused" });
  });

  it("is a passkey of the person's own, in that organization", async () => {
    const stranger = createPasskey({ origin: context.settings.baseUrl });
    await expect(confirm(owner, stranger)).rejects.toThrow("not one of yours here");
    const member = await join("member");
    await expect(beginConfirmation(context, member)).rejects.toThrow("ask an owner to add you");
  });

  it("can't be replaced by whoever reads the person's mail", async () => {
    const { approver } = await requireOwnApprover(context, owner, await becomeApprover(context, owner));
    const byMail = { kind: "human", id: approver.email, ip: "192.0.2.9" } as const;
    const asThief = { kind: "user", id: owner.email, ip: null, session: "sess_thief" } as const;
    const [own] = await listPasskeys(context.database.db, approver.id);
    for (const actor of [byMail, asThief]) {
      await expect(removePasskey(context, approver, own?.id ?? "", actor)).rejects.toMatchObject({
        errorName: "forbidden",
      });
      const { challenge } = await beginEnrolment(context, approver);
      const response = createPasskey({ origin: context.settings.baseUrl }).register(challenge);
      await expect(
        finishEnrolment(context, approver, { name: "Theirs", response }, actor),
      ).rejects.toMatchObject({
        errorName: "forbidden",
      });
    }
    expect(await listPasskeys(context.database.db, approver.id)).toHaveLength(1);
  });

  it("comes before a key that could go around it", async () => {
    await setSecondFactor(context, owner, ["erase", "rules", "freeze", "members"]);
    const again = await signIn(owner.email, owner.organizationId);
    const make = (scope: "erase" | "rules" | "freeze" | "scim" | "attest") =>
      makeApiKey(context, again, { name: "k", scopes: [scope], lifetimeDays: null });
    for (const scope of ["erase", "rules", "freeze", "scim"] as const)
      await expect(make(scope)).rejects.toThrow(asks);
    await make("attest");
  });
});
