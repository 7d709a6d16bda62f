/**
 * Guarantee: a request that requires approvers is decided by these people alone, each once and for one group, by their
 * passkey's signature over this request and decision; whoever else has the link can neither approve nor block.
 */
import { SettingsService } from "@simplewebauthn/server";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { organizations } from "#lib/db/schema";
import { checkOpening } from "#lib/protocol/approval/opening";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import { approvalChallenge, buildList, type PasskeyDecision } from "#lib/protocol/passkey/assertion";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers, removeApprover } from "#lib/services/accounts/approvers";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import {
  type Approver,
  beginEnrolment,
  finishEnrolment,
  listPasskeys,
  removePasskey,
} from "#lib/services/accounts/passkeys";
import { listOwnAuthorizations, readOwnAuthorization } from "#lib/services/approvals/portal-authorizations";
import { addOpening } from "#lib/services/approvals/read";
import { readRequester } from "#lib/services/approvals/request/required-groups";
import { verifyInBrowser } from "#lib/verifier/browser";
import { createPasskey, type Said, type TestPasskey } from "#support/authenticator";
import { type AskedRequest, ask, makeResult } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolApprover } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { listInbox, readApprovalView, readDecidable } from "./inbox";
import { lockOpen } from "./store";

const actor = { kind: "user", id: "test", ip: null } as const;
const fromPage = { origin: "http://localhost:3000" };

