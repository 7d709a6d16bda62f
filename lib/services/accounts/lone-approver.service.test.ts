/**
 * Guarantee: one person alone approves with a passkey after one step, and what is signed says that who asked could approve.
 * With the second person, member or approver, separation of duties is on again, unless an owner chose otherwise.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import type { Context } from "#lib/services/approvals/context";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { removeMember } from "#lib/services/portal/organization";
import { askForFirstApproval, readFirstSteps } from "#lib/services/portal/overview";
import { verifyInBrowser } from "#lib/verifier/browser";
import { startTestApp, type TestApp } from "#support/app";
import { createPasskey, type TestPasskey } from "#support/authenticator";
import { fromPage } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { addConfirmed, mailsTo } from "#support/enrol";
import { joinPerson, signInPerson } from "#support/portal";
import { becomeApprover } from "./approver-groups";
import { listApprovers, removeApprover } from "./approvers";
import { listAuditEvents } from "./audit-list";
import { readRequesterRule, setRequesterMayApprove } from "./members";
import { beginEnrolment, finishEnrolment, requireOwnApprover } from "./passkeys";

const email = "ada@example.com";

describe.each(["passkeys", "world-id"])("one person alone, with APPROVALS=%s", (APPROVALS) => {
  let test: TestApp;
  let context: Context;
  let ada: MemberPrincipal;
  let key: string;
  let passkey: TestPasskey;
  beforeEach(async () => {
    test = await startTestApp(anyKind, { APPROVALS });
    ({ context } = test.app);
    ada = await signInPerson(context, email);
    ({ key } = await test.createKey(email));
    passkey = await addPasskey();
  });
  afterEach(() => test.close());

  /** Adds a passkey like the portal's button. */
  async function addPasskey(): Promise<TestPasskey> {
    const { approver, actor } = await requireOwnApprover(context, ada, await becomeApprover(context, ada));
    const { challenge } = await beginEnrolment(context, approver);
    const made = createPasskey({ origin: context.settings.baseUrl });
    await finishEnrolment(context, approver, { name: "Laptop", response: made.register(challenge) }, actor);
    return made;
  }
  const askMe = () =>
    test.call("POST", "/v1/authorize", {
      key,
      body: {
        agent_slug: "bot",
        action: "Pay",
        required_approvers: [{ group: "approvers", count: 1 }],
        required_level: "none",
      },
    });
  async function approve(approvalUrl: string) {
    const token = approvalUrl.split("/").at(-1) ?? "";
    const view = await readApprovalView(context, token);
    const { public_key: _, ...answer } = passkey.assert(
      approvalChallenge(view?.binding.request_hash ?? "", "approve"),
    );
    const { status } = await test.call("POST", `/approve/${token}/passkey`, {
      headers: fromPage,
      body: { passkey: answer },
    });
    return { status, view };
  }
  const rule = () => readRequesterRule(context.database.db, ada.organizationId);

  it("is an approver with a group of their own, without a mail, and approves what their own key asks", async () => {
    const { people, groups } = await listApprovers(context, ada);
    expect(people).toMatchObject([
      { name: "ada", email, status: "confirmed", passkeys: [{ name: "Laptop" }] },
    ]);
    expect(groups).toMatchObject([
      { name: "approvers", isDefault: true, enrolled: 1, members: [{ name: "ada" }] },
    ]);
    const subjects = (await mailsTo(test, email)).map(({ subject }) => subject);
    expect(subjects.filter((subject) => !subject.startsWith("A passkey was added"))).toEqual([]);
    expect(await becomeApprover(context, ada)).toBe(people[0]?.id);
    expect((await listApprovers(context, ada)).groups).toHaveLength(1);

    const asked = await askMe();
    expect(asked.status).toBe(201);
    const { status, view } = await approve(asked.body.approval_url);
    expect([status, view?.request.requester_may_approve]).toEqual([200, true]);
    const { body } = await test.call("GET", `/v1/authorize/${asked.body.request_id}`, { key });
    expect(body.human_authorization.request).toMatchObject({
      requester_may_approve: true,
      required_level: "none",
    });
    const { checks } = await verifyInBrowser(body, (await test.call("GET", "/v1/pubkey")).body);
    expect(checks.filter((check) => check.status === "fail")).toEqual([]);
    const actions = (await listAuditEvents(context, ada, { limit: 50 })).rows.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(["approver.added", "approver_group.saved"]));
  });

  it("requests the first approval from the portal, and the same passkey gives it", async () => {
    await askForFirstApproval(context, ada);
    const { approval } = await readFirstSteps(context, ada.organizationId);
    expect((await approve(approval?.approvalUrl ?? "")).status).toBe(200);
    expect((await readFirstSteps(context, ada.organizationId)).approval?.isApproved).toBe(true);
  });

  it("is separated from the second person on, whichever way they come, and alone again when they go", async () => {
    const refused = async () => {
      expect(await rule()).toEqual({ mayApprove: false, isChosen: false });
      const { status, body } = await askMe();
      expect([status, body.detail]).toEqual([422, expect.stringContaining("besides who asks")]);
    };
    const bob = await joinPerson(context, "bob@example.com", ada.organizationId);
    await refused();
    await removeMember(context, ada, { userId: bob.userId, revokeKeys: false });
    expect((await askMe()).status).toBe(201);
    const carol = await addConfirmed(test, ada, "Carol", "carol@example.com");
    await refused();
    await removeApprover(context, ada, carol.id);
    expect((await askMe()).body).toMatchObject({ status: "pending" });
  });

  it("keeps what an owner chose, alone or not", async () => {
    await setRequesterMayApprove(context, ada, false);
    expect(await rule()).toEqual({ mayApprove: false, isChosen: true });
    expect((await askMe()).status).toBe(422);
    await setRequesterMayApprove(context, ada, true);
    await addConfirmed(test, ada, "Carol", "carol@example.com");
    expect(await rule()).toEqual({ mayApprove: true, isChosen: true });
    expect((await askMe()).status).toBe(201);
  });

  it("leaves it to an owner, and to the groups that are there", async () => {
    const bob = await joinPerson(context, "bob@example.com", ada.organizationId);
    await expect(becomeApprover(context, bob)).rejects.toMatchObject({ errorName: "forbidden" });
    await context.database.query("UPDATE memberships SET role = 'owner' WHERE user_id = $1", [bob.userId]);
    await becomeApprover(context, bob);
    const { people, groups } = await listApprovers(context, ada);
    expect(people.map(({ name }) => name).sort()).toEqual(["ada", "bob"]);
    expect(groups).toMatchObject([{ name: "approvers", members: [{ name: "ada" }] }]);
  });
});
