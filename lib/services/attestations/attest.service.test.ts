/** Input that POST /v1/attest accepts and rejects, and who gets a slug (docs/wire.md, Attestations). */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { attestBody } from "#support/attest-body";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const nested = (depth: number): JsonObject => (depth === 1 ? {} : { a: nested(depth - 1) });

describe("attest", () => {
  const { test, key, stranger } = setupTestApp(anyKind, {
    LIMIT_ATTEST_PER_MINUTE: "10000",
    LIMIT_ATTEST_PER_DAY: "100000",
  });
  const attest = (body: unknown, as = key) => test.call("POST", "/v1/attest", { key: as, body });
  const count = async () =>
    Number((await test.query("SELECT count(*) AS n FROM attestations", [])).rows[0]?.["n"]);

  it("answers 201 with every field, and null if there was nothing to compare", async () => {
    const { status, body } = await attest(attestBody({ metadata: { n: 1 }, model_id: "m" }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      agent_slug: "field-bot",
      action: "Paid",
      inputs_hash: "sha256:abc",
      is_public: true,
      has_zk_proof: false,
      agent_authenticated: null,
      code_hash_verified: null,
      tools_authorized: null,
      human_approved: false,
      metadata: { n: 1 },
      model_id: "m",
    });
    expect(body.attestation_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.payload_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(body.key_id).toMatch(/^[0-9a-f]{16}$/);
    expect(body.public_url).toBe(`http://localhost:3000/verify/field-bot/${body.attestation_id}`);
    expect(body.verify_command).toBe(
      `curl -fsSO http://localhost:3000/verify.mjs && node verify.mjs http://localhost:3000/v1/verify/${body.attestation_id}`,
    );
    expect(Object.keys(body.log).sort()).toEqual(
      ["checkpoint", "entry", "inclusion_proof", "index", "origin", "tree_size"].sort(),
    );
    const { predicate, subject, predicateType } = JSON.parse(body.payload);
    expect(predicateType).toMatch(/\/agent-action\/v1$/);
    expect(subject).toEqual([{ name: "inputs", digest: { inputs_hash: "sha256:abc" } }]);
    expect(predicate.request).toEqual(attestBody({ metadata: { n: 1 }, model_id: "m" }));
    expect(Buffer.from(predicate.salt, "base64")).toHaveLength(16);
  });

  const good: [string, JsonObject][] = [
    ["the longest slug", { agent_slug: `a${"-".repeat(63)}` }],
    ["1,000 characters counted as code points", { action: "\u{1F600}".repeat(1000) }],
    ["inputs_hash of 128 printable characters", { inputs_hash: " ~".repeat(64) }],
    ["metadata of 8 KiB", { metadata: { a: "x".repeat(8192 - 8) } }],
    ["metadata of 16 levels", { metadata: nested(16) }],
    ["64 tools of 128 characters", { tools_used: Array.from({ length: 64 }, () => "é".repeat(128)) }],
    ["an empty tools_used", { tools_used: [] }],
    ["code_hash of 128 characters", { code_hash: "c".repeat(128) }],
    ["model_id of 128 characters", { model_id: "m".repeat(128) }],
    [
      "null for every optional field",
      Object.fromEntries(
        [
          "metadata",
          "is_public",
          "enable_zk",
          "agent_signature",
          "code_hash",
          "model_id",
          "tools_used",
          "human_approved",
          "human_approver_hash",
          "human_authorization",
        ].map((name) => [name, null]),
      ),
    ],
  ];
  it.each(good)("takes %s", async (_, more) => {
    const { status, body } = await attest(attestBody(more));
    expect(body.errors).toBeUndefined();
    expect(status).toBe(201);
    const signed = JSON.parse(body.payload).predicate.request;
    const sent = Object.fromEntries(Object.entries(attestBody(more)).filter(([, value]) => value !== null));
    expect(signed).toEqual(sent);
    expect((await test.call("GET", `/v1/verify/${body.attestation_id}`)).body.valid).toBe(true);
  });

  const bad: [string, JsonObject, string][] = [
    ["an empty slug", { agent_slug: "" }, "/agent_slug"],
    ["a slug of 65 characters", { agent_slug: "a".repeat(65) }, "/agent_slug"],
    ["a slug that begins with a dot", { agent_slug: ".a" }, "/agent_slug"],
    ["a slug with a slash", { agent_slug: "a/b" }, "/agent_slug"],
    ["a slug with a final newline", { agent_slug: "a\n" }, "/agent_slug"],
    ["a slug beyond ASCII", { agent_slug: "bänk" }, "/agent_slug"],
    ["a slug that is a number", { agent_slug: 7 }, "/agent_slug"],
    ["null for a required field", { action: null }, "/action"],
    ["an empty action", { action: "" }, "/action"],
    ["an action of 1,001 characters", { action: "\u{1F600}".repeat(1001) }, "/action"],
    ["an empty inputs_hash", { inputs_hash: "" }, "/inputs_hash"],
    ["an inputs_hash of 129 characters", { inputs_hash: "a".repeat(129) }, "/inputs_hash"],
    ["an inputs_hash beyond ASCII", { inputs_hash: "é" }, "/inputs_hash"],
    ["metadata that is an array", { metadata: [] }, "/metadata"],
    ["metadata over 8 KiB", { metadata: { a: "x".repeat(8192 - 7) } }, "/metadata"],
    ["metadata of 17 levels", { metadata: nested(17) }, "/metadata"],
    ["is_public as a string", { is_public: "true" }, "/is_public"],
    ["enable_zk as a number", { enable_zk: 1 }, "/enable_zk"],
    ["a signature that is too short", { agent_signature: "AAAA" }, "/agent_signature"],
    ["a signature in base64url", { agent_signature: `${"_".repeat(85)}A==` }, "/agent_signature"],
    ["a signature in a second spelling", { agent_signature: `${"A".repeat(85)}B==` }, "/agent_signature"],
    ["an empty code_hash", { code_hash: "" }, "/code_hash"],
    ["a code_hash of 129 characters", { code_hash: "c".repeat(129) }, "/code_hash"],
    ["a model_id of 129 characters", { model_id: "m".repeat(129) }, "/model_id"],
    ["65 tools", { tools_used: Array.from({ length: 65 }, () => "t") }, "/tools_used"],
    ["an empty tool", { tools_used: ["t", ""] }, "/tools_used/1"],
    ["a tool that is a number", { tools_used: [1] }, "/tools_used/0"],
    ["human_approved as a string", { human_approved: "yes" }, "/human_approved"],
    [
      "an approver of 129 characters",
      { human_approved: true, human_approver_hash: "a".repeat(129) },
      "/human_approver_hash",
    ],
    ["an approver without approval", { human_approver_hash: "a" }, "/human_approver_hash"],
    ["a human_authorization that is text", { human_authorization: "yes" }, "/human_authorization"],
    [
      "human_approved: false beside an authorization",
      { human_approved: false, human_authorization: {} },
      "/human_approved",
    ],
    ["U+0000 in a value", { action: "a\0b" }, "/action"],
    ["U+0000 deep down", { metadata: { a: ["x", { b: "\0" }] } }, "/metadata/a/1/b"],
    ["U+0000 in a name", { metadata: { "a\0": 1 } }, "/metadata"],
    ["an unknown field", { agent_slgu: "typo" }, "/agent_slgu"],
    ["an unknown field with an odd name", { "a/b~c": 1 }, "/a~1b~0c"],
  ];
  it("names the field in a 422, and stores nothing, for each that does not fit", async () => {
    const before = await count();
    for (const [name, more, pointer] of bad) {
      const { status, body } = await attest(attestBody(more));
      expect([name, status, body.code, body.errors?.[0]?.pointer]).toEqual([
        name,
        422,
        "validation_error",
        pointer,
      ]);
      expect(body.error).toBe("Validation error");
    }
    expect(await count()).toBe(before);
  });

  it("answers an authorization that was never issued with authorization_unknown", async () => {
    const { status, body } = await attest(
      attestBody({ human_authorization: { request: { request_id: "areq_x" } } }),
    );
    expect([status, body.code]).toEqual([422, "authorization_unknown"]);
  });

  it("gives a slug to its first user without regard to case, and keeps how each wrote it", async () => {
    const slug = "Claim";
    expect((await attest(attestBody({ agent_slug: slug, agent_slgu: 1 }))).status).toBe(422);
    expect((await test.call("GET", `/v1/agent/${slug}`)).status).toBe(404);
    expect((await attest(attestBody({ agent_slug: slug }), stranger)).status).toBe(201);
    const taken = await attest(attestBody({ agent_slug: slug.toLowerCase() }));
    expect([taken.status, taken.body.code, taken.body.errors[0].pointer]).toEqual([
      422,
      "agent_slug_taken",
      "/agent_slug",
    ]);
    const again = await attest(attestBody({ agent_slug: slug.toUpperCase() }), stranger);
    expect([again.status, again.body.agent_slug]).toEqual([201, slug.toUpperCase()]);
    expect((await test.call("GET", `/v1/agent/${slug.toLowerCase()}`)).body).toMatchObject({
      slug,
      total_attestations: 2,
    });
  });
});
