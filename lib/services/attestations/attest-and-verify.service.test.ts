import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";

describe("attest and verify", () => {
  let test: TestApp;
  let key: string;
  beforeAll(async () => {
    test = await startTestApp(anyKind);
    ({ key } = await test.createKey());
  });
  afterAll(() => test.close());

  it("records an action and verifies it again from the stored bytes", async () => {
    const body = {
      agent_slug: "invoice-bot",
      action: "Paid 12 €",
      inputs_hash: "sha256:abc",
      metadata: { n: 1 },
    };
    const made = await test.call("POST", "/v1/attest", { key, body });
    expect(made.status).toBe(201);
    const verified = await test.call("GET", `/v1/verify/${made.body.attestation_id}`);
    expect(verified.status).toBe(200);
    expect(verified.body.valid).toBe(true);
    expect(verified.body.payload).toBe(made.body.payload);
    expect(verified.body.checks).toHaveLength(attestationChecks.length);
  });

  it("names the failed check when a stored row was changed", async () => {
    const body = { agent_slug: "invoice-bot", action: "Paid 13 €", inputs_hash: "sha256:abc" };
    const { body: made } = await test.call("POST", "/v1/attest", { key, body });
    await test.app.context.database.query(
      "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid 13', 'Paid 99'), 'UTF8') WHERE id = $1",
      [made.attestation_id],
    );
    const { status, body: verified } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(status).toBe(200);
    expect(verified.valid).toBe(false);
    const failed = verified.checks.filter((check: { status: string }) => check.status === "fail");
    expect(failed.map((check: { name: string }) => check.name)).toEqual([
      "payload_hash",
      "signature",
      "log_inclusion",
    ]);
  });
});
