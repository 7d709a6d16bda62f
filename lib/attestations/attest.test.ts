/** POST /v1/attest and GET /v1/verify on both databases (docs/wire.md, Attestations). */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonicalBytes, type JsonObject } from "#lib/domain/canonical-json";
import { signedRequest } from "#lib/domain/statement";
import { startTestApp, type TestApp } from "#support/app";
import { databaseKinds } from "#support/databases";

function newAgentKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { privateKey, pem: publicKey.export({ format: "pem", type: "spki" }).toString() };
}

function signBody(body: JsonObject, privateKey: KeyObject): JsonObject {
  const signature = sign(null, canonicalBytes(signedRequest(body)), privateKey);
  return { ...body, agent_signature: signature.toString("base64") };
}

const base = (more: JsonObject = {}): JsonObject => ({
  agent_slug: "field-bot",
  action: "Paid",
  inputs_hash: "sha256:abc",
  ...more,
});
const nested = (depth: number): JsonObject => (depth === 1 ? {} : { a: nested(depth - 1) });
const signatureOf = (last: string) => `${"A".repeat(85)}${last}==`;

describe.each(databaseKinds)("attest (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  let stranger: string;
  const attest = (body: unknown, headers: Record<string, string> = {}, as = key) =>
    test.call("POST", "/v1/attest", { key: as, body, headers });
  const count = async () =>
    Number(
      (await test.app.context.database.query("SELECT count(*) AS n FROM attestations", [])).rows[0]?.["n"],
    );

  beforeAll(async () => {
    test = await startTestApp(kind, { LIMIT_ATTEST_PER_MINUTE: "10000", LIMIT_ATTEST_PER_DAY: "100000" });
    ({ key } = await test.createKey());
    ({ key: stranger } = await test.createKey("stranger@example.com"));
  });
  afterAll(() => test.close());

  it("answers 201 with every field, and null if there was nothing to compare", async () => {
    const { status, body } = await attest(base({ metadata: { n: 1 }, model_id: "m" }));
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
    expect(predicate.request).toEqual(base({ metadata: { n: 1 }, model_id: "m" }));
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
    const { status, body } = await attest(base(more));
    expect(body.errors).toBeUndefined();
    expect(status).toBe(201);
    const signed = JSON.parse(body.payload).predicate.request;
    const sent = Object.fromEntries(Object.entries(base(more)).filter(([, value]) => value !== null));
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
    ["a signature in a second spelling", { agent_signature: signatureOf("B") }, "/agent_signature"],
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
      const { status, body } = await attest(base(more));
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
      base({ human_authorization: { request: { request_id: "areq_x" } } }),
    );
    expect([status, body.code]).toEqual([422, "authorization_unknown"]);
  });

  it("keeps the three grades of human approval apart", async () => {
    const none = await attest(base());
    const hash = await attest(base({ human_approved: true, human_approver_hash: "sha256:boss" }));
    const bare = await attest(base({ human_approved: true }));
    const denied = await attest(base({ human_approved: false }));
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
    const slug = `verdicts-${kind}`;
    const tools = ["search", "pay"];
    await test.call("POST", "/v1/identity/register", {
      key,
      body: { slug, public_key_pem: agent.pem, code_hash: "c1", tools },
    });
    const body = (more: JsonObject) => base({ agent_slug: slug, ...more });
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
        base({
          agent_slug: `none-${kind}`,
          code_hash: "c",
          tools_used: ["t"],
          agent_signature: signatureOf("A"),
        }),
      ),
    ).toEqual([null, null, null]);
  });

  it("refuses a verified signature seen before, naming the attestation; false ones may repeat", async () => {
    const agent = newAgentKey();
    const slug = `replay-${kind}`;
    await test.call("POST", "/v1/identity/register", { key, body: { slug, public_key_pem: agent.pem } });
    const sent = signBody(base({ agent_slug: slug }), agent.privateKey);
    const many = await Promise.all(Array.from({ length: 8 }, () => attest(sent)));
    const first = many.find(({ status }) => status === 201);
    expect(many.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of many.filter((answer) => answer !== first)) {
      expect([status, body.code]).toEqual([422, "agent_signature_replayed"]);
      expect(body.detail).toContain(first?.body.attestation_id);
    }
    const repeated = signBody(base({ agent_slug: slug, metadata: { nonce: "2" } }), agent.privateKey);
    expect((await attest(repeated)).status).toBe(201);
    const unverified = base({ agent_slug: slug, agent_signature: signatureOf("A") });
    expect((await attest(unverified)).body.agent_authenticated).toBe(false);
    expect((await attest(unverified)).body.agent_authenticated).toBe(false);
  });

  it("gives a slug to its first user without regard to case, and keeps how each wrote it", async () => {
    const slug = `Claim-${kind}`;
    expect((await attest(base({ agent_slug: slug, agent_slgu: 1 }))).status).toBe(422);
    expect((await test.call("GET", `/v1/agent/${slug}`)).status).toBe(404);
    expect((await attest(base({ agent_slug: slug }), {}, stranger)).status).toBe(201);
    const taken = await attest(base({ agent_slug: slug.toLowerCase() }));
    expect([taken.status, taken.body.code, taken.body.errors[0].pointer]).toEqual([
      422,
      "agent_slug_taken",
      "/agent_slug",
    ]);
    const again = await attest(base({ agent_slug: slug.toUpperCase() }), {}, stranger);
    expect([again.status, again.body.agent_slug]).toEqual([201, slug.toUpperCase()]);
    expect((await test.call("GET", `/v1/agent/${slug.toLowerCase()}`)).body).toMatchObject({
      slug,
      total_attestations: 2,
    });
  });

  it("gives a contested slug to exactly one of two organizations that race for it", async () => {
    const slug = `race-${kind}`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => attest(base({ agent_slug: slug }), {}, i % 2 ? key : stranger)),
    );
    const winners = new Set(
      answers.flatMap(({ status, body }) =>
        status === 201 ? [JSON.parse(body.payload).predicate.organization] : [],
      ),
    );
    expect(winners.size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ body }) => body.code === "agent_slug_taken")).toHaveLength(5);
  });

  it("takes the organization's default visibility, and what the request says before it", async () => {
    const { key: own, organizationId } = await test.createKey("private@example.com");
    const slug = `visibility-${kind}`;
    await test.app.context.database.query("UPDATE organizations SET default_public = false WHERE id = $1", [
      organizationId,
    ]);
    const asked = [undefined, null, true, false].map((value) =>
      value === undefined ? base({ agent_slug: slug }) : base({ agent_slug: slug, is_public: value }),
    );
    const answers = [];
    for (const body of asked) answers.push((await attest(body, {}, own)).body);
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
    };
    const { body: made } = await attest(
      base({
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
