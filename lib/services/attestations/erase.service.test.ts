/** Erasing content: no table keeps it in any form, and the log entry is still proven. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import { deleteOrganization } from "#lib/services/portal/organization";
import { verifyInBrowser } from "#lib/verifier/browser";
import type { TestApp } from "#support/app";
import { approveUnproven, ask, fromPage, makeResult } from "#support/authorizations";
import { mailsTo } from "#support/enrol";
import { miscountedAgents } from "#support/feed-counts";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { eraseContent, eraseOutdated, setLegalHold, setRetention } from "./erase";

describe("erasure", () => {
  const { test } = setupTestApp();
  let key: string;
  let organizationId: string;
  beforeAll(async () => {
    ({ key, organizationId } = await test.createKey());
  });

  it("takes an attestation out of its feed and its count, once", async () => {
    const { key: own } = await test.createKey("counted@example.com");
    const attest = async (is_public: boolean) => {
      const body = { agent_slug: "counted", action: "a", inputs_hash: "b", is_public };
      return (await test.call("POST", "/v1/attest", { key: own, body })).body.attestation_id;
    };
    const [shown, , hidden] = [await attest(true), await attest(true), await attest(false)];
    const total = async () => (await test.call("GET", "/v1/agent/counted")).body.total_attestations;
    expect(await total()).toBe(2);
    for (const id of [shown, shown, hidden])
      expect((await test.call("DELETE", `/v1/attestations/${id}/content`, { key: own })).status).toBe(200);
    expect(await total()).toBe(1);
    expect(await miscountedAgents(test)).toEqual([]);
  });

  /** A late retry stores nothing, for a day at least, and nobody can test a guess of what was erased. */
  const expectErased = async (path: string, body: object, headers: { "idempotency-key": string }) => {
    const count = async () => (await test.query("SELECT count(*) AS n FROM attestations", [])).rows[0]?.["n"];
    const before = await count();
    const answer = await test.call("POST", path, { key, body, headers });
    expect([answer.status, answer.body.code]).toEqual([409, "erased"]);
    expect(await count()).toBe(before);
    const { rows } = await test.query(
      `SELECT length(body_hash) AS hashed, response, expires_at >= now() + interval '23 hours 50 minutes' AS stays
       FROM idempotency_keys WHERE route = $1 AND key = $2`,
      [path, headers["idempotency-key"]],
    );
    expect(rows).toEqual([{ hashed: 0, response: "", stays: true }]);
  };

  it("takes the content everywhere, and leaves a log entry that is still proven", async () => {
    const body = {
      agent_slug: "payroll-bot",
      action: "Paid a secret-needle-471",
      inputs_hash: "needle-inputs-471",
      metadata: { note: "needle-metadata-471" },
      client: { instance: "needle-instance-471", sequence: 1 },
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
    expect([...(await findTexts(test, needles)).keys()].sort()).toEqual(needles.toSorted());

    const erased = await test.call("DELETE", path, { key });
    expect(erased.status).toBe(200);
    expect(erased.body).toMatchObject({
      attestation_id: id,
      status: "erased",
      payload_hash: made.payload_hash,
    });
    expect((await test.call("DELETE", path, { key })).body).toEqual(erased.body);

    expect(await findTexts(test, needles)).toEqual(new Map());
    await expectErased("/v1/attest", body, headers);
    await expectErased("/v1/attest", { ...body, action: "Paid another" }, headers);
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

    const { rows: audit } = await test.query(
      "SELECT actor_kind, subject FROM audit_events WHERE action = 'attestation.erased' AND organization_id = $1",
      [organizationId],
    );
    expect(audit).toEqual([{ actor_kind: "key", subject: id }]);
  });

  it("takes the hash of the whole request from the answers to the other entries of its batch, and no others", async () => {
    const entry = (action: string) => ({ agent_slug: "batch-bot", action, inputs_hash: "b" });
    const body = { attestations: [entry("needle"), entry("other")] };
    const send = (name: string) =>
      test.call("POST", "/v1/attest/batch", { key, body, headers: { "idempotency-key": name } });
    const [{ body: made }] = await Promise.all([send("batch 1"), send("batch 2"), send("batch")]);
    const path = `/v1/attestations/${made.results[0].body.attestation_id}/content`;
    expect((await test.call("DELETE", path, { key })).status).toBe(200);
    const { rows } = await test.query(
      "SELECT key FROM idempotency_keys WHERE route = '/v1/attest/batch' AND length(body_hash) > 0 ORDER BY key",
      [],
    );
    expect(rows.map((row) => row["key"])).toEqual(["batch 0", "batch 1", "batch 2 0", "batch 2 1"]);
    expect((await send("batch 1")).body.code).toBe("erased");
    expect((await send("batch 2")).status).toBe(201);
  });

  it("takes what a human approved along: request, context and its salt, object, proof, kept answers", async () => {
    const action = "Wire the approval-needle-472";
    const ask = {
      agent_slug: "wire-bot",
      action,
      context: { to: "context-needle-472" },
      inputs_hash: "i-472",
      tool: "tool-needle-472",
      amount: { value: "472.0472", currency: "CLF" },
      requester: "requester-needle-472",
      callback_url: "https://example.com/callback-needle-472",
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
    const claimed = { key, body: { run: "run-needle-472" } };
    expect((await test.call("POST", `/v1/authorize/${asked.request_id}/claim`, claimed)).status).toBe(200);
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
      "callback-needle",
      "context-needle",
      "name-needle",
      "requester-needle",
      "run-needle",
      "tool-needle",
      "472.0472",
      asked.context_salt,
      salt,
      object.signature,
      approval.proof,
    ];
    expect([...(await findTexts(test, needles)).keys()].sort()).toEqual(needles.toSorted());
    const path = `/v1/attestations/${made.body.attestation_id}/content`;
    expect((await test.call("DELETE", path, { key })).status).toBe(200);
    expect(await findTexts(test, needles)).toEqual(new Map());
    await expectErased("/v1/authorize", ask, headers);
    await expectErased("/v1/attest", body, { "idempotency-key": "attest-472" });
    const again = await test.call("POST", "/v1/attest", { key, body });
    expect([again.status, again.body.code]).toEqual([422, "authorization_already_used"]);
    const stranger = (await test.createKey("stranger@example.com")).key;
    const asTheirs = { ...body, agent_slug: "strangers-bot" };
    const theirs = await test.call("POST", "/v1/attest", { key: stranger, body: asTheirs });
    expect([theirs.status, theirs.body.code]).toEqual([422, "authorization_unknown"]);
    const { status, body: state } = await test.call("GET", `/v1/authorize/${asked.request_id}`, { key });
    expect([status, state.status, state.human_authorization]).toEqual([200, "approved", undefined]);
    expect([state.tool, state.amount]).toEqual([null, null]);
    expect(state.guidance).toMatch(/^Erased:/);
  });

  it("takes the amount of a standing approval's use, and not what is left for the next", async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const limits = { max_calls: 3, max_amount: "50", max_budget: "100", currency: "CLF", expires_at };
    const granted = await ask(test, key, { action: "Pay bills", grant: { tools: ["pay"], ...limits } });
    await approveUnproven(test, granted.made.request_id);
    const use = () =>
      ask(test, key, { action: "Pay", tool: "pay", amount: { value: "47.3047", currency: "CLF" } });
    const used = await use();
    const { human_authorization } = (await used.read(key)).body;
    const body = { agent_slug: "treasurer", action: "Pay", inputs_hash: "i-473", human_authorization };
    const made = await test.call("POST", "/v1/attest", { key, body });
    expect((await used.read()).body.decided_by).toMatchObject({ use: 1, spent: "47.3047" });
    const path = `/v1/attestations/${made.body.attestation_id}/content`;
    expect((await test.call("DELETE", path, { key })).status).toBe(200);
    expect((await used.read()).body.decided_by).toMatchObject({ use: 1, spent: null });
    expect(await findTexts(test, ["47.3047"])).toEqual(new Map());
    const next = await use();
    expect((await next.read()).body.decided_by).toMatchObject({ use: 2, spent: "94.6094" });
  });
});

