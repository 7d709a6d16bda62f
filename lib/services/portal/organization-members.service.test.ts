/** Guarantees: roles hold, an organization is never without an owner, invitations work once and for one address. */

import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { invitations, users } from "#lib/db/schema";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import {
  acceptInvitation,
  inviteMember,
  listInvitations,
  readInvitation,
  withdrawInvitation,
} from "#lib/services/accounts/invitations";
import type { Context } from "#lib/services/approvals/context";
import { makeApiKey } from "#lib/services/keys/api-keys";
import { listMailbox } from "#lib/services/notifications/mailbox";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import {
  changeRole,
  deleteOrganization,
  listMembers,
  readOrganization,
  removeMember,
  updateOrganization,
} from "./organization";

describe("members", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  beforeAll(async () => {
    ({ context } = test.app);
  });
  beforeEach(async () => {
    owner = await signInPerson(context, `owner-${randomBytes(4).toString("hex")}@example.com`);
  });

  const newAddress = () => `p-${randomBytes(4).toString("hex")}@example.com`;

  async function invite(email: string, role: "owner" | "member" = "member"): Promise<string> {
    await inviteMember(context, owner, { email, role });
    const mail = (await listMailbox(context.database)).find(({ to }) => to === email);
    return /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
  }

  async function join(role: "owner" | "member" = "member"): Promise<MemberPrincipal> {
    const email = newAddress();
    const token = await invite(email, role);
    const person = await signInPerson(context, email, owner.organizationId);
    await acceptInvitation(context, person, token);
    return person;
  }

  it("has room for 100 people, open invitations among them, however many are invited at once", async () => {
    await context.database.query(
      `INSERT INTO invitations (id, organization_id, email, role, token_hash, invited_by, expires_at)
       SELECT gen_random_uuid(), $1, 'many' || n || '@example.com', 'member', decode(md5(gen_random_uuid()::text), 'hex'), 'x', now() + interval '1 day'
       FROM generate_series(1, 94) AS n`,
      [owner.organizationId],
    );
    const asked = await Promise.allSettled(
      Array.from({ length: 12 }, () => inviteMember(context, owner, { email: newAddress(), role: "member" })),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const one of asked)
      if (one.status === "rejected")
        expect(one.reason.detail).toContain("100 members, including open invitations");
    expect(await listInvitations(context.database.db, owner.organizationId)).toHaveLength(99);
    await inviteMember(context, owner, { email: "many1@example.com", role: "owner" });
  });

  it("joins the organization by invitation, with the invited role", async () => {
    const member = await join();
    const members = await listMembers(context.database.db, owner.organizationId);
    expect(members.map(({ email, role }) => [email, role])).toEqual([
      [owner.email, "owner"],
      [member.email, "member"],
    ]);
  });

  it("keeps the invitation's token only as a hash", async () => {
    const email = newAddress();
    const token = await invite(email);
    const [row] = await context.database.db.select().from(invitations).where(eq(invitations.email, email));
    expect(token).toHaveLength(43);
    expect(
      JSON.stringify({ ...row, token_hash: Buffer.from(row?.token_hash ?? []).toString("base64url") }),
    ).not.toContain(token);
  });

  it("counts an invitation's seven days by the database's clock", async () => {
    const { clock } = context;
    for (const shiftMs of [-30 * 86_400_000, 30 * 86_400_000]) {
      const email = newAddress();
      context.clock = () => new Date(clock().getTime() + shiftMs);
      await invite(email);
      context.clock = clock;
      const [row] = await context.database.db.select().from(invitations).where(eq(invitations.email, email));
      expect(Math.abs(Number(row?.expires_at) - Date.now() - 7 * 86_400_000)).toBeLessThan(60_000);
    }
  });

  it("takes an invitation once, also of two attempts at the same time", async () => {
    const email = newAddress();
    const token = await invite(email);
    const person = await signInPerson(context, email, owner.organizationId);
    const attempts = await Promise.allSettled([
      acceptInvitation(context, person, token),
      acceptInvitation(context, person, token),
    ]);
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(acceptInvitation(context, person, token)).rejects.toMatchObject({ errorName: "not_found" });
    expect(await readInvitation(context, token)).toBeNull();
  });

  it("refuses an invitation to another address, and leaves it usable", async () => {
    const email = newAddress();
    const token = await invite(email);
    const thief = await signInPerson(context, newAddress());
    await expect(acceptInvitation(context, thief, token)).rejects.toMatchObject({ errorName: "forbidden" });
    expect(await readInvitation(context, token)).not.toBeNull();
  });

  it("refuses an invitation that has expired, was withdrawn or was replaced", async () => {
    const email = newAddress();
    const person = await signInPerson(context, email, owner.organizationId);
    const replaced = await invite(email);
    const withdrawn = await invite(email);
    await expect(acceptInvitation(context, person, replaced)).rejects.toMatchObject({
      errorName: "not_found",
    });
    const [open] = await listInvitations(context.database.db, owner.organizationId);
    await withdrawInvitation(context, owner, open?.id ?? "");
    await expect(acceptInvitation(context, person, withdrawn)).rejects.toMatchObject({
      errorName: "not_found",
    });
    const expired = await invite(email);
    await context.database.db
      .update(invitations)
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where(eq(invitations.email, email));
    await expect(acceptInvitation(context, person, expired)).rejects.toMatchObject({
      errorName: "not_found",
    });
  });

  it("lets members change neither settings nor members", async () => {
    const member = await join();
    const forbidden = { errorName: "forbidden" };
    const settings = {
      name: "x",
      defaultPublic: false,
      markText: null,
      markColor: null,
      pushShowsFacts: true,
    };
    const acts = [
      () => updateOrganization(context, member, settings),
      () => inviteMember(context, member, { email: newAddress(), role: "owner" }),
      () => changeRole(context, member, { userId: member.userId, role: "owner" }),
      () => removeMember(context, member, { userId: owner.userId, revokeKeys: true }),
      () => deleteOrganization(context, member, "x"),
    ];
    for (const act of acts) await expect(act()).rejects.toMatchObject(forbidden);
  });

  it("never leaves an organization without an owner", async () => {
    const self = { userId: owner.userId, revokeKeys: false };
    const refused = { errorName: "validation_error" };
    await expect(removeMember(context, owner, self)).rejects.toMatchObject(refused);
    await expect(changeRole(context, owner, { userId: owner.userId, role: "member" })).rejects.toMatchObject(
      refused,
    );
    const second = await join("owner");
    const both = await Promise.allSettled([
      removeMember(context, owner, self),
      removeMember(context, second, { userId: second.userId, revokeKeys: false }),
    ]);
    expect(both.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const left = await listMembers(context.database.db, owner.organizationId);
    expect(left.map(({ role }) => role)).toEqual(["owner"]);
  });

  it("is joined by no invitation of somebody who is no longer an owner", async () => {
    const [demoted, removed] = [await join("owner"), await join("owner")];
    const back = newAddress();
    const invited = await Promise.all(
      [demoted, removed].map(async (inviter, n) => {
        const email = `${n}-${back}`;
        await inviteMember(context, inviter, { email, role: "owner" });
        const mail = (await listMailbox(context.database)).find(({ to }) => to === email);
        return { email, token: /invitations\/(\S+)/.exec(mail?.text ?? "")?.[1] ?? "" };
      }),
    );
    const kept = newAddress();
    const keptToken = await invite(kept);
    await changeRole(context, owner, { userId: demoted.userId, role: "member" });
    await removeMember(context, owner, { userId: removed.userId, revokeKeys: false });
    for (const { email, token } of invited) {
      const guest = await signInPerson(context, email, owner.organizationId);
      await expect(acceptInvitation(context, guest, token)).rejects.toMatchObject({ errorName: "not_found" });
    }
    const { rows } = await context.database.query(
      "SELECT detail FROM audit_events WHERE organization_id = $1 AND action IN ('member.role_changed', 'member.removed') ORDER BY id",
      [owner.organizationId],
    );
    expect(rows.map(({ detail }) => detail)).toEqual(
      invited.map(({ email }) => expect.objectContaining({ withdrawn_invitations: [email] })),
    );
    const guest = await signInPerson(context, kept, owner.organizationId);
    expect(await acceptInvitation(context, guest, keptToken)).toBe(owner.organizationId);
  });

  it("shows nothing to a removed member, and revokes their keys when asked", async () => {
    const member = await join();
    const { text } = await makeApiKey(context, member, {
      name: "k",
      scopes: ["read"],
      lifetimeDays: null,
    });
    expect((await test.call("GET", "/v1/keys/info", { key: text })).status).toBe(200);
    await removeMember(context, owner, { userId: member.userId, revokeKeys: true });
    expect((await test.call("GET", "/v1/keys/info", { key: text })).status).toBe(401);
    await expect(readOrganization(context, member)).rejects.toMatchObject({ errorName: "not_found" });
  });

  it("deletes the organization: keys refused, people without another one gone, attestations still verify", async () => {
    const member = await join();
    const { text } = await makeApiKey(context, owner, {
      name: "k",
      scopes: ["attest", "authorize", "identity"],
      lifetimeDays: null,
    });
    const hook = { url: "https://hooks.example/secret", events: ["authorization.cancelled"] };
    expect((await test.call("POST", "/v1/webhooks", { key: text, body: hook })).status).toBe(201);
    const waiting = { agent_slug: `w-${randomBytes(4).toString("hex")}`, action: "do" };
    await test.call("POST", "/v1/authorize", { key: text, body: waiting });
    const body = { agent_slug: `a-${randomBytes(4).toString("hex")}`, action: "did", inputs_hash: "x" };
    const made = await test.call("POST", "/v1/attest", { key: text, body });
    const { name } = await readOrganization(context, owner);
    await expect(deleteOrganization(context, owner, `${organizationTitle(name)}x`)).rejects.toMatchObject({
      errorName: "validation_error",
    });
    await deleteOrganization(context, owner, organizationTitle(name));
    expect((await test.call("POST", "/v1/attest", { key: text, body })).status).toBe(401);
    const { rows: kept } = await test.query("SELECT url FROM webhook_endpoints WHERE organization_id = $1", [
      owner.organizationId,
    ]);
    expect(kept, "addresses of webhooks are secrets, and nothing waits for them").toEqual([]);
    const left = await context.database.db.select().from(users).where(eq(users.id, member.userId));
    expect(left).toEqual([]);
    const verified = await test.call("GET", `/v1/verify/${made.body.attestation_id}`);
    expect(verified.body.valid).toBe(true);
  });
});
