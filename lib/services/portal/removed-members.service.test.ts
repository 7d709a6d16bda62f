/** Guarantee: who is removed from an organization while what they do there waits changes nothing any more. */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { lockOrganization } from "#lib/services/accounts/organizations";
import {
  freezeOwnAgent,
  putOwnTools,
  registerOwnAgent,
  unfreezeOwnAgent,
  updateOwnAgent,
} from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import {
  cancelOwnAuthorization,
  revokeOwnAuthorization,
} from "#lib/services/approvals/portal-authorizations";
import { makeApiKey, revokeOwnApiKey, rotateApiKey } from "#lib/services/keys/api-keys";
import {
  createOwnWebhook,
  deleteOwnWebhook,
  replayOwnDelivery,
  rotateOwnWebhook,
  testOwnWebhook,
  updateOwnWebhook,
} from "#lib/services/webhooks/deliveries";
import { approveUnproven, ask } from "#support/authorizations";
import { databaseKinds } from "#support/databases";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { askForFirstApproval } from "./overview";

// The embedded database has one session, so nothing comes between there.
describe.skipIf(!databaseKinds.includes("postgres"))("a member who is removed at that moment", () => {
  const { test } = setupTestApp("postgres", {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000",
    LIMIT_AUTHORIZE_PENDING: "1000",
  });
  let context: Context;
  let member: MemberPrincipal;
  let acts: Record<string, () => Promise<unknown>>;
  const query = async (text: string, ...values: unknown[]) =>
    (await context.database.query(text, values)).rows;
  const join = () =>
    query(
      "INSERT INTO memberships (organization_id, user_id, role) VALUES ($1, $2, 'member')",
      member.organizationId,
      member.userId,
    );

  beforeAll(async () => {
    ({ context } = test.app);
    const { key, organizationId } = await test.createKey();
    const [{ keyId }, { keyId: otherKeyId }] = [
      await test.createKey(undefined, ["read"]),
      await test.createKey(),
    ];
    const { email } = await signInPerson(context, "member@example.com");
    member = await signInPerson(context, email, organizationId);
    await join();
    const [approved, pending] = [await ask(test, key), await ask(test, key)].map(
      ({ made }) => made.request_id,
    );
    await approveUnproven(test, approved ?? "");
    await ask(test, key, { agent_slug: "frozen" });
    await test.call("POST", "/v1/identity/frozen/freeze", { key, body: { reason: "stop" } });
    const { id } = await createOwnWebhook(context, member, {
      url: "https://example.com/hook",
      events: ["agent.frozen"],
    });
    const { message_id } = await testOwnWebhook(context, member, id);
    acts = {
      freeze: () => freezeOwnAgent(context, member, "treasurer", "stop"),
      unfreeze: () => unfreezeOwnAgent(context, member, "frozen", null),
      register: () => registerOwnAgent(context, member, { slug: "another" }),
      update: () => updateOwnAgent(context, member, "treasurer", { name: "Other" }),
      tools: () => putOwnTools(context, member, "treasurer", ["pay"]),
      cancel: () => cancelOwnAuthorization(context, member, pending ?? ""),
      revoke: () => revokeOwnAuthorization(context, member, approved ?? "", null),
      webhook: () => createOwnWebhook(context, member, { url: "https://example.com/2", events: [] }),
      webhookUpdate: () => updateOwnWebhook(context, member, id, { events: [] }),
      webhookRotate: () => rotateOwnWebhook(context, member, id, 0),
      webhookTest: () => testOwnWebhook(context, member, id),
      webhookReplay: () => replayOwnDelivery(context, member, id, message_id),
      webhookDelete: () => deleteOwnWebhook(context, member, id),
      key: () => makeApiKey(context, member, { name: "k", scopes: ["read"], lifetimeDays: null }),
      keyRotate: () => rotateApiKey(context, member, { keyId, overlapHours: 0 }),
      keyRevoke: () => revokeOwnApiKey(context, member, otherKeyId),
    };
  });

  /** Result of the act if the person is removed while it waits for the organization. */
  async function actWhileRemoved({ organizationId, userId }: MemberPrincipal, act: () => Promise<unknown>) {
    const isWaiting = () =>
      query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      ).then(({ length }) => length > 0);
    const { acting } = await context.database.db.transaction(async (tx) => {
      await lockOrganization(tx, organizationId);
      const begun = Promise.allSettled([act()]);
      await Promise.race([expect.poll(isWaiting).toBe(true), begun]);
      await tx.execute(`DELETE FROM memberships WHERE user_id = '${userId}'`);
      return { acting: begun };
    });
    return acting;
  }
  const isUnknown = [{ status: "rejected", reason: { errorName: "not_found" } }];

  it("does nothing, and gets the answer of a stranger", async () => {
    const audited = () => query("SELECT action FROM audit_events WHERE actor = $1 ORDER BY id", member.email);
    const before = await audited();
    for (const [name, act] of Object.entries(acts)) {
      expect([name, await actWhileRemoved(member, act)]).toMatchObject([name, isUnknown]);
      await join();
    }
    expect(await audited()).toEqual(before);
  });

  it("does nothing by a key of the organization either", async () => {
    const starter = await signInPerson(context, "starter@example.com");
    await test.createKey(starter.email);
    expect(await actWhileRemoved(starter, () => askForFirstApproval(context, starter))).toMatchObject(
      isUnknown,
    );
  });

  it("waits for requests that are made meanwhile, and they for nothing that waits for it", async () => {
    const { key } = await test.createKey();
    const deadlocks = () =>
      query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    const before = await deadlocks();
    for (let round = 0; round < 12; round += 1) {
      const slug = `busy-${round}`;
      const { made } = await ask(test, key, { agent_slug: slug });
      const path = `/v1/identity/${slug}/freeze`;
      const outcomes = await Promise.all([
        test.call("POST", "/v1/attest", { key, body: { agent_slug: slug, action: "a", inputs_hash: "b" } }),
        test.call("POST", path, { key, body: { reason: "stop" } }),
        cancelOwnAuthorization(context, member, made.request_id),
        ...Array.from({ length: 4 }, (_, n) => ask(test, key, { agent_slug: slug, action: `${n}` })),
      ]);
      expect(outcomes).toHaveLength(7);
    }
    expect(await deadlocks()).toEqual(before);
  });

  it("could have done all of it", async () => {
    for (const [name, act] of Object.entries(acts)) {
      const [{ status }] = await Promise.allSettled([act()]);
      expect([name, status]).toEqual([name, "fulfilled"]);
    }
  });
});
