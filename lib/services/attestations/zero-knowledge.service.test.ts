/** Issue → verify → present, through the API; and what tampering with the rows does. */
import { beforeAll, describe, expect, it } from "vitest";
import { base64Decode, base64UrlDecode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { findEndorsementFault } from "#lib/protocol/keys/key-endorsement";
import { PUBLIC_MESSAGE_NAMES } from "#lib/protocol/presentation/disclosure";
import { verifyPresentation } from "#lib/verifier/checks/presentation-verify";
import type { TestAnswer } from "#support/app";
import { setupTestApp } from "#support/setup-app";

const body = {
  agent_slug: "payments-agent",
  action: "Wire 12 €",
  inputs_hash: "sha256:abc",
  metadata: { invoice: "I-7" },
  is_public: false,
  enable_zk: true,
};
const audience = "https://bank.example";
const statusOf = (answer: TestAnswer, name: string) =>
  answer.body.checks.find((check: { name: string }) => check.name === name)?.status;

describe("zero-knowledge over the API", () => {
  const { test, key } = setupTestApp();
  let made: TestAnswer;
  let pinnedKeys: Uint8Array[];

  beforeAll(async () => {
    made = await test.call("POST", "/v1/attest", { key, body });
    const { body: keys } = await test.call("GET", "/v1/pubkey");
    pinnedKeys = keys.zk.keys.map((one: { public_key: string }) => base64UrlDecode(one.public_key));
  });

  const present = (id: string, change: object = {}, as = key) =>
    test.call("POST", `/v1/attestations/${id}/presentations`, {
      key: as,
      body: { disclose: ["human_approved", "action"], audience, nonce: "n-1", ...change },
    });
  const sqlQuery = (text: string, values: unknown[]) => test.query(text, values);

  it("answers the proof and the credential to the caller, and names the key in the signed payload", () => {
    expect(made.status).toBe(201);
    expect(made.body.has_zk_proof).toBe(true);
    const { credential, proof } = made.body.zk;
    expect(JSON.parse(made.body.payload).predicate.zk.kid).toBe(credential.kid);
    expect(proof.kid).toBe(credential.kid);
    expect(credential.messages).toHaveLength(24);
  });

  it("shows a stranger the proof of a private attestation, and the owner's verifier compares it with the payload", async () => {
    const seen = await test.call("GET", `/v1/verify/${made.body.attestation_id}`);
    expect(seen.body).toMatchObject({ valid: true, has_zk_proof: true, action: null, payload: null });
    expect(statusOf(seen, "zk_proof")).toBe("pass");
    expect(seen.body.zk_proof).toEqual(made.body.zk.proof);
    expect(seen.body.zk).toBeUndefined();
    const expected = { attestationId: made.body.attestation_id, audience: "public" };
    const report = await verifyPresentation(seen.body.zk_proof, { pinnedKeys, expected });
    expect(report.ok).toBe(true);
    expect(report.disclosed.map(({ name }) => name)).toEqual([...PUBLIC_MESSAGE_NAMES]);
    const payload = utf8Encode(made.body.payload);
    const owned = await verifyPresentation(seen.body.zk_proof, {
      pinnedKeys,
      expected: { ...expected, payload },
    });
    expect(owned.checks.find(({ name }) => name === "payload")?.status).toBe("pass");
  });

  it("leaves an attestation without enable_zk as it was", async () => {
    const plain = await test.call("POST", "/v1/attest", { key, body: { ...body, enable_zk: false } });
    expect(plain.body.has_zk_proof).toBe(false);
    expect(plain.body.zk).toBeUndefined();
    const seen = await test.call("GET", `/v1/verify/${plain.body.attestation_id}`);
    expect(seen.body).toMatchObject({ valid: true, zk_proof: null });
    expect(statusOf(seen, "zk_proof")).toBe("not_applicable");
    const refused = await present(plain.body.attestation_id);
    expect([refused.status, refused.body.code]).toEqual([409, "zk_not_enabled"]);
  });

  it("replays the same credential to the same Idempotency-Key", async () => {
    const headers = { "idempotency-key": "zk-1" };
    const first = await test.call("POST", "/v1/attest", { key, body, headers });
    const again = await test.call("POST", "/v1/attest", { key, body, headers });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const other = await test.createKey("other@example.com");
    const foreign = await test.call("POST", "/v1/attest", {
      key: other.key,
      body: { ...body, agent_slug: "other-agent" },
      headers,
    });
    expect(foreign.status).toBe(201);
    expect(foreign.body.zk.credential.signature).not.toBe(first.body.zk.credential.signature);
  });

  it("derives a presentation that holds for its audience, nonce and time alone", async () => {
    const { status, body: shown } = await present(made.body.attestation_id, { expires_in: 120 });
    expect(status).toBe(201);
    const nowSeconds = Date.now() / 1_000;
    const check = async (expected: object) => (await verifyPresentation(shown, { pinnedKeys, expected })).ok;
    const good = { audience, nonce: "n-1", nowSeconds };
    const report = await verifyPresentation(shown, { pinnedKeys, expected: good });
    expect(report.ok).toBe(true);
    expect(report.disclosed.map(({ name, value }) => [name, value])).toEqual([
      ["action", body.action],
      ["human_approved", false],
    ]);
    expect(await check({ ...good, audience: "https://other.example" })).toBe(false);
    expect(await check({ ...good, nonce: "n-2" })).toBe(false);
    expect(await check({ ...good, nowSeconds: nowSeconds + 121 })).toBe(false);
    const { rows } = await sqlQuery(
      "SELECT action, detail::text FROM audit_events WHERE subject = $1 AND action LIKE 'presentation%'",
      [made.body.attestation_id],
    );
    expect(rows).toHaveLength(1);
    expect(JSON.parse(String(rows[0]?.["detail"]))).toEqual({
      disclosed: ["human_approved", "action"],
      audience,
    });
  });

  it("refuses to disclose the blinding, or to present for everybody", async () => {
    const { attestation_id: id } = made.body;
    for (const change of [{ disclose: ["blinding"] }, { audience: "public" }, { expires_in: 0 }, { x: 1 }]) {
      expect((await present(id, change)).status).toBe(422);
    }
  });

  it("presents nothing of an erased attestation", async () => {
    const erased = await test.call("POST", "/v1/attest", { key, body });
    await sqlQuery(
      "UPDATE attestations SET payload = NULL, bbs_signature = NULL, erased_at = now() WHERE id = $1",
      [erased.body.attestation_id],
    );
    const refused = await present(erased.body.attestation_id);
    expect([refused.status, refused.body.code]).toEqual([409, "attestation_erased"]);
  });

  describe("a changed row", () => {
    const store = (id: string, proof: string | null) =>
      sqlQuery("UPDATE attestations SET zk_proof = $2 WHERE id = $1", [id, proof]);
    let fresh: TestAnswer["body"];
    beforeAll(async () => {
      ({ body: fresh } = await test.call("POST", "/v1/attest", { key, body }));
    });
    /** One row for all: it is whole again before the next change. */
    const tamper = async (change: (proof: Record<string, unknown>) => string | null) => {
      const { attestation_id: id, zk } = fresh;
      await store(id, JSON.stringify(zk.proof));
      expect((await test.call("GET", `/v1/verify/${id}`)).body).toMatchObject({
        valid: true,
        has_zk_proof: true,
      });
      await store(id, change(structuredClone(zk.proof)));
      return test.call("GET", `/v1/verify/${id}`);
    };

    it.each<[string, (proof: Record<string, unknown>) => string | null]>([
      [
        "one flag",
        (p) => JSON.stringify(p).replace('\\"human_approved\\",false', '\\"human_approved\\",true'),
      ],
      ["one byte of the proof", (p) => JSON.stringify({ ...p, proof: `A${String(p["proof"]).slice(1)}` })],
      ["another attestation's", () => JSON.stringify(made.body.zk.proof)],
      ["not a proof", () => JSON.stringify({ proof: 1 })],
      ["not JSON", () => "{"],
      ["removed", () => null],
    ])("fails the check and the whole: %s", async (_, change) => {
      const seen = await tamper(change);
      expect(seen.status).toBe(200);
      expect(seen.body.valid).toBe(false);
      expect(seen.body.has_zk_proof).toBe(false);
      expect(statusOf(seen, "zk_proof")).toBe("fail");
    });

    it("of the BBS signature is not handed out as a presentation", async () => {
      await sqlQuery(
        "UPDATE attestations SET bbs_signature = (SELECT bbs_signature FROM attestations WHERE id = $2) WHERE id = $1",
        [fresh.attestation_id, made.body.attestation_id],
      );
      expect((await present(fresh.attestation_id)).status).toBe(500);
    });
  });

  it("publishes the BBS key with an endorsement that the Ed25519 key has signed", async () => {
    const { body: keys } = await test.call("GET", "/v1/pubkey");
    // biome-ignore lint/suspicious/noExplicitAny: an answer read freely
    const signers = keys.keys.map((one: any) => ({
      keyId: one.key_id,
      publicKey: base64Decode(one.public_key),
      validFromIndex: one.valid_from_index,
      validToIndex: one.valid_to_index,
    }));
    const [{ public_key, endorsement, kid, status }] = keys.zk.keys;
    expect([kid, status]).toEqual([keys.zk.kid, "active"]);
    const publicKey = base64UrlDecode(public_key);
    const fault = (change: object, of = publicKey) =>
      findEndorsementFault(of, { ...endorsement, ...change }, signers, verifyEd25519Strict);
    expect(fault({})).toBeNull();
    expect(
      fault(
        {},
        publicKey.map((byte) => byte ^ 1),
      ),
    ).toBe("endorses another key");
    expect(fault({ payload: endorsement.payload.replace(/"at":"20/, '"at":"21') })).toContain("not verify");
    expect(fault({ payload: `${endorsement.payload} ` })).toContain("canonical");
    expect(fault({ signature: "not base64" })).toContain("not verify");
    expect(fault({ key_id: "0".repeat(16) })).toContain("unknown key");
    expect(
      findEndorsementFault(
        publicKey,
        endorsement,
        signers.map((one: object) => ({ ...one, validFromIndex: endorsement.index + 1 })),
        verifyEd25519Strict,
      ),
    ).toContain("not valid at this log index");
  });
});