describe("a request for enrolled approvers", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });
  let owner: MemberPrincipal;
  let key: string;
  let keyId: string;
  const people = new Map<string, { approver: Approver; passkey: TestPasskey }>();

  async function enrol(name: string, algorithm?: "ML-DSA-44") {
    people.set(name, await enrolApprover(test, owner, name, algorithm));
  }
  const idOf = (name: string) => people.get(name)?.approver.id ?? "";
  const setGroup = async (name: string, ...members: string[]) => {
    const { groups } = await listApprovers(test.app.context, owner);
    const id = groups.find((one) => one.name === name)?.id ?? null;
    await saveGroup(test.app.context, owner, { id, name, memberIds: members.map(idOf) });
  };

  beforeAll(async () => {
    owner = await signInPerson(test.app.context, "owner@example.com");
    ({ key, keyId } = await test.createKey("owner@example.com"));
    for (const name of ["Carol", "Erin", "Frank", "Owner"]) await enrol(name);
    // Dave's device is newer than the others, and than Node 20.
    const runtime = vi.spyOn(SettingsService, "runtimeSupportsPQC").mockReturnValue(true);
    await enrol("Dave", "ML-DSA-44");
    runtime.mockRestore();
    await setGroup("finance", "Carol", "Dave", "Owner");
    await setGroup("legal", "Dave", "Erin");
  });

  const askFor = (required: object, more: object = {}) =>
    ask(test, key, { required_approvers: required, required_level: "none", ...more });
  const twoOfFinance = [{ group: "finance", count: 2 }];

  function sign(asked: AskedRequest, name: string, decision: PasskeyDecision, said: Said = {}) {
    const request = people.get(name);
    if (!request) throw new Error(`nobody is called ${name}`);
    const { public_key: _key, ...assertion } = request.passkey.assert(challengeOf(asked, decision), said);
    return assertion;
  }
  const challengeOf = ({ hash }: AskedRequest & { hash?: string }, decision: PasskeyDecision) =>
    approvalChallenge(hash ?? "", decision);

  /** With the hash that the page would compute. */
  async function open(asked: AskedRequest) {
    const view = await readApprovalView(test.app.context, asked.token);
    if (view === null) throw new Error("no view");
    const { request_hash: hash } = view.binding;
    expect(hexDecode(hash)).toHaveLength(32);
    const opened = { ...asked, hash };
    const post = (what: string, body: object) =>
      test.call("POST", `/approve/${asked.token}/${what}`, { headers: fromPage, body });
    return {
      ...opened,
      view,
      groups: async () => (await readApprovalView(test.app.context, asked.token))?.groups,
      approveAs: (name: string, said?: Said, more: object = {}) =>
        post("passkey", { passkey: sign(opened, name, "approve", said), ...more }),
      approveWith: (passkey: object, more: object = {}) => post("passkey", { passkey, ...more }),
      denyAs: (name: string) => post("deny", { passkey: sign(opened, name, "deny"), reason: "No" }),
      takeBackWith: (passkey?: object) => post("revoke", { passkey, reason: "Changed my mind" }),
      signAs: (name: string, decision: PasskeyDecision, said?: Said) => sign(opened, name, decision, said),
      status: async () => (await asked.read(key)).body.status as string,
    };
  }
  const openFor = async (required: object, more: object = {}) => open(await askFor(required, more));
  const namesOf = async (id: string) => {
    const listed = await listOwnAuthorizations(test.app.context, owner, { cursor: undefined, limit: 100 });
    return listed.rows.find(({ request_id }) => request_id === id)?.decidedNames;
  };

  it("is approved by two of finance, and anyone can check it offline", async () => {
    const asked = await openFor(twoOfFinance);
    expect(asked.made).toMatchObject({
      required_level: "none",
      approvals_required: 2,
      required_approvers: [{ name: "finance", count: 2 }],
      environment: "local",
    });
    expect((await asked.approveAs("Carol")).status).toBe(200);
    expect(await asked.groups()).toEqual([{ name: "finance", count: 2, given: 1 }]);
    expect(await asked.status()).toBe("pending");
    expect((await asked.approveAs("Dave")).status).toBe(200);
    const { body } = await asked.read(key);
    expect(body).toMatchObject({
      status: "approved",
      decided_by: { kind: "people" },
      approvals: { given: 2 },
    });
    const { deciders } = await readOwnAuthorization(test.app.context, owner, asked.made.request_id);
    expect(deciders.map(({ decision, who, by }) => [decision, who, by])).toEqual([
      ["approved", "Carol", "passkey"],
      ["approved", "Dave", "passkey"],
    ]);
    expect(await namesOf(asked.made.request_id)).toEqual(["Carol", "Dave"]);
    const opened = await addOpening(test.app.context, owner.organizationId, body, "all");
    const names = ["Carol", "Dave"].map((name) => ({
      approver_id: idOf(name),
      name,
      salt: expect.any(String),
    }));
    expect(opened["opening"]).toMatchObject({ approvers: names });
    expect(checkOpening(opened["opening"] ?? null, body.human_authorization)).toMatchObject({
      status: "pass",
      detail: expect.stringContaining("2 names as the roster has them"),
    });
    const { approvals, environment } = body.human_authorization;
    expect(approvals.map(({ approver_id }: { approver_id: string }) => approver_id)).toEqual([
      idOf("Carol"),
      idOf("Dave"),
    ]);
    expect(environment).toBe("local");
    const report = await verifyInBrowser(body, (await test.call("GET", "/v1/pubkey")).body);
    expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(report.authorization?.grade).toBe("test");
    expect(
      report.authorization?.checks.filter(({ name }) => ["quorum", "passkeys", "roster"].includes(name)),
    ).toEqual(
      ["quorum", "passkeys", "roster"].map((name) => expect.objectContaining({ name, status: "pass" })),
    );
    const attested = await test.call("POST", "/v1/attest", {
      key,
      body: {
        agent_slug: "treasurer",
        action: asked.made.action,
        inputs_hash: "sha256:aa",
        human_authorization: body.human_authorization,
      },
    });
    expect(attested.body).toMatchObject({
      human_approved: true,
      human_approval: {
        method: "enrolled_approver",
        level: "none",
        approver_ids: [idOf("Carol"), idOf("Dave")],
      },
    });
    const page = await test.call("GET", `/v1/verify/${attested.body.attestation_id}`);
    expect(page.body.valid).toBe(true);
  });

  it("counts nobody for two, whatever groups they are in, and makes room for who is in two", async () => {
    const required = [
      { group: "finance", count: 1 },
      { group: "legal", count: 1 },
    ];
    const asked = await openFor(required);
    expect((await asked.approveAs("Dave")).status).toBe(200);
    const again = await asked.approveAs("Dave");
    expect([again.status, again.body.code]).toEqual([409, "already_approved"]);
    expect((await asked.approveAs("Carol")).status).toBe(200);
    expect(await asked.status()).toBe("approved");
    const other = await openFor(required);
    expect((await other.approveAs("Erin")).status).toBe(200);
    expect((await other.approveAs("Dave")).status).toBe(200);
    expect(await other.status()).toBe("approved");
    const full = await openFor([
      { group: "finance", count: 1 },
      { group: "legal", count: 2 },
    ]);
    expect((await full.approveAs("Carol")).status).toBe(200);
    expect((await full.approveAs("Erin")).status).toBe(200);
    expect((await full.approveAs("Dave")).status).toBe(200);
    expect(await full.status()).toBe("approved");
  });

  const notOfGroup = ["legal alone", "no group"];

  it("takes no answer of another request, decision, site, device or person", async () => {
    const asked = await openFor(twoOfFinance);
    const other = await openFor(twoOfFinance);
    const refusals: [string, object][] = [
      ["another request", other.signAs("Carol", "approve")],
      ["a denial", asked.signAs("Carol", "deny")],
      ["another site", asked.signAs("Carol", "approve", { origin: "https://evil.example" })],
      ["another relying party", asked.signAs("Carol", "approve", { rpId: "evil.example" })],
      ["inside another page", asked.signAs("Carol", "approve", { crossOrigin: true })],
      ["a locked device", asked.signAs("Carol", "approve", { flags: 0x01 })],
      [
        "another's signature",
        { ...asked.signAs("Carol", "approve"), signature: asked.signAs("Dave", "approve").signature },
      ],
      ["a copy", asked.signAs("Carol", "approve", { signCount: 0 })],
      ["legal alone", asked.signAs("Erin", "approve")],
      ["no group", asked.signAs("Frank", "approve")],
      ["who made the key", asked.signAs("Owner", "approve")],
    ];
    for (const [what, passkey] of refusals) {
      const answer = await asked.approveWith(passkey);
      const code = notOfGroup.includes(what)
        ? "approver_not_enrolled"
        : what === "who made the key"
          ? "approval_refused"
          : "passkey_refused";
      expect([what, answer.status, answer.body.code]).toEqual([what, 422, code]);
    }
    const stranger = createPasskey().assert(approvalChallenge(asked.hash, "approve"));
    const { public_key: _key, ...unknown } = stranger;
    expect((await asked.approveWith(unknown)).body.code).toBe("approver_not_enrolled");
    expect(await asked.groups()).toEqual([{ name: "finance", count: 2, given: 0 }]);
  });

  it("can't be approved or blocked by the link alone, and is denied by who is required", async () => {
    const asked = await openFor(twoOfFinance);
    const denied = await asked.deny("I have the link");
    expect([denied.status, denied.body.code]).toEqual([422, "approval_refused"]);
    expect((await asked.denyAs("Erin")).status).toBe(422);
    expect(await asked.status()).toBe("pending");
    expect((await asked.denyAs("Dave")).status).toBe(200);
    expect((await asked.read(key)).body).toMatchObject({ status: "denied", denial_reason: "No" });
    const { deciders } = await readOwnAuthorization(test.app.context, owner, asked.made.request_id);
    expect(deciders).toMatchObject([{ decision: "denied", who: "Dave", by: "passkey" }]);
    expect(await namesOf(asked.made.request_id)).toEqual(["Dave"]);
    const leveled = await openFor(twoOfFinance, { required_level: "device" });
    expect((await leveled.approve("ada")).body.code).toBe("approval_refused");
    expect((await leveled.approveAs("Carol")).body.detail).toContain("World ID is asked for too");
  });

  it("stands whole in the inbox of who can decide it by passkey alone, until they have", async () => {
    const { context } = test.app;
    const inboxOf = async (name: string) => {
      const user = await signInPerson(context, `${name.toLowerCase()}@example.com`);
      const { rows } = await listInbox(context, user, { isWaiting: true, limit: 20 });
      return (await readDecidable(context, user, rows)).flat().map(({ view }) => view.request_id);
    };
    const asked = await openFor(twoOfFinance);
    const leveled = await openFor(twoOfFinance, { required_level: "orb" });
    const coded = await openFor(twoOfFinance, { require_code: true });
    expect(await inboxOf("Carol")).toContain(asked.made.request_id);
    expect(await inboxOf("Erin"), "of another group").not.toContain(asked.made.request_id);
    for (const more of [leveled, coded]) expect(await inboxOf("Carol")).not.toContain(more.made.request_id);
    expect((await asked.approveAs("Carol")).status).toBe(200);
    expect(await inboxOf("Carol")).not.toContain(asked.made.request_id);
    expect(await inboxOf("Dave")).toContain(asked.made.request_id);
  });

  it("is offered in the inbox neither to who made the key nor to whose group needs nobody any more", async () => {
    const { context } = test.app;
    const oneOfEach = ["finance", "legal"].map((group) => ({ group, count: 1 }));
    const user = await signInPerson(context, "owner@example.com");
    const isOffered = async ({ made }: AskedRequest) => {
      const { rows } = await listInbox(context, user, { isWaiting: true, limit: 20 });
      const decidable = await readDecidable(context, user, rows);
      return decidable.flat().some(({ view }) => view.request_id === made.request_id);
    };
    expect(await isOffered(await openFor(oneOfEach))).toBe(false);
    const set = (requester_may_approve: boolean) =>
      context.database.db.update(organizations).set({ requester_may_approve });
    await set(true);
    const asked = await openFor(oneOfEach);
    await set(false);
    expect(await isOffered(asked)).toBe(true);
    expect((await asked.approveAs("Carol")).status).toBe(200);
    expect(await isOffered(asked), "one of finance was enough").toBe(false);
    await removeApprover(context, owner, idOf("Owner"));
    const early = await openFor(oneOfEach);
    await enrol("Owner");
    await setGroup("finance", "Carol", "Dave", "Owner");
    expect((await early.approveAs("Owner")).body.code).toBe("approval_refused");
    expect(await isOffered(early), "who became an approver after their key had asked").toBe(false);
  });

  it("is taken back by who approved it, with their passkey, and by nobody else who has the link", async () => {
    const asked = await openFor([{ group: "finance", count: 1 }]);
    expect((await asked.approveAs("Carol")).status).toBe(200);
    const isTaken = async () => (await asked.read(key)).body.revoked_at !== null;
    for (const [passkey, code] of [
      [undefined, "approval_refused"],
      [asked.signAs("Carol", "approve"), "passkey_refused"],
      [asked.signAs("Carol", "deny"), "passkey_refused"],
      [asked.signAs("Dave", "revoke"), "forbidden"],
      [asked.signAs("Erin", "revoke"), "approver_not_enrolled"],
    ] as const)
      expect((await asked.takeBackWith(passkey)).body.code).toBe(code);
    expect(await isTaken()).toBe(false);
    expect((await asked.takeBackWith(asked.signAs("Carol", "revoke"))).status).toBe(200);
    expect(await isTaken()).toBe(true);
    const { rows } = await listAuditEvents(test.app.context, owner, { limit: 10 });
    const taken = rows.find(({ action, subject }) =>
      `${action} ${subject}`.includes(`revoked ${asked.made.request_id}`),
    );
    expect(taken).toMatchObject({ actorKind: "human", actor: expect.stringMatching(/^Carol \(\S+@\S+\)$/) });
  });

  it("is refused where the groups' people together are too few, each counted once and who asks left out", async () => {
    await setGroup("solo", "Dave");
    await setGroup("own", "Owner");
    const answerTo = async (...groups: string[]) => {
      const required_approvers = groups.map((group) => ({ group, count: 1 }));
      const body = { agent_slug: "treasurer", action: "Pay", required_level: "none", required_approvers };
      const { status, body: answer } = await test.call("POST", "/v1/authorize", { key, body });
      return [status, answer.detail];
    };
    await setGroup("also", "Dave");
    expect(await answerTo("solo", "also")).toEqual([
      422,
      'required_approvers.1.count: asks for 1 of "also", which has 1 enrolled approver, and each person counts for one group',
    ]);
    expect(await answerTo("own")).toEqual([
      422,
      'required_approvers.0.count: asks for 1 of "own", which has 0 enrolled approvers besides who asks',
    ]);
    expect((await answerTo("solo", "finance"))[0]).toBe(201);
    // In the portal people ask with a key of their organization, whose maker may be another.
    const person = { ...owner, email: "Carol@example.com" };
    const asker = { organizationId: owner.organizationId, keyId, person };
    const demands = { required_approvers: [{ group: idOf("Dave"), count: 1 }] };
    expect(await readRequester(test.app.context.database.db, asker, demands)).toMatchObject({
      id: idOf("Carol"),
    });
  });

  // The embedded database has one session, so nothing comes between there.
  it.runIf(anyKind === "postgres")("counts not even the first of two once the agent is frozen", async () => {
    const asked = await openFor(twoOfFinance);
    const { database } = test.app.context;
    const change = (what: string) =>
      test.call("POST", `/v1/identity/treasurer/${what}`, { key, body: { reason: "stop" } });
    const answer = await database.db.transaction(async (tx) => {
      await lockOpen(tx, asked.made.request_id);
      const approving = asked.approveAs("Carol");
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
      await expect.poll(async () => (await database.query(waiting, [])).rows.length).toBeGreaterThan(0);
      expect((await change("freeze")).status).toBe(200);
      return { approving };
    });
    expect((await answer.approving).body.code).toBe("agent_frozen");
    expect(await asked.groups()).toEqual([{ name: "finance", count: 2, given: 0 }]);
    expect((await change("unfreeze")).status).toBe(200);
  });

  it("takes World ID and passkey in one visit, and no human for two approvers", async () => {
    const asked = await openFor(twoOfFinance, { required_level: "orb" });
    const visit = async (name: string, human: string) =>
      asked.approveAs(name, undefined, { result: await makeResult(await asked.start(), human, "orb") });
    expect((await visit("Carol", "ada")).status).toBe(200);
    const same = await visit("Dave", "ada");
    expect([same.status, same.body.code]).toEqual([409, "already_approved"]);
    expect((await visit("Dave", "grace")).status).toBe(200);
    const { body } = await asked.read(key);
    expect(body.status).toBe("approved");
    expect(body.human_authorization.approvals).toHaveLength(4);
    const report = await verifyInBrowser(body, (await test.call("GET", "/v1/pubkey")).body);
    expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
  });

  it("lets who asks count where the organization allows it, and says so in what is signed", async () => {
    const { db } = test.app.context.database;
    await db.update(organizations).set({ requester_may_approve: true });
    try {
      const asked = await openFor([{ group: "finance", count: 1 }]);
      expect(asked.view.request).toMatchObject({ requester_may_approve: true, requester_id: idOf("Owner") });
      expect((await asked.approveAs("Owner")).status).toBe(200);
      expect((await asked.read(key)).body.status).toBe("approved");
    } finally {
      await db.update(organizations).set({ requester_may_approve: false });
    }
  });

  it.each<[string, object, RegExp]>([
    [
      "an unknown group",
      { required_approvers: [{ group: "nobody", count: 1 }] },
      /required_approvers.0.group: is not a group/,
    ],
    ["a person", { required_approvers: [{ group: "Carol", count: 1 }] }, /is not a group/],
    ["a group twice", { required_approvers: [...twoOfFinance, ...twoOfFinance] }, /is there twice/],
    [
      "more than are enrolled",
      { required_approvers: [{ group: "legal", count: 3 }] },
      /asks for 3 of "legal", which has 2/,
    ],
    ["another sum", { required_approvers: twoOfFinance, approvals_required: 3 }, /must be 2/],
    ["no level and no group", {}, /can be none only with required_approvers/],
  ])("is refused with %s", async (_what, body, detail) => {
    const asked = { agent_slug: "treasurer", action: "Pay", required_level: "none", ...body };
    const answer = await test.call("POST", "/v1/authorize", { key, body: asked });
    expect([answer.status, answer.body.detail]).toEqual([422, expect.stringMatching(detail)]);
  });

  it("shows its groups to its owner only, by name, and names nobody in the public object", async () => {
    const asked = await openFor([{ group: "finance", count: 1 }]);
    await asked.approveAs("Carol");
    const open = (await asked.read()).body;
    expect(open).not.toHaveProperty("required_approvers");
    expect(JSON.stringify(open)).not.toMatch(/finance|Carol|carol@/);
    expect((await asked.read(key)).body.required_approvers).toEqual([
      { group: expect.any(String), name: "finance", count: 1 },
    ]);
  });

  it("is decided once when two approve the last place at once, and twice the same answer counts once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const asked = await openFor([{ group: "finance", count: 1 }]);
      const answers = await Promise.all([asked.approveAs("Carol"), asked.approveAs("Dave")]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const { body } = await asked.read(key);
      expect([body.status, body.human_authorization.approvals.length]).toEqual(["approved", 1]);
      const two = await openFor(twoOfFinance);
      const passkey = two.signAs("Carol", "approve");
      const twice = await Promise.all([two.approveWith(passkey), two.approveWith(passkey)]);
      expect(twice.some(({ status }) => status === 200)).toBe(true);
      expect(await two.groups()).toEqual([{ name: "finance", count: 2, given: 1 }]);
    }
  });

  it("answers who sends the deciding answer again the same", async () => {
    const asked = await openFor([{ group: "finance", count: 1 }], { require_code: true });
    const passkey = asked.signAs("Carol", "approve");
    const send = () => asked.approveWith(passkey, { code: asked.made.confirmation_code });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    expect((await asked.approveWith(asked.signAs("Carol", "approve"))).status).toBe(409);
  });

  describe("together with equal ones, in a list", () => {
    const oneOfFinance = [{ group: "finance", count: 1 }];
    type Opened = Awaited<ReturnType<typeof open>>;
    const openSome = async (count: number, required: object = oneOfFinance, more: object = {}) => {
      const opened: Opened[] = [];
      for (let i = 0; i < count; i += 1)
        opened.push(await openFor(required, { action: `Pay invoice ${i}`, ...more }));
      return opened;
    };
    const signList = (name: string, asked: readonly Opened[], said: Said = {}) => {
      const { challenge } = buildList(asked.map(({ hash }) => hash));
      const { public_key: _key, ...signed } = people.get(name)?.passkey.assert(challenge, said) ?? {};
      return signed;
    };
    const sendList = (asked: readonly Opened[], passkey: object) =>
      test.call("POST", "/approve/list", {
        headers: fromPage,
        body: { tokens: asked.map(({ token }) => token), passkey },
      });
    const approveListAs = (name: string, asked: readonly Opened[]) => sendList(asked, signList(name, asked));
    const outcomes = ({ body }: { body: { results: { outcome: string }[] } }) =>
      body.results.map(({ outcome }) => outcome);

    it("is approved by one touch, each with its branch, which anyone can check", async () => {
      const asked = await openSome(3);
      // A counter that grows by one is of no copy, however many requests it approved.
      const passkey = signList("Carol", asked, { signCount: 1_000 });
      expect(outcomes(await sendList(asked, passkey))).toEqual(["counted", "counted", "counted"]);
      expect(outcomes(await sendList(asked, passkey)), "sent again").toEqual([
        "counted",
        "counted",
        "counted",
      ]);
      const trust = (await test.call("GET", "/v1/pubkey")).body;
      for (const [index, one] of asked.entries()) {
        const { body } = await one.read(key);
        expect(body.human_authorization).toMatchObject({
          version: 2,
          approvals: [{ list: { index, size: 3 } }],
        });
        const report = await verifyInBrowser(body, trust);
        expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
      }
      const late = await openFor(oneOfFinance);
      expect((await late.approveAs("Carol", { signCount: 1_000 })).body.detail).toContain("may be a copy");
      expect((await late.approveAs("Carol", { signCount: 1_001 })).status).toBe(200);
    });

    it("is decided for itself: whoever was faster with one changes nothing of the others", async () => {
      const [first, denied, last] = await openSome(3);
      if (!first || !denied || !last) throw new Error("three are needed");
      const signed = signList("Erin", [first, denied, last]);
      expect(outcomes(await sendList([first, denied, last], signed)), "of another group").toEqual(
        Array(3).fill("approver_not_enrolled"),
      );
      const own = signList("Carol", [first, denied, last], { signCount: 2_000 });
      await denied.denyAs("Dave");
      const results = await sendList([first, denied, last], own);
      expect(outcomes(results)).toEqual(["counted", "authorization_not_pending", "counted"]);
      expect(await Promise.all([first, denied, last].map((one) => one.status()))).toEqual([
        "approved",
        "denied",
        "approved",
      ]);
      expect((await last.read(key)).body.human_authorization.approvals[0].list).toMatchObject({
        index: 2,
        size: 3,
      });
    });

    it("counts each person once, beside those who approved it alone", async () => {
      const asked = await openSome(2, twoOfFinance);
      expect((await asked[0]?.approveAs("Dave"))?.status).toBe(200);
      expect(outcomes(await approveListAs("Dave", asked))).toEqual(["already_approved", "counted"]);
      const carol = signList("Carol", asked, { signCount: 3_000 });
      expect(outcomes(await sendList(asked, carol))).toEqual(["counted", "counted"]);
      const { body } = (await asked[0]?.read(key)) ?? {};
      expect(
        body.human_authorization.approvals.map((one: { list?: unknown }) => one.list !== undefined),
      ).toEqual([false, true]);
    });

    it.each<[string, (signed: Opened[]) => Opened[]]>([
      ["a hidden row", ([a, b]) => [a, b].filter((one) => one !== undefined)],
      ["another order", (signed) => [...signed].reverse()],
    ])("is not approved by the signature of a list with %s", async (_what, send) => {
      const asked = await openSome(3);
      const passkey = signList("Carol", asked, { signCount: 4_000 });
      expect(new Set(outcomes(await sendList(send(asked), passkey)))).toEqual(new Set(["passkey_refused"]));
      expect(await Promise.all(asked.map((one) => one.status()))).toEqual(Array(3).fill("pending"));
    });

    it("is refused with one that needs more, is of another kind, or is there twice", async () => {
      const [one] = await openSome(1);
      const others: [object, object, RegExp][] = [
        [oneOfFinance, { require_code: true }, /needs a page of its own/],
        [oneOfFinance, { required_level: "orb" }, /needs a page of its own/],
        [oneOfFinance, { tool: "bank.pay" }, /of one kind/],
        [[{ group: "legal", count: 1 }], {}, /of one kind/],
      ];
      if (!one) throw new Error("none");
      for (const [required, more, why] of others) {
        const asked = [one, ...(await openSome(1, required, more))];
        const answer = await approveListAs("Dave", asked);
        expect([answer.status, answer.body.detail]).toEqual([422, expect.stringMatching(why)]);
      }
      const twice = await sendList([one, one], signList("Dave", [one, ...(await openSome(1))]));
      expect([twice.status, twice.body.detail]).toEqual([422, expect.stringMatching(/twice/)]);
      expect((await sendList([one], one.signAs("Dave", "approve"))).body.code).toBe("validation_error");
      expect(await one.status()).toBe("pending");
    });

    it("is together in the inbox with those that a table may show with it", async () => {
      const { context } = test.app;
      const user = await signInPerson(context, "erin@example.com");
      const legal = [{ group: "legal", count: 1 }];
      const [one, two] = await openSome(2, legal, { tool: "bank.table" });
      const other = await openFor(legal, { tool: "bank.alone" });
      const { rows } = await listInbox(context, user, { isWaiting: true, limit: 20 });
      const groups = (await readDecidable(context, user, rows)).map((group) =>
        group.map(({ view }) => view.request_id).sort(),
      );
      const idsOf = (...asked: (Opened | undefined)[]) => asked.map((one) => one?.made.request_id).sort();
      expect(groups).toEqual(expect.arrayContaining([idsOf(one, two), idsOf(other)]));
    });
  });

  it("shows first what expires soon, and no requests without a tool together whose details differ", async () => {
    const { context } = test.app;
    const user = await signInPerson(context, "erin@example.com");
    const legal = [{ group: "legal", count: 1 }];
    const ask = (more: object) => openFor(legal, { agent_slug: "toolless", ...more });
    const soon = await ask({ action: "Send", context: { to: "all" }, expires_in_minutes: 1 });
    const [first, second] = [
      await ask({ action: "Grant", context: { role: "admin", user: "eve" } }),
      await ask({ action: "Grant again", context: { user: "bob", role: "guest" } }),
    ];
    const [stop, start] = [await ask({ action: "Stop" }), await ask({ action: "Start" })];
    const { rows } = await listInbox(context, user, { isWaiting: true, limit: 5 });
    const groups = (await readDecidable(context, user, rows)).map((group) =>
      group.map(({ view }) => view.request_id),
    );
    const idsOf = (...asked: { made: { request_id: string } }[]) => asked.map(({ made }) => made.request_id);
    expect(groups).toEqual([idsOf(soon), idsOf(start), idsOf(stop), idsOf(second, first)]);
  });

  it("counts nobody who is removed between the signature and the commit", async () => {
    const { context } = test.app;
    await enrol("Gina");
    await setGroup("finance", "Carol", "Dave", "Owner", "Gina");
    const asked = await openFor([{ group: "finance", count: 1 }]);
    const early = asked.signAs("Gina", "approve");
    await setGroup("finance", "Carol", "Dave", "Owner");
    expect((await asked.approveWith(early)).status).toBe(422);
    await setGroup("finance", "Carol", "Dave", "Owner", "Gina");
    for (let round = 0; round < 4; round += 1) {
      const raced = await openFor([{ group: "finance", count: 1 }]);
      const { approver, passkey } = people.get("Gina") ?? {};
      if (!approver || !passkey) throw new Error("nobody");
      const [{ id } = { id: "" }] = await listPasskeys(context.database.db, approver.id);
      const removed = removePasskey(context, approver, id, actor);
      const [answer] = await Promise.all([raced.approveAs("Gina"), removed]);
      const { body } = await raced.read(key);
      expect([answer.status, body.status]).toEqual(
        answer.status === 200 ? [200, "approved"] : [422, "pending"],
      );
      const late = await openFor([{ group: "finance", count: 1 }]);
      expect((await late.approveAs("Gina")).status).toBe(422);
      const fresh = createPasskey();
      const { challenge } = await beginEnrolment(context, approver);
      await finishEnrolment(context, approver, { name: "Next", response: fresh.register(challenge) }, actor);
      people.set("Gina", { approver, passkey: fresh });
    }
    const last = await openFor([{ group: "finance", count: 1 }]);
    await removeApprover(context, owner, idOf("Gina"));
    expect((await last.approveAs("Gina")).status).toBe(422);
  });
});
