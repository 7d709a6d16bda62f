/** The portal's stop buttons: for members of the organization, and audited as the person who pressed. */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import {
  freezeOwnAgent,
  listOwnAgents,
  readOwnAgent,
  unfreezeOwnAgent,
} from "#lib/services/agents/identities";
import { approveUnproven, ask } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { cancelOwnAuthorization, listUnfinished, revokeOwnAuthorization } from "./portal-authorizations";

describe("stopping from the portal", () => {
  const { test } = setupTestApp();
  let key: string;
  let person: MemberPrincipal;
  let stranger: MemberPrincipal;
  beforeAll(async () => {
    const made = await test.createKey();
    key = made.key;
    person = await signInPerson(test.app.context, "dev@example.com", made.organizationId);
    stranger = await signInPerson(test.app.context, "other@example.com");
  });

  const audited = async (subject: string) =>
    (
      await test.query(
        "SELECT action, actor_kind, actor FROM audit_events WHERE subject = $1 AND action NOT LIKE '%request%' ORDER BY id",
        [subject],
      )
    ).rows;

  it("freezes and unfreezes, and keeps the reasons for the organization", async () => {
    const { context } = test.app;
    await ask(test, key, { agent_slug: "watched" });
    await freezeOwnAgent(context, person, "watched", "It paid twice");
    await unfreezeOwnAgent(context, person, "watched", null);
    await freezeOwnAgent(context, person, "watched", "It did it again");
    const { frozen_at, stops } = await readOwnAgent(context, person, "watched");
    expect(stops.map(({ isFrozen, reason }) => [isFrozen, reason])).toEqual([
      [true, "It did it again"],
      [false, null],
      [true, "It paid twice"],
    ]);
    expect(frozen_at).toBe(stops[0]?.at);
    const { rows } = await listOwnAgents(context, person, { limit: 10 });
    expect(rows.find(({ slug }) => slug === "watched")?.frozenAt).toBe(frozen_at);
    expect(await audited("watched")).toEqual(
      ["agent.frozen", "agent.unfrozen", "agent.frozen"].map((action) => ({
        action,
        actor_kind: "user",
        actor: "dev@example.com",
      })),
    );
    const body = { agent_slug: "watched", action: "Paid", inputs_hash: "a", is_public: true };
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
    for (const path of ["/v1/agent/watched", "/v1/agent/watched/record", "/v1/identity/watched"])
      expect(JSON.stringify((await test.call("GET", path)).body), path).not.toContain("It paid twice");
  });

  it("lists what waits and what is approved and unused, with what rules of now make of it", async () => {
    const { context } = test.app;
    const made = await test.createKey("rules@example.com");
    const owner = await signInPerson(context, "rules@example.com", made.organizationId);
    const request = async (body: object) =>
      (await ask(test, made.key, { agent_slug: "listed", ...body })).made.request_id;
    const waiting = await request({ tool: "pay", amount: { value: "5", currency: "EUR" } });
    const approved = await request({ tool: "pay", amount: { value: "70", currency: "EUR" } });
    const other = await request({ tool: "read" });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const standing = await request({ grant: { tools: ["pay"], max_calls: 1, expires_at } });
    for (const id of [approved, other, standing]) await approveUnproven(test, id);
    const list = async () =>
      (await listUnfinished(context, owner)).rows.map(({ request_id, approvedBy, stop }) => [
        request_id,
        approvedBy,
        stop,
      ]);
    expect(await list()).toEqual([
      [standing, "standing", null],
      [other, "people", null],
      [approved, "people", null],
      [waiting, null, null],
    ]);
    const byAmount = (await listUnfinished(context, owner, { isByAmount: true })).rows;
    expect(byAmount.map(({ request_id }) => request_id)).toEqual([approved, waiting]);
    const text = '@id("never") forbid (principal, action, resource == Tool::"pay");';
    await test.call("PUT", "/v1/rules", { key: made.key, body: { text, mode: "enforce" } });
    const stopped = "the organization's rules forbid this now: never";
    expect(await list()).toEqual([
      [standing, "standing", null],
      [other, "people", null],
      [approved, "people", stopped],
      [waiting, null, stopped],
    ]);
    await revokeOwnAuthorization(context, owner, approved, null);
    await revokeOwnAuthorization(context, owner, standing, null);
    await cancelOwnAuthorization(context, owner, waiting);
    expect(await list()).toEqual([[other, "people", null]]);
    await expect(
      listUnfinished(context, { ...owner, organizationId: stranger.organizationId }),
    ).rejects.toThrow();
  });
});
