/**
 * Private content of an attestation with a proof appears in no public answer and in no log line: neither the hidden
 * values, nor the salt, nor the BBS signature, nor the presentations' audience. The same values are looked for in the
 * owner's answer first, so that a search that finds nothing means something.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type * as loggerModule from "#lib/logger";
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { startTestApp, type TestApp } from "#support/app";

const lines = vi.hoisted(() => [] as string[]);
vi.mock("#lib/logger", async (importOriginal) => {
  const original = await importOriginal<typeof loggerModule>();
  const stream = { write: (line: string) => void lines.push(line) };
  return { ...original, logger: original.createLogger("trace", stream) };
});

const canary = (name: string) => `canary-${name}-5d1f`;
const body = {
  agent_slug: "quiet-agent",
  action: canary("action"),
  inputs_hash: canary("inputs"),
  metadata: { [canary("name")]: canary("value"), deep: [{ at: canary("deep") }] },
  code_hash: canary("code"),
  model_id: canary("model"),
  tools_used: [canary("tool")],
  human_approved: true,
  human_approver_hash: canary("approver"),
  is_public: false,
  enable_zk: true,
};

/** Every spelling in which bytes could leave. */
function spellings(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes);
  return [buffer.toString("hex"), buffer.toString("base64"), buffer.toString("base64url")];
}

function textSpellings(text: string): string[] {
  return [text, ...spellings(Buffer.from(text)).map((encoded) => encoded.replace(/=+$/, ""))];
}

describe("a private attestation with a proof", () => {
  let test: TestApp;
  let key: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer read freely
  let made: any;
  let secrets: string[];

  beforeAll(async () => {
    lines.length = 0;
    test = await startTestApp();
    ({ key } = await test.createKey());
    ({ body: made } = await test.call("POST", "/v1/attest", { key, body }));
    const { predicate } = JSON.parse(made.payload);
    const bbsSignature = base64UrlDecode(made.zk.credential.signature);
    const canaries = JSON.stringify(body).match(/canary-[a-z]+-5d1f/g) ?? [];
    expect(canaries.length).toBeGreaterThan(8);
    secrets = [
      ...canaries.flatMap(textSpellings),
      ...textSpellings(predicate.salt),
      ...spellings(Buffer.from(predicate.salt, "base64")),
      ...spellings(bbsSignature),
      // The commitment A of the signature alone would do.
      ...spellings(bbsSignature.subarray(0, 48)),
      predicate.organization,
    ];
  });
  afterAll(() => test.close());

  const found = (text: string) => secrets.filter((secret) => text.includes(secret));

  it("holds every secret in the owner's own answer: the search can find them", () => {
    const own = JSON.stringify(made);
    for (const name of ["action", "inputs", "value", "deep", "code", "model", "tool", "approver"])
      expect(found(own)).toContain(canary(name));
    expect(found(own)).toContain(made.zk.credential.signature);
    expect(found(own)).toContain(JSON.parse(made.payload).predicate.salt);
  });

  it("gives none of them away in any public answer", async () => {
    const id = made.attestation_id;
    const { key: stranger } = await test.createKey("stranger@example.com");
    const answers = [
      await test.call("GET", `/v1/verify/${id}`),
      await test.call("GET", `/v1/verify/${id}`, { key: stranger }),
      await test.call("GET", `/v1/verify/${id}`, { key: "cs_test_wrong" }),
      await test.call("GET", `/v1/verify/${id}/bundle`),
      await test.call("GET", `/v1/verify/${id}/envelope`),
      await test.call("GET", `/v1/verify/${id}/tlog-proof`),
      await test.call("GET", "/v1/agent/quiet-agent"),
      await test.call("GET", "/v1/identity/quiet-agent"),
      await test.call("GET", "/v1/pubkey"),
      await test.call("GET", "/.well-known/jwks.json"),
      await test.call("GET", "/log/checkpoint"),
      await test.call("GET", "/log/tile/0/000.p/4"),
      await test.call("GET", "/log/tile/entries/000.p/4"),
      await test.call("POST", `/v1/attestations/${id}/presentations`, {
        key: stranger,
        body: { disclose: ["action"], audience: "a", nonce: "n" },
      }),
    ];
    expect(answers[0]?.body).toMatchObject({ valid: true, has_zk_proof: true });
    for (const { body: answer, headers } of answers) {
      const text = typeof answer === "string" ? answer : JSON.stringify(answer);
      expect(found(text + JSON.stringify([...headers]))).toEqual([]);
      // An octet stream (a tile) is looked through as base64 too, whatever the alignment.
      expect(text).not.toContain("canary");
    }
  });

  it("gives none of them away in the log's leaves, which everyone can fetch", async () => {
    const { rows } = await test.query(
      "SELECT encode(data, 'escape') AS text, encode(data, 'hex') AS hex FROM log_leaves",
      [],
    );
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(found(`${row["text"]} ${row["hex"]}`)).toEqual([]);
  });

  it("shows in a presentation what it discloses and nothing else", async () => {
    const { body: shown } = await test.call("POST", `/v1/attestations/${made.attestation_id}/presentations`, {
      key,
      body: { disclose: ["model_id"], audience: canary("audience"), nonce: "n" },
    });
    const header = Buffer.from(shown.presentation_header, "base64url").toString();
    expect(found(`${JSON.stringify(shown)} ${header}`)).toEqual([canary("model")]);
  });

  it("writes none of them into a log line, not even when something fails", async () => {
    const { database } = test.app.context;
    await database.query("UPDATE attestations SET bbs_signature = '\\x00' WHERE id = $1", [
      made.attestation_id,
    ]);
    const failed = await test.call("POST", `/v1/attestations/${made.attestation_id}/presentations`, {
      key,
      body: { disclose: ["action"], audience: canary("audience"), nonce: canary("nonce") },
    });
    expect(failed.status).toBe(500);
    expect(found(JSON.stringify(failed.body))).toEqual([]);
    // A failing INSERT: the driver's error repeats the statement's parameters, which hold everything.
    await database.query("ALTER TABLE attestations ADD CONSTRAINT refuse_all CHECK (false) NOT VALID", []);
    const refused = await test.call("POST", "/v1/attest", { key, body });
    await database.query("ALTER TABLE attestations DROP CONSTRAINT refuse_all", []);
    expect(refused.status).toBe(500);
    expect(found(JSON.stringify(refused.body))).toEqual([]);
    expect(lines.filter((line) => line.includes("request failed"))).toHaveLength(2);
    expect(found(lines.join("\n"))).toEqual([]);
  });
});
