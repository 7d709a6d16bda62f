/** A frozen agent: who may stop it and who may let it go on, what ends with the commit, and what everybody can see. */
import { beforeAll, describe, expect, it } from "vitest";
import { usualScopes } from "#lib/api/schemas/key-choices";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { parseChangeStatement, reasonHash } from "#lib/protocol/record/agent-heads";
import { approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

describe("a frozen agent", () => {
  const { test } = setupTestApp();
  let key: string;
  let unfreezer: string;
  beforeAll(async () => {
    ({ key } = await test.createKey("dev@example.com", usualScopes));
    ({ key: unfreezer } = await test.createKey("dev@example.com", ["freeze"]));
  });

  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
  const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
  const freeze = (slug: string, by = key, reason: unknown = "It paid twice") =>
    test.call("POST", `/v1/identity/${slug}/freeze`, { key: by, body: { reason } });
  const unfreeze = (slug: string, by = unfreezer) =>
    test.call("POST", `/v1/identity/${slug}/unfreeze`, { key: by, body: {} });
  const attest = (agent_slug: string, body: object = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug, action: "Pay 12,000 EUR to Example GmbH", inputs_hash: "sha256:aa", ...body },
    });
  const warningsOf = async ({ attestation_id }: { attestation_id: string }) => {
    const { body } = await test.call("GET", `/v1/verify/${attestation_id}`);
    expect(body.valid).toBe(true);
    return body.warnings.map(({ code }: { code: string }) => code);
  };
  const frozenAgent = async (slug: string) => {
    await attest(slug);
    await freeze(slug);
  };

  it("is stopped by any key of its organization, once, and by nobody else's", async () => {
    for (const [at, scope] of (
      ["attest", "authorize", "identity", "read", "hook", "erase"] as const
    ).entries()) {
      const slug = `stopped-${at}`;
      await attest(slug);
      const { key: narrow } = await test.createKey("dev@example.com", [scope]);
      const { status, body } = await freeze(slug.toUpperCase(), narrow);
      expect([status, body.slug], scope).toEqual([200, slug]);
      expect(Date.parse(body.frozen_at), scope).toBeGreaterThan(Date.now() - 60_000);
      expect((await freeze(slug, key, "again")).body.frozen_at, "it is frozen already").toBe(body.frozen_at);
      const stored = await query(
        "SELECT change, reason FROM agent_changes c JOIN agents a ON a.id = c.agent_id WHERE a.slug = $1",
        slug,
      );
      expect(stored).toEqual([{ change: "frozen", reason: "It paid twice" }]);
    }
    const { key: other } = await test.createKey("other@example.com");
    await attest("mine");
    const foreign = await freeze("mine", other);
    const unknown = await freeze("nobody-has-this", other);
    expect(refusal(foreign)).toEqual([404, "not_found"]);
    expect({ ...foreign.body, request_id: "" }).toEqual({ ...unknown.body, request_id: "" });
    for (const reason of ["", null, 7, "x".repeat(1001)])
      expect(refusal(await freeze("mine", key, reason))).toEqual([422, "validation_error"]);
    expect((await test.call("GET", "/v1/identity/mine")).body.frozen_at).toBeNull();
  });

  it("goes on only by a key with the permission freeze, which no key got by email has", async () => {
    await frozenAgent("careful");
    expect(usualScopes).not.toContain("freeze");
    expect(refusal(await unfreeze("careful", key))).toEqual([403, "insufficient_scope"]);
    const { key: other } = await test.createKey("else@example.com", ["freeze"]);
    expect(refusal(await unfreeze("careful", other))).toEqual([404, "not_found"]);
    expect((await unfreeze("careful")).body.frozen_at).toBeNull();
    expect((await unfreeze("careful")).status, "it goes on already").toBe(200);
    expect(await warningsOf((await attest("careful", { is_public: true })).body)).toEqual([]);
  });

  it("gets no approval, claims none and uses none, and can do all of it once it goes on", async () => {
    const slug = "stopped";
    const [pending, approved, claimed] = [
      await ask(test, key, { agent_slug: slug, action: "Pay" }),
      await ask(test, key, { agent_slug: slug, action: "Pay" }),
      await ask(test, key, { agent_slug: slug, action: "Pay" }),
    ];
    const claim = (request: typeof pending, run: string) =>
      test.call("POST", `/v1/authorize/${request.made.request_id}/claim`, { key, body: { run } });
    const use = async (request: typeof pending) => {
      const { human_authorization } = (await request.read()).body;
      return attest(slug, { action: "Pay", human_authorization });
    };
    await approveUnproven(test, approved.made.request_id);
    await approveUnproven(test, claimed.made.request_id);
    expect((await claim(claimed, "run 1")).status).toBe(200);
    const proof = await pending.start();
    await freeze(slug);

    await expect(pending.start()).rejects.toThrow("agent_frozen");
    await expect(approveUnproven(test, pending.made.request_id)).rejects.toThrow("agent_frozen");
    expect(proof.action).toBeTruthy();
    expect((await pending.read()).body.status).toBe("pending");
    expect(refusal(await claim(approved, "run 1"))).toEqual([422, "agent_frozen"]);
    expect(refusal(await claim(claimed, "run 1"))).toEqual([422, "agent_frozen"]);
    expect(refusal(await use(approved))).toEqual([422, "agent_frozen"]);
    expect(refusal(await use(claimed))).toEqual([422, "agent_frozen"]);

    await unfreeze(slug);
    expect((await claim(approved, "run 2")).status).toBe(200);
    expect((await use(approved)).status).toBe(201);
    await approveUnproven(test, pending.made.request_id);
    expect((await use(pending)).status).toBe(201);
  });

  it("is denied at once what it asks for, in a decision of its record, and not as if a human had denied it", async () => {
    await frozenAgent("asking");
    const keyed = { "idempotency-key": "asked-while-frozen" };
    const asked = { agent_slug: "asking", action: "Pay" };
    const post = () => test.call("POST", "/v1/authorize", { key, body: asked, headers: keyed });
    const first = await post();
    expect(first).toMatchObject({
      status: 201,
      body: { status: "denied", decided_by: { kind: "freeze" }, notified: 0 },
    });
    expect((await post()).body, "the same again").toEqual(first.body);
    const state = (await test.call("GET", `/v1/authorize/${first.body.request_id}`, { key })).body;
    expect(state).toMatchObject({ status: "denied", decided_by: { kind: "freeze" } });
    expect(state.guidance).toMatch(/^Denied: the organization has frozen this agent/);
    const [logged] = await query(
      "SELECT l.kind, l.sequence::int FROM authorization_requests r JOIN log_leaves l USING (log_id, leaf_index) WHERE r.id = $1",
      first.body.request_id,
    );
    expect(logged).toEqual({ kind: "decision", sequence: 3 });
    await unfreeze("asking");
    const later = await ask(test, key, asked);
    expect(later.made).toMatchObject({ status: "pending", previously_denied: null });
    expect(later.made.requested_by?.agent_past.denied).toBe(0);
  });

  it("can be denied what it waits for", async () => {
    const asked = await ask(test, key, { agent_slug: "waiting" });
    await freeze("waiting");
    expect((await asked.deny("no")).status).toBe(200);
  });

  it("attests what it does all the same, with a warning in the signed bytes", async () => {
    await frozenAgent("busy");
    const { body } = await attest("busy", { is_public: true });
    expect(await warningsOf(body)).toEqual(["agent_frozen"]);
    const { body: identity } = await test.call("GET", "/v1/identity/busy");
    const { payload } = (await test.call("GET", `/v1/verify/${body.attestation_id}`)).body;
    expect(JSON.parse(payload).predicate.agent_frozen_at).toBe(identity.frozen_at);
    const feed = (await test.call("GET", "/v1/agent/busy?warnings=true")).body.attestations;
    expect(feed.map(({ id }: { id: string }) => id)).toEqual([body.attestation_id]);
  });

  it("leaves signed entries in its record, which give the reason to its organization alone", async () => {
    await frozenAgent("recorded");
    await unfreeze("recorded");
    const { body } = await test.call("GET", "/v1/agent/recorded/record");
    expect(body.entries.map(({ kind }: { kind: string }) => kind)).toEqual([
      "attestation",
      "agent_change",
      "agent_change",
    ]);
    expect(JSON.stringify(body)).not.toContain("It paid twice");
    const rows = await query(
      "SELECT payload, reason, reason_salt FROM agent_changes WHERE agent_id = $1 ORDER BY changed_at, leaf_index",
      body.agent_id,
    );
    const changes = rows.map(({ payload }) => parseChangeStatement(new Uint8Array(payload as Uint8Array)));
    expect(changes).toMatchObject([
      { change: "frozen", request_hash: null, record: { sequence: 2, agent_id: body.agent_id } },
      { change: "unfrozen", reason_hash: null, record: { sequence: 3 } },
    ]);
    expect(changes[0]?.reason_hash).toBe(reasonHash(String(rows[0]?.["reason_salt"]), "It paid twice"));
    expect(Buffer.from(rows[0]?.["payload"] as Uint8Array).toString()).not.toContain("It paid twice");
    expect(parseChangeStatement(utf8Encode("{}"))).toBeNull();
  });

  it("is announced each time, and audited as who pressed", async () => {
    const events = ["agent.frozen", "agent.unfrozen"];
    await test.call("POST", "/v1/webhooks", { key, body: { url: "http://127.0.0.1:9/x", events } });
    await frozenAgent("announced");
    await unfreeze("announced");
    await freeze("announced");
    const sent = await query(
      "SELECT type, body FROM webhook_messages WHERE body LIKE '%announced%' ORDER BY created_at",
    );
    expect(sent.map(({ type }) => type)).toEqual(["agent.frozen", "agent.unfrozen", "agent.frozen"]);
    expect(JSON.parse(String(sent[1]?.["body"])).data).toEqual({ agent_slug: "announced", frozen_at: null });
    const audited = await query(
      "SELECT action, actor_kind, detail FROM audit_events WHERE subject = 'announced' ORDER BY id",
    );
    expect(audited).toMatchObject([
      { action: "agent.frozen", actor_kind: "key", detail: { reason: "It paid twice" } },
      { action: "agent.unfrozen", actor_kind: "key", detail: null },
      { action: "agent.frozen", actor_kind: "key" },
    ]);
  });
});
