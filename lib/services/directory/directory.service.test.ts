/**
 * Guarantee: the company's directory says by SCIM who its people are, as Entra ID and Okta speak it, and it counts at once: who is
 * deactivated has no session, key, membership or say in what waits. Whoever steals its key reaches nobody elsewhere, becomes no
 * owner, and does nothing else with it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { createKeyForm } from "#lib/api/schemas/portal";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { nameDeputy, saveGroup } from "#lib/services/accounts/approver-groups";
import { addApprover, listApprovers } from "#lib/services/accounts/approvers";
import { inviteMember } from "#lib/services/accounts/invitations";
import { addOwner } from "#lib/services/accounts/organizations";
import { beginEnrolment, finishEnrolment, requireOwnApprover } from "#lib/services/accounts/passkeys";
import {
  applyProviderGroups,
  removeProviderGroup,
  saveProviderGroup,
} from "#lib/services/accounts/provider-groups";
import { joinByDomain } from "#lib/services/accounts/provider-sign-in";
import { readRoster, runRosterRound } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { acceptApproval, findDecidable } from "#lib/services/approvals/decision/decide";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { proveApprover } from "#lib/services/approvals/decision/passkey-approval";
import { makeApiKey } from "#lib/services/keys/api-keys";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { changeRole } from "#lib/services/portal/organization";
import { startTestApp, type TestAnswer, type TestApp } from "#support/app";
import { createPasskey, type TestPasskey } from "#support/authenticator";
import { ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { admitWaiting } from "./directory";

const patchOp = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

let test: TestApp;
let context: Context;
let owner: MemberPrincipal;
let organizationId: string;
let domain: string;
let key: string;
let counter = 0;

beforeAll(async () => {
  test = await startTestApp(anyKind, { SIGN_UP: "invited" });
  ({ context } = test.app);
});
afterAll(() => test.close());

const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
const claimDomain = (name: string) =>
  query(
    `INSERT INTO organization_domains (id, organization_id, domain, token, created_at)
      VALUES (gen_random_uuid(), $1, $2, 'token', now()) ON CONFLICT DO NOTHING`,
    organizationId,
    name,
  );
async function verifyDomain(name: string) {
  await claimDomain(name);
  await query(
    "UPDATE organization_domains SET verified_since = now() WHERE organization_id = $1 AND domain = $2",
    organizationId,
    name,
  );
}

beforeEach(async () => {
  counter += 1;
  domain = `corp${counter}.example`;
  organizationId = (await addOwner(context, `owner@${domain}`, { name: "Corp" })) ?? "";
  owner = await signInPerson(context, `owner@${domain}`, organizationId);
  await verifyDomain(domain);
  ({ text: key } = await makeApiKey(context, owner, {
    name: "directory",
    scopes: ["scim"],
    lifetimeDays: null,
  }));
});

const scim = (method: string, path: string, body?: unknown, by = key): Promise<TestAnswer> =>
  test.call(method, `/scim/v2${path}`, {
    key: by,
    ...(body !== undefined && { body }),
    headers: { "content-type": "application/scim+json" },
  });
const address = (name: string) => `${name}@${domain}`;
async function provision(name: string, more: object = {}): Promise<string> {
  const { status, body } = await scim("POST", "/Users", { userName: address(name), active: true, ...more });
  expect([status, body]).toEqual([201, expect.objectContaining({ userName: address(name) })]);
  return body.id;
}
const patch = (path: string, ...Operations: object[]) =>
  scim("PATCH", path, { schemas: [patchOp], Operations });
const deactivate = (id: string) => patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" });
async function pushGroup(displayName: string, ...ids: string[]): Promise<string> {
  const { status, body } = await scim("POST", "/Groups", {
    displayName,
    members: ids.map((value) => ({ value })),
  });
  expect(status).toBe(201);
  return body.id;
}
const rolesOf = async (email: string) =>
  (
    await query(
      "SELECT role FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.email = $1 AND m.organization_id = $2",
      email,
      organizationId,
    )
  ).map(({ role }) => role);
const eventsOf = async (subject: string) =>
  query(
    "SELECT action, actor_kind, detail FROM audit_events WHERE subject = $1 AND organization_id = $2 ORDER BY id",
    subject,
    organizationId,
  );
const placesOf = async (name: string) =>
  (await listApprovers(context, owner)).groups
    .filter(({ members }) => members.some((one) => one.name === name))
    .map((group) => group.name);
async function mapGroup(name: string, role: "admin" | "owner" | "auditor" | null, approvers: string | null) {
  const { groups } = await listApprovers(context, owner);
  const groupId = groups.find((one) => one.name === approvers)?.id ?? null;
  await saveProviderGroup(context, owner, { name, role, groupId });
}
async function startSession(email: string) {
  const person = await signInPerson(context, email, organizationId);
  await query(
    "INSERT INTO sessions (session_token, user_id, expires) VALUES (gen_random_uuid()::text, $1, now() + interval '1 day')",
    person.userId,
  );
  return person;
}
const countSessions = async (email: string) =>
  (await query("SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1", email)).length;

describe("a directory's walk", () => {
  it("of Entra ID: looks for a person, creates, changes and disables them", async () => {
    const upn = address("ada");
    const filter = (text: string) => scim("GET", `/Users?filter=${encodeURIComponent(text)}`);
    const nobody = await filter(`userName eq "${upn}"`);
    expect([nobody.status, nobody.headers.get("content-type"), nobody.body]).toEqual([
      200,
      "application/scim+json",
      {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        totalResults: 0,
        itemsPerPage: 0,
        startIndex: 1,
        Resources: [],
      },
    ]);
    const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
    const created = await scim("POST", "/Users", {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User", enterprise],
      externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      userName: upn,
      active: true,
      displayName: "Ada Smith",
      emails: [{ primary: true, type: "work", value: upn.toUpperCase() }],
      meta: { resourceType: "User" },
      name: { formatted: "Ada Smith", familyName: "Smith", givenName: "Ada" },
      roles: [],
      [enterprise]: { department: "x", manager: { value: "y" } },
    });
    expect([created.status, created.headers.get("location")]).toEqual([201, created.body.meta.location]);
    expect(created.body).toMatchObject({ active: true, groups: [], meta: { resourceType: "User" } });
    expect(created.body[enterprise]).toBeUndefined();
    expect(await rolesOf(upn)).toEqual(["member"]);
    expect((await filter('externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"')).body.totalResults).toBe(1);
    const { id } = created.body;
    const changed = await patch(
      `/Users/${id}`,
      { op: "Add", path: "displayName", value: "Ada Jones" },
      { op: "Replace", path: "name.familyName", value: "Jones" },
      { op: "Add", path: `${enterprise}:department`, value: "y" },
    );
    expect(changed.body).toMatchObject({
      displayName: "Ada Jones",
      name: { familyName: "Jones", givenName: "Ada" },
    });
    expect((await deactivate(id)).body).toMatchObject({ active: false });
    expect(await rolesOf(upn)).toEqual([]);
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(204);
    expect((await scim("GET", `/Users/${id}`)).status).toBe(404);
    expect((await eventsOf(upn)).map(({ action }) => action).sort()).toEqual([
      ...["directory_user.changed", "directory_user.created", "directory_user.deactivated"],
      ...["directory_user.removed", "member.joined", "member.removed"],
    ]);
  });

  it("of Okta: pages, replaces whole people, pushes groups and renames them", async () => {
    const ids = [];
    for (const name of ["a", "b", "c"]) ids.push(await provision(name, { externalId: name }));
    const page = await scim("GET", "/Users?startIndex=2&count=1&attributes=userName");
    expect(page.body).toMatchObject({ totalResults: 3, itemsPerPage: 1, startIndex: 2 });
    expect(page.body.Resources).toEqual([{ schemas: expect.any(Array), id: ids[1], userName: address("b") }]);
    const put = await scim("PUT", `/Users/${ids[0]}`, {
      id: ids[0],
      userName: address("a"),
      name: { givenName: "A" },
      active: false,
    });
    expect([put.status, put.body.active, put.body.externalId]).toEqual([200, false, undefined]);
    // A PUT without it activates nobody.
    expect((await scim("PUT", `/Users/${ids[0]}`, { userName: address("a") })).body.active).toBe(false);
    expect(await rolesOf(address("a"))).toEqual([]);
    expect((await patch(`/Users/${ids[0]}`, { op: "replace", value: { active: true } })).body.active).toBe(
      true,
    );
    expect(await rolesOf(address("a"))).toEqual(["member"]);
    const groupId = await pushGroup("Everyone", ids[0] ?? "", ids[1] ?? "");
    await patch(
      `/Groups/${groupId}`,
      { op: "replace", value: { id: groupId, displayName: "All" } },
      { op: "remove", path: `members[value eq "${ids[0]}"]` },
      { op: "add", path: "members", value: [{ value: ids[2], display: "c" }] },
    );
    const shown = await scim("GET", `/Groups?filter=${encodeURIComponent('displayName eq "all"')}`);
    expect(shown.body.Resources[0].members.map(({ value }: { value: string }) => value)).toEqual([
      ids[1],
      ids[2],
    ]);
    expect(
      (await scim("GET", "/Groups?excludedAttributes=members")).body.Resources[0].members,
    ).toBeUndefined();
    expect((await scim("GET", `/Users/${ids[1]}`)).body.groups).toEqual([
      { value: groupId, $ref: expect.stringContaining(`/scim/v2/Groups/${groupId}`), display: "All" },
    ]);
  });

  it.each<[string, string, unknown, number, string | undefined]>([
    ["GET", "/Users/x", undefined, 404, undefined],
    ["GET", "/nothing", undefined, 404, undefined],
    ["DELETE", "/Users", undefined, 405, undefined],
    ["GET", "/Users?filter=userName+eq", undefined, 400, "invalidFilter"],
    ["GET", "/Users?startIndex=x", undefined, 400, "invalidSyntax"],
    ["POST", "/Users", "[", 400, "invalidSyntax"],
    ["POST", "/Users", { userName: "" }, 400, "invalidValue"],
    ["POST", "/Users", { userName: "x", active: "maybe" }, 400, "invalidValue"],
    ["POST", "/Users", { userName: "OWNER" }, 409, "uniqueness"],
    ["POST", "/Users", { userName: "x", emails: [{ value: "owner@here.example" }] }, 409, "uniqueness"],
    ["POST", "/Groups", { displayName: "THERE" }, 409, "uniqueness"],
    [
      "POST",
      "/Groups",
      { displayName: "x", members: [{ value: "019a0000-0000-7000-8000-000000000000" }] },
      400,
      "invalidValue",
    ],
    ["PATCH", "/Users/{id}", { schemas: [], Operations: [] }, 400, "invalidValue"],
    [
      "PATCH",
      "/Users/{id}",
      { schemas: [patchOp], Operations: [{ op: "replace", path: "id", value: "x" }] },
      400,
      "mutability",
    ],
  ])("%s %s of %j is refused in SCIM's form: %i %s", async (method, path, body, status, scimType) => {
    const { body: made } = await scim("POST", "/Users", {
      userName: "owner",
      emails: [{ value: "owner@here.example" }],
    });
    await pushGroup("There");
    const answer = await test.call(method, `/scim/v2${path.replace("{id}", made.id)}`, {
      key,
      ...(typeof body === "string" ? { rawBody: body } : body !== undefined && { body }),
    });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/scim+json"]);
    expect(answer.body).toEqual({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: String(status),
      ...(scimType !== undefined && { scimType }),
      detail: expect.any(String),
    });
  });
});

describe("who is deactivated", () => {
  let passkeys: Record<string, TestPasskey>;
  let ids: Record<string, string>;
  const actor = { kind: "user", id: "test", ip: null } as const;

  async function enrol(name: string): Promise<TestPasskey> {
    const found = (await listApprovers(context, owner)).people.find((one) => one.name === name);
    const { approver } = await requireOwnApprover(
      context,
      await signInPerson(context, address(name), organizationId),
      found?.id ?? "",
    );
    const passkey = createPasskey({ origin: context.settings.baseUrl });
    const { challenge } = await beginEnrolment(context, approver);
    await finishEnrolment(context, approver, { name: "Phone", response: passkey.register(challenge) }, actor);
    return passkey;
  }

  /** Ada, Bob and Cleo are of finance by the directory's group, and two of them decide. */
  beforeEach(async () => {
    await saveGroup(context, owner, { id: null, name: "finance", memberIds: [] });
    await mapGroup("Finance", null, "finance");
    ids = {};
    passkeys = {};
    for (const name of ["ada", "bob", "cleo"]) ids[name] = await provision(name);
    await pushGroup("Finance", ...Object.values(ids));
    for (const name of Object.keys(ids)) passkeys[name] = await enrol(name);
  });

  async function askTwo() {
    const { text: agentKey } = await makeApiKey(context, owner, {
      name: "agent",
      scopes: ["authorize", "attest", "read"],
      lifetimeDays: null,
    });
    const asked = await ask(test, agentKey, {
      agent_slug: `bot-${domain.replace(".", "-")}`,
      required_approvers: [{ group: "finance", count: 2 }],
      required_level: "none",
    });
    const view = await readApprovalView(context, asked.token);
    const sign = (name: string) => {
      const { public_key: _, ...assertion } = passkeys[name]?.assert(
        approvalChallenge(view?.binding.request_hash ?? "", "approve"),
      ) ?? { public_key: "" };
      return assertion;
    };
    return {
      sign: sign as (name: string) => Parameters<typeof proveApprover>[2],
      id: asked.made.request_id as string,
      approveAs: (name: string) =>
        test.call("POST", `/approve/${asked.token}/passkey`, {
          headers: { origin: context.settings.baseUrl },
          body: { passkey: sign(name) },
        }),
      status: async () =>
        (await query("SELECT status FROM authorization_requests WHERE id = $1", asked.made.request_id))[0]?.[
          "status"
        ],
      given: async () => (await readApprovalView(context, asked.token))?.groups?.[0]?.given,
    };
  }

  it("loses sessions, keys, membership, invitations and the place in the roster at once", async () => {
    const ada = await startSession(address("ada"));
    const { text: own } = await makeApiKey(context, ada, { name: "k", scopes: ["read"], lifetimeDays: null });
    const before = await readRoster(context.database.db, organizationId, undefined);
    expect((await deactivate(ids["ada"] ?? "")).body.active).toBe(false);
    expect(await countSessions(address("ada"))).toBe(0);
    expect((await test.call("GET", "/v1/attestations", { key: own })).status).toBe(401);
    expect(await rolesOf(address("ada"))).toEqual([]);
    const { roster } = await readRoster(context.database.db, organizationId, undefined);
    expect(roster?.head.number).toBe((before.roster?.head.number ?? 0) + 1);
    expect(roster?.changes).toEqual([expect.objectContaining({ kind: "passkey_removed", person: "ada" })]);
    expect((await listApprovers(context, owner)).people.map(({ name }) => name)).not.toContain("ada");
    const events = await eventsOf(address("ada"));
    expect(events.at(-1)).toMatchObject({
      action: "directory_user.deactivated",
      actor_kind: "key",
      detail: { sessions: 1 },
    });
    expect(events.find(({ action }) => action === "member.removed")).toMatchObject({
      detail: { by_directory: true, revoked_keys: [expect.any(String)] },
    });
  });

  it("loses keys that were left and the place as approver also as no member", async () => {
    const bob = await signInPerson(context, address("bob"), organizationId);
    const { text: left } = await makeApiKey(context, bob, {
      name: "k",
      scopes: ["read"],
      lifetimeDays: null,
    });
    await query("DELETE FROM memberships WHERE user_id = $1", bob.userId);
    const read = async () => (await test.call("GET", "/v1/attestations", { key: left })).status;
    expect(await read()).not.toBe(401);
    await deactivate(ids["bob"] ?? "");
    expect(await read()).toBe(401);
    expect((await listApprovers(context, owner)).people.map(({ name }) => name)).not.toContain("bob");
    const { roster } = await readRoster(context.database.db, organizationId, undefined);
    expect(roster?.changes).toEqual([expect.objectContaining({ kind: "passkey_removed", person: "bob" })]);
  });

  it("comes back by nobody but the directory, and then to the same places", async () => {
    await inviteMember(context, owner, { email: address("dave"), role: "admin" });
    const dave = await provision("dave", { active: false });
    expect(await query("SELECT 1 FROM invitations WHERE email = $1", address("dave"))).toEqual([]);
    await deactivate(ids["ada"] ?? "");
    for (const name of ["ada", "dave"]) {
      const refused = { errors: [{ pointer: "/email", message: expect.stringContaining("deactivated") }] };
      const email = address(name);
      await expect(inviteMember(context, owner, { email, role: "member" })).rejects.toMatchObject(refused);
      await expect(addApprover(context, owner, { name, email })).rejects.toMatchObject(refused);
      const { userId } = await signInPerson(context, email, organizationId);
      await joinByDomain(context, { userId, email, ip: null });
      expect(await rolesOf(email)).toEqual([]);
    }
    await patch(`/Users/${ids["ada"]}`, { op: "replace", path: "active", value: true });
    expect([await rolesOf(address("ada")), await placesOf("ada")]).toEqual([["member"], ["finance"]]);
    await scim("DELETE", `/Users/${dave}`);
    await inviteMember(context, owner, { email: address("dave"), role: "member" });
  });

  it("is in the roster with who mapped the group that made them an approver", async () => {
    const mapped = [{ group: "finance", provider_group: "Finance", mapped_by: owner.email }];
    const { roster } = await readRoster(context.database.db, organizationId, undefined);
    expect(roster?.changes).toEqual([
      { kind: "passkey_added", person: "cleo", passkey: "Phone", groups: ["finance"], mapped },
    ]);
    await saveGroup(context, owner, { id: null, name: "legal", memberIds: [] });
    await mapGroup("Legal", null, "legal");
    await pushGroup("Legal", ids["ada"] ?? "");
    const next = await readRoster(context.database.db, organizationId, undefined);
    expect(next.roster?.changes).toEqual([
      {
        ...{ kind: "joined", person: "ada", group: "legal" },
        mapped: [{ group: "legal", provider_group: "Legal", mapped_by: owner.email }],
      },
    ]);
    const words = "ada joined legal (legal by the group Legal, mapped by";
    await runRosterRound(context);
    const mails = (await listMailbox(context.database)).filter(({ to }) => to === owner.email);
    expect(mails.map(({ text }) => text)).toContainEqual(expect.stringContaining(words));
  });

  it("counts no more in what waits, though they had approved it, and decides nothing", async () => {
    const waiting = await askTwo();
    expect((await waiting.approveAs("ada")).status).toBe(200);
    expect(await waiting.given()).toBe(1);
    await deactivate(ids["ada"] ?? "");
    expect(await waiting.given()).toBe(0);
    const again = await waiting.approveAs("ada");
    expect([again.status, again.body.code]).toEqual([422, "approver_not_enrolled"]);
    await waiting.approveAs("bob");
    expect(await waiting.status()).toBe("pending");
    await waiting.approveAs("cleo");
    expect(await waiting.status()).toBe("approved");
    const [removed] = (await eventsOf(address("ada"))).filter(({ action }) => action === "member.removed");
    expect(removed).toMatchObject({ detail: { withdrawn_approvals: [waiting.id] } });
  });

  it("doesn't count if the passkey had been checked a moment before", async () => {
    const waiting = await askTwo();
    await waiting.approveAs("bob");
    const { row } = await findDecidable(context, waiting.id, { code: null, ip: "192.0.2.1" });
    const approver = await proveApprover(context, row, waiting.sign("ada"), "approve");
    await deactivate(ids["ada"] ?? "");
    await expect(acceptApproval(context, waiting.id, { proof: null, approver }, null)).rejects.toMatchObject({
      errorName: "approver_not_enrolled",
    });
    expect(await waiting.given()).toBe(1);
  });

  it("counts no more by a deputy either", async () => {
    await saveGroup(context, owner, { id: null, name: "legal", memberIds: [] });
    await mapGroup("Legal", null, "legal");
    await pushGroup("Legal", await provision("dave"));
    passkeys["dave"] = await enrol("dave");
    const { people } = await listApprovers(context, owner);
    const idOf = (name: string) => people.find((one) => one.name === name)?.id ?? "";
    const approver = { id: idOf("ada"), organizationId, email: address("ada"), name: "ada" };
    const until = new Date(context.clock().getTime() + 86_400_000);
    await nameDeputy(context, { approver, actor }, { deputyId: idOf("dave"), from: null, until });
    const waiting = await askTwo();
    await waiting.approveAs("dave");
    expect(await waiting.given()).toBe(1);
    await deactivate(ids["ada"] ?? "");
    expect(await waiting.given()).toBe(0);
    expect((await waiting.approveAs("dave")).body.code).toBe("approver_not_enrolled");
  });

  it("counts no more, whichever of an approval and the directory's word is stored first", async () => {
    for (let i = 0; i < 5; i += 1) {
      const waiting = await askTwo();
      await Promise.all([waiting.approveAs("ada"), deactivate(ids["ada"] ?? "")]);
      expect(await waiting.given()).toBe(0);
      await patch(`/Users/${ids["ada"]}`, { op: "replace", path: "active", value: true });
      passkeys["ada"] = await enrol("ada");
    }
  });

  it("isn't let in again by a change that was sent at the same moment", async () => {
    const { db } = context.database;
    const transaction = db.transaction.bind(db);
    const spy = vi.spyOn(db, "transaction").mockImplementationOnce(async (work) => {
      expect((await deactivate(ids["ada"] ?? "")).status).toBe(200);
      return transaction(work);
    });
    const late = await patch(`/Users/${ids["ada"]}`, { op: "replace", path: "displayName", value: "A" });
    spy.mockRestore();
    expect([late.status, late.body.detail]).toEqual([503, expect.stringContaining("try again")]);
    expect(await rolesOf(address("ada"))).toEqual([]);
  });

  it("keeps sessions only as somebody else's guest: their address isn't the organization's, and another has them", async () => {
    const guest = `guest@friend${counter}.example`;
    await addOwner(context, guest, { organizationId });
    const { id } = (await scim("POST", "/Users", { userName: guest })).body;
    await startSession(guest);
    expect((await deactivate(id)).status).toBe(200);
    expect([await rolesOf(guest), await countSessions(guest)]).toEqual([[], 0]);
    await addOwner(context, guest, { organizationId });
    await addOwner(context, guest, { name: "Their own" });
    await addOwner(context, address("ada"), { name: "Ada's own" });
    for (const email of [guest, address("ada")]) await startSession(email);
    for (const one of [id, ids["ada"]]) {
      await patch(`/Users/${one}`, { op: "replace", path: "active", value: true });
      expect((await deactivate(one ?? "")).status).toBe(200);
    }
    expect([await rolesOf(guest), await countSessions(guest)]).toEqual([[], 1]);
    expect(await countSessions(address("ada"))).toBe(0);
  });

  it("doesn't take back what was decided before", async () => {
    const waiting = await askTwo();
    for (const name of ["ada", "bob"]) await waiting.approveAs(name);
    await deactivate(ids["ada"] ?? "");
    expect(await waiting.status()).toBe("approved");
    expect(await query("SELECT 1 FROM approvals WHERE request_id = $1", waiting.id)).toHaveLength(2);
  });

  it("is whoever had the address until it changed", async () => {
    await startSession(address("ada"));
    await patch(`/Users/${ids["ada"]}`, { op: "replace", path: "userName", value: address("ada.jones") });
    expect([await rolesOf(address("ada")), await countSessions(address("ada"))]).toEqual([[], 0]);
    expect(await rolesOf(address("ada.jones"))).toEqual(["member"]);
    expect(await placesOf("ada.jones")).toEqual(["finance"]);
  });
});

