/** Revoked approvals: by whom, from which states, and that nothing uses them. */
import { describe, expect, it } from "vitest";
import { authorizationState } from "#lib/api/schemas/authorization-state";
import { type AskedRequest, approveUnproven, ask, expireRequest, fromPage } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

describe("taking an approval back", () => {
  const { test, key } = setupTestApp();

  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
  const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
  const approved = async (body: object = {}) => {
    const asked = await ask(test, key, body);
    await approveUnproven(test, asked.made.request_id);
    return asked;
  };
  const revoke = ({ made }: Pick<AskedRequest, "made">, by = key, body: object = {}) =>
    test.call("POST", `/v1/authorizations/${made.request_id}/revoke`, { key: by, body });
  const byLink = ({ token }: AskedRequest, body: object = {}) =>
    test.call("POST", `/approve/${token}/revoke`, { headers: fromPage, body });
  const claim = ({ made }: AskedRequest, run = "run 1") =>
    test.call("POST", `/v1/authorize/${made.request_id}/claim`, { key, body: { run } });
  const attest = async ({ made, read }: AskedRequest) => {
    const { human_authorization } = (await read()).body;
    const { agent_slug, action } = made;
    const body = { agent_slug, action, inputs_hash: "sha256:aa", human_authorization };
    return test.call("POST", "/v1/attest", { key, body });
  };

  it("ends it for claims and attestations, and answers repeats the same", async () => {
    const [plain, claimed] = [await approved(), await approved()];
    await claim(claimed);
    for (const asked of [plain, claimed]) {
      const { status, body } = await revoke(asked, key, { reason: "Wrong account" });
      expect(status).toBe(200);
      expect(authorizationState.parse(body)).toEqual(body);
      expect(body).toMatchObject({ status: "approved", revoked_at: expect.any(String) });
      expect(body.guidance).toContain("Taken back");
      expect((await revoke(asked, key, { reason: "again" })).body.revoked_at).toBe(body.revoked_at);
      expect((await asked.read()).body.revoked_at, "for whoever asks").toBe(body.revoked_at);
      expect(refusal(await claim(asked))).toEqual([422, "authorization_revoked"]);
      expect(refusal(await attest(asked))).toEqual([422, "authorization_revoked"]);
      const entries = await query(
        "SELECT change, reason FROM agent_changes WHERE request_id = $1",
        asked.made.request_id,
      );
      expect(entries).toEqual([{ change: "authorization_revoked", reason: "Wrong account" }]);
    }
  });

  it("is not possible before the approval, after its use, or for what never was approved", async () => {
    const [pending, denied, cancelled, expired] = [
      await ask(test, key),
      await ask(test, key),
      await ask(test, key),
      await ask(test, key),
    ];
    const used = await approved();
    await denied.deny();
    await test.call("DELETE", `/v1/authorize/${cancelled.made.request_id}`, { key });
    await expireRequest(test, expired.made.request_id);
    expect((await attest(used)).status).toBe(201);
    for (const [asked, code] of [
      [pending, "authorization_pending"],
      [denied, "authorization_denied"],
      [cancelled, "authorization_cancelled"],
      [expired, "authorization_expired"],
      [used, "already_used"],
    ] as const) {
      expect(refusal(await revoke(asked)), code).toEqual([409, code]);
      expect(refusal(await byLink(asked)), code).toEqual([409, code]);
    }
  });

  it("is for a key with authorize, and one with hook for what it asked", async () => {
    const asked = await approved();
    const { key: weak } = await test.createKey("dev@example.com", ["attest", "read", "identity", "freeze"]);
    const { key: hook } = await test.createKey("dev@example.com", ["hook"]);
    expect(refusal(await revoke(asked, weak))).toEqual([403, "insufficient_scope"]);
    expect(refusal(await revoke(asked, hook))).toEqual([403, "insufficient_scope"]);
    expect((await asked.read()).body.revoked_at).toBeNull();
    const own = await ask(test, hook);
    await approveUnproven(test, own.made.request_id);
    expect((await revoke(own, hook)).status).toBe(200);
    const { key: usual } = await test.createKey("dev@example.com", ["authorize"]);
    expect((await revoke(asked, usual)).status).toBe(200);
  });

  it("needs no more than the link, from the page itself", async () => {
    const asked = await approved();
    const elsewhere = await test.call("POST", `/approve/${asked.token}/revoke`, {
      headers: { "sec-fetch-site": "cross-site" },
      body: {},
    });
    expect(refusal(elsewhere)).toEqual([403, "forbidden"]);
    const form = await test.call("POST", `/approve/${asked.token}/revoke`, {
      headers: { ...fromPage, "content-type": "application/x-www-form-urlencoded" },
      rawBody: "reason=Changed+my+mind",
    });
    expect([form.status, form.headers.get("location")]).toEqual([303, asked.made.approval_url]);
    expect((await asked.read()).body.revoked_at).not.toBeNull();
    const [audited] = await query(
      "SELECT actor_kind, actor, detail FROM audit_events WHERE subject = $1 AND action = 'authorization.revoked'",
      asked.made.request_id,
    );
    expect(audited).toMatchObject({
      actor_kind: "human",
      actor: "approval link",
      detail: { reason: "Changed my mind" },
    });
  });

  it("is not for the link where named approvers decided", async () => {
    const asked = await approved();
    const [row] = await query(
      "SELECT request FROM authorization_requests WHERE id = $1",
      asked.made.request_id,
    );
    const request = JSON.parse(Buffer.from(row?.["request"] as Uint8Array).toString());
    const named = {
      ...request,
      required_approvers: [{ group: "01990000-0000-7000-8000-000000000000", count: 1 }],
    };
    await query(
      "UPDATE authorization_requests SET request = $2 WHERE id = $1",
      asked.made.request_id,
      Buffer.from(JSON.stringify(named)),
    );
    expect(refusal(await byLink(asked))).toEqual([422, "approval_refused"]);
    expect((await asked.read()).body.revoked_at).toBeNull();
    expect((await revoke(asked)).status).toBe(200);
  });

  it("asks by the link for the code that the decision asked for, five times at most", async () => {
    const asked = await approved({ require_code: true });
    expect(refusal(await byLink(asked))).toEqual([422, "validation_error"]);
    for (let left = 4; left >= 0; left -= 1)
      expect((await byLink(asked, { code: "AAA-AAA" })).body.detail).toContain(
        left === 1 ? "one try" : `${left} tries`,
      );
    const late = await byLink(asked, { code: asked.made.confirmation_code });
    expect(refusal(late)).toEqual([422, "confirmation_code_wrong"]);
    expect((await asked.read()).body).toMatchObject({ status: "approved", revoked_at: null });
    const other = await approved({ require_code: true });
    expect((await byLink(other, { code: other.made.confirmation_code })).status).toBe(200);
  });

  it("answers by the link what became of the request, whatever code comes with it", async () => {
    const pending = await ask(test, key, { require_code: true });
    const used = await approved({ require_code: true });
    expect((await attest(used)).status).toBe(201);
    const revoked = await approved({ require_code: true });
    expect((await revoke(revoked)).status).toBe(200);
    for (const [asked, answer] of [
      [pending, [409, "authorization_pending"]],
      [used, [409, "already_used"]],
      [revoked, [200, undefined]],
    ] as const)
      for (const code of [asked.made.confirmation_code, "AAA-AAA", undefined])
        expect(refusal(await byLink(asked, { code }))).toEqual(answer);
    expect((await pending.read()).body.status).toBe("pending");
  });

  it("is announced to endpoints and to the request's own callback", async () => {
    const events = ["authorization.revoked"];
    await test.call("POST", "/v1/webhooks", { key, body: { url: "http://127.0.0.1:9/x", events } });
    const asked = await approved({ callback_url: "http://127.0.0.1:9/callback" });
    await revoke(asked);
    const messages = await query(
      "SELECT m.body, d.url FROM webhook_messages m JOIN webhook_deliveries d ON d.message_id = m.id WHERE m.type = $1 ORDER BY d.url",
      events[0],
    );
    expect(messages.map(({ url }) => url)).toEqual(["http://127.0.0.1:9/callback", null]);
    const { revoked_at } = (await asked.read()).body;
    expect(JSON.parse(String(messages[0]?.["body"])).data).toEqual({
      request_id: asked.made.request_id,
      status: "approved",
      revoked_at,
    });
  });
});
