/** Authorization requests created, polled and listed through the API (docs/wire.md). */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { authorizationState, authorizeResponse } from "#lib/api/schemas/authorization-state";
import { ask, expireRequest } from "#support/authorizations";
import { holdWaits } from "#support/held-waits";
import { setupTestApp } from "#support/setup-app";
import { findAuthorization } from "./rows";

describe("authorizations", () => {
  const { test, key } = setupTestApp();
  let other: string;
  beforeAll(async () => {
    ({ key: other } = await test.createKey("other@example.com"));
  });

  const post = (body: object, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/authorize", { key, body, headers });
  const minimal = { agent_slug: "treasurer", action: "Pay" };

  it("answers what the schema says, with defaults", async () => {
    const { status, body } = await post(minimal);
    expect(status).toBe(201);
    expect(authorizeResponse.parse(body)).toEqual(body);
    expect(body).toMatchObject({
      status: "pending",
      poll_interval: 5,
      required_level: "device",
      approvals_required: 1,
      context: {},
      previously_denied: null,
      environment: "local",
    });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(30 * 60_000);
    expect(body.poll_url).toMatch(new RegExp(`/v1/authorize/${body.request_id}$`));
  });

  it("refuses what no human could be shown", async () => {
    const bad: [string, object][] = [
      ["action", { agent_slug: "treasurer" }],
      ["action", { ...minimal, action: "x".repeat(1001) }],
      ["agent_slug", { ...minimal, agent_slug: "-x" }],
      ["expires_in_minutes", { ...minimal, expires_in_minutes: 0 }],
      ["expires_in_minutes", { ...minimal, expires_in_minutes: 1441 }],
      ["expires_in_minutes", { ...minimal, expires_in_minutes: 1.5 }],
      ["approvals_required", { ...minimal, approvals_required: 11 }],
      ["required_level", { ...minimal, required_level: "eye" }],
      ["callback_url", { ...minimal, callback_url: "javascript:alert(1)" }],
      ["callback_url", { ...minimal, callback_url: "http://example.com/hook" }],
      ["callback_url", { ...minimal, callback_url: "https://169.254.169.254/" }],
      ["context", { ...minimal, context: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [i, ""])) }],
      ["context.a", { ...minimal, context: { a: 1 } }],
      ["context.a", { ...minimal, context: { a: "x".repeat(1025) } }],
      ["priority", { ...minimal, priority: "high" }],
    ];
    for (const [field, body] of bad) {
      const answer = await post(body);
      expect([answer.status, answer.body.detail.split(":")[0]]).toEqual([422, field]);
    }
    expect((await post({ ...minimal, context: { ["n".repeat(65)]: "" } })).status).toBe(422);
    expect((await test.call("POST", "/v1/authorize", { body: minimal })).status).toBe(401);
    const { key: weak } = await test.createKey("dev@example.com", ["attest", "read"]);
    expect((await test.call("POST", "/v1/authorize", { key: weak, body: minimal })).status).toBe(403);
    const taken = await test.call("POST", "/v1/authorize", {
      key: other,
      body: { ...minimal, agent_slug: "TREASURER" },
    });
    expect([taken.status, taken.body.code]).toEqual([422, "agent_slug_taken"]);
  });

  it("takes amounts as people write them, in currencies of ISO 4217, and signs the canonical form", async () => {
    const asking = (value: string, currency: string) => post({ ...minimal, amount: { value, currency } });
    for (const [value, currency, signed] of [
      ["100.50", "EUR", "100.5"],
      ["100", "EUR", "100"],
      ["10.0", "JPY", "10"],
    ] as const) {
      const { status, body } = await asking(value, currency);
      expect([status, body.amount]).toEqual([201, { value: signed, currency }]);
      const row = await findAuthorization(test.app.context.database, body.request_id);
      expect(JSON.parse(new TextDecoder().decode(row?.request)).amount).toEqual({ value: signed, currency });
    }
    for (const [value, currency, pointer, words] of [
      ["5000", "EUX", "/amount/currency", '"EUX" is not on the list of ISO 4217'],
      ["1", "XXX", "/amount/currency", "ISO 4217"],
      ["1", "eur", "/amount/currency", "must be an ISO 4217 code, such as EUR"],
      ["10.5", "JPY", "/amount/value", "JPY has no decimals"],
      ["10.555", "EUR", "/amount/value", "EUR has 2 decimals"],
      ["010", "EUR", "/amount/value", "zeros in front"],
    ] as const) {
      const { status, body } = await asking(value, currency);
      expect([status, body.errors.length, body.errors[0].pointer]).toEqual([422, 1, pointer]);
      expect(body.errors[0].message).toContain(words);
    }
    const grant = {
      actions: ["Pay"],
      max_calls: 2,
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    };
    const granting = (max_amount: string, currency: string) =>
      post({ ...minimal, grant: { ...grant, max_amount, max_budget: "1000.00", currency } });
    expect((await granting("100.00", "EUR")).body.grant).toMatchObject({
      max_amount: "100",
      max_budget: "1000",
    });
    expect((await granting("10.5", "JPY")).body.errors[0].pointer).toBe("/grant/max_amount");
    expect((await granting("10", "EUX")).body.errors[0].pointer).toBe("/grant/currency");
  });

  it("refuses two details whose names are read alike", async () => {
    const { status, body } = await post({ ...minimal, context: { payee: "a", "payee\u200b": "b" } });
    expect([status, body.errors[0].pointer]).toEqual([422, "/context"]);
  });

  it("lets everyone poll, and only the owner see the context", async () => {
    const asked = await ask(test, key, { context: { secret: "s3cret" } });
    const open = await asked.read();
    expect(authorizationState.parse(open.body)).toEqual(open.body);
    expect(open.headers.get("retry-after")).toBe("5");
    for (const hidden of ["context", "context_salt", "confirmation_code", "previously_denied"])
      expect(open.body).not.toHaveProperty(hidden);
    expect((await asked.read(other)).body).toEqual(open.body);
    const owned = (await asked.read(key)).body;
    expect(owned).toMatchObject({ context: { secret: "s3cret" }, context_salt: asked.made.context_salt });
    expect(JSON.stringify(owned)).not.toContain("/approve/");
  });

  it("holds the answer until the decision, without a database connection", async () => {
    const asked = await ask(test, key);
    const { wakeups } = test.app.context;
    const all = holdWaits(wakeups, 30);
    const waiting = Array.from({ length: 30 }, () => asked.read(undefined, "?wait=25"));
    await all.begins;
    const statements = vi.spyOn(test.app.context.database, "statement");
    await asked.deny();
    for (const answer of await Promise.all(waiting)) expect(answer.body.status).toBe("denied");
    const reads = statements.mock.calls.filter(([text]) => text.includes("authorization_requests"));
    statements.mockRestore();
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.length, "read once for all who wait").toBeLessThan(10);
    all.restore();
    const quick = await asked.read(undefined, "?wait=25");
    expect(quick.body.status).toBe("denied");
    for (const wrong of ["?wait=0", "?wait=26", "?wait=x", "?wait=1.5", "?wiat=1"])
      expect((await asked.read(undefined, wrong)).status).toBe(400);
    const pending = await ask(test, key);
    expect((await pending.read(undefined, "?wait=1")).body.status).toBe("pending");
    const one = holdWaits(wakeups);
    const ending = pending.read(undefined, "?wait=25");
    await one.begins;
    await test.query(
      "UPDATE authorization_requests SET expires_at = clock_timestamp() + interval '1 second' WHERE id = $1",
      [pending.made.request_id],
    );
    await wakeups.notify(`authorization:${pending.made.request_id}`);
    expect((await ending).body.status).toBe("expired");
    one.restore();
  });

  it("is over at the very millisecond at which nobody can decide it any more", async () => {
    const { made } = await ask(test, key);
    const { database } = test.app.context;
    await database.query("UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = $1", [
      made.request_id,
    ]);
    let looks = 0;
    const atTheEnd: typeof database = {
      ...database,
      batched: <Row extends object>(...read: Parameters<typeof database.batched>) => {
        const found = database.batched<Row>(...read);
        return async (id: unknown) => {
          looks += 1;
          const rows = await found(id);
          return looks === 1 ? rows.map((row) => ({ ...row, millisecondsLeft: 0 })) : rows;
        };
      },
    };
    expect((await findAuthorization(atTheEnd, made.request_id))?.status).toBe("expired");
  });

  it("replays an idempotent request with its link, which is nowhere stored", async () => {
    const headers = { "idempotency-key": "pay" };
    const first = await post({ ...minimal, action: "Once" }, headers);
    const again = await post({ action: "Once", agent_slug: "treasurer" }, headers);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const differs = await post({ ...minimal, action: "Twice" }, headers);
    expect([differs.status, differs.body.code]).toEqual([422, "idempotency_key_reused"]);
    const { rows } = await test.query(
      "SELECT response, expires_at::text = (SELECT expires_at::text FROM authorization_requests WHERE id = $2) AS lives FROM idempotency_keys WHERE key = $1",
      [headers["idempotency-key"], first.body.request_id],
    );
    expect(rows[0]?.["lives"]).toBe(true);
    expect(rows[0]?.["response"]).not.toContain(first.body.approval_url.split(".").at(-1));
  });

  it("takes a field of a standing approval's terms that is null for one left out", async () => {
    const headers = { "idempotency-key": "terms" };
    const grant = {
      tools: ["pay"],
      max_calls: 1,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const first = await post({ ...minimal, grant }, headers);
    const again = await post({ ...minimal, grant: { ...grant, max_amount: null }, tool: null }, headers);
    expect([again.status, again.body.request_id]).toEqual([201, first.body.request_id]);
    const other = await post({ ...minimal, grant: { ...grant, max_calls: 2 } }, headers);
    expect(other.body.code).toBe("idempotency_key_reused");
  });

  it("lists the caller's own by status and agent, page by page", async () => {
    const { key: mine } = await test.createKey("lists@example.com");
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const asked = await ask(test, mine, {
        agent_slug: i === 4 ? "lister-2" : "lister-1",
        action: `n ${i}`,
      });
      made.unshift(asked.made.request_id);
      if (i === 0) await asked.deny();
      if (i === 1) await expireRequest(test, asked.made.request_id);
    }
    const list = async (query: string) =>
      (await test.call("GET", `/v1/authorizations${query}`, { key: mine })).body;
    const ids = (page: { authorizations: { request_id: string }[] }) =>
      page.authorizations.map(({ request_id }) => request_id);
    expect(ids(await list(""))).toEqual(made);
    expect(ids(await list("?status=denied"))).toEqual([made[4]]);
    expect(ids(await list("?status=expired"))).toEqual([made[3]]);
    expect(ids(await list("?status=pending&agent_slug=LISTER-1"))).toEqual([made[1], made[2]]);
    const first = await list("?limit=2");
    const second = await list(`?limit=2&cursor=${first.next_cursor}`);
    const third = await list(`?limit=2&cursor=${second.next_cursor}`);
    expect([...ids(first), ...ids(second), ...ids(third)]).toEqual(made);
    expect(third.next_cursor).toBeNull();
    const inYear33658 = Buffer.from("999999999999999.areq_AAAAAAAAAAAAAAAAAAAAAA").toString("base64url");
    for (const cursor of ["x", inYear33658])
      expect((await test.call("GET", `/v1/authorizations?cursor=${cursor}`, { key: mine })).status).toBe(400);
    const early = Buffer.from("999999999999.areq_AAAAAAAAAAAAAAAAAAAAAA").toString("base64url");
    expect(ids(await list(`?cursor=${early}`))).toEqual([]);
    expect(
      ids((await test.call("GET", "/v1/authorizations?agent_slug=lister-1", { key: other })).body),
    ).toEqual([]);
  });

  it("keeps at most the limit pending, also when they are asked for at once", async () => {
    const { key: busy } = await test.createKey("busy@example.com");
    const askBusy = (action: string) =>
      test.call("POST", "/v1/authorize", { key: busy, body: { agent_slug: "busy", action } });
    const made = await Promise.all(Array.from({ length: 58 }, (_, i) => askBusy(`n ${i}`)));
    // A loaded machine refuses one that waits too long for the others with 503.
    while (made.at(-1)?.status !== 409) made.push(await askBusy(`n ${made.length}`));
    const done = made.filter(({ status }) => status === 201);
    expect(done).toHaveLength(50);
    for (const { status, body } of made.filter((one) => !done.includes(one)))
      expect(["409 too_many_pending", "503 service_unavailable"]).toContain(`${status} ${body.code}`);
    await test.call("DELETE", `/v1/authorize/${done[0]?.body.request_id}`, { key: busy });
    expect((await askBusy("next")).status).toBe(201);
  });
});