describe("groups of the directory", () => {
  it("give what an owner maps, as soon as either says so, and take it back", async () => {
    await saveGroup(context, owner, { id: null, name: "finance", memberIds: [] });
    const ada = await provision("ada");
    const group = await pushGroup("Money", ada);
    expect([await rolesOf(address("ada")), await placesOf("ada")]).toEqual([["member"], []]);
    await mapGroup("Money", "admin", "finance");
    expect([await rolesOf(address("ada")), await placesOf("ada")]).toEqual([["admin"], ["finance"]]);
    const events = await eventsOf(address("ada"));
    expect(events.slice(-2)).toMatchObject([
      { action: "member.role_changed", detail: { by_provider_group: "Money", mapped_by: owner.email } },
      { action: "approver_group.by_provider", detail: { added: [{ approver_group: "finance" }] } },
    ]);
    await patch(`/Groups/${group}`, { op: "Remove", path: "members", value: [{ value: ada }] });
    expect([await rolesOf(address("ada")), await placesOf("ada")]).toEqual([["member"], []]);
    await patch(`/Groups/${group}`, { op: "Add", path: "members", value: [{ value: ada }] });
    expect(await rolesOf(address("ada"))).toEqual(["admin"]);
    // Renamed groups aren't mapped, unless by their id in the directory.
    await patch(`/Groups/${group}`, { op: "replace", value: { displayName: "Renamed" } });
    expect(await rolesOf(address("ada"))).toEqual(["member"]);
    await mapGroup("8f2c", "auditor", null);
    await patch(`/Groups/${group}`, { op: "add", path: "externalId", value: "8f2c" });
    expect(await rolesOf(address("ada"))).toEqual(["auditor"]);
    await removeProviderGroup(context, owner, "8f2c");
    expect(await rolesOf(address("ada"))).toEqual(["member"]);
    await patch(`/Groups/${group}`, { op: "replace", value: { displayName: "Money" } });
    await scim("DELETE", `/Groups/${group}`);
    expect([await rolesOf(address("ada")), await placesOf("ada")]).toEqual([["member"], []]);
  });

  it("are the only ones that count once there is one: claims of a sign-in don't", async () => {
    const ada = await provision("ada");
    await mapGroup("Money", "admin", null);
    const { userId } = await signInPerson(context, address("ada"), organizationId);
    const signIn = () =>
      applyProviderGroups(context, { organizationId, userId, email: address("ada"), ip: null }, ["Money"]);
    await pushGroup("Others", ada);
    await signIn();
    expect(await rolesOf(address("ada"))).toEqual(["member"]);
    await query("DELETE FROM directory_groups WHERE organization_id = $1", organizationId);
    await signIn();
    expect(await rolesOf(address("ada"))).toEqual(["admin"]);
  });

  it("have no name that is another's id, by which it may be mapped", async () => {
    await mapGroup("4f1c-payments", "admin", null);
    const [ada, eve] = [await provision("ada"), await provision("eve")];
    const push = (displayName: string, externalId: string, of: string) =>
      scim("POST", "/Groups", { displayName, externalId, members: [{ value: of }] });
    expect((await push("Payments", "4f1c-payments", ada)).status).toBe(201);
    expect((await push("4F1C-payments", "77aa", eve)).body).toMatchObject({ scimType: "uniqueness" });
    expect((await push("Others", "PAYMENTS", eve)).body).toMatchObject({ scimType: "uniqueness" });
    const { body } = await push("Others", "77aa", eve);
    const renamed = { op: "replace", path: "displayName", value: "4f1c-payments" };
    expect((await patch(`/Groups/${body.id}`, renamed)).status).toBe(409);
    expect([await rolesOf(address("ada")), await rolesOf(address("eve"))]).toEqual([["admin"], ["member"]]);
  });

  it("leave what an owner gave by hand", async () => {
    const ada = await provision("ada");
    const { userId } = await signInPerson(context, address("ada"), organizationId);
    await changeRole(context, owner, { userId, role: "approver" });
    await mapGroup("Money", "admin", null);
    await pushGroup("Money", ada);
    expect(await rolesOf(address("ada"))).toEqual(["approver"]);
  });
});

