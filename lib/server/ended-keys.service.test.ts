/** Guarantee: a key that is revoked, or loses a permission, while its request runs changes nothing, and sees no more than anyone. */
import { describe, expect, it, vi } from "vitest";
import { requestExamples } from "#lib/api/operations/examples";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { askQuestion } from "#lib/services/approvals/decision/questions";
import { approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

/** Operations that store nothing; or store that the key has ended; or (mcp, agent_hook) call the others. */
const harmless = ["evaluateAccess", "simulateRules", "createPresentation", "deleteKey", "mcp", "agent_hook"];
const changing = Object.entries(operations).filter(
  ([id, spec]: [string, OperationSpec]) =>
    // lib/services/directory/directory.service.test.ts has those of SCIM.
    spec.auth.kind === "key" && spec.method !== "GET" && !harmless.includes(id) && spec.isScim !== true,
);

describe("a key that ends while its request runs", () => {
  const { test } = setupTestApp();

  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;

  /** Everything that the operation needs to succeed. */
  async function prepare(id: string) {
    const slug = `bot-${id.toLowerCase()}`;
    const { key, keyId } = await test.createKey(`${slug}@example.com`);
    const call = async (method: string, path: string, body?: unknown) =>
      (await test.call(method, path, { key, ...(body !== undefined && { body }) })).body;
    const attested = await call("POST", "/v1/attest", { agent_slug: slug, action: "a", inputs_hash: "b" });
    const { made } = await ask(test, key, { agent_slug: slug });
    if (id === "answerQuestion")
      await askQuestion(test.app.context, made.request_id, { question: "What for?" }, "192.0.2.1");
    else if (id !== "cancelAuthorization") await approveUnproven(test, made.request_id);
    if (id === "unfreezeAgent") await call("POST", `/v1/identity/${slug}/freeze`, { reason: "stop" });
    const hook = await call("POST", "/v1/webhooks", requestExamples.createWebhook);
    const sent = await call("POST", `/v1/webhooks/${hook.id}/test`);
    const values: Record<string, string> = {
      ...{ id: attested.attestation_id, slug, request_id: made.request_id },
      ...{ webhook_id: hook.id, message_id: sent.message_id },
    };
    return { key, keyId, values };
  }

  /** The request goes on after `change`, which is committed when the caller is known. */
  async function callDuring(id: string, change: (keyId: string) => Promise<unknown>) {
    const spec = operations[id as keyof typeof operations];
    const { key, keyId, values } = await prepare(id);
    const slug = values["slug"];
    const named = {
      ...(id === "authorize" && { agent_slug: slug }),
      ...(id === "registerIdentity" && { slug }),
    };
    const body = { ...requestExamples[id as keyof typeof requestExamples], ...named };
    const { limiter } = test.app.context;
    const consume = limiter.consume.bind(limiter);
    const spy = vi.spyOn(limiter, "consume").mockImplementationOnce(async (...given) => {
      await change(keyId);
      return consume(...given);
    });
    const audited = () => query("SELECT action FROM audit_events WHERE actor = $1 ORDER BY id", keyId);
    const before = await audited();
    const path = spec.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
    const headers = { "content-type": "application/json" };
    const answer = await test.call(spec.method, path, {
      key,
      headers,
      ...(spec.method !== "DELETE" && { body }),
    });
    spy.mockRestore();
    expect([id, await audited()]).toEqual([id, before]);
    return answer;
  }

  it("is tried with every operation that changes something", () => {
    expect(changing.length).toBeGreaterThan(17);
  });

  it.each(changing)("gets 401 for %s", async (id) => {
    const revoke = (keyId: string) => query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", keyId);
    const { status, body } = await callDuring(id, revoke);
    // A batch has a status for each entry, and OTLP words alone.
    if (id.startsWith("otlp")) expect(body.message).toContain("Invalid API key");
    else expect(id === "attestBatch" ? body.results[0].body.code : body.code).toBe("invalid_api_key");
    expect(status).toBe(id === "attestBatch" ? 207 : 401);
  });

  const permitAll = '@id("all") permit (principal, action == Action::"act", resource);';
  const grant = { tools: ["pay"], max_calls: 9, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  it.each<[string, (slug: string, key: string) => Promise<unknown>, object, Record<string, string>]>([
    ["a request for people", async () => undefined, {}, {}],
    [
      "an approval by a rule",
      (_, key) =>
        test.call("PUT", "/v1/rules", { key, body: { mode: "enforce", fallback: "ask", text: permitAll } }),
      {},
      {},
    ],
    [
      "an approval by a standing one",
      async (slug, key) => {
        const { made } = await ask(test, key, { agent_slug: slug, action: "Standing approval", grant });
        await approveUnproven(test, made.request_id);
      },
      {},
      {},
    ],
    ["a refusal", async () => undefined, { grant: { ...grant, expires_at: "2020-01-01T00:00:00Z" } }, {}],
    ["a kept answer", async () => undefined, {}, { "idempotency-key": "kept" }],
  ])("gets 401 for %s while its process remembers it", async (what, before, more, headers) => {
    const slug = `bot-${what.replaceAll(" ", "-")}`;
    const { key, keyId } = await test.createKey(`${slug}@example.com`);
    await before(slug, key);
    const body = { agent_slug: slug, action: "Pay", tool: "pay", ...more };
    const send = async () => (await test.call("POST", "/v1/authorize", { key, headers, body })).status;
    const count = () => query("SELECT count(*) FROM authorization_requests WHERE api_key_id = $1", keyId);
    const expected = what === "a refusal" ? 422 : 201;
    expect([await send(), await send()]).toEqual([expected, expected]);
    const made = await count();
    await query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", keyId);
    expect(test.app.context.callers.recall(key)?.keyId).toBe(keyId);
    expect(await send()).toBe(401);
    expect(await count()).toEqual(made);
  });

  it("sees what anyone sees of a request when its wait is over", async () => {
    const { key, keyId } = await test.createKey("waiting@example.com");
    const { deny, read, made } = await ask(test, key, { agent_slug: "bot-waiting" });
    expect((await read(key)).body.confirmation_code).toBe(made.confirmation_code);
    const wait = vi.spyOn(test.app.context.wakeups, "wait");
    const reading = read(key, "?wait=25");
    await expect.poll(() => wait.mock.calls.length).toBe(1);
    wait.mockRestore();
    await query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", keyId);
    expect((await deny()).status).toBe(200);
    const { body } = await reading;
    expect(body.status).toBe("denied");
    expect(Object.keys(body)).toEqual(Object.keys((await read()).body));
  });

  it.each(["eraseContent", "putRules"])("gets 403 for %s without the scope", async (id) => {
    const lose = (keyId: string) =>
      query("UPDATE api_keys SET scopes = ARRAY['attest', 'authorize'] WHERE id = $1", keyId);
    expect(await callDuring(id, lose)).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  });
});
