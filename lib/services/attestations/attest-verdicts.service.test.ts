/** Verdicts on a report: its signature, code, tools and human approval, each true, false or not compared. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { attestBody } from "#support/attest-body";
import { setupTestApp } from "#support/setup-app";

function newAgentKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { privateKey, pem: publicKey.export({ format: "pem", type: "spki" }).toString() };
}

function signBody(body: JsonObject, privateKey: KeyObject): JsonObject {
  const signature = sign(null, canonicalBytes(signedRequest(body)), privateKey);
  return { ...body, agent_signature: signature.toString("base64") };
}

/** Well-formed, and of no key. */
const foreignSignature = `${"A".repeat(85)}A==`;

describe("verdicts", () => {
  const { test, key } = setupTestApp();
  const attest = (body: unknown) => test.call("POST", "/v1/attest", { key, body });

  it("keeps the three grades of human approval apart", async () => {
    const none = await attest(attestBody());
    const hash = await attest(attestBody({ human_approved: true, human_approver_hash: "sha256:boss" }));
    const bare = await attest(attestBody({ human_approved: true }));
    const denied = await attest(attestBody({ human_approved: false }));
    expect([none, denied].map(({ body }) => [body.human_approved, body.human_approval])).toEqual([
      [false, { method: "none" }],
      [false, { method: "none" }],
    ]);
    expect(hash.body.human_approval).toEqual({ method: "hash", approver_hash: "sha256:boss" });
    expect(bare.body.human_approval).toEqual({ method: "hash", approver_hash: null });
    const { body } = await test.call("GET", `/v1/verify/${hash.body.attestation_id}`);
    expect([body.human_approved, body.human_approval.method, body.human_authorization]).toEqual([
      true,
      "hash",
      null,
    ]);
    const check = body.checks.find(({ name }: { name: string }) => name === "human_authorization");
    expect(check).toMatchObject({ status: "not_applicable", detail: "asserted by the caller, not proven" });
  });

  it("draws the three verdicts true, false and null, and a missing signature is null", async () => {
    const agent = newAgentKey();
    const other = newAgentKey();
    const slug = "verdicts";
    const tools = ["search", "pay"];
    await test.call("POST", "/v1/identity/register", {
      key,
      body: { slug, public_key_pem: agent.pem, code_hash: "c1", tools },
    });
    const body = (more: JsonObject) => attestBody({ agent_slug: slug, ...more });
    const verdicts = async (sent: JsonObject) => {
      const { status, body } = await attest(sent);
      expect(status).toBe(201);
      const again = (await test.call("GET", `/v1/verify/${body.attestation_id}`)).body;
      expect(again.valid).toBe(true);
      const draw = (from: Record<string, unknown>) => [
        from["agent_authenticated"],
        from["code_hash_verified"],
        from["tools_authorized"],
      ];
      expect(draw(again)).toEqual(draw(body));
      return draw(body);
    };
    expect(await verdicts(body({}))).toEqual([null, null, null]);
    const full = body({ code_hash: "c1", tools_used: ["pay"], metadata: { nonce: 1 }, model_id: null });
    expect(await verdicts(signBody(full, agent.privateKey))).toEqual([true, true, true]);
    const wrong = body({ code_hash: "c2", tools_used: ["pay", "delete"], metadata: { nonce: 2 } });
    expect(await verdicts(signBody(wrong, other.privateKey))).toEqual([false, false, false]);
    expect(await verdicts({ ...signBody(body({ action: "a" }), agent.privateKey), action: "b" })).toEqual([
      false,
      null,
      null,
    ]);
    expect(
      await verdicts(
        attestBody({
          agent_slug: "none",
          code_hash: "c",
          tools_used: ["t"],
          agent_signature: foreignSignature,
        }),
      ),
    ).toEqual([null, null, null]);
  });

  it("refuses a verified signature seen before, naming the attestation; false ones may repeat", async () => {
    const agent = newAgentKey();
    const slug = "replay";
    await test.call("POST", "/v1/identity/register", { key, body: { slug, public_key_pem: agent.pem } });
    const sent = signBody(attestBody({ agent_slug: slug }), agent.privateKey);
    const many = await Promise.all(Array.from({ length: 8 }, () => attest(sent)));
    const first = many.find(({ status }) => status === 201);
    expect(many.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of many.filter((answer) => answer !== first)) {
      expect([status, body.code]).toEqual([422, "agent_signature_replayed"]);
      expect(body.detail).toContain(first?.body.attestation_id);
    }
    const repeated = signBody(attestBody({ agent_slug: slug, metadata: { nonce: "2" } }), agent.privateKey);
    expect((await attest(repeated)).status).toBe(201);
    const unverified = attestBody({ agent_slug: slug, agent_signature: foreignSignature });
    expect((await attest(unverified)).body.agent_authenticated).toBe(false);
    expect((await attest(unverified)).body.agent_authenticated).toBe(false);
  });
});