describe("retention and legal hold", () => {
  const dayMs = 86_400_000;
  const { test } = setupTestApp();
  let email: string;
  let key: string;
  let owner: MemberPrincipal;
  beforeEach(async ({ task }) => {
    email = `owner-${task.id.replaceAll(/\W/g, "")}@example.com`;
    owner = await signInPerson(test.app.context, email);
    ({ key } = await test.createKey(email));
  });

  const later = (days: number) => ({
    ...test.app.context,
    clock: () => new Date(test.app.context.clock().getTime() + days * dayMs),
  });
  const attest = async (needle: string, more: object = {}) => {
    const body = {
      agent_slug: `bot-${owner.organizationId}`,
      action: needle,
      inputs_hash: `inputs-${needle}`,
      ...more,
    };
    return (await test.call("POST", "/v1/attest", { key, body })).body.attestation_id as string;
  };
  const isErased = async (id: string) =>
    (await test.call("GET", `/v1/verify/${id}`, { key })).body.status === "erased";
  const audited = async (action: string) =>
    (await listAuditEvents(test.app.context, owner, { limit: 100 })).rows.filter(
      (row) => row.action === action,
    );

  it("erases what is older, what nobody approved too, keeps what can still be used and the log, and says what it did", async () => {
    const old = [await attest("old-needle-1"), await attest("old-needle-2", { is_public: false })];
    const others = (await test.createKey("someone@example.com")).key;
    const theirs = { agent_slug: "their-bot", action: "their-needle", inputs_hash: "i" };
    const { body: foreign } = await test.call("POST", "/v1/attest", { key: others, body: theirs });
    const denied = await ask(test, key, {
      action: "denied-needle",
      context: { to: "context-needle" },
      amount: { value: "471.0471", currency: "CLF" },
    });
    expect((await denied.deny("reason-needle")).status).toBe(200);
    const usable = await ask(test, key, { action: "usable-needle", usable_for_seconds: 2_592_000 });
    await approveUnproven(test, usable.made.request_id);
    const endless = await ask(test, key, { action: "endless-needle" });
    await approveUnproven(test, endless.made.request_id);
    const { agent_slug, human_authorization } = (await endless.read(key)).body;

    await setRetention(later(18), owner, 20);
    const starts = await audited("organization.retention");
    expect(starts).toMatchObject([{ detail: expect.stringContaining('"retention_days":20') }]);
    expect((await mailsTo(test, email))[0]?.text).toContain("Content older than 20 days is erased");
    await eraseOutdated(later(19.9));
    expect(await Promise.all(old.map(isErased))).toEqual([false, false]);

    await eraseOutdated(later(21));
    expect(await Promise.all(old.map(isErased))).toEqual([true, true]);
    const needles = [
      "old-needle",
      "denied-needle",
      "endless-needle",
      "context-needle",
      "reason-needle",
      "4710471",
    ];
    expect(await findTexts(test, needles)).toEqual(new Map());
    expect((await usable.read(key)).body).toMatchObject({ status: "approved", action: "usable-needle" });
    expect(await isErased(foreign.attestation_id)).toBe(false);
    expect(await miscountedAgents(test)).toEqual([]);
    expect((await test.call("GET", `/v1/verify/${old[0]}/tlog-proof`)).status).toBe(200);
    const lines = await audited("retention.erased");
    expect(lines.map(({ actorKind, detail }) => [actorKind, JSON.parse(detail ?? "{}")])).toMatchObject([
      ["system", { attestations: 0, requests: 2 }],
      ["system", { attestations: 2, requests: 0 }],
    ]);
    // An approval without an end has ended with its content.
    const body = {
      agent_slug,
      inputs_hash: "i",
      action: "endless-needle",
      human_approved: true,
      human_authorization,
    };
    const late = await test.call("POST", "/v1/attest", { key, body });
    expect([late.status, late.body.code]).toEqual([422, "authorization_unknown"]);
    // Usable approvals stay; taken back, they go.
    const revoke = `/v1/authorizations/${usable.made.request_id}/revoke`;
    expect((await test.call("POST", revoke, { key, body: { reason: "taken-needle" } })).status).toBe(200);
    await eraseOutdated(later(21));
    const left = await findTexts(test, ["usable-needle", "taken-needle"]);
    expect(left).toEqual(new Map([["taken-needle", ["audit_events.detail"]]]));
  });

  it("erases and deletes nothing during a legal hold, by age, key or hand, and goes on after it", async () => {
    const id = await attest("held-needle");
    await setRetention(later(20), owner, 7);
    await eraseOutdated(later(20.9));
    expect(await isErased(id)).toBe(false);
    await setLegalHold(test.app.context, owner, "Case 12");
    await eraseOutdated(later(40));
    const path = `/v1/attestations/${id}/content`;
    const byKey = await test.call("DELETE", path, { key });
    expect([byKey.status, byKey.body.code]).toEqual([409, "legal_hold"]);
    expect(byKey.body.detail).toContain("an owner can end the hold");
    const held = { errorName: "legal_hold" };
    await expect(eraseContent(test.app.context, owner, id)).rejects.toMatchObject(held);
    await expect(deleteOrganization(test.app.context, owner, "")).rejects.toMatchObject(held);
    expect(await isErased(id)).toBe(false);
    const colleague = await signInPerson(test.app.context, "stranger@example.com");
    const asStranger = { ...colleague, organizationId: owner.organizationId };
    await expect(setLegalHold(test.app.context, asStranger, null)).rejects.toMatchObject({
      errorName: "not_found",
    });

    await setLegalHold(test.app.context, owner, null);
    await eraseOutdated(later(40));
    expect(await isErased(id)).toBe(true);
    expect([
      (await audited("organization.legal_hold")).length,
      (await audited("organization.legal_hold_ended")).length,
    ]).toEqual([1, 1]);
  });
});

