import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { createShare } from "#lib/jobs/fair-queue";
import { verifyForPage } from "#lib/server/pages/public-pages";
import { verifyInBrowser } from "#lib/verifier/browser";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { readExample } from "./list";
import { exportOwnAttestations } from "./own";
import { readWithTime, verifyAhead } from "./stored-receipt";

const tamperings: [string, string, string[]][] = [
  [
    "payload: another action",
    "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid', 'Kept'), 'UTF8')",
    ["payload_hash", "signature", "log_inclusion"],
  ],
  ["payload: not UTF-8", "UPDATE attestations SET payload = '\\xff00ff'", ["payload_hash", "signature"]],
  ["payload: nothing", "UPDATE attestations SET payload = ''", ["payload_hash", "signature"]],
  ["payload: removed, with no erasure", "UPDATE attestations SET payload = NULL", ["payload_hash"]],
  ["erased_at: with the payload there", "UPDATE attestations SET erased_at = now()", ["payload_hash"]],
  ["payload_hash", "UPDATE attestations SET payload_hash = sha256('x')", ["payload_hash", "log_inclusion"]],
  [
    "payload_hash: too short",
    "UPDATE attestations SET payload_hash = '\\x00'",
    ["payload_hash", "log_inclusion"],
  ],
  [
    "signature: one byte",
    "UPDATE attestations SET signature = set_byte(signature, 5, (get_byte(signature, 5) + 1) % 256)",
    ["signature"],
  ],
  ["signature: too short", "UPDATE attestations SET signature = '\\x00'", ["signature"]],
  [
    "envelope signature",
    "UPDATE attestations SET envelope_signature = signature",
    ["signature", "log_inclusion"],
  ],
  [
    "key_id: unknown",
    "UPDATE attestations SET key_id = 'ffffffffffffffff'",
    ["payload_hash", "signature", "key_validity", "log_inclusion"],
  ],
  ["visibility", "UPDATE attestations SET is_public = false", ["payload_hash"]],
  ["leaf_index: another leaf", "UPDATE attestations SET leaf_index = 0", ["log_inclusion"]],
  ["leaf_index: beyond the log", "UPDATE attestations SET leaf_index = 1000000", ["log_inclusion"]],
  ["log_id: no such log", "UPDATE attestations SET log_id = 99", ["log_inclusion"]],
  [
    "an authorization out of nowhere",
    "UPDATE attestations SET human_authorization = '\\x7b7d'",
    ["human_authorization"],
  ],
  [
    "an authorization that is no JSON",
    "UPDATE attestations SET human_authorization = '\\xff'",
    ["human_authorization"],
  ],
  ["a zero-knowledge proof out of nowhere", "UPDATE attestations SET zk_proof = '{'", ["zk_proof"]],
];

