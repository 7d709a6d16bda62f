/** Guarantee: only the person changes their passkeys: by a mail of their own that is fresh, or signed in. Owners remove. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { AppError } from "#lib/errors";
import type { Context } from "#lib/services/approvals/context";
import { sendAll } from "#support/approvers";
import { createPasskey } from "#support/authenticator";
import { ask } from "#support/authorizations";
import { addConfirmed, mailsTo, tokenOf } from "#support/enrol";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { leaveByLink } from "./approvers";
import { readRequesterRule, setRequesterMayApprove } from "./members";
import {
  type Approver,
  beginEnrolment,
  finishEnrolment,
  listOwnApprovers,
  listPasskeys,
  mailPasskeyLink,
  readPasskeyLink,
  removePasskey,
  requireOwnApprover,
  requireOwnerAbout,
  requirePasskeyLink,
} from "./passkeys";
import { listRosters, runRosterRound } from "./roster";

const by = { kind: "human", id: "ana", ip: null } as const;
const ip = "192.0.2.9";

const problemOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof AppError ? error.errorName : String(error)),
  );

async function enrol(context: Context, of: Approver): Promise<string> {
  const { challenge } = await beginEnrolment(context, of);
  const response = createPasskey().register(challenge);
  await finishEnrolment(context, of, { name: "Phone", response }, by);
  return (await listPasskeys(context.database.db, of.id)).at(-1)?.id ?? "";
}

describe("who changes passkeys", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let ana: string;
  let token: string;
  let counter = 0;
  let later = 0;
  beforeAll(async () => {
    ({ context } = test.app);
    context.clock = () => new Date(Date.now() + later);
  });
  beforeEach(async () => {
    counter += 1;
    later = 0;
    ana = `ana${counter}@example.com`;
    owner = await signInPerson(context, `owner${counter}@example.com`);
    await addConfirmed(test, owner, "Ana", ana);
    token = await tokenOf(test, ana);
  });

  const approver = async () => {
    const link = await readPasskeyLink(context, token);
    if (link === null) throw new Error("no approver");
    return link.approver;
  };
  const freshToken = async () => {
    await mailPasskeyLink(context, token);
    const [newest] = await mailsTo(test, ana);
    return /\/notices\/(\S+)/.exec(newest?.text ?? "")?.[1] ?? "";
  };

  it("lets the mail that asked enrol the first passkey ever, and none after it", async () => {
    expect(await problemOf(requirePasskeyLink(context, token, ip))).toBeNull();
    const id = await enrol(context, await approver());
    expect(await problemOf(requirePasskeyLink(context, token, ip))).toBe("forbidden");
    await removePasskey(context, await approver(), id, by);
    expect(await problemOf(requirePasskeyLink(context, token, ip))).toBe("forbidden");
  });

  it("lets no mail about a request enrol, which may be forwarded, and no link that has expired", async () => {
    const { key } = await test.createKey(owner.email);
    await ask(test, key, { approvers: ["Ana"] });
    await sendAll(test);
    const [mail] = await mailsTo(test, ana);
    const [, forwarded = ""] = /\/notices\/(\S+)/.exec(mail?.text ?? "") ?? [];
    expect(await readPasskeyLink(context, forwarded)).toMatchObject({ mayManage: false, isExpired: false });
    expect(await problemOf(requirePasskeyLink(context, forwarded, ip))).toBe("forbidden");
    const fresh = await freshToken();
    later = 31 * 60_000;
    expect(await problemOf(requirePasskeyLink(context, fresh, ip))).toBe("forbidden");
  });

  it("lets no mail that is older than a week enrol", async () => {
    await context.database.query(
      "UPDATE approvers SET invited_at = now() - interval '8 days' WHERE email = $1",
      [ana],
    );
    expect(await problemOf(requirePasskeyLink(context, token, ip))).toBe("forbidden");
  });

  it("takes a fresh link for half an hour, from the person's own mailbox", async () => {
    await enrol(context, await approver());
    const fresh = await freshToken();
    expect(fresh).not.toBe(token);
    expect(await readPasskeyLink(context, fresh)).toMatchObject({ mayManage: true, isExpired: false });
    later = 29 * 60_000;
    const { actor } = await requirePasskeyLink(context, fresh, ip);
    expect(actor).toEqual({ kind: "human", id: ana, ip });
    later = 31 * 60_000;
    expect(await readPasskeyLink(context, fresh)).toMatchObject({ mayManage: false, isExpired: true });
    expect(await problemOf(requirePasskeyLink(context, fresh, ip))).toBe("forbidden");
  });

  it("knows no link that somebody made up or that was cut", async () => {
    const fresh = await freshToken();
    const [id = "", mac = ""] = fresh.split(".");
    for (const made of [`${id}9.${mac}`, `${id.split("_")[0]}.${mac}`, `${id}.${mac.slice(1)}`, "", "x.y"])
      expect(await problemOf(requirePasskeyLink(context, made, ip))).toBe("not_found");
  });

  it("knows nobody who has left", async () => {
    await enrol(context, await approver());
    const fresh = await freshToken();
    await leaveByLink(context, token, ip);
    expect(await readPasskeyLink(context, fresh)).toBeNull();
    expect(await problemOf(requirePasskeyLink(context, fresh, ip))).toBe("not_found");
    expect(await problemOf(mailPasskeyLink(context, token))).toBe("not_found");
  });

  it("lets the signed-in person, and of others only owners of this organization", async () => {
    const own = await approver();
    const person = await signInPerson(context, ana);
    const stranger = await signInPerson(context, `stranger${counter}@example.com`);
    expect((await listOwnApprovers(context, person)).map(({ id }) => id)).toEqual([own.id]);
    expect((await requireOwnApprover(context, person, own.id)).actor).toMatchObject({
      kind: "user",
      id: ana,
      session: "sess_test",
    });
    expect(await problemOf(requireOwnApprover(context, stranger, own.id))).toBe("not_found");
    expect(await problemOf(requireOwnApprover(context, owner, own.id))).toBe("not_found");
    for (const nobody of ["", "undefined", "%", `${own.id}0`])
      expect(await problemOf(requireOwnApprover(context, person, nobody))).toBe("not_found");
    expect((await requireOwnerAbout(context, owner, own.id)).actor).toMatchObject({
      kind: "user",
      id: owner.email,
    });
    expect(await problemOf(requireOwnerAbout(context, stranger, own.id))).toBe("not_found");
    const member = await joinPerson(context, `member${counter}@example.com`, owner.organizationId);
    expect(await problemOf(requireOwnerAbout(context, member, own.id))).toBe("forbidden");
  });

  it("tells the person what was done with their passkeys", async () => {
    const own = await approver();
    const id = await enrol(context, own);
    await removePasskey(context, own, id, by);
    const subjects = (await mailsTo(test, ana)).map(({ subject }) => subject).slice(0, 2);
    expect(subjects).toEqual([
      expect.stringContaining("A passkey was removed"),
      expect.stringContaining("A passkey was added"),
    ]);
  });

  it("lets owners say whether who asks may approve", async () => {
    const { db } = context.database;
    const mayApprove = async () => (await readRequesterRule(db, owner.organizationId)).mayApprove;
    expect(await mayApprove()).toBe(false);
    await setRequesterMayApprove(context, owner, true);
    expect(await mayApprove()).toBe(true);
    const stranger = await signInPerson(context, `stranger${counter}@example.com`, owner.organizationId);
    expect(await problemOf(setRequesterMayApprove(context, stranger, false))).toBe("not_found");
    expect(await mayApprove()).toBe(true);
  });
});

describe("what follows a change of the roster", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let ana: Approver;
  beforeAll(async () => {
    ({ context } = test.app);
    owner = await signInPerson(context, "owner@example.com");
    ana = await addConfirmed(test, owner, "Ana", "ana@example.com");
  });

  const subject = "Who can approve has changed on Countersign";
  const count = async (email: string) =>
    (await mailsTo(test, email)).filter((mail) => mail.subject === subject).length;

  it("is a mail to every owner, once, and a webhook message", async () => {
    const { db } = context.database;
    const second = await joinPerson(context, "second@example.com", owner.organizationId, "owner");
    const member = await joinPerson(context, "member@example.com", owner.organizationId);
    const { key } = await test.createKey("owner@example.com");
    const body = { url: "http://127.0.0.1:9/", events: ["roster.changed"] };
    expect((await test.call("POST", "/v1/webhooks", { key, body })).status).toBe(201);
    await enrol(context, ana);
    await Promise.all([runRosterRound(context), runRosterRound(context), runRosterRound(context)]);
    await runRosterRound(context);
    expect(await Promise.all([owner, second, member].map(({ email }) => count(email)))).toEqual([1, 1, 0]);
    const [mail] = (await mailsTo(test, "second@example.com")).filter((one) => one.subject === subject);
    expect(mail?.text).toContain('Ana, in no group: passkey "Phone" added');
    const rosters = await listRosters(db, owner.organizationId, { number: undefined, limit: 10 });
    const { rows } = await context.database.query("SELECT body FROM webhook_messages WHERE type = $1", [
      "roster.changed",
    ]);
    expect(rows.map((row) => JSON.parse(String(row["body"])).data)).toEqual([
      { number: 1, roster_hash: rosters[0]?.hash },
    ]);
  });

  it("is made up for if the process died after the change", async () => {
    await context.database.query("UPDATE passkeys SET removed_at = now() WHERE approver_id = $1", [ana.id]);
    const { key } = await test.createKey("owner@example.com");
    const read = async (query = "") => (await test.call("GET", `/v1/roster${query}`, { key })).body;
    const numberOf = async (query?: string) => (await read(query)).roster?.head.number;
    expect(await numberOf()).toBe(1);
    await context.database.query("UPDATE stale_rosters SET since = since - interval '3 seconds'", []);
    await runRosterRound(context);
    expect(await numberOf()).toBe(2);
    expect(await numberOf("?number=1")).toBe(1);
    expect((await read()).roster.changes).toEqual([
      { kind: "passkey_removed", person: "Ana", passkey: "Phone" },
    ]);
    expect((await read("?number=3")).roster).toBeNull();
    const { key: other } = await test.createKey("stranger@example.com");
    expect((await test.call("GET", "/v1/roster", { key: other })).body.roster).toBeNull();
    expect((await test.call("GET", "/v1/roster?number=1", { key: other })).body.roster).toBeNull();
  });
});
