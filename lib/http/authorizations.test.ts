/** Human authorization through the operations: asked, decided, read, embedded (api.md section 10). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseKinds } from "#lib/db/testing";
import { bindRequest, confirmationCode, contextHash } from "#lib/domain/approval";
import { readApprovalView } from "#lib/services/approval-view";
import { ask } from "./authorizations-testing";
import { startTestApp, type TestApp } from "./testing";

describe.each(databaseKinds)("authorizations (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  beforeAll(async () => {
    test = await startTestApp(kind);
    ({ key } = await test.createKey());
  });
  afterAll(() => test.close());

  it("is asked, approved with a real proof, embedded once and verified again", async () => {
    const context = { invoice: "2026-114", amount: "12,000.00 EUR" };
    const asked = await ask(test, key, { context, inputs_hash: "sha256:aa" });
    const view = await readApprovalView(test.app.context, asked.token);
    expect(view?.status).toBe("pending");
    if (!view) return;
    expect(bindRequest(view.request)).toEqual(view.binding);
    expect(contextHash(view.context_salt, view.context)).toBe(view.request.context_hash);
    expect(view.confirmation_code).toBe(asked.made.confirmation_code);
    expect(confirmationCode(view.binding.request_hash)).toBe(view.confirmation_code);
    const approved = await asked.approve("ada");
    expect(approved.body).toMatchObject({ status: "approved", is_test: true, environment: "local" });
    const state = (await asked.read()).body;
    expect(state.status).toBe("approved");
    const body = {
      agent_slug: "treasurer",
      action: asked.made.action,
      inputs_hash: "sha256:aa",
      human_authorization: state.human_authorization,
    };
    const attested = await test.call("POST", "/v1/attest", { key, body });
    expect(attested.body).toMatchObject({
      human_approved: true,
      human_approval: {
        method: "proof_of_personhood",
        environment: "local",
        level: "orb",
        inputs_bound: true,
      },
    });
    const verified = await test.call("GET", `/v1/verify/${attested.body.attestation_id}`);
    const check = verified.body.checks.find(({ name }: { name: string }) => name === "human_authorization");
    expect(check).toEqual({
      name: "human_authorization",
      status: "pass",
      detail: "TEST: not a World ID proof",
    });
    expect(verified.body.valid).toBe(true);
    const again = await test.call("POST", "/v1/attest", { key, body });
    expect([again.status, again.body.code]).toEqual([422, "authorization_already_used"]);
  });
});