describe("a stolen key of the directory", () => {
  it("is made by an owner alone, by itself", async () => {
    const ada = await provision("ada");
    await mapGroup("Admins", "admin", null);
    await pushGroup("Admins", ada);
    const admin = await signInPerson(context, address("ada"), organizationId);
    await expect(
      makeApiKey(context, admin, { name: "k", scopes: ["scim"], lifetimeDays: null }),
    ).rejects.toMatchObject({ errorName: "forbidden" });
    expect(createKeyForm.safeParse({ name: "k", scopes: ["scim", "read"] }).success).toBe(false);
    expect(createKeyForm.safeParse({ name: "k", scopes: ["scim"] }).success).toBe(true);
  });

  it("reaches no address at a domain that the organization hasn't verified, nor its sessions", async () => {
    const elsewhere = (await addOwner(context, `ceo@else${counter}.example`, { name: "Else" })) ?? "";
    const victim = await signInPerson(context, `ceo@else${counter}.example`, elsewhere);
    await query(
      "INSERT INTO sessions (session_token, user_id, expires) VALUES (gen_random_uuid()::text, $1, now() + interval '1 day')",
      victim.userId,
    );
    // Anybody may begin to claim it.
    await claimDomain(`else${counter}.example`);
    const { body } = await scim("POST", "/Users", { userName: victim.email });
    expect(await rolesOf(victim.email)).toEqual([]);
    expect((await eventsOf(victim.email)).at(-1)).toMatchObject({ detail: { access: "unverified_domain" } });
    await deactivate(body.id);
    await scim("DELETE", `/Users/${body.id}`);
    expect(await countSessions(victim.email)).toBe(1);
    const { text: theirs } = await makeApiKey(context, victim, {
      name: "k",
      scopes: ["scim"],
      lifetimeDays: null,
    });
    const ada = await provision("ada");
    for (const [method, more] of [["GET"], ["DELETE"], ["PUT", { userName: "x" }]] as const)
      expect((await scim(method, `/Users/${ada}`, more, theirs)).status).toBe(404);
    expect((await scim("GET", "/Users", undefined, theirs)).body.totalResults).toBe(0);
    const team = await pushGroup("Team", ada);
    const members = [{ value: ada }];
    for (const [method, more] of [["GET"], ["DELETE"], ["PUT", { displayName: "x", members: [] }]] as const)
      expect((await scim(method, `/Groups/${team}`, more, theirs)).status).toBe(404);
    const borrowed = await scim("POST", "/Groups", { displayName: "Ours", members }, theirs);
    expect([borrowed.status, borrowed.body.scimType]).toEqual([400, "invalidValue"]);
    // Once the domain is the organization's own, they are let in.
    await scim("POST", "/Users", { userName: `x@late${counter}.example` });
    await verifyDomain(`late${counter}.example`);
    await admitWaiting(context, { organizationId, actor: { kind: "user", id: owner.email, ip: null } });
    expect(await rolesOf(`x@late${counter}.example`)).toEqual(["member"]);
  });

  it("makes nobody an owner, unmakes none, and leaves the organization the last", async () => {
    const mallory = await provision("mallory");
    await mapGroup("Owners", "owner", null);
    await pushGroup("Owners", mallory);
    expect(await rolesOf(address("mallory"))).toEqual(["member"]);
    await expect(mapGroup("Chiefs", "owner", null)).rejects.toMatchObject({
      errors: [{ pointer: "/role", message: expect.stringContaining("makes nobody an owner") }],
    });
    // An owner by the provider's groups, as it said when they signed in.
    await addOwner(context, address("second"), { organizationId });
    const second = await provision("second");
    await query("UPDATE memberships SET role_by = 'Chiefs' WHERE organization_id = $1", organizationId);
    await mapGroup("Staff", "auditor", null);
    await pushGroup("Staff", second);
    expect(await rolesOf(address("second"))).toEqual(["owner"]);
    await deactivate(second);
    const last = await provision("owner");
    expect(await rolesOf(owner.email)).toEqual(["owner"]);
    const refused = await deactivate(last);
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining("needs an owner")]);
    expect((await scim("GET", `/Users/${last}`)).body.active).toBe(true);
    expect((await scim("DELETE", `/Users/${last}`)).status).toBe(400);
  });

  it("changes nothing once it is revoked, also while its request runs, or once its maker is no owner", async () => {
    const ada = await provision("ada");
    await mapGroup("Admins", "admin", null);
    const admins = await pushGroup("Admins");
    const { limiter } = context;
    const consume = limiter.consume.bind(limiter);
    const setRevoked = (at: "now()" | "NULL") =>
      query(`UPDATE api_keys SET revoked_at = ${at} WHERE organization_id = $1`, organizationId);
    const member = { op: "add", path: "members", value: [{ value: ada }] };
    for (const write of [() => deactivate(ada), () => patch(`/Groups/${admins}`, member)]) {
      await setRevoked("NULL");
      const spy = vi.spyOn(limiter, "consume").mockImplementationOnce(async (...given) => {
        await setRevoked("now()");
        return consume(...given);
      });
      expect((await write()).status).toBe(401);
      spy.mockRestore();
    }
    expect(await rolesOf(address("ada"))).toEqual(["member"]);
    ({ text: key } = await makeApiKey(context, owner, { name: "d", scopes: ["scim"], lifetimeDays: null }));
    await addOwner(context, address("second"), { organizationId });
    const second = await signInPerson(context, address("second"), organizationId);
    await changeRole(context, second, { userId: owner.userId, role: "admin" });
    expect((await deactivate(ada)).status).toBe(403);
  });
});
