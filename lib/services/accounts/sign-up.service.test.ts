/**
 * Guarantee: where sign-up is closed nobody begins by themselves, by no way in, and the answers don't tell who may. Members
 * and invited people get in, each as long as they are that.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { UserPrincipal } from "#lib/api/http/context";
import { organizations } from "#lib/db/schema";
import type { Context } from "#lib/services/approvals/context";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { removeMember } from "#lib/services/portal/organization";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { acceptInvitation, inviteMember, withdrawInvitation } from "./invitations";
import { ensureMemberships, listMemberships } from "./members";
import { addOwner, explainNobody, holdOrCreateUser, maySignIn, maySignUp } from "./organizations";

const settings = {
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: "1000",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
};

async function addPerson({ app }: TestApp, email: string): Promise<UserPrincipal> {
  const userId = await app.context.database.db.transaction((tx) => holdOrCreateUser(app.context, tx, email));
  return { kind: "user", userId, email, ip: null, session: "sess_test" };
}

const mailsTo = async ({ app }: TestApp, email: string) =>
  (await listMailbox(app.context.database)).filter(({ to }) => to === email);

/** Asks for a key and uses the code, if one was mailed. */
async function getKey(test: TestApp, email: string) {
  const asked = await test.call("POST", "/v1/keys/request", { body: { email } });
  const [mail] = await mailsTo(test, email);
  const code = /^\d{6}/.exec(mail?.subject ?? "")?.[0];
  const made = await test.call("POST", "/v1/keys/verify", { body: { email, code: code ?? "000000" } });
  return { asked, mail, code, made };
}

describe("sign-up by invitation alone", () => {
  const { test } = setupTestApp(anyKind, { ...settings, SIGN_UP: "invited" });
  let context: Context;
  let owner: UserPrincipal;
  let organizationId: string;

  beforeAll(async () => {
    ({ context } = test.app);
  });

  it("says that nobody can sign in until the operator has made an owner", async () => {
    const { db } = context.database;
    expect(await explainNobody(context, db)).toContain("nobody can sign in");
    organizationId = (await addOwner(context, "ada@corp.example", { name: "Corp" })) ?? "";
    expect(await explainNobody(context, db)).toBeNull();
    owner = await addPerson(test, "ada@corp.example");
    expect(await ensureMemberships(context, owner)).toMatchObject([
      { organizationId, name: "Corp", role: "owner" },
    ]);
    expect(
      await addOwner(context, "x@corp.example", { organizationId: "00000000-0000-7000-8000-000000000000" }),
    ).toBeNull();
    const { rows } = await test.query("SELECT id FROM users WHERE email = $1", ["x@corp.example"]);
    expect(rows).toEqual([]);
  });

  it("gives a stranger neither a key nor an organization, and answers as it answers a member", async () => {
    const stranger = await getKey(test, "eve@elsewhere.example");
    const member = await getKey(test, "ada@corp.example");
    expect(stranger.asked.body).toEqual(member.asked.body);
    expect([stranger.asked.status, stranger.code, stranger.made.status]).toEqual([200, undefined, 401]);
    expect(stranger.mail).toMatchObject({ subject: "Sign-up is closed" });
    expect(stranger.mail?.text).toContain("Ask an owner of yours to invite this address");
    expect(member.made.status).toBe(201);
    const eve = await addPerson(test, "eve@elsewhere.example");
    expect(await maySignIn(context, context.database.db, eve.email)).toBe(false);
    expect(await ensureMemberships(context, eve)).toEqual([]);
    expect(await context.database.db.select({ id: organizations.id }).from(organizations)).toEqual([
      { id: organizationId },
    ]);
  });

  it("voids a code that was mailed to somebody who belongs to no organization any more", async () => {
    await addOwner(context, "bob@corp.example", { organizationId });
    const asked = await test.call("POST", "/v1/keys/request", { body: { email: "bob@corp.example" } });
    expect(asked.status).toBe(200);
    const [mail] = await mailsTo(test, "bob@corp.example");
    const bob = await addPerson(test, "bob@corp.example");
    await removeMember(context, { ...owner, organizationId }, { userId: bob.userId, revokeKeys: true });
    const code = mail?.subject.slice(0, 6);
    const made = await test.call("POST", "/v1/keys/verify", { body: { email: bob.email, code } });
    expect([made.status, made.body.code]).toEqual([401, "invalid_code"]);
    expect(await maySignIn(context, context.database.db, bob.email)).toBe(false);
  });

  it("lets an invited person sign in and join, and no longer once the invitation is withdrawn", async () => {
    const { db } = context.database;
    const asOwner = { ...owner, organizationId };
    for (const email of ["carol@corp.example", "dan@corp.example"])
      await inviteMember(context, asOwner, { email, role: "member" });
    expect(await maySignIn(context, db, "carol@corp.example")).toBe(true);
    expect(await maySignIn(context, db, "dan@corp.example")).toBe(true);
    // Before they have joined there is no organization that a key could be of.
    expect((await getKey(test, "dan@corp.example")).made.status).toBe(401);
    const { rows } = await context.database.query(
      "SELECT id FROM invitations WHERE email = 'dan@corp.example'",
      [],
    );
    await withdrawInvitation(context, asOwner, String(rows[0]?.["id"]));
    expect(await maySignIn(context, db, "dan@corp.example")).toBe(false);

    const carol = await addPerson(test, "carol@corp.example");
    expect(await ensureMemberships(context, carol)).toEqual([]);
    const [mail] = await mailsTo(test, carol.email);
    const token = /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
    expect(await acceptInvitation(context, carol, token)).toBe(organizationId);
    expect(await listMemberships(db, carol.userId)).toMatchObject([{ organizationId, role: "member" }]);
    expect((await getKey(test, carol.email)).made.status).toBe(201);
  });
});

describe("sign-up by domain", () => {
  it("is for addresses at a listed domain, not below it, beside it or with it in front", async () => {
    const test = await startTestApp(anyKind, {
      ...settings,
      SIGN_UP: "domains",
      SIGN_UP_DOMAINS: "Corp.example, müller.example",
    });
    const { context } = test.app;
    const may = (email: string) => maySignUp(context, email);
    for (const email of ["a@corp.example", "a@CORP.example", "a@xn--mller-kva.example"])
      expect([email, may(email)]).toEqual([email, true]);
    for (const email of [
      "a@dev.corp.example",
      "a@notcorp.example",
      "a@corp.example.evil.example",
      "corp.example@evil.example",
      "a@corp.example@evil.example",
    ])
      expect([email, may(email)]).toEqual([email, false]);
    expect((await getKey(test, "ada@corp.example")).made.status).toBe(201);
    expect((await getKey(test, "ada@dev.corp.example")).made.status).toBe(401);
    const ada = await addPerson(test, "bea@corp.example");
    expect(await ensureMemberships(context, ada)).toMatchObject([{ role: "owner" }]);
    await test.close();
  });
});
