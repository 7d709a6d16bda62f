/** A receipt's files: other people's tools read them, and a private attestation's are its owner's alone. */
import { beforeAll, describe, expect, it } from "vitest";
import { base64Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { parseVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { dispatch } from "#lib/server/operations";
import { verifyInBrowser } from "#lib/verifier/browser";
import { setupTestApp } from "#support/setup-app";
import { verifyByRoot, verifyWithSigstore } from "#support/sigstore";

const files = ["bundle", "envelope", "tlog-proof", "payload", "signature", "scitt"];

/** With nothing of ours but what /v1/pubkey says. */
const verifyForeign = (bundle: unknown, pubkey: { public_key: string; log: { vkey: string } }) =>
  verifyWithSigstore(bundle, base64Decode(pubkey.public_key), parseVerifierKey(pubkey.log.vkey));

describe("receipts", () => {
  const { test, key } = setupTestApp();
  let stranger: string;
  const attest = async (body: object = {}, headers: Record<string, string> = {}) => {
    const all = { agent_slug: "invoice-bot", action: "Paid 12 €", inputs_hash: "sha256:abc", ...body };
    return (await test.call("POST", "/v1/attest", { key, body: all, headers })).body;
  };
  beforeAll(async () => {
    ({ key: stranger } = await test.createKey("other@example.com"));
  });

  it("come as files that other people's tools read", async () => {
    const made = await attest();
    const id = made.attestation_id;
    const pubkey = (await test.call("GET", "/v1/pubkey")).body;
    const get = (file: string) => test.call("GET", `/v1/verify/${id}/${file}`);

    const bundle = await get("bundle");
    expect(bundle.headers.get("content-type")).toBe("application/vnd.dev.sigstore.bundle.v0.3+json");
    expect(bundle.headers.get("content-disposition")).toBe(`attachment; filename="${id}.sigstore.json"`);
    expect(() => verifyForeign(bundle.body, pubkey)).not.toThrow();
    const root = (await test.call("GET", "/.well-known/sigstore/trusted_root.json")).body;
    const served = pubkey.keys.map((one: { dsse_keyid: string; public_key: string }) => [
      one.dsse_keyid,
      base64Decode(one.public_key),
    ]);
    expect(() => verifyByRoot(bundle.body, Object.fromEntries(served), root)).not.toThrow();
    expect(() => verifyByRoot(bundle.body, Object.fromEntries(served), { ...root, tlogs: [] })).toThrow();
    const forged = structuredClone(bundle.body);
    forged.dsseEnvelope.payload = Buffer.from(made.payload.replace("Paid 12", "Paid 99")).toString("base64");
    expect(() => verifyForeign(forged, pubkey)).toThrow();
    expect(await verifyInBrowser(bundle.body, pubkey)).toMatchObject({ kind: "bundle", verdict: "valid" });
    expect(await verifyInBrowser(forged, pubkey)).toMatchObject({ verdict: "invalid" });

    const [entry] = bundle.body.verificationMaterial.tlogEntries;
    const madeAt = Math.floor(Date.parse(made.timestamp) / 1000);
    expect(entry.integratedTime).toMatch(/^\d{10}$/);
    expect(Number(entry.integratedTime) - madeAt).toBeOneOf([-1, 0, 1, 2, 3, 4, 5]);
    const rows = await test.query(
      "SELECT floor(extract(epoch FROM created_at))::text AS at FROM log_checkpoints WHERE size = $1",
      [made.log.tree_size],
    );
    expect(rows.rows[0]?.["at"]).toBe(entry.integratedTime);
    await attest();
    expect((await get("bundle")).body.verificationMaterial.tlogEntries[0].integratedTime).toBe(
      entry.integratedTime,
    );
    const bundleAt = async (seconds: number, expected = {}) => {
      const moved = structuredClone(bundle.body);
      moved.verificationMaterial.tlogEntries[0].integratedTime = String(seconds);
      return verifyInBrowser(moved, pubkey, expected);
    };
    expect(await bundleAt(madeAt + 60)).toMatchObject({ verdict: "valid", unproven: ["integratedTime"] });
    expect((await bundleAt(madeAt - 601)).verdict).toBe("invalid");
    expect((await bundleAt(madeAt + 86_400, { nowSeconds: madeAt + 5 })).verdict).toBe("invalid");
    const plain = structuredClone(bundle.body);
    delete plain.verificationMaterial.tlogEntries[0].integratedTime;
    expect(() => verifyForeign(plain, pubkey)).not.toThrow();
    expect(await verifyInBrowser(plain, pubkey)).toMatchObject({ verdict: "valid", unproven: [] });

    const envelope = (await get("envelope")).body;
    expect(envelope).toEqual(bundle.body.dsseEnvelope);
    expect((await get("payload")).headers.get("content-type")).toBe("application/vnd.in-toto+json");
    const proof = (await get("tlog-proof")).body;
    expect(await verifyInBrowser(proof, pubkey, { payload: utf8Encode(made.payload) })).toMatchObject({
      kind: "tlog_proof",
      verdict: "valid",
    });
    expect(await verifyInBrowser(proof, pubkey, { payload: utf8Encode("{}") })).toMatchObject({
      verdict: "invalid",
    });
  });

  it("give payload and signature as their exact bytes", async () => {
    const made = await attest();
    test.use();
    const readBytes = async (file: string) => {
      const response = await dispatch(
        new Request(`http://localhost/v1/verify/${made.attestation_id}/${file}`),
      );
      return new Uint8Array(await response.arrayBuffer());
    };
    expect(await readBytes("payload")).toEqual(utf8Encode(made.payload));
    expect(await readBytes("signature")).toEqual(base64Decode(made.signature));
  });

  it("of a private attestation are, without the owner's key, those of an unknown id", async () => {
    const made = await attest({ is_public: false });
    const plain = ({ request_id: _id, ...problem }: Record<string, unknown>) => problem;
    for (const file of files) {
      const unknown = await test.call("GET", `/v1/verify/01999999-9999-7999-8999-999999999999/${file}`);
      expect(unknown.status).toBe(404);
      for (const options of [{}, { key: stranger }, { key: "cs_test_nonsense" }]) {
        const hidden = await test.call("GET", `/v1/verify/${made.attestation_id}/${file}`, options);
        expect(hidden.status).toBe(404);
        expect(plain(hidden.body)).toEqual(plain(unknown.body));
        const names = (answer: typeof hidden) => [...answer.headers.keys()].sort();
        expect(names(hidden)).toEqual(names(unknown));
      }
      const owner = await test.call("GET", `/v1/verify/${made.attestation_id}/${file}`, { key });
      expect(owner.status).toBe(200);
    }
  });
});
