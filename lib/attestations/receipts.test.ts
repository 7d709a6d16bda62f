import { bundleFromJSON } from "@sigstore/bundle";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dispatch } from "#lib/app/operations";
import { computeLogId } from "#lib/domain/bundle";
import { base64Decode, hexEncode, sha256, utf8Encode } from "#lib/domain/bytes";
import { computeDsseKeyId, encodePublicKeySpki } from "#lib/domain/ed25519-key";
import { parseVerifierKey } from "#lib/domain/signed-note";
import { verifyInBrowser } from "#lib/verifier/browser";
import { startTestApp, type TestApp } from "#support/app";
import { fromPage, makeResult } from "#support/authorizations";
import { databaseKinds } from "#support/databases";

const files = ["bundle", "envelope", "tlog-proof", "payload", "signature"];

/** Sigstore's own verifier, offline, with nothing of ours but what /v1/pubkey says. */
// biome-ignore lint/suspicious/noExplicitAny: answers as they come
function verifyWithSigstore(bundle: any, pubkey: any): void {
  const keyOf = (publicKey: Uint8Array) => ({
    rawBytes: Buffer.from(encodePublicKeySpki(publicKey)),
    keyDetails: 7,
    validFor: { start: new Date(0) },
  });
  const logKey = parseVerifierKey(pubkey.log.vkey);
  const logId = { keyId: Buffer.from(computeLogId(logKey)) };
  const log = {
    baseUrl: `http://${logKey.name}`,
    hashAlgorithm: 1,
    publicKey: keyOf(logKey.publicKey),
    logId,
  };
  const root = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [{ ...log, checkpointKeyId: logId, operator: "" }],
    certificateAuthorities: [],
    ctlogs: [],
    timestampAuthorities: [],
  };
  const publicKey = base64Decode(pubkey.public_key);
  const trust = toTrustMaterial(root, { [computeDsseKeyId(publicKey)]: keyOf(publicKey) });
  const verifier = new Verifier(trust, { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}

describe.each(databaseKinds)("receipts (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  let stranger: string;
  const attest = async (body: object = {}, headers: Record<string, string> = {}) => {
    const all = { agent_slug: "invoice-bot", action: "Paid 12 €", inputs_hash: "sha256:abc", ...body };
    return (await test.call("POST", "/v1/attest", { key, body: all, headers })).body;
  };
  beforeAll(async () => {
    test = await startTestApp(kind);
    ({ key } = await test.createKey());
    ({ key: stranger } = await test.createKey("other@example.com"));
  });
  afterAll(() => test.close());

  it("come as files that other people's tools read", async () => {
    const made = await attest();
    const id = made.attestation_id;
    const pubkey = (await test.call("GET", "/v1/pubkey")).body;
    const get = (file: string) => test.call("GET", `/v1/verify/${id}/${file}`);

    const bundle = await get("bundle");
    expect(bundle.headers.get("content-type")).toBe("application/vnd.dev.sigstore.bundle.v0.3+json");
    expect(bundle.headers.get("content-disposition")).toBe(`attachment; filename="${id}.sigstore.json"`);
    expect(() => verifyWithSigstore(bundle.body, pubkey)).not.toThrow();
    const forged = structuredClone(bundle.body);
    forged.dsseEnvelope.payload = Buffer.from(made.payload.replace("Paid 12", "Paid 99")).toString("base64");
    expect(() => verifyWithSigstore(forged, pubkey)).toThrow();
    expect(await verifyInBrowser(bundle.body, pubkey)).toMatchObject({ kind: "bundle", verdict: "valid" });
    expect(await verifyInBrowser(forged, pubkey)).toMatchObject({ verdict: "invalid" });

    const [entry] = bundle.body.verificationMaterial.tlogEntries;
    const madeAt = Math.floor(Date.parse(made.timestamp) / 1000);
    expect(entry.integratedTime).toMatch(/^\d{10}$/);
    expect(Number(entry.integratedTime) - madeAt).toBeOneOf([-1, 0, 1, 2, 3, 4, 5]);
    const rows = await test.app.context.database.query(
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
    expect(() => verifyWithSigstore(plain, pubkey)).not.toThrow();
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

describe.each(databaseKinds)("erasure (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  let organizationId: string;
  beforeAll(async () => {
    test = await startTestApp(kind);
    ({ key, organizationId } = await test.createKey());
  });
  afterAll(() => test.close());

  it("takes the content everywhere, and leaves a log entry that is still proven", async () => {
    const body = {
      agent_slug: "payroll-bot",
      action: "Paid a secret-needle-471",
      inputs_hash: "needle-inputs-471",
      metadata: { note: "needle-metadata-471" },
      enable_zk: true,
    };
    const headers = { "idempotency-key": "erase-1" };
    const { body: made } = await test.call("POST", "/v1/attest", { key, body, headers });
    const id = made.attestation_id;
    const salt = JSON.parse(made.payload).predicate.salt;
    const path = `/v1/attestations/${id}/content`;

    const reader = (await test.createKey("dev@example.com", ["read"])).key;
    const other = (await test.createKey("other@example.com")).key;
    expect((await test.call("DELETE", path)).status).toBe(401);
    expect((await test.call("DELETE", path, { key: reader })).status).toBe(403);
    expect((await test.call("DELETE", path, { key: other })).status).toBe(404);
    const needles = ["needle", salt, made.zk.proof.proof, made.zk.credential.signature];
    for (const needle of needles) expect(await holdsText(test, needle), needle).not.toEqual([]);

    const erased = await test.call("DELETE", path, { key });
    expect(erased.status).toBe(200);
    expect(erased.body).toMatchObject({
      attestation_id: id,
      status: "erased",
      payload_hash: made.payload_hash,
    });
    expect((await test.call("DELETE", path, { key })).body).toEqual(erased.body);

    for (const needle of needles) expect(await holdsText(test, needle), needle).toEqual([]);
    const { body: shown } = await test.call("GET", `/v1/verify/${id}`, { key });
    expect(shown).toMatchObject({
      valid: null,
      status: "erased",
      erased_at: erased.body.erased_at,
      payload: null,
      action: null,
      zk_proof: null,
      payload_hash: made.payload_hash,
    });
    const status = Object.fromEntries(
      shown.checks.map((one: { name: string; status: string }) => [one.name, one.status]),
    );
    expect(status).toMatchObject({
      log_inclusion: "pass",
      checkpoint_signature: "pass",
      key_validity: "pass",
    });
    const trust = (await test.call("GET", "/v1/pubkey")).body;
    expect((await verifyInBrowser(shown, trust)).verdict).toBe("erased");
    for (const file of ["bundle", "envelope", "payload"]) {
      const answer = await test.call("GET", `/v1/verify/${id}/${file}`);
      expect([answer.status, answer.body.code]).toEqual([409, "attestation_erased"]);
    }
    const proof = (await test.call("GET", `/v1/verify/${id}/tlog-proof`)).body;
    const payload = utf8Encode(made.payload);
    expect(hexEncode(sha256(payload))).toBe(made.payload_hash);
    expect((await verifyInBrowser(proof, trust, { payload })).verdict).toBe("valid");

    const { rows: audit } = await test.app.context.database.query(
      "SELECT actor_kind, subject FROM audit_events WHERE action = 'attestation.erased' AND organization_id = $1",
      [organizationId],
    );
    expect(audit).toEqual([{ actor_kind: "key", subject: id }]);
  });

  it("takes what a human approved along: request, context and its salt, object, proof, kept answers", async () => {
    const action = "Wire the approval-needle-472";
    const ask = {
      agent_slug: "wire-bot",
      action,
      context: { to: "context-needle-472" },
      inputs_hash: "i-472",
    };
    const headers = { "idempotency-key": "ask-472" };
    const register = (name: string) =>
      test.call("POST", "/v1/identity/register", { key, body: { slug: "wire-bot", name } });
    expect((await register("name-needle-472")).status).toBe(201);
    const asked = (await test.call("POST", "/v1/authorize", { key, body: ask, headers })).body;
    const token = asked.approval_url.split("/").at(-1);
    const page = (what: string, body: object) =>
      test.call("POST", `/approve/${token}/${what}`, { headers: fromPage, body });
    const start = (await page("world-id", {})).body;
    expect((await page("proof", await makeResult(start, "ada"))).status).toBe(200);
    const { human_authorization: object } = (
      await test.call("GET", `/v1/authorize/${asked.request_id}`, { key })
    ).body;
    const body = { agent_slug: "wire-bot", action, inputs_hash: "i-472", human_authorization: object };
    const made = await test.call("POST", "/v1/attest", {
      key,
      body,
      headers: { "idempotency-key": "attest-472" },
    });
    expect(made.status).toBe(201);

    expect(asked.agent_name).toBe("name-needle-472");
    // From here on the name is kept only with what was asked.
    await register("Renamed");
    const { salt } = object.request;
    const [approval] = object.approvals;
    const needles = [
      "approval-needle",
      "context-needle",
      "name-needle",
      asked.context_salt,
      salt,
      object.signature,
      approval.proof,
    ];
    for (const needle of needles) expect(await holdsText(test, needle), needle).not.toEqual([]);
    const path = `/v1/attestations/${made.body.attestation_id}/content`;
    expect((await test.call("DELETE", path, { key })).status).toBe(200);
    for (const needle of needles) expect(await holdsText(test, needle), needle).toEqual([]);
    const again = await test.call("POST", "/v1/attest", { key, body });
    expect([again.status, again.body.code]).toEqual([422, "authorization_already_used"]);
    const stranger = (await test.createKey("stranger@example.com")).key;
    const asTheirs = { ...body, agent_slug: "strangers-bot" };
    const theirs = await test.call("POST", "/v1/attest", { key: stranger, body: asTheirs });
    expect([theirs.status, theirs.body.code]).toEqual([422, "authorization_unknown"]);
    const { status, body: state } = await test.call("GET", `/v1/authorize/${asked.request_id}`, { key });
    expect([status, state.status, state.human_authorization]).toEqual([200, "approved", undefined]);
    expect(state.guidance).toMatch(/^Erased:/);
  });
});

/** Tables and columns that hold the text in any form: as text, as its bytes, in JSON, or as what its base64 stands for. */
async function holdsText(test: TestApp, needle: string): Promise<string[]> {
  const { database } = test.app.context;
  const { rows: columns } = await database.query(
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'",
    [],
  );
  const decoded = Buffer.from(needle, "base64url").toString("hex");
  const found: string[] = [];
  for (const { table_name: table, column_name: column, data_type: type } of columns) {
    const isBytes = type === "bytea";
    const text = isBytes ? `encode("${column}", 'escape')` : `"${column}"::text`;
    const hex = isBytes ? `encode("${column}", 'hex')` : "''";
    const { rows } = await database.query(
      `SELECT 1 FROM "${table}" WHERE position($1 in ${text}) > 0 OR position($2 in ${hex}) > 0 LIMIT 1`,
      [needle, decoded],
    );
    if (rows.length > 0) found.push(`${table}.${column}`);
  }
  return found;
}

describe.each(databaseKinds)("the caller's attestations (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  beforeAll(async () => {
    test = await startTestApp(kind);
    ({ key } = await test.createKey());
    const made = [
      { agent_slug: "a-bot", action: "Sold 10% of it", is_public: false },
      { agent_slug: "a-bot", action: "Sold 100 of it", human_approved: true },
      { agent_slug: "b-bot", action: "Bought it" },
    ];
    for (const body of made)
      await test.call("POST", "/v1/attest", { key, body: { inputs_hash: "x", ...body } });
  });
  afterAll(() => test.close());

  const actions = async (query: string) => {
    const { status, body } = await test.call("GET", `/v1/attestations${query}`, { key });
    return status === 200 ? body.attestations.map(({ action }: { action: string }) => action) : status;
  };

  it("are listed newest first, private ones included, by filter and cursor", async () => {
    const all = ["Bought it", "Sold 100 of it", "Sold 10% of it"];
    expect(await actions("")).toEqual(all);
    expect(await actions("?agent_slug=A-Bot")).toEqual(all.slice(1));
    expect(await actions("?human_approval_method=hash")).toEqual([all[1]]);
    expect(await actions("?q=sold")).toEqual(all.slice(1));
    expect(await actions("?q=10%25")).toEqual([all[2]]);
    expect(await actions("?from=2999-01-01")).toEqual([]);
    expect(await actions("?to=2999-01-01T00:00:00Z&from=2020-01-01")).toEqual(all);
    expect(await actions("?limit=0")).toBe(400);
    expect(await actions("?cursor=zzz")).toBe(400);
    for (const time of [
      "yesterday",
      "0000-01-01",
      "0000-01-01T00:00:00Z",
      "0001-01-01T00:00:00%2B23:00",
      "9999-12-31T23:59:59-23:00",
    ])
      expect([time, await actions(`?from=${time}`), await actions(`?to=${time}`)]).toEqual([time, 400, 400]);
    expect(await actions("?from=0001-01-01&to=9999-12-31")).toEqual(all);
    const first = (await test.call("GET", "/v1/attestations?limit=2", { key })).body;
    expect(await actions(`?limit=2&cursor=${first.next_cursor}`)).toEqual([all[2]]);
  });

  it("are nobody else's, and need the scope read", async () => {
    const other = (await test.createKey("other@example.com")).key;
    expect((await test.call("GET", "/v1/attestations", { key: other })).body.attestations).toEqual([]);
    const writer = (await test.createKey("dev@example.com", ["attest"])).key;
    expect((await test.call("GET", "/v1/attestations", { key: writer })).status).toBe(403);
  });
});