describe("tampered rows", () => {
  const { test } = setupTestApp();
  let key: string;
  let organizationId: string;
  let person: MemberPrincipal;
  const query = (text: string, values: unknown[] = []) => test.query(text, values);
  const attest = async (fields: object = {}) => {
    const body = { agent_slug: `t${Math.random()}`, action: "Paid", inputs_hash: "x", ...fields };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  const verify = async (id: string) => {
    const { status, body } = await test.call("GET", `/v1/verify/${id}`, { key });
    const failed = body.checks?.filter((check: { status: string }) => check.status === "fail");
    return {
      status,
      valid: body.valid,
      checks: body.checks?.length,
      failed: failed?.map(({ name }: { name: string }) => name),
    };
  };
  beforeAll(async () => {
    ({ key, organizationId } = await test.createKey());
    person = await signInPerson(test.app.context, "dev@example.com");
    await attest();
  });

  it.each(tamperings)("%s", async (_, statement, expected) => {
    const { attestation_id: id } = await attest();
    expect(await verify(id)).toEqual({
      status: 200,
      valid: true,
      checks: attestationChecks.length,
      failed: [],
    });
    await query(`${statement} WHERE id = $1`, [id]);
    // Verifies ahead, as a pack does: a signature that fails is not remembered.
    const { context } = test.app;
    await verifyAhead(context, [await readWithTime(context, id)], createShare("other", {}));
    const { status, valid, checks, failed } = await verify(id);
    expect({ status, valid, checks }).toEqual({
      status: 200,
      valid: false,
      checks: attestationChecks.length,
    });
    for (const name of expected) expect(failed).toContain(name);
    const { status: seen, body } = await test.call("GET", `/v1/verify/${id}`);
    expect([seen, body.status]).toEqual([200, "recorded"]);
  });

  it("rows that are neither whole nor erased: the offline verifier finds them invalid too", async () => {
    const trust = (await test.call("GET", "/v1/pubkey")).body;
    const mixtures = [
      ["payload = NULL", true, [409, expect.stringContaining("no erasure")]],
      ["payload = NULL", false, [409, expect.stringContaining("no erasure")]],
      ["erased_at = now()", true, [200, undefined]],
    ] as const;
    for (const [change, is_public, answer] of mixtures) {
      const { attestation_id: id } = await attest({ is_public });
      await query(`UPDATE attestations SET ${change} WHERE id = $1`, [id]);
      const { body } = await test.call("GET", `/v1/verify/${id}`);
      expect([body.valid, (await verifyInBrowser(body, trust)).verdict]).toEqual([false, "invalid"]);
      const file = await test.call("GET", `/v1/verify/${id}/payload`, { key });
      expect([file.status, file.body.detail]).toEqual(answer);
      const erased = await test.call("DELETE", `/v1/attestations/${id}/content`, { key });
      expect(erased.status).toBe(200);
      const { body: after } = await test.call("GET", `/v1/verify/${id}`, { key });
      expect([after.status, after.payload]).toEqual(["erased", null]);
    }
  });

  it("lists and the example take nothing from bytes that nobody signed", async () => {
    const { context } = test.app;
    const agent_slug = `feed${Math.random()}`;
    const older = await attest({ agent_slug });
    const newer = await attest({ agent_slug, human_approved: true });
    expect((await readExample(context, { organizationId }))?.publicUrl).toBe(newer.public_url);
    const other = "replace(replace(convert_from(payload, 'UTF8'), 'Paid', 'Kept'), '\"hash\"', '\"none\"')";
    const changed = `convert_to(${other}, 'UTF8')`;
    const changes = [
      `payload = ${changed}`,
      `payload = ${changed}, payload_hash = sha256(${changed})`,
      "(payload, payload_hash, signature) = (SELECT payload, payload_hash, signature FROM attestations WHERE id = $2)",
      "signature = set_byte(signature, 5, (get_byte(signature, 5) + 1) % 256)",
      "key_id = 'ffffffffffffffff'",
      "payload = '\\xff00ff'",
    ];
    for (const change of changes) {
      const values = change.includes("$2")
        ? [newer.attestation_id, older.attestation_id]
        : [newer.attestation_id];
      const { rows } = await query("SELECT * FROM attestations WHERE id = $1", [newer.attestation_id]);
      await query(`UPDATE attestations SET ${change} WHERE id = $1`, values);
      const feed = await test.call("GET", `/v1/agent/${agent_slug}`);
      const own = await test.call("GET", `/v1/attestations?agent_slug=${agent_slug}`, { key });
      for (const { status, body } of [feed, own]) {
        expect([change, status, body.attestations.length]).toEqual([change, 200, 2]);
        expect(body.attestations[0]).toMatchObject({
          attestation_id: newer.attestation_id,
          action: null,
          inputs_hash: null,
          timestamp: null,
          human_approved: null,
          human_approval_method: null,
        });
        expect(body.attestations[1].action).toBe("Paid");
      }
      expect((await readExample(context, { organizationId }))?.publicUrl).toBe(older.public_url);
      const exported: string[] = [];
      for await (const part of await exportOwnAttestations(context, person, "ndjson", { agent: agent_slug }))
        exported.push(...part.trim().split("\n"));
      expect(JSON.parse(exported[0] ?? "")).toMatchObject({
        attestation_id: newer.attestation_id,
        action: null,
        human_approval_method: null,
        payload: null,
      });
      expect(JSON.parse(exported[1] ?? "").payload).toBe(older.payload);
      await query(
        "UPDATE attestations SET payload = $2, payload_hash = $3, signature = $4, key_id = $5 WHERE id = $1",
        ["id", "payload", "payload_hash", "signature", "key_id"].map((name) => rows[0]?.[name]),
      );
    }
    expect((await readExample(context, { organizationId }))?.publicUrl).toBe(newer.public_url);
  });

  it("a TEST mark stays where the stored authorization still has it", async () => {
    const { attestation_id: id } = await attest();
    expect((await verifyForPage(test.app.context, id, "192.0.2.1")).isTest).toBe(false);
    const object = JSON.stringify({ approvals: [{ environment: "local" }] });
    await query("UPDATE attestations SET human_authorization = convert_to($2, 'UTF8') WHERE id = $1", [
      id,
      object,
    ]);
    expect((await verifyForPage(test.app.context, id, "192.0.2.1")).isTest).toBe(true);
  });

  it("a swapped service key", async () => {
    const { attestation_id: id, key_id } = await attest();
    const { rows } = await query("SELECT public_key FROM signing_keys WHERE key_id = $1", [key_id]);
    await query(
      "UPDATE signing_keys SET public_key = (SELECT public_key FROM signing_keys WHERE purpose = 'log' LIMIT 1) WHERE key_id = $1 AND purpose = 'attestation'",
      [key_id],
    );
    await test.app.context.keys.reload().catch(() => {});
    await expect.poll(async () => (await verify(id)).failed).toContain("signature");
    await query("UPDATE signing_keys SET public_key = $2 WHERE key_id = $1 AND purpose = 'attestation'", [
      key_id,
      rows[0]?.["public_key"],
    ]);
    await expect.poll(async () => (await verify(id)).valid).toBe(true);
  });

  it("the registered tool manifest", async () => {
    await test.call("POST", "/v1/identity/register", { key, body: { slug: "tooled", tools: ["a"] } });
    const body = { agent_slug: "tooled", action: "Paid", inputs_hash: "x", tools_used: ["a"] };
    const { attestation_id: id, tools_authorized } = (await test.call("POST", "/v1/attest", { key, body }))
      .body;
    expect(tools_authorized).toBe(true);
    await query('UPDATE tool_manifests SET manifest = convert_to(\'{"tools":["a","b"]}\', \'UTF8\')');
    expect((await verify(id)).failed).toEqual(["tools"]);
  });
});
