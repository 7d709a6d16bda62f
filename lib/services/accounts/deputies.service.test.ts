/**
 * Guarantee: a deputy decides in an approver's place, in the time that the approver has chosen, as an enrolled approver and
 * signed as that; nobody approves their own request so, and no person counts for two.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { readableTime } from "#lib/protocol/time/time-words";
import { listApprovers } from "#lib/services/accounts/approvers";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import { listInbox, readApprovalView, readDecidable } from "#lib/services/approvals/decision/inbox";
import { readOwnAuthorization } from "#lib/services/approvals/portal-authorizations";
import { verifyInBrowser } from "#lib/verifier/browser";
import { ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolApprover, mailsTo } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import {
  endDeputy,
  listPossibleDeputies,
  nameDeputy,
  notifyStarted,
  readDeputy,
  saveGroup,
} from "./approver-groups";
import { requireOwnApprover } from "./passkeys";
import { listRosters, readLastRoster, runRosterRound } from "./roster";

const fromPage = { origin: "http://localhost:3000" };
const day = 86_400_000;

describe("a deputy", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "1000" });
  let owner: MemberPrincipal;
  let key: string;
  const people = new Map<string, Awaited<ReturnType<typeof enrolApprover>>>();
  const find = (name: string) => {
    const person = people.get(name);
    if (person === undefined) throw new Error(`nobody is called ${name}`);
    return person;
  };
  const signIn = (name: string): Promise<UserPrincipal> =>
    signInPerson(test.app.context, `${name.toLowerCase()}@example.com`);
  const acting = async (name: string) =>
    requireOwnApprover(test.app.context, await signIn(name), find(name).approver.id);
  const name = async (absent: string, deputy: string, from: Date | null = null, until = Date.now() + day) =>
    nameDeputy(test.app.context, await acting(absent), {
      deputyId: find(deputy).approver.id,
      from,
      until: new Date(until),
    });
  const end = async (absent: string) => endDeputy(test.app.context, await acting(absent));

  beforeAll(async () => {
    owner = await signInPerson(test.app.context, "owner@example.com");
    ({ key } = await test.createKey("owner@example.com"));
    for (const one of ["Carol", "Dave", "Erin", "Owner"])
      people.set(one, await enrolApprover(test, owner, one));
    const setGroup = (group: string, ...members: string[]) =>
      saveGroup(test.app.context, owner, {
        id: null,
        name: group,
        memberIds: members.map((one) => find(one).approver.id),
      });
    await setGroup("finance", "Carol", "Dave", "Owner");
  });

  async function open(count = 1) {
    const required_approvers = [{ group: "finance", count }];
    const asked = await ask(test, key, { required_approvers, required_level: "none" });
    const hash = (await readApprovalView(test.app.context, asked.token))?.binding.request_hash ?? "";
    const sign = (who: string, decision: "approve" | "deny") => {
      const { public_key: _key, ...signed } = find(who).passkey.assert(approvalChallenge(hash, decision));
      return signed;
    };
    const post = (path: string, body: object) =>
      test.call("POST", `/approve/${asked.token}/${path}`, { headers: fromPage, body });
    return {
      ...asked,
      approveAs: (who: string) => post("passkey", { passkey: sign(who, "approve") }),
      denyAs: (who: string) => post("deny", { passkey: sign(who, "deny") }),
    };
  }

  it("decides in the place of who is away, and the receipt, the portal, the roster and the audit log say so", async () => {
    const { context } = test.app;
    const early = await open();
    expect((await early.approveAs("Erin")).body.code).toBe("approver_not_enrolled");
    await name("Carol", "Erin");
    const { head, entries } = (await readLastRoster(context.database.db, owner.organizationId)) ?? {};
    expect(entries?.filter(({ deputy_for }) => deputy_for)).toMatchObject([
      { approver_id: find("Erin").approver.id, deputy_for: { approver_id: find("Carol").approver.id } },
    ]);
    const [roster] = await listRosters(context.database.db, owner.organizationId, {
      number: head?.number,
      limit: 1,
    });
    expect(roster?.changes).toMatchObject([{ kind: "deputy_named", person: "Carol", deputy: "Erin" }]);

    const { rows } = await listInbox(context, await signIn("Erin"), { isWaiting: true, limit: 20 });
    const waiting = (await readDecidable(context, await signIn("Erin"), rows)).flat();
    expect(
      waiting.map(({ view, asDeputyOf }) => [view.request_id, asDeputyOf]),
      "what waits already",
    ).toEqual([[early.made.request_id, ["Carol"]]]);
    const page = await readApprovalView(context, early.token);
    expect(page?.deputies).toEqual([{ deputy: "Erin", replaced: "Carol" }]);
    const asked = await open(2);
    expect(asked.made.notified).toBe(4);
    expect((await asked.approveAs("Erin")).status).toBe(200);
    expect((await asked.approveAs("Dave")).status).toBe(200);
    const { body } = await asked.read(key);
    expect(body.human_authorization).toMatchObject({
      version: 2,
      approvals: [{ deputy_for: find("Carol").approver.id }, { approver_id: find("Dave").approver.id }],
    });
    const report = await verifyInBrowser(body, (await test.call("GET", "/v1/pubkey")).body);
    expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
    const { deciders } = await readOwnAuthorization(context, owner, asked.made.request_id);
    expect(deciders.map(({ who }) => who)).toEqual(["Erin, as deputy of Carol", "Dave"]);
    const { rows: events } = await listAuditEvents(context, owner, { limit: 50, cursor: undefined } as never);
    expect(events.map(({ action, actor }) => [action, actor])).toEqual(
      expect.arrayContaining([
        ["authorization.approval_given", "Erin (erin@example.com), as deputy of Carol (carol@example.com)"],
      ]),
    );
    expect(events.find(({ action }) => action === "deputy.named")).toMatchObject({
      detail: expect.stringContaining("Erin"),
    });
    const denied = await open();
    expect((await denied.denyAs("Erin")).status).toBe(200);
    await end("Carol");
    expect((await early.approveAs("Erin")).body.code).toBe("approver_not_enrolled");
  });

  it("counts for one person: neither beside who is away, nor twice, nor again by their own right", async () => {
    await name("Carol", "Erin");
    const first = await open(2);
    expect((await first.approveAs("Erin")).status).toBe(200);
    expect((await first.approveAs("Carol")).body.code).toBe("already_approved");
    expect((await first.approveAs("Erin")).status).not.toBe(200);
    const second = await open(2);
    expect((await second.approveAs("Carol")).status).toBe(200);
    expect((await second.approveAs("Erin")).body.detail).toContain("has approved already");
    await end("Carol");
    // Approvers act by their own right where they have it.
    await name("Carol", "Dave");
    const third = await open(2);
    expect((await third.approveAs("Dave")).status).toBe(200);
    expect((await third.approveAs("Dave")).status).toBe(409);
    expect((await third.approveAs("Carol")).status).toBe(200);
    const { approvals, version } = (await third.read(key)).body.human_authorization;
    expect([version, approvals.map((one: { deputy_for?: string }) => one.deputy_for)]).toEqual([
      1,
      [undefined, undefined],
    ]);
    await end("Carol");
  });

  it("never approves for who asks, and who asks never as a deputy", async () => {
    await name("Owner", "Erin");
    expect((await (await open()).approveAs("Erin")).body.detail).toContain(
      "belongs to the person whose deputy you are",
    );
    await end("Owner");
    const { groups } = await listApprovers(test.app.context, owner);
    const finance = groups.find((one) => one.name === "finance")?.id ?? null;
    const set = (...members: string[]) =>
      saveGroup(test.app.context, owner, {
        id: finance,
        name: "finance",
        memberIds: members.map((one) => find(one).approver.id),
      });
    await set("Carol", "Dave");
    await name("Carol", "Owner");
    expect((await (await open()).approveAs("Owner")).body.detail).toContain("in another's place");
    await end("Carol");
    await set("Carol", "Dave", "Owner");
  });

  it("hears of it by mail: when they are named, for another time, and when it ends early", async () => {
    let known = 0;
    const hear = async (who: string) => {
      await runRosterRound(test.app.context);
      const all = (await mailsTo(test, `${who}@example.com`)).filter(({ subject }) => /deputy/.test(subject));
      return all.slice(0, all.length - known).map(({ subject, text }) => `${subject}\n${text}`);
    };
    const until = Date.now() + day;
    await name("Dave", "Carol", null, until);
    known = (await hear("dave")).length;
    await name("Carol", "Dave", null, until);
    const named = await hear("dave");
    expect(named).toEqual([
      expect.stringMatching(/^You are an approver's deputy on Countersign\n.*\nApprover:\n> Carol\n/s),
    ]);
    expect(named[0]).toContain(` to ${readableTime(new Date(until).toISOString())} you decide`);
    known += 1;
    await name("Carol", "Dave", null, until + day);
    expect((await hear("dave")).length, "for another time").toBe(1);
    known += 1;
    await name("Carol", "Erin");
    const ended = expect.stringMatching(/^You are no longer an approver's deputy on Countersign\n/);
    expect(await hear("dave"), "another in their place").toEqual([ended]);
    await end("Carol");
    expect((await hear("erin"))[0]).toEqual(ended);
    const { context } = test.app;
    const kept = context.clock;
    await end("Dave");
    context.clock = () => new Date(until);
    known = 1;
    expect(await hear("carol"), "it was over by then").toEqual([]);
    context.clock = kept;
  });

  it("has a time, and is another enrolled approver of the organization", async () => {
    const { db } = test.app.context.database;
    const soon = new Date(Date.now() + day);
    await name("Carol", "Erin", soon, Date.now() + 2 * day);
    expect(await readDeputy(db, find("Carol").approver.id)).toMatchObject({
      name: "Erin",
      from: soon.toISOString(),
    });
    const early = await open();
    expect((await early.approveAs("Erin")).body.code).toBe("approver_not_enrolled");
    const noticesOfErin = async () => {
      await notifyStarted(test.app.context);
      const { rows } = await test.query(
        "SELECT kind FROM notices WHERE request_id = $1 AND approver_id = $2",
        [early.made.request_id, find("Erin").approver.id],
      );
      return rows.map(({ kind }) => kind);
    };
    expect(await noticesOfErin(), "before the start").toEqual([]);
    await db.execute(`UPDATE deputies SET starts_at = now()`);
    expect(await noticesOfErin()).toEqual(["waiting"]);
    expect(await noticesOfErin(), "again").toEqual(["waiting"]);
    await db.execute(
      `UPDATE deputies SET starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour'`,
    );
    expect(await readDeputy(db, find("Carol").approver.id)).toBeNull();
    expect((await (await open()).approveAs("Erin")).body.code).toBe("approver_not_enrolled");
    await expect(name("Carol", "Carol")).rejects.toMatchObject({ errorName: "validation_error" });
    await expect(name("Carol", "Erin", null, Date.now() - 1)).rejects.toMatchObject({
      errorName: "validation_error",
    });
    await expect(name("Carol", "Erin", null, Date.now() + 91 * day)).rejects.toMatchObject({
      errorName: "validation_error",
    });
    const possible = await listPossibleDeputies(db, find("Carol").approver);
    expect(possible.map((one) => one.name)).toEqual(["Dave", "Erin", "Owner"]);
  });
});
