/** Visibility of an attestation: whose wish makes it private, and what a private one shows to strangers. */
import { describe, expect, it } from "vitest";
import { attestBody } from "#support/attest-body";
import { setupTestApp } from "#support/setup-app";

describe("visibility", () => {
  const { test, key, stranger } = setupTestApp();
  const attest = (body: unknown, as = key) => test.call("POST", "/v1/attest", { key: as, body });

  it("takes the organization's default visibility, and what the request says before it", async () => {
    const { key: own, organizationId } = await test.createKey("private@example.com");
    const slug = "visibility";
    await test.query("UPDATE organizations SET default_public = false WHERE id = $1", [organizationId]);
    const asked = [undefined, null, true, false].map((value) =>
      value === undefined
        ? attestBody({ agent_slug: slug })
        : attestBody({ agent_slug: slug, is_public: value }),
    );
    const answers = [];
    for (const body of asked) answers.push((await attest(body, own)).body);
    expect(answers.map(({ is_public }) => is_public)).toEqual([false, false, true, false]);
    expect(answers.map(({ payload }) => JSON.parse(payload).predicate.is_public)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    const feed = (await test.call("GET", `/v1/agent/${slug}`)).body;
    expect([feed.total_attestations, feed.attestations.length]).toEqual([1, 1]);
  });

  it("hides exactly the private fields of a private attestation, and shows its owner everything", async () => {
    const marks = {
      action: "SECRET-A",
      inputs_hash: "SECRET-B",
      metadata: { m: "SECRET-C" },
      code_hash: "SECRET-D",
      client: { instance: "SECRET-H", sequence: 2 },
    };
    const { body: made } = await attest(
      attestBody({
        ...marks,
        model_id: "SECRET-E",
        tools_used: ["SECRET-F"],
        is_public: false,
        human_approved: true,
        human_approver_hash: "SECRET-G",
      }),
    );
    const path = `/v1/verify/${made.attestation_id}`;
    const { body: owner } = await test.call("GET", path, { key });
    expect(owner).toMatchObject({ ...marks, valid: true, payload: made.payload, tools_used: ["SECRET-F"] });
    const { key: narrow } = await test.createKey("dev@example.com", ["attest"]);
    const readers = [{}, { key: stranger }, { key: "cs_live_nonsense" }, { key: narrow }];
    for (const reader of readers) {
      const { status, body } = await test.call("GET", path, reader);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain("SECRET");
      for (const name of [
        "action",
        "inputs_hash",
        "metadata",
        "payload",
        "code_hash",
        "model_id",
        "tools_used",
        "client",
        "human_approval",
        "human_authorization",
        "tool_manifest",
      ])
        expect([name, body[name]]).toEqual([name, null]);
      for (const name of [
        "attestation_id",
        "agent_slug",
        "timestamp",
        "payload_hash",
        "signature",
        "key_id",
        "public_url",
        "has_zk_proof",
        "agent_authenticated",
        "code_hash_verified",
        "tools_authorized",
        "client_gap",
        "human_approved",
        "zk_proof",
        "log",
      ])
        expect([name, body[name]]).toEqual([name, owner[name]]);
      expect(body.is_public).toBe(false);
      expect(body.valid).toBe(true);
      expect(body.independent_verification).toMatchObject({ recreate_payload: null, verify_signature: null });
      expect(new Set(body.checks.map(({ detail }: { detail: string }) => detail)).size).toBe(1);
      for (const { status, reason } of body.checks)
        expect(reason).toBe(status === "pass" ? undefined : "owner_only");
    }
  });
});
