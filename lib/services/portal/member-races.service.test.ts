/** Guarantee: who joins, leaves or makes a key while the organization changes gets an answer, and nothing of what has ended. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { removeGroup, saveGroup } from "#lib/services/accounts/approver-groups";
import { leaveByLink, listApprovers } from "#lib/services/accounts/approvers";
import { removeDomain } from "#lib/services/accounts/domains";
import { acceptInvitation, inviteMember, withdrawInvitation } from "#lib/services/accounts/invitations";
import { saveNoticeSettings } from "#lib/services/accounts/mails";
import { ensureMemberships, listMemberships } from "#lib/services/accounts/members";
import { lockOrganization } from "#lib/services/accounts/organizations";
import { removePasskey } from "#lib/services/accounts/passkeys";
import { updateRoster } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { eraseContent } from "#lib/services/attestations/erase";
import { limitApiKey } from "#lib/services/keys/api-keys";
import { requestKeyByEmail, verifyKeyByEmail } from "#lib/services/keys/routes";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { saveOwnRules } from "#lib/services/policies/read";
import type { TestPasskey } from "#support/authenticator";
import { type AskedRequest, ask, fromPage } from "#support/authorizations";
import { databaseKinds } from "#support/databases";
import { enrolApprover, tokenOf } from "#support/enrol";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { deleteOrganization, nameOrganization, updateOrganization } from "./organization";

// The embedded database has one session, so nothing comes between there.
describe.skipIf(!databaseKinds.includes("postgres"))("members, at the same moment", () => {
  const { test } = setupTestApp("postgres");
  let context: Context;
  let owner: MemberPrincipal;
  let counter = 0;
  beforeAll(async () => {
    ({ context } = test.app);
  });
  afterEach(() => vi.restoreAllMocks());
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(context, `owner${counter}@example.com`);
  });

  const newestMail = async (email: string) => {
    const mails = await listMailbox(context.database);
    return mails.find(({ to }) => to === email) ?? { subject: "", text: "" };
  };
  const waiting = (count: number) => {
    const sql =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    return expect.poll(async () => (await context.database.query(sql, [])).rows.length).toBe(count);
  };
  const deadlocks = async () => {
    const text = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    return (await context.database.query(text, [])).rows;
  };
  const askFinance = (key: string, count: number) =>
    ask(test, key, {
      agent_slug: `bot${counter}`,
      required_approvers: [{ group: "finance", count }],
      required_level: "none",
    });
  const decideAs =
    (decision: "approve" | "deny", { token }: AskedRequest, passkey: TestPasskey) =>
    async () => {
      const view = await readApprovalView(context, token);
      const challenge = approvalChallenge(view?.binding.request_hash ?? "", decision);
      const { public_key: _key, ...assertion } = passkey.assert(challenge);
      const path = `/approve/${token}/${decision === "approve" ? "passkey" : "deny"}`;
      return test.call("POST", path, { headers: fromPage, body: { passkey: assertion } });
    };
  /** Queues them behind an attestation that is the `place`-th to wait for a lock, the log's head. */
  const inOneBatch = async (key: string, place: number, ...acts: (() => Promise<unknown>)[]) => {
    const queued = vi.spyOn(context.log, "submit");
    const { attesting, acting } = await context.database.db.transaction(async (tx) => {
      await tx.execute("SELECT FROM logs FOR UPDATE");
      const body = { agent_slug: `bot${counter}`, action: "Paid", inputs_hash: "x" };
      const begun = {
        attesting: test.call("POST", "/v1/attest", { key, body }),
        acting: [] as Promise<unknown>[],
      };
      await waiting(place);
      for (const [i, act] of acts.entries()) {
        begun.acting.push(act());
        await expect.poll(() => queued.mock.calls.length).toBe(i + 2);
      }
      return begun;
    });
    await attesting;
    return acting;
  };

  it("do nothing as owners that they are no longer when it would be stored", async () => {
    const second = await joinPerson(context, `demoted${counter}@example.com`, owner.organizationId, "owner");
    const id = randomUUID();
    const settings = {
      name: "Ours",
      defaultPublic: true,
      markText: null,
      markColor: null,
      pushShowsFacts: true,
    };
    const rules = { text: "", mode: "off", require_second_owner: true } as const;
    await saveOwnRules(context, owner, rules);
    const acts: Record<string, () => Promise<unknown>> = {
      domain: () => removeDomain(context, second, id),
      invitation: () => withdrawInvitation(context, second, id),
      name: () => nameOrganization(context, second, settings),
      settings: () => updateOrganization(context, second, settings),
      key: () => limitApiKey(context, second, { keyId: id, perDay: 1 }),
      passkey: () => removePasskey(context, { ...second, id, name: "Ana" }, id, toActor(second), second),
      erasure: () => eraseContent(context, second, id),
      proposal: () => saveOwnRules(context, second, { ...rules, mode: "log_only" }),
    };
    for (const [name, act] of Object.entries(acts)) {
      const { outcome } = await context.database.db.transaction(async (tx) => {
        await lockOrganization(tx, owner.organizationId);
        const acting = Promise.allSettled([act()]);
        await Promise.race([waiting(1), acting]);
        await tx.execute(`UPDATE memberships SET role = 'member' WHERE user_id = '${second.userId}'`);
        return { outcome: acting };
      });
      expect(await outcome, name).toMatchObject([{ status: "rejected", reason: { errorName: "forbidden" } }]);
      await context.database.query("UPDATE memberships SET role = 'owner' WHERE user_id = $1", [
        second.userId,
      ]);
    }
  });

  it("leave as approvers while a batch has their decision and a roster", async () => {
    const { passkey, email, id } = await enrolApprover(test, owner, `Bo${counter}`);
    await saveGroup(context, owner, { id: null, name: "finance", memberIds: [id] });
    const { key } = await test.createKey(owner.email);
    const deny = decideAs("deny", await askFinance(key, 1), passkey);
    const before = await deadlocks();
    // Later than rounds look for it.
    const mark = "INSERT INTO stale_rosters (organization_id, since) VALUES ($1, now() + interval '1 hour')";
    await context.database.query(mark, [owner.organizationId]);
    const { all } = await context.database.db.transaction(async (person) => {
      await person.execute(`SELECT FROM approvers WHERE id = '${id}' FOR UPDATE`);
      const leaving = leaveByLink(context, await tokenOf(test, email), "192.0.2.9");
      await waiting(1);
      const update = () => updateRoster(context, owner.organizationId);
      const others = await inOneBatch(key, 2, update, deny);
      await waiting(2);
      return { all: Promise.all([leaving, ...others]) };
    });
    const [, , denied] = await all;
    expect(denied).toMatchObject({ status: 422, body: { code: "approver_not_enrolled" } });
    expect(await deadlocks()).toEqual(before);
  });

  const changes: [string, string, (groupId: string) => Promise<unknown>][] = [
    [
      "delete their organization",
      "approvers",
      () => deleteOrganization(context, owner, organizationTitle(null)),
    ],
    [
      "empty a group",
      "approver_groups",
      (id) => saveGroup(context, owner, { id, name: "finance", memberIds: [] }),
    ],
    ["delete a group", "approver_groups", (id) => removeGroup(context, owner, id)],
  ];
  it.each(changes)("%s while a batch has decisions of two of its approvers", async (_name, table, change) => {
    const one = await enrolApprover(test, owner, `Ed${counter}`);
    const other = await enrolApprover(test, owner, `Flo${counter}`);
    await saveGroup(context, owner, { id: null, name: "finance", memberIds: [one.id, other.id] });
    const { groups } = await listApprovers(context, owner);
    const { key } = await test.createKey(owner.email);
    const [first, second] = [await askFinance(key, 1), await askFinance(key, 1)];
    const before = await deadlocks();
    const { all } = await context.database.db.transaction(async (person) => {
      const column = table === "approvers" ? "id" : "approver_id";
      await person.execute(`SELECT FROM ${table} WHERE ${column} = '${one.id}' FOR UPDATE`);
      const changing = change(groups[0]?.id ?? "");
      await waiting(1);
      const denials = [decideAs("deny", first, other.passkey), decideAs("deny", second, one.passkey)];
      const others = await inOneBatch(key, 2, ...denials);
      await waiting(2);
      return { all: Promise.all([changing, ...others]) };
    });
    await all;
    expect(await deadlocks()).toEqual(before);
  });

  it("delete their organization, and the log goes on meanwhile", async () => {
    const { key } = await test.createKey(owner.email);
    const { keyId } = await test.createKey(owner.email);
    const body = { agent_slug: `bot${counter}`, action: "Paid", inputs_hash: "x" };
    const attest = async () => (await test.call("POST", "/v1/attest", { key, body })).status;
    expect(await attest()).toBe(201);
    const { db } = context.database;
    const { deleting } = await db.transaction(async (tx) => {
      await tx.execute(`SELECT FROM api_keys WHERE id = '${keyId}' FOR UPDATE`);
      const deletion = deleteOrganization(context, owner, organizationTitle(null));
      await waiting(1);
      expect(await attest()).toBe(201);
      return { deleting: deletion };
    });
    await deleting;
  });

  it("join another organization while theirs is deleted, and stay", async () => {
    const email = `joining${counter}@example.com`;
    const member = await joinPerson(context, email, owner.organizationId);
    const other = await signInPerson(context, `other${counter}@example.com`);
    await inviteMember(context, other, { email, role: "member" });
    const [, token = ""] = /invitations\/(\S+)/.exec((await newestMail(email)).text) ?? [];
    const { both } = await context.database.db.transaction(async (tx) => {
      await lockOrganization(tx, other.organizationId);
      const accepted = acceptInvitation(context, member, token);
      await waiting(1);
      const deleted = deleteOrganization(context, owner, organizationTitle(null));
      await Promise.race([waiting(2), deleted]);
      return { both: Promise.all([accepted, deleted]) };
    });
    await both;
    const joined = await listMemberships(context.database.db, member.userId);
    expect(joined.map(({ organizationId }) => organizationId)).toEqual([other.organizationId]);
  });

  /** Result of an act that began just before the person's account ended. */
  const whileEnding = async <Value>(userId: string, act: () => Promise<Value>) => {
    const { acting } = await context.database.db.transaction(async (tx) => {
      await tx.execute(`SELECT FROM users WHERE id = '${userId}' FOR UPDATE`);
      const begun = act();
      await waiting(1);
      await tx.execute(`DELETE FROM users WHERE id = '${userId}'`);
      return { acting: begun };
    });
    return acting;
  };

  it("get a key and a new account if theirs has just ended", async () => {
    const email = `ending${counter}@example.com`;
    const { userId } = await signInPerson(context, email, owner.organizationId);
    await requestKeyByEmail(context, email, null);
    const code = (await newestMail(email)).subject.slice(0, 6);
    const { key_id } = await whileEnding(userId, () => verifyKeyByEmail(context, email, code, "192.0.2.1"));
    const { rows } = await context.database.query(
      "SELECT role FROM api_keys k JOIN memberships m USING (organization_id) WHERE k.id = $1",
      [key_id],
    );
    expect(rows).toEqual([{ role: "owner" }]);
  });

  it("get no new account by a session of one that has just ended", async () => {
    const email = `visiting${counter}@example.com`;
    const visitor = await signInPerson(context, email, owner.organizationId);
    expect(await whileEnding(visitor.userId, () => ensureMemberships(context, visitor))).toEqual([]);
    const { rows } = await context.database.query("SELECT id FROM users WHERE email = $1", [email]);
    expect(rows).toEqual([]);
  });

  it("make a key by email in no organization that they are just removed from", async () => {
    const email = `leaving${counter}@example.com`;
    const { userId } = await joinPerson(context, email, owner.organizationId);
    await requestKeyByEmail(context, email, null);
    const code = (await newestMail(email)).subject.slice(0, 6);
    const { made } = await context.database.db.transaction(async (tx) => {
      await lockOrganization(tx, owner.organizationId);
      const verifying = verifyKeyByEmail(context, email, code, "192.0.2.1");
      await waiting(1);
      await tx.execute(`DELETE FROM memberships WHERE user_id = '${userId}'`);
      return { made: verifying };
    });
    const { key_id } = await made;
    const { rows } = await context.database.query("SELECT organization_id FROM api_keys WHERE id = $1", [
      key_id,
    ]);
    expect(rows[0]?.["organization_id"]).not.toBe(owner.organizationId);
  });

  it("get no emails of an organization that they are just removed from", async () => {
    const email = `noticed${counter}@example.com`;
    const member = await joinPerson(context, email, owner.organizationId);
    const { organizationId, userId } = member;
    const wanted = { requests: "all", decisions: true, reminders: true } as const;
    const { saved } = await context.database.db.transaction(async (tx) => {
      await lockOrganization(tx, organizationId);
      const saving = Promise.allSettled([saveNoticeSettings(context, member, organizationId, wanted)]);
      await Promise.race([waiting(1), saving]);
      await tx.execute(`DELETE FROM memberships WHERE user_id = '${userId}'`);
      return { saved: saving };
    });
    expect(await saved).toMatchObject([{ status: "rejected", reason: { errorName: "not_found" } }]);
    const { rows } = await context.database.query("SELECT id FROM approvers WHERE email = $1", [email]);
    expect(rows).toEqual([]);
  });
});
