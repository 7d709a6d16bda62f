/** A changed row, a changed signature, a swapped key: valid is false and the failed check is named; never a 500. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseKinds } from "#lib/db/testing";
import { startTestApp, type TestApp } from "./testing";

const tamperings: [string, string, string[]][] = [
  [
    "payload: another action",
    "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Paid', 'Kept'), 'UTF8')",
    ["payload_hash", "signature", "log_inclusion"],
  ],
  ["payload: not UTF-8", "UPDATE attestations SET payload = '\\xff00ff'", ["payload_hash", "signature"]],
  ["payload: nothing", "UPDATE attestations SET payload = ''", ["payload_hash", "signature"]],
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

describe.each(databaseKinds)("tampered rows (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  const query = (text: string, values: unknown[] = []) => test.app.context.database.query(text, values);
  const attest = async () => {
    const body = { agent_slug: `t${Math.random()}`, action: "Paid", inputs_hash: "x" };
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
    test = await startTestApp(kind);
    ({ key } = await test.createKey());
    await attest();
  });
  afterAll(() => test.close());

  it.each(tamperings)("%s", async (_, statement, expected) => {
    const { attestation_id: id } = await attest();
    expect(await verify(id)).toEqual({ status: 200, valid: true, checks: 10, failed: [] });
    await query(`${statement} WHERE id = $1`, [id]);
    const { status, valid, checks, failed } = await verify(id);
    expect({ status, valid, checks }).toEqual({ status: 200, valid: false, checks: 10 });
    for (const name of expected) expect(failed).toContain(name);
    expect((await test.call("GET", `/v1/verify/${id}`)).status).toBe(200);
  });

  it("a swapped service key", async () => {
    const { attestation_id: id, key_id } = await attest();
    const { rows } = await query("SELECT public_key FROM signing_keys WHERE key_id = $1", [key_id]);
    await query(
      "UPDATE signing_keys SET public_key = (SELECT public_key FROM signing_keys WHERE purpose = 'log' LIMIT 1) WHERE key_id = $1 AND purpose = 'attestation'",
      [key_id],
    );
    await test.app.context.keys.reload().catch(() => {});
    await expect.poll(async () => (await verify(id)).failed, { timeout: 10_000 }).toContain("signature");
    await query("UPDATE signing_keys SET public_key = $2 WHERE key_id = $1 AND purpose = 'attestation'", [
      key_id,
      rows[0]?.["public_key"],
    ]);
    await expect.poll(async () => (await verify(id)).valid, { timeout: 10_000 }).toBe(true);
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
