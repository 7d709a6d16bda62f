/** A human_authorization inside an attestation: unchanged, fitting, unused, and checked again on every read. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findDifferences } from "#components/approve/check-shown";
import { readApprovalView } from "#lib/approvals/view";
import { bindRequest, contextHash, isShownContent } from "#lib/domain/approval";
import { base64Encode } from "#lib/domain/bytes";
import { canonicalBytes, type JsonObject } from "#lib/domain/canonical-json";
import { parseHumanAuthorization } from "#lib/domain/human-authorization-shape";
import { startTestApp, type TestApp } from "#support/app";
import { type AskedRequest, ask } from "#support/authorizations";
import { databaseKinds } from "#support/databases";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

describe.each(databaseKinds)("embedding (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  let asked: AskedRequest;
  let issued: JsonObject;
  beforeAll(async () => {
    test = await startTestApp(kind);
    ({ key } = await test.createKey());
    asked = await ask(test, key, {
      inputs_hash: "sha256:aa",
      context: { invoice: "2026-114" },
      required_level: "orb",
    });
    const approved = await asked.approve("ada");
    expect(approved.status).toBe(200);
    issued = (await asked.read()).body.human_authorization;
  });
  afterAll(() => test.close());

  const attest = (change: object = {}, by = key) =>
    test.call("POST", "/v1/attest", {
      key: by,
      body: {
        agent_slug: "treasurer",
        action: asked.made.action,
        inputs_hash: "sha256:aa",
        human_authorization: issued,
        ...change,
      },
    });
  const checkOf = async (id: string, reader?: string) => {
    const { body } = await test.call("GET", `/v1/verify/${id}`, reader === undefined ? {} : { key: reader });
    return {
      body,
      check: body.checks.find(({ name }: { name: string }) => name === "human_authorization"),
    };
  };

  it("holds no context, and names where its decision is in the log", () => {
    expect(JSON.stringify(issued)).not.toContain("2026-114");
    expect(JSON.stringify(issued)).not.toContain(asked.made.context_salt);
    expect(Object.keys(issued["log"] as object).sort()).toEqual(
      ["checkpoint", "entry", "inclusion_proof", "index", "origin", "tree_size"].sort(),
    );
  });

  it("refuses what was not issued, was altered or does not fit, each by its own code", async () => {
    const request = issued["request"] as JsonObject;
    const [approval] = issued["approvals"] as JsonObject[];
    const { log: _log, ...withoutLog } = issued;
    const { key: other } = await test.createKey("other@example.com");
    const cases: [string, object, string?][] = [
      ["authorization_unknown", { human_authorization: {} }],
      [
        "authorization_unknown",
        { human_authorization: { ...issued, request: { ...request, request_id: "areq_x" } } },
      ],
      [
        "authorization_altered",
        { human_authorization: { ...issued, request: { ...request, action: "Pay more" } } },
      ],
      [
        "authorization_altered",
        { human_authorization: { ...issued, approvals: [{ ...approval, environment: "production" }] } },
      ],
      ["authorization_altered", { human_authorization: withoutLog }],
      ["authorization_altered", { human_authorization: { ...issued, note: "added" } }],
      ["authorization_mismatch", { action: "Pay more" }],
      ["authorization_mismatch", { agent_slug: "treasurer-2" }],
      ["authorization_mismatch", { inputs_hash: "sha256:bb" }],
      ["authorization_mismatch", { agent_slug: "elsewhere" }, other],
      ["validation_error", { human_approved: false }],
    ];
    for (const [code, change, by] of cases) {
      const answer = await attest(change, by);
      expect([code, answer.status, answer.body.code]).toEqual([code, 422, code]);
    }
    const pending = await ask(test, key);
    const early = await attest({
      human_authorization: { ...issued, request: { ...request, request_id: pending.made.request_id } },
    });
    expect(early.body.code).toBe("authorization_unknown");
    expect((await asked.read(key)).body.attestation_id).toBeNull();
  });

  it("is graded as what it is, and every link of it is checked again", async () => {
    const spelled = JSON.stringify(
      {
        human_authorization: issued,
        human_approved: true,
        ...{ agent_slug: "Treasurer", action: asked.made.action, inputs_hash: "sha256:aa" },
      },
      null,
      2,
    );
    const made = await test.call("POST", "/v1/attest", { key, rawBody: spelled });
    expect(made.body).toMatchObject({
      human_approved: true,
      human_approval: {
        method: "proof_of_personhood",
        environment: "local",
        level: "orb",
        inputs_bound: true,
      },
    });
    const id = made.body.attestation_id;
    const whole = await checkOf(id);
    expect(whole.check).toMatchObject({ status: "pass", detail: "TEST: not a World ID proof" });
    expect([whole.body.valid, whole.body.human_authorization]).toEqual([true, issued]);
    const again = await attest();
    expect([again.status, again.body.code]).toEqual([422, "authorization_already_used"]);

    const [approval] = issued["approvals"] as JsonObject[];
    const request = issued["request"] as JsonObject;
    const store = (object: JsonObject) =>
      test.app.context.database.query(
        "UPDATE attestations SET human_authorization = decode($2, 'hex') WHERE id = $1",
        [id, Buffer.from(canonicalBytes(object)).toString("hex")],
      );
    for (const changed of [
      { ...issued, request: { ...request, expires_at: "2030-01-01T00:00:00.000Z" } },
      { ...issued, approvals: [{ ...approval, environment: "production" }] },
      { ...issued, approvals: [] },
      {},
    ]) {
      await store(changed);
      const tampered = await checkOf(id);
      expect([tampered.body.valid, tampered.check.status]).toEqual([false, "fail"]);
    }
    await store(issued);
    expect((await checkOf(id)).body.valid).toBe(true);
  });

  const register = (slug: string, profile: object) =>
    test.call("POST", "/v1/identity/register", { key, body: { slug, ...profile } });
  const makeAgentKey = () => base64Encode(ed25519.getPublicKey(ed25519.utils.randomSecretKey()));
  const spend = (slug: string, action: string, human_authorization: unknown) =>
    attest({ agent_slug: slug, action, human_authorization });

  it("is refused under another agent key than the human saw, until that key is back", async () => {
    const cases: [string, string | null, string | null][] = [
      ["key-bot-1", makeAgentKey(), makeAgentKey()],
      ["key-bot-2", makeAgentKey(), null],
      ["key-bot-3", null, makeAgentKey()],
    ];
    for (const [slug, approvedKey, laterKey] of cases) {
      await register(slug, { public_key: approvedKey });
      const changed = await ask(test, key, { agent_slug: slug, action: "Pay once" });
      expect((await changed.approve("ada")).status).toBe(200);
      const { human_authorization } = (await changed.read()).body;
      expect(human_authorization).toMatchObject({ version: 2, request: { agent_public_key: approvedKey } });
      await register(slug, { public_key: laterKey });
      const refused = await spend(slug, "Pay once", human_authorization);
      expect([slug, refused.status, refused.body.code]).toEqual([slug, 422, "authorization_mismatch"]);
      expect(refused.body.detail).toContain("agent key");
      await register(slug, { public_key: approvedKey });
      expect((await spend(slug, "Pay once", human_authorization)).status).toBe(201);
    }
  });

  it("is refused where the key changes between the look-up and the moment of storing", async () => {
    const [first, second] = [makeAgentKey(), makeAgentKey()];
    await register("race-bot", { public_key: first });
    const raced = await ask(test, key, { agent_slug: "race-bot", action: "Pay in a race" });
    expect((await raced.approve("ada")).status).toBe(200);
    const { human_authorization } = (await raced.read()).body;
    const { log } = test.app.context;
    const spy = vi.spyOn(log, "submit").mockImplementationOnce(async (itemKind, item) => {
      await register("race-bot", { public_key: second });
      spy.mockRestore();
      return log.submit(itemKind, item);
    });
    const refused = await spend("race-bot", "Pay in a race", human_authorization);
    expect([refused.status, refused.body.code]).toEqual([422, "authorization_mismatch"]);
    expect((await raced.read(key)).body.attestation_id).toBeNull();
  });

  it("leaves no attestation compared with what was registered before", async () => {
    await register("drift-bot", { code_hash: "aaaa" });
    const { log } = test.app.context;
    for (const slug of ["drift-bot", "new-drift-bot"]) {
      const spy = vi.spyOn(log, "submit").mockImplementationOnce(async (itemKind, item) => {
        await register(slug, { code_hash: "bbbb" });
        spy.mockRestore();
        return log.submit(itemKind, item);
      });
      const body = { agent_slug: slug, action: "a", inputs_hash: "b", code_hash: "aaaa" };
      const made = await test.call("POST", "/v1/attest", { key, body });
      expect([slug, made.status, made.body.code_hash_verified]).toEqual([slug, 201, false]);
      expect(JSON.parse(made.body.payload).predicate.registered.code_hash).toBe("bbbb");
    }
  });

  it("leaves none compared with nothing where a registration wins the slug at the last moment", async () => {
    const { db } = test.app.context.database;
    let attested: ReturnType<typeof test.call> | undefined;
    // On PostgreSQL the attestation finds no agent, and waits for this insertion when it claims the slug.
    await db.transaction(async (tx) => {
      const rows = sql`SELECT gen_random_uuid(), organization_id, 'last-bot', 'last-bot', 'bbbb', now(), now() FROM agents
        WHERE slug_key = 'treasurer'`;
      await tx.execute(
        sql`INSERT INTO agents (id, organization_id, slug, slug_key, code_hash, created_at, updated_at) ${rows}`,
      );
      const body = { agent_slug: "last-bot", action: "a", inputs_hash: "b", code_hash: "aaaa" };
      attested = test.call("POST", "/v1/attest", { key, body });
      await new Promise((resolve) => setTimeout(resolve, 1000));
    });
    const made = await attested;
    expect([made?.status, made?.body.code_hash_verified]).toEqual([201, false]);
  });

  it("keeps the names that the page showed, whatever agent and organization are called later", async () => {
    await register("named-bot", { name: "Trusted Treasurer" });
    const named = await ask(test, key, {
      agent_slug: "named-bot",
      action: "Pay by name",
      context: { a: "1" },
    });
    const rename = (name: string) =>
      test.app.context.database.query("UPDATE organizations SET name = $1", [name]);
    const before = named.made.organization_name;
    await register("named-bot", { name: "Somebody else" });
    await rename("Somebody else Ltd");
    const view = await readApprovalView(test.app.context, named.token);
    expect([view?.agent.name, view?.organization.name]).toEqual(["Trusted Treasurer", before]);
    expect((await named.approve("ada")).status).toBe(200);
    const owned = (await named.read(key)).body;
    expect([owned.agent_name, owned.organization_name]).toEqual(["Trusted Treasurer", before]);
    const open = (await named.read()).body;
    for (const hidden of ["agent_name", "organization_name"]) expect(open).not.toHaveProperty(hidden);
    expect(JSON.stringify(open)).not.toContain("Trusted Treasurer");

    const authorization = parseHumanAuthorization(owned.human_authorization);
    if (authorization === null) throw new Error("no authorization");
    const { context, context_salt, agent_name, organization_name } = owned;
    const shown = { context, context_salt, agent_name, organization_name };
    expect(isShownContent(authorization, shown)).toBe(true);
    for (const other of [{ agent_name: "Somebody else" }, { organization_name: "Somebody else Ltd" }])
      expect(isShownContent(authorization, { ...shown, ...other })).toBe(false);
    const made = await spend("named-bot", "Pay by name", owned.human_authorization);
    expect(made.status).toBe(201);
    expect(JSON.stringify((await checkOf(made.body.attestation_id)).body)).not.toContain("Trusted Treasurer");
  });

  it("takes a request from before names were bound to its end, as version 1", async () => {
    const old = await ask(test, key, { agent_slug: "old-bot", action: "Pay as before", context: { a: "1" } });
    const view = await readApprovalView(test.app.context, old.token);
    if (!view) throw new Error("no view");
    const request = { ...view.request, context_hash: contextHash(old.made.context_salt, { a: "1" }, null) };
    const { query } = test.app.context.database;
    await query(
      `UPDATE authorization_requests SET version = DEFAULT, agent_name = NULL, organization_name = NULL,
         request = decode($2, 'hex'), request_hash = decode($3, 'hex') WHERE id = $1`,
      [
        old.made.request_id,
        Buffer.from(canonicalBytes({ ...request })).toString("hex"),
        bindRequest(request).request_hash,
      ],
    );
    const page = await readApprovalView(test.app.context, old.token);
    expect(page && findDifferences(page)).toEqual([]);
    expect((await old.approve("ada")).status).toBe(200);
    const owned = (await old.read(key)).body;
    expect([owned.human_authorization.version, owned.agent_name, owned.organization_name]).toEqual([
      1,
      null,
      null,
    ]);
    await register("old-bot", { public_key: makeAgentKey() });
    const refused = await spend("old-bot", "Pay as before", owned.human_authorization);
    expect([refused.status, refused.body.code]).toEqual([422, "authorization_mismatch"]);
    await register("old-bot", { public_key: null });
    const made = await spend("old-bot", "Pay as before", owned.human_authorization);
    expect(made.status).toBe(201);
    expect((await checkOf(made.body.attestation_id)).body.valid).toBe(true);
  });

  it("is never confused with the caller's own word", async () => {
    const body = { agent_slug: "treasurer", action: "a", inputs_hash: "b" };
    const asserted = await test.call("POST", "/v1/attest", {
      key,
      body: { ...body, human_approved: true, human_approver_hash: "h" },
    });
    expect(asserted.body.human_approval).toEqual({ method: "hash", approver_hash: "h" });
    expect((await checkOf(asserted.body.attestation_id)).check).toMatchObject({
      status: "not_applicable",
      detail: "asserted by the caller, not proven",
    });
    const none = await test.call("POST", "/v1/attest", { key, body });
    expect([none.body.human_approved, none.body.human_approval]).toEqual([false, { method: "none" }]);
  });

  it("shows a private attestation's authorization to its owner alone", async () => {
    const quiet = await ask(test, key, { action: "Quietly" });
    await quiet.approve("grace");
    const { human_authorization } = (await quiet.read()).body;
    const made = await attest({ action: "Quietly", human_authorization, is_public: false });
    expect(made.status).toBe(201);
    const stranger = await checkOf(made.body.attestation_id);
    expect([stranger.body.valid, stranger.body.human_approved, stranger.body.human_authorization]).toEqual([
      true,
      true,
      null,
    ]);
    expect(stranger.check.detail).not.toContain("TEST");
    const owner = await checkOf(made.body.attestation_id, key);
    expect(owner.body.human_authorization).toEqual(human_authorization);

    const erased = await test.call("DELETE", `/v1/attestations/${made.body.attestation_id}/content`, { key });
    expect(erased.status).toBe(200);
    const state = (await quiet.read(key)).body;
    expect(state).toMatchObject({ status: "approved", environment: "local", context: {}, action: "" });
    expect(state).not.toHaveProperty("human_authorization");
    expect(await readApprovalView(test.app.context, quiet.token)).toMatchObject({
      is_erased: true,
      is_test: true,
    });
  });

  it("leaves the approval link nowhere: no table, no log line, no answer but its own", async () => {
    const lines: string[] = [];
    const log = (...parts: unknown[]) => {
      lines.push(
        JSON.stringify(parts, (_, value) =>
          value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
        ),
      );
    };
    const { logger } = test.app.context;
    test.app.context.logger = { ...logger, info: log, warn: log, error: log, debug: log } as typeof logger;
    const { signRequest } = test.app.context.worldId;
    test.app.context.worldId.signRequest = () => {
      throw new Error("broken on purpose");
    };
    const canary = await ask(test, key, { action: "Canary" });
    await expect(canary.start()).rejects.toThrow("server_error");
    test.app.context.worldId.signRequest = signRequest;
    await canary.submit({});
    await canary.deny("no");
    await canary.deny("no");
    test.app.context.logger = logger;
    expect(lines.join()).toContain("broken on purpose");
    const secret = canary.token.split(".")[1] ?? "";
    expect(secret).toHaveLength(43);
    expect(lines.join()).not.toContain(secret);
    const { rows } = await test.app.context.database.query(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
      [],
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const { name } of rows) {
      const found = await test.app.context.database.query(
        `SELECT count(*)::int AS n FROM "${String(name)}" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0`,
        [secret, Buffer.from(secret).toString("hex")],
      );
      expect([name, found.rows[0]?.["n"]]).toEqual([name, 0]);
    }
  });
});
