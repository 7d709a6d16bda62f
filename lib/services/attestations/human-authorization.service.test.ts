/** A human_authorization inside an attestation: unchanged, fitting, unused, and checked again on every read. */
import { beforeAll, describe, expect, it } from "vitest";
import { usedGuidance } from "#lib/api/schemas/authorization-state";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { type AskedRequest, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

describe("embedding", () => {
  const { test, key } = setupTestApp();
  let asked: AskedRequest;
  let issued: JsonObject;
  beforeAll(async () => {
    asked = await ask(test, key, {
      inputs_hash: "sha256:aa",
      context: { invoice: "2026-114" },
      required_level: "orb",
    });
    const approved = await asked.approve("ada");
    expect(approved.status).toBe(200);
    issued = (await asked.read()).body.human_authorization;
  });

  const attest = (change: object = {}, by = key) =>
    test.call("POST", "/v1/attest", {
      key: by,
      body: {
        agent_slug: "treasurer",
        action: asked.made.action,
        inputs_hash: "sha256:aa",
        human_authorization: issued,
        ...change,
      },
    });
  const checkOf = async (id: string, reader?: string) => {
    const { body } = await test.call("GET", `/v1/verify/${id}`, reader === undefined ? {} : { key: reader });
    return {
      body,
      check: body.checks.find(({ name }: { name: string }) => name === "human_authorization"),
    };
  };

  it("holds no context, and names where its decision is in the log", () => {
    expect(JSON.stringify(issued)).not.toContain("2026-114");
    expect(JSON.stringify(issued)).not.toContain(asked.made.context_salt);
    expect(Object.keys(issued["log"] as object).sort()).toEqual(
      ["checkpoint", "entry", "inclusion_proof", "index", "origin", "record", "tree_size"].sort(),
    );
  });

  it("refuses what was not issued, was altered or does not fit, each by its own code", async () => {
    const request = issued["request"] as JsonObject;
    const [approval] = issued["approvals"] as JsonObject[];
    const { log: _log, ...withoutLog } = issued;
    const { key: other } = await test.createKey("other@example.com");
    const cases: [string, object, string?][] = [
      ["authorization_unknown", { human_authorization: {} }],
      [
        "authorization_unknown",
        { human_authorization: { ...issued, request: { ...request, request_id: "areq_x" } } },
      ],
      [
        "authorization_altered",
        { human_authorization: { ...issued, request: { ...request, action: "Pay more" } } },
      ],
      [
        "authorization_altered",
        { human_authorization: { ...issued, approvals: [{ ...approval, environment: "production" }] } },
      ],
      ["authorization_altered", { human_authorization: withoutLog }],
      ["authorization_altered", { human_authorization: { ...issued, note: "added" } }],
      ["authorization_mismatch", { action: "Pay more" }],
      ["authorization_mismatch", { agent_slug: "treasurer-2" }],
      ["authorization_mismatch", { inputs_hash: "sha256:bb" }],
      ["authorization_mismatch", { agent_slug: "elsewhere" }, other],
      ["validation_error", { human_approved: false }],
    ];
    for (const [code, change, by] of cases) {
      const answer = await attest(change, by);
      expect([code, answer.status, answer.body.code]).toEqual([code, 422, code]);
    }
    const pending = await ask(test, key);
    const early = await attest({
      human_authorization: { ...issued, request: { ...request, request_id: pending.made.request_id } },
    });
    expect(early.body.code).toBe("authorization_unknown");
    expect((await asked.read(key)).body.attestation_id).toBeNull();
  });

  it("is graded as what it is, and every link of it is checked again", async () => {
    const spelled = JSON.stringify(
      {
        human_authorization: issued,
        human_approved: true,
        ...{ agent_slug: "Treasurer", action: asked.made.action, inputs_hash: "sha256:aa" },
      },
      null,
      2,
    );
    const made = await test.call("POST", "/v1/attest", { key, rawBody: spelled });
    expect(made.body).toMatchObject({
      human_approved: true,
      human_approval: {
        method: "proof_of_personhood",
        environment: "local",
        level: "orb",
        inputs_bound: true,
      },
    });
    const id = made.body.attestation_id;
    const whole = await checkOf(id);
    expect(whole.check).toMatchObject({
      status: "pass",
      detail: "TEST: nothing about a real person is proven",
    });
    expect([whole.body.valid, whole.body.human_authorization]).toEqual([true, issued]);
    const again = await attest();
    expect([again.status, again.body.code]).toEqual([422, "authorization_already_used"]);
    expect((await asked.read(key)).body.guidance).toBe(usedGuidance);

    const [approval] = issued["approvals"] as JsonObject[];
    const request = issued["request"] as JsonObject;
    const store = (object: JsonObject) =>
      test.query("UPDATE attestations SET human_authorization = decode($2, 'hex') WHERE id = $1", [
        id,
        Buffer.from(canonicalBytes(object)).toString("hex"),
      ]);
    for (const changed of [
      { ...issued, request: { ...request, expires_at: "2030-01-01T00:00:00.000Z" } },
      { ...issued, approvals: [{ ...approval, environment: "production" }] },
      { ...issued, approvals: [] },
      {},
    ]) {
      await store(changed);
      const tampered = await checkOf(id);
      expect([tampered.body.valid, tampered.check.status]).toEqual([false, "fail"]);
    }
    await store(issued);
    expect((await checkOf(id)).body.valid).toBe(true);
  });

  it("is never confused with the caller's own word", async () => {
    const body = { agent_slug: "treasurer", action: "a", inputs_hash: "b" };
    const asserted = await test.call("POST", "/v1/attest", {
      key,
      body: { ...body, human_approved: true, human_approver_hash: "h" },
    });
    expect(asserted.body.human_approval).toEqual({ method: "hash", approver_hash: "h" });
    expect((await checkOf(asserted.body.attestation_id)).check).toMatchObject({
      status: "not_applicable",
      detail: "asserted by the caller, not proven",
    });
    const none = await test.call("POST", "/v1/attest", { key, body });
    expect([none.body.human_approved, none.body.human_approval]).toEqual([false, { method: "none" }]);
  });

  it("shows a private attestation's authorization to its owner alone", async () => {
    const quiet = await ask(test, key, { action: "Quietly" });
    await quiet.approve("grace");
    const { human_authorization } = (await quiet.read()).body;
    const made = await attest({ action: "Quietly", human_authorization, is_public: false });
    expect(made.status).toBe(201);
    const stranger = await checkOf(made.body.attestation_id);
    expect([stranger.body.valid, stranger.body.human_approved, stranger.body.human_authorization]).toEqual([
      true,
      true,
      null,
    ]);
    expect(stranger.check.detail).not.toContain("TEST");
    const owner = await checkOf(made.body.attestation_id, key);
    expect(owner.body.human_authorization).toEqual(human_authorization);

    const erased = await test.call("DELETE", `/v1/attestations/${made.body.attestation_id}/content`, { key });
    expect(erased.status).toBe(200);
    const state = (await quiet.read(key)).body;
    expect(state).toMatchObject({ status: "approved", environment: "local", context: {}, action: "" });
    expect(state).not.toHaveProperty("human_authorization");
    expect(await readApprovalView(test.app.context, quiet.token)).toMatchObject({
      is_erased: true,
      is_test: true,
    });
  });
});
