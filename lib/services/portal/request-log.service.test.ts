/**
 * Guarantees: each request of a known key is in its organization's log, and in nobody else's; no secret is; what the log
 * has no room for is counted; counts and test marks are of what happened.
 */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { createRequestLog } from "#lib/api/http/request-log";
import { requestFilters } from "#lib/api/schemas/portal";
import { deleteExpired } from "#lib/server/background";
import type { Context } from "#lib/services/approvals/context";
import type { TestAnswer } from "#support/app";
import { ask } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { describeRequestLog, listRequests, readAgentUsage, readBusiest, readKeyUsage } from "./overview";

const page = { limit: 50 };
const once = { today: 1, days7: 1, days30: 1 };

describe("the request log", () => {
  const { test } = setupTestApp();
  let context: Context;
  let owner: MemberPrincipal;
  let stranger: MemberPrincipal;
  let key: string;
  let keyId: string;
  const read = async (query: Record<string, string> = {}, person = owner) => {
    await context.requestLog.flush();
    return (await listRequests(context, person, requestFilters.parse(query), page)).rows;
  };
  const query = async (text: string, values: unknown[] = []) =>
    (await context.database.query(text, values)).rows;
  const attest = (headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      headers,
      body: { agent_slug: "Logged", action: "paid", inputs_hash: "x", is_public: false },
    });
  beforeAll(async () => {
    ({ context } = test.app);
    owner = await signInPerson(context, "owner@example.com");
    stranger = await signInPerson(context, "stranger@example.com");
    ({ key, keyId } = await test.createKey("owner@example.com"));
  });

  it("has operation, status, time taken, key, agent and error code of each request with a key", async () => {
    const made = await attest({ "idempotency-key": "one" });
    const again = await attest({ "idempotency-key": "one" });
    const refused = await test.call("POST", "/v1/attest", { key, body: { agent_slug: "logged" } });
    const verified = await test.call("GET", `/v1/verify/${made.body.attestation_id}`, { key });
    await test.call("GET", `/v1/verify/${made.body.attestation_id}`);
    const rows = new Map((await read()).map((row) => [row.id, row]));
    const logged = (answer: TestAnswer) => {
      const row = rows.get(answer.headers.get("request-id") ?? "");
      return [row?.method, row?.path, row?.status, row?.error_code, row?.agent_slug];
    };
    expect(rows.size).toBe(4);
    for (const answer of [made, again])
      expect(logged(answer)).toEqual(["POST", "/v1/attest", 201, null, "Logged"]);
    expect(logged(refused)).toEqual(["POST", "/v1/attest", 422, "validation_error", null]);
    expect(logged(verified)).toEqual(["GET", "/v1/verify/{id}", 200, null, null]);
    for (const { duration_ms, at, key: used } of rows.values()) {
      expect(used).toEqual({ id: keyId, name: "test", isTest: true });
      expect(duration_ms).toBeGreaterThanOrEqual(0);
      expect(Math.abs(Date.now() - at.getTime())).toBeLessThan(60_000);
    }
  });

  it("counts requests and attestations, a repeated answer only once", async () => {
    const counted = { requests: { today: 4, days7: 4, days30: 4 }, attestations: once };
    expect(await readKeyUsage(context, owner)).toEqual(new Map([[keyId, counted]]));
    expect(await readAgentUsage(context, owner)).toEqual(new Map([["logged", once]]));
    expect(await readBusiest(context, owner)).toEqual({
      keys: [{ id: keyId, name: "test", ...counted }],
      agents: [{ slug: "logged", attestations: once }],
    });
    await query("UPDATE daily_counts SET day = day - 6 WHERE kind = 'key'");
    await query("UPDATE daily_key_usage SET day = day - 7");
    expect((await readKeyUsage(context, owner)).get(keyId)).toEqual({
      requests: { today: 0, days7: 4, days30: 4 },
      attestations: { today: 0, days7: 0, days30: 1 },
    });
  });

  it("finds by class of status, key, error code and request id, in pages", async () => {
    const all = await read();
    const [newest] = all;
    const refused = all.find(({ status }) => status === 422);
    const found = async (filters: Record<string, string>) => (await read(filters)).map(({ id }) => id);
    expect(await found({ status: "4" })).toEqual([refused?.id]);
    expect(await found({ code: "validation_error" })).toEqual([refused?.id]);
    expect(await found({ id: newest?.id ?? "" })).toEqual([newest?.id]);
    expect(await found({ key: keyId, status: "2" })).toHaveLength(3);
    expect(await found({ key: owner.organizationId })).toEqual([]);
    expect(await found({ id: ` ${newest?.id} ` })).toEqual([newest?.id]);
    for (const text of ["req_1", "Validation error", "é"]) {
      expect(await found({ id: text }), text).toEqual([]);
      expect(await found({ code: text }), text).toEqual([]);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { rows, nextCursor } = await listRequests(context, owner, {}, { limit: 3, cursor });
      seen.push(...rows.map(({ id }) => id));
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual((await read()).map(({ id }) => id));
  });

  it("leaves out the time for which a request was asked to wait", async () => {
    const { made } = await ask(test, key);
    const startMs = Date.now();
    const waited = await test.call("GET", `/v1/authorize/${made.request_id}?wait=1`, { key });
    const tookMs = Date.now() - startMs;
    const [row] = await read({ id: waited.headers.get("request-id") ?? "" });
    expect(row?.duration_ms).toBeGreaterThanOrEqual(0);
    expect(tookMs - (row?.duration_ms ?? tookMs)).toBeGreaterThan(900);
  });

  it("holds no secret that a request carries in its headers, path, query or body", async () => {
    const secret = randomBytes(12).toString("hex");
    const headers = { "x-api-key": secret, cookie: secret, "user-agent": secret, "idempotency-key": secret };
    const body = { agent_slug: `bot-${secret}`, action: secret, inputs_hash: secret, [secret]: secret };
    const slug = `taken-${secret}`;
    const other = await test.createKey("other@example.com");
    await test.call("POST", "/v1/identity/register", { key: other.key, body: { slug } });
    const refused = { agent_slug: slug, action: "x", inputs_hash: "x" };
    const calls = [
      await test.call("POST", "/v1/attest", { key, headers, body: refused }),
      await test.call("POST", `/v1/attest?token=${secret}`, { key, headers, body }),
      await test.call("GET", `/v1/attestations?q=${secret}`, { key, headers }),
      await test.call("GET", `/v1/verify/${secret}`, { key, headers }),
      await test.call("POST", "/v1/authorize", { key, headers, rawBody: secret }),
      await test.call("DELETE", `/v1/authorize/areq_${secret}`, { key, headers }),
      await test.call("PUT", `/v1/identity/${secret}/tools`, { key, headers, body: { tools: [secret] } }),
    ];
    await context.requestLog.flush();
    const logged = await query("SELECT * FROM request_log WHERE id = ANY($1)", [
      calls.map(({ headers }) => headers.get("request-id")),
    ]);
    expect(logged).toHaveLength(calls.length);
    const all = JSON.stringify([
      await query("SELECT * FROM request_log"),
      await query("SELECT * FROM daily_counts"),
      await query("SELECT * FROM daily_requests"),
    ]);
    expect(all).not.toContain(secret);
    expect(all).not.toContain(key);
  });

  it("has what is done with a revoked key, and nothing of a key that nobody has", async () => {
    const dead = await test.createKey("owner@example.com");
    await query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [dead.keyId]);
    // The second is not looked up again.
    for (let i = 0; i < 2; i += 1) await test.call("GET", "/v1/keys/info", { key: dead.key });
    await test.call("GET", "/v1/keys/info", { key: `${dead.key.slice(0, -1)}!` });
    const rows = await read({ key: dead.keyId });
    expect(rows.map(({ status, error_code }) => [status, error_code])).toEqual([
      [401, "invalid_api_key"],
      [401, "invalid_api_key"],
    ]);
  });

  it("is nobody else's", async () => {
    const [own] = await read();
    expect(await read({}, stranger)).toEqual([]);
    expect(await read({ id: own?.id ?? "", key: keyId }, stranger)).toEqual([]);
    expect(await describeRequestLog(context, stranger)).toEqual({ keys: [], days: 7, missing: 0 });
    expect(await readBusiest(context, stranger)).toEqual({ keys: [], agents: [] });
  });

  it("keeps as many as it may, and counts the rest, in memory and in the table", async () => {
    const { organizationId } = stranger;
    const bounds = { perOrganizationPerDay: 10, waitingPerOrganization: 4, waiting: 6 };
    const log = createRequestLog(context.database, context.logger, bounds);
    const add = (count: number, of: string) => {
      for (let i = 0; i < count; i += 1)
        log.add({
          ...{ id: `req_${randomBytes(12).toString("hex")}`, organizationId: of, keyId, startMs: Date.now() },
          ...{ durationMs: 1, method: "GET", path: "/v1/x", status: 200, code: null, agentSlug: null },
          attested: [],
        });
    };
    const other = "01999999-9999-7999-8999-999999999999";
    add(5, organizationId);
    add(3, other);
    await log.flush();
    const kept = (of: string) => query("SELECT id FROM request_log WHERE organization_id = $1", [of]);
    expect([(await kept(organizationId)).length, (await kept(other)).length]).toEqual([4, 2]);
    add(5, organizationId);
    await log.flush();
    add(1, organizationId);
    await log.close();
    expect((await kept(organizationId)).length).toBe(8);
    expect((await describeRequestLog(context, stranger)).missing).toBe(3);
    const [counted] = await query("SELECT requests FROM daily_requests WHERE organization_id = $1", [
      organizationId,
    ]);
    expect(counted?.["requests"]).toBe(11);
  });

  it("still counts what the database refused to write", async () => {
    const { organizationId } = await test.createKey("unwritten@example.com");
    const log = createRequestLog(context.database, context.logger, { perOrganizationPerDay: 10 });
    const entry = {
      ...{ organizationId, keyId, startMs: Date.now(), durationMs: 1, method: "GET", path: "/v1/x" },
      ...{ status: 200, code: null, agentSlug: null, attested: [] },
    };
    const id = `req_${randomBytes(12).toString("hex")}`;
    for (let i = 0; i < 2; i += 1) log.add({ ...entry, id });
    await log.flush();
    await log.close();
    expect(
      await query("SELECT requests, dropped FROM daily_requests WHERE organization_id = $1", [
        organizationId,
      ]),
    ).toEqual([{ requests: 2, dropped: 2 }]);
  });

  it("is deleted after its days, and its counts after a month", async () => {
    await query("UPDATE request_log SET at = at - interval '8 days' WHERE status = 401");
    await query("UPDATE daily_requests SET day = day - 40");
    const before = (await read()).length;
    await deleteExpired(context);
    expect((await read()).length).toBe(before - 2);
    expect(await query("SELECT FROM daily_requests WHERE day < current_date - 32")).toEqual([]);
  });

  it("is deleted with sessions that are over, and no others", async () => {
    await query(
      `INSERT INTO sessions (session_token, user_id, expires) SELECT name, users.id, now() + make_interval(mins => minutes)
       FROM (SELECT id FROM users LIMIT 1) AS users, (VALUES ('over', -1), ('open', 1)) AS made (name, minutes)`,
    );
    await deleteExpired(context);
    expect(await query("SELECT session_token FROM sessions WHERE session_token IN ('over', 'open')")).toEqual(
      [{ session_token: "open" }],
    );
  });
});
