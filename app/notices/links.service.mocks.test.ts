/**
 * Guarantee: nobody gets mail who has not accepted; opening a link does nothing; who leaves stays away; and a
 * person's inbox has what concerns them, and nothing else.
 */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import {
  addApprover,
  listApprovers,
  readApproverLink,
  removeApprover,
} from "#lib/services/accounts/approvers";
import { listNoticeSettings, saveNoticeSettings } from "#lib/services/accounts/mails";
import { countWaiting, listInbox } from "#lib/services/approvals/decision/inbox";
import { deleteOrganization, removeMember } from "#lib/services/portal/organization";
import { sendAll } from "#support/approvers";
import { ask } from "#support/authorizations";
import { addConfirmed, mailsTo, tokenOf } from "#support/enrol";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { POST as confirm } from "./[token]/confirm/route";
import { POST as leave } from "./[token]/leave/route";

vi.mock("next/headers", () => ({ headers: async () => new Headers() }));

const forbidden = { errorName: "forbidden" };
const notFound = { errorName: "not_found" };
let counter = 0;

describe("approvers", () => {
  const { test } = setupTestApp();
  let owner: MemberPrincipal;
  let key: string;
  let ana: string;
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(test.app.context, `owner${counter}@example.com`);
    key = (await test.createKey(owner.email)).key;
    ana = `ana${counter}@example.com`;
  });

  const post = async (
    handler: typeof confirm,
    token: string,
    headers: Record<string, string>,
    body?: string,
  ) => {
    const request = new Request("http://localhost:3000/notices/x", {
      method: "POST",
      headers: { host: "localhost:3000", ...headers },
      ...(body !== undefined && { body }),
    });
    return handler(request, { params: Promise.resolve({ token }) });
  };
  const fromPage = { origin: "null", "sec-fetch-site": "same-origin" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const statusOf = async (name: string) =>
    (await listApprovers(test.app.context, owner)).people.find((one) => one.name === name)?.status;
  const request = (body: object) => ask(test, key, { agent_slug: `bot${counter}`, ...body });
  const inbox = async (user: UserPrincipal, isWaiting = true) =>
    (await listInbox(test.app.context, user, { isWaiting, limit: 20 })).rows;

  it("get one mail that asks, and nothing until they accept by the button", async () => {
    const { context } = test.app;
    expect(await addApprover(context, owner, { name: "Ana", email: ana })).toBe(true);
    const [mail] = await mailsTo(test, ana);
    expect(mail?.text).toContain(owner.email);
    const token = await tokenOf(test, ana);
    await request({ approvers: ["Ana"] });
    for (let look = 0; look < 3; look += 1)
      expect(await readApproverLink(context, token)).toMatchObject({ status: "invited", mayConfirm: true });
    expect((await post(confirm, token, {})).status).toBe(403);
    expect((await post(confirm, token, { origin: "https://evil.example" })).status).toBe(403);
    await removeApprover(context, owner, (await listApprovers(context, owner)).people[0]?.id ?? "");
    await expect(readApproverLink(context, token)).rejects.toMatchObject(notFound);
    expect(await addApprover(context, owner, { name: "Ana", email: ana })).toBe(false);
    await request({ action: "again", approvers: ["Ana"] });
    await sendAll(test);
    expect(await mailsTo(test, ana)).toHaveLength(1);
    const led = await post(confirm, token, fromPage);
    expect([led.status, led.headers.get("location")]).toEqual([303, `/notices/${token}`]);
    expect(await statusOf("Ana")).toBe("confirmed");
    await sendAll(test);
    expect(await mailsTo(test, ana)).toHaveLength(1);
  });

  it("leave with one click of their mail program, and no owner brings them back", async () => {
    const { context } = test.app;
    await addConfirmed(test, owner, "Ana", ana);
    const token = await tokenOf(test, ana);
    const clicked = await post(leave, token, form, "List-Unsubscribe=One-Click");
    expect([clicked.status, await clicked.text()]).toEqual([200, "Unsubscribed.\n"]);
    expect(await statusOf("Ana")).toBe("left");
    await removeApprover(context, owner, (await listApprovers(context, owner)).people[0]?.id ?? "");
    await expect(addApprover(context, owner, { name: "Ana", email: ana })).rejects.toMatchObject({
      errors: [{ pointer: "/email", message: expect.stringContaining("unsubscribed") }],
    });
    expect(await mailsTo(test, ana)).toHaveLength(1);
    expect((await post(confirm, token, fromPage)).status).toBe(303);
    await addApprover(context, owner, { name: "Ana", email: ana });
    expect(await statusOf("Ana")).toBe("confirmed");
    const led = await post(leave, token, { ...fromPage, ...form }, "");
    expect([led.status, led.headers.get("location")]).toEqual([303, `/notices/${token}`]);
    expect(await statusOf("Ana")).toBe("left");
  });

  it("cannot use a link that is not theirs, or that asks too late", async () => {
    const { context } = test.app;
    await addApprover(context, owner, { name: "Ana", email: ana });
    const token = await tokenOf(test, ana);
    for (const wrong of [`${token.slice(0, -1)}_`, token.replace(/^./, "f"), "x", ""]) {
      expect((await post(confirm, wrong, fromPage)).status).toBe(404);
      expect((await post(leave, wrong, form, "List-Unsubscribe=One-Click")).status).toBe(404);
    }
    await context.database.query(
      "UPDATE approvers SET invited_at = invited_at - interval '7 days' WHERE email = $1",
      [ana],
    );
    expect(await readApproverLink(context, token)).toMatchObject({ mayConfirm: false });
    await post(confirm, token, fromPage);
    expect(await statusOf("Ana")).toBe("invited");
  });

  it("are chosen by owners, under names that no two have", async () => {
    const { context } = test.app;
    const member = await signInPerson(context, `member${counter}@example.com`, owner.organizationId);
    await expect(addApprover(context, member, { name: "Ana", email: ana })).rejects.toMatchObject(notFound);
    await context.database.query(
      "INSERT INTO memberships (organization_id, user_id, role) VALUES ($1, $2, 'member')",
      [owner.organizationId, member.userId],
    );
    await expect(addApprover(context, member, { name: "Ana", email: ana })).rejects.toMatchObject(forbidden);
    await addConfirmed(test, owner, "Ana", ana);
    for (const [name, email, pointer] of [
      ["ANA", `b${ana}`, "/name"],
      ["Bob", ana, "/email"],
    ] as const)
      await expect(addApprover(context, owner, { name, email })).rejects.toMatchObject({
        errors: [{ pointer }],
      });
    const [listed] = (await listApprovers(context, member)).people;
    await expect(removeApprover(context, member, listed?.id ?? "")).rejects.toMatchObject(forbidden);
    const stranger = await signInPerson(context, `eve${counter}@example.com`);
    await expect(removeApprover(context, stranger, listed?.id ?? "")).rejects.toMatchObject(notFound);
    await expect(
      listApprovers(context, { ...stranger, organizationId: owner.organizationId }),
    ).rejects.toMatchObject(notFound);
  });

  it("find in their inbox what names them, members everything, and strangers nothing", async () => {
    const { context } = test.app;
    await addConfirmed(test, owner, "Ana", ana);
    const approver = await signInPerson(context, ana);
    const stranger = await signInPerson(context, `eve${counter}@example.com`);
    const first = await request({ action: "Pay A", approvers: ["Ana"], expires_in_minutes: 5 });
    const other = await request({ action: "Pay B" });
    const last = await request({ action: "Pay C", approvers: ["Ana"] });
    expect((await inbox(owner)).map(({ action }) => action)).toEqual(["Pay C", "Pay B", "Pay A"]);
    expect((await inbox(approver)).map(({ action }) => action)).toEqual(["Pay C", "Pay A"]);
    expect((await inbox(approver)).map((row) => [row.approval_url, row.expires_soon])).toEqual([
      [last.made.approval_url, false],
      [first.made.approval_url, true],
    ]);
    expect(JSON.stringify(await inbox(owner))).not.toContain(other.made.confirmation_code);
    expect([await inbox(stranger), await countWaiting(context, stranger)]).toEqual([[], 0]);
    expect([await countWaiting(context, owner), await countWaiting(context, approver)]).toEqual([3, 2]);

    await first.deny("too much");
    expect(await inbox(approver, false)).toMatchObject([
      {
        action: "Pay A",
        status: "denied",
        denial_reason: "too much",
        organization_name: null,
      },
    ]);
    expect((await inbox(approver)).map(({ action }) => action)).toEqual(["Pay C"]);
    const page = await listInbox(context, owner, { isWaiting: true, limit: 1 });
    const next = await listInbox(context, owner, {
      isWaiting: true,
      limit: 1,
      cursor: page.nextCursor ?? "",
    });
    expect([...page.rows, ...next.rows].map(({ action }) => action)).toEqual(["Pay C", "Pay B"]);
    expect(next.nextCursor).toBeNull();

    await post(leave, await tokenOf(test, ana), form, "List-Unsubscribe=One-Click");
    expect([await inbox(approver), await inbox(approver, false)]).toEqual([[], []]);
  });

  it("get nothing more when they leave the organization, or it ends", async () => {
    const { context } = test.app;
    const member = await joinPerson(context, `member${counter}@example.com`, owner.organizationId);
    const all = { requests: "all", decisions: true, reminders: true } as const;
    await saveNoticeSettings(context, member, owner.organizationId, all);
    expect(await listNoticeSettings(context, member)).toMatchObject([{ isMember: true, ...all }]);
    await removeMember(context, owner, { userId: member.userId, revokeKeys: false });
    await request({ action: "after" });
    expect([await inbox(member), await listNoticeSettings(context, member)]).toEqual([[], []]);
    await addConfirmed(test, owner, "Ana", ana);
    const approver = await signInPerson(context, ana);
    const ofOwner = async () =>
      (await listNoticeSettings(context, approver)).filter(({ isMember }) => !isMember);
    expect(await ofOwner()).toMatchObject([{ organizationId: owner.organizationId, requests: "named" }]);
    const ids = [approver.organizationId, owner.organizationId];
    const listed = await listNoticeSettings(context, approver);
    expect(listed.map(({ name }) => name)).toEqual(
      ids.map((id) => `${organizationTitle(null)} (${id.slice(-4)})`),
    );
    await request({ action: "last", approvers: ["Ana"] });
    expect(await inbox(approver)).toMatchObject([{ organization_id: owner.organizationId }]);
    await deleteOrganization(context, owner, organizationTitle(null));
    expect([await ofOwner(), await inbox(approver, false)]).toEqual([[], []]);
    await expect(readApproverLink(context, await tokenOf(test, ana))).rejects.toMatchObject(notFound);
    await sendAll(test);
    expect(await mailsTo(test, member.email)).toEqual([]);
  });
});