/**
 * Finds those of the texts that a table holds, each with its columns: as text, as its bytes, in JSON, or
 * base64-encoded. In one statement for each table, as there are hundreds of columns.
 */
async function findTexts({ app }: TestApp, texts: string[]): Promise<Map<string, string[]>> {
  const { query } = app.context.database;
  const { rows: tables } = await query(
    `SELECT table_name AS name, string_agg(CASE data_type
        WHEN 'bytea' THEN format('(%1$L, encode(%1$I, ''escape''), encode(%1$I, ''hex''))', column_name)
        ELSE format('(%1$L, %1$I::text, '''')', column_name) END, ', ') AS columns
      FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name`,
    [],
  );
  const decoded = texts.map((text) => Buffer.from(text, "base64url").toString("hex"));
  const found = new Map<string, string[]>();
  for (const { name: table, columns } of tables) {
    const { rows } = await query(
      `SELECT DISTINCT wanted.text, held.name FROM "${table}"
        CROSS JOIN LATERAL (VALUES ${columns}) AS held(name, text, hex)
        JOIN unnest($1::text[], $2::text[]) AS wanted(text, hex)
          ON position(wanted.text IN held.text) > 0 OR position(wanted.hex IN held.hex) > 0`,
      [texts, decoded],
    );
    for (const { text, name } of rows as { text: string; name: string }[])
      found.set(text, [...(found.get(text) ?? []), `${table}.${name}`]);
  }
  return found;
}
