import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Statement } from "#lib/db/client";
import { checkStoredLogs } from "#lib/log/reading/history";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { startTestApp, type TestAnswer } from "#support/app";
import { databaseKinds } from "#support/databases";
import { miscountedAgents } from "#support/feed-counts";
import { setupTestApp } from "#support/setup-app";
import type { AttestationItem } from "./store";

const settings = { LIMIT_ATTEST_PER_MINUTE: "100000", LIMIT_ATTEST_PER_DAY: "100000" };
const body = (more: JsonObject = {}): JsonObject => ({
  agent_slug: "store-bot",
  action: "Paid",
  inputs_hash: "abc",
  ...more,
});

describe.each(databaseKinds)("storing a batch (%s)", (kind) => {
  const { test, key } = setupTestApp(kind, settings);
  const attest = (more: JsonObject = {}, as = key) =>
    test.call("POST", "/v1/attest", { key: as, body: body(more) });
  const query = async (text: string, values: unknown[] = []) => (await test.query(text, values)).rows;
  const count = async () => Number((await query("SELECT count(*) AS n FROM attestations"))[0]?.["n"]);

  /** Sends the request, and changes something between its making and its storing. */
  async function attestWhile(
    change: () => Promise<unknown>,
    more: JsonObject = {},
    as = key,
    headers: Record<string, string> = {},
  ) {
    const { log } = test.app.context;
    const submit = log.submit;
    const spy = vi.spyOn(log, "submit").mockImplementationOnce(async (itemKind, item) => {
      await change();
      return submit(itemKind, item);
    });
    try {
      return await test.call("POST", "/v1/attest", { key: as, body: body(more), headers });
    } finally {
      spy.mockRestore();
    }
  }

  beforeAll(async () => {
    expect((await attest()).status).toBe(201);
  });
  afterAll(async () => {
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
    const [row] = await query(
      "SELECT (SELECT count(*) FROM log_leaves WHERE kind = 'attestation') - count(*) AS more FROM attestations",
    );
    expect(Number(row?.["more"])).toBe(0);
    expect(await miscountedAgents(test)).toEqual([]);
  });

  it("needs no transaction and no look-up for what has not changed", async () => {
    await attest();
    const { database } = test.app.context;
    const transactions = vi.spyOn(database.pipelined, "transaction");
    const selects = vi.spyOn(database.db, "select");
    const statements = vi.spyOn(database, "statement");
    const answers = await Promise.all(Array.from({ length: 5 }, () => attest()));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(selects).not.toHaveBeenCalled();
    expect(statements.mock.calls.length).toBeGreaterThan(0);
    expect(new Set(statements.mock.calls.map(([, use]) => use))).toEqual(new Set(["write"]));
    const first = await attest({ agent_slug: `new-${kind}` });
    expect(first.status).toBe(201);
    expect(transactions).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("refuses a revoked key at the next request, whatever that asks", async () => {
    const one = await test.createKey("revoked@example.com");
    const send = (more: JsonObject, headers: Record<string, string> = {}) =>
      test.call("POST", "/v1/attest", {
        key: one.key,
        headers,
        body: body({ agent_slug: "revoked-bot", ...more }),
      });
    expect((await send({}, { "idempotency-key": "kept" })).status).toBe(201);
    expect((await send({})).status).toBe(201);
    await query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [one.keyId]);
    const answers = [
      await send({ action: 1 }),
      await send({}, { "idempotency-key": "kept" }),
      await send({}),
      await send({}),
    ];
    expect(answers.map(({ body: { code } }) => code)).toEqual(Array(4).fill("invalid_api_key"));
  });

  /** An organization that nothing was refused to, so that its attestations are stored unjudged; and known already. */
  async function makeOwner(name: string) {
    const made = await test.createKey(`${name}@example.com`);
    expect((await attest({ agent_slug: name }, made.key)).status).toBe(201);
    return made;
  }

  it("takes the limit of a key as it is now, and keeps it exactly, for this key alone", async () => {
    const { key: limited, keyId } = await test.createKey("key-limit@example.com");
    const { key: other } = await test.createKey("key-limit@example.com");
    const limit = (perDay: number | null) =>
      query("UPDATE api_keys SET attestations_per_day = $2 WHERE id = $1", [keyId, perDay]);
    const own = (more: JsonObject, as = limited) => attest({ agent_slug: "key-limit", ...more }, as);
    expect((await own({})).status).toBe(201);
    const refused = await attestWhile(() => limit(1), { agent_slug: "key-limit" }, limited);
    expect(refused.body).toMatchObject({
      status: 429,
      code: "daily_limit_exceeded",
      detail: "this API key can record 1 attestation per UTC day",
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await test.call("GET", "/v1/keys/info", { key: limited })).body).toMatchObject({
      attestations_today: 1,
      rate_limit: { per_day: 1 },
    });
    await limit(10);
    const calls = [limited, other].flatMap((as) => Array.from({ length: 15 }, () => own({}, as)));
    const answers = await Promise.all(calls);
    const made = (of: TestAnswer[]) => of.filter(({ status }) => status === 201).length;
    expect([made(answers.slice(0, 15)), made(answers.slice(15))]).toEqual([9, 15]);
    const [used] = await query("SELECT attestations FROM daily_key_usage WHERE api_key_id = $1", [keyId]);
    expect(Number(used?.["attestations"])).toBe(10);
    await limit(null);
    expect((await own({})).status).toBe(201);
  });

  it("refuses a tile that is not what it was, and stores nothing on top of it", async () => {
    const { key: owner } = await makeOwner("tiled");
    const again = () => attest({ agent_slug: "tiled" }, owner);
    const [tile] = await query("SELECT hashes FROM log_tiles WHERE level = 0 AND tile_index = 0");
    const before = await count();
    const put = (hashes: unknown) =>
      query("UPDATE log_tiles SET hashes = $1 WHERE level = 0 AND tile_index = 0", [hashes]);
    const changed = Uint8Array.from(tile?.["hashes"] as Uint8Array);
    changed[0] = (changed[0] ?? 0) ^ 1;
    await put(changed);
    expect((await again()).status).toBe(500);
    expect(await count()).toBe(before);
    await put(tile?.["hashes"]);
    expect((await again()).status).toBe(201);
  });

  it("appends nothing to a log that was closed meanwhile", async () => {
    const { key: owner } = await makeOwner("closing");
    const again = () => attest({ agent_slug: "closing" }, owner);
    const before = await count();
    const [open] = await query("SELECT id FROM logs WHERE closed_at IS NULL");
    await query("UPDATE logs SET closed_at = now() WHERE id = $1", [open?.["id"]]);
    expect((await again()).status).toBe(500);
    expect(await count()).toBe(before);
    await query("UPDATE logs SET closed_at = NULL WHERE id = $1", [open?.["id"]]);
    expect((await again()).status).toBe(201);
  });

  it("stores nothing that a key signed which is no longer active", async () => {
    const { key: owner } = await makeOwner("unsigned");
    const again = () => attest({ agent_slug: "unsigned" }, owner);
    const before = await count();
    const set = (status: string) =>
      query("UPDATE signing_keys SET status = $1 WHERE purpose = 'attestation'", [status]);
    await set("retired");
    expect((await again()).status).toBe(503);
    expect(await count()).toBe(before);
    await set("active");
    expect((await again()).status).toBe(201);
  });

  it("stores nothing for an agent without a row, and keeps the row of one that has attestations", async () => {
    const { key: owner } = await makeOwner("rowless");
    const id = "00000000-0000-7000-8000-00000000000a";
    const { log } = test.app.context;
    const submit = log.submit;
    vi.spyOn(log, "submit").mockImplementationOnce((itemKind, item) => {
      Object.assign(item, { agentId: id, agent: { id, version: "1" } });
      return submit(itemKind, item);
    });
    // Refused, and made again of the row that there is.
    expect((await attest({ agent_slug: "rowless" }, owner)).body.record.agent_id).not.toBe(id);
    vi.restoreAllMocks();
    await expect(query("DELETE FROM agents WHERE slug = 'rowless'")).rejects.toThrow(/has attestations/);
    expect(await query("SELECT FROM attestations WHERE agent_id NOT IN (SELECT id FROM agents)")).toEqual([]);
  });

  /** A statement is refused, or its connection is lost before or after it was run, with all that was sent behind it. */
  const fates = ["stored", "stored", "refused", "lost asked", "lost committed"] as const;
  it("keeps order and tells the truth, whatever becomes of a batch that the next was built on and sent behind", async () => {
    const other = await startTestApp(kind, settings);
    const { database, log } = other.app.context;
    const { key: owner } = await other.createKey();
    const { key: limited, keyId } = await other.createKey();
    const send = (as: string, agent: number, action: string) =>
      other.call("POST", "/v1/attest", { key: as, body: body({ agent_slug: `a${agent}`, action }) });
    expect((await send(owner, 0, "first")).status).toBe(201);
    await other.query("UPDATE api_keys SET attestations_per_day = 9 WHERE id = $1", [keyId]);
    let [plan, connection, most] = [[] as (typeof fates)[number][], 0, 0];
    const line: object[] = [];
    let turn: Promise<unknown> = Promise.resolve();
    const make = database.statement;
    vi.spyOn(database, "statement").mockImplementation(((text: string, use?: "read" | "write") => {
      const run = make<object>(text, use);
      if (use !== "write") return run;
      return (...parameters: unknown[]) => {
        const [own, before] = [connection, turn];
        const lost = Object.assign(new Error("lost"), { code: "CONNECTION_CLOSED" });
        most = Math.max(most, line.push(parameters));
        const answer = before
          .catch(() => {})
          .then(async () => {
            // Time for the next to be sent.
            await new Promise((resolve) => setTimeout(resolve, 3));
            const fate = own === connection ? (plan.pop() ?? "stored") : "lost before";
            if (fate === "refused")
              throw Object.assign(new Error("tile"), { severity: "ERROR", code: "CS001" });
            if (fate === "lost asked" || fate === "lost committed") connection += 1;
            if (fate === "stored" || fate === "lost committed") await run(...parameters);
            if (fate !== "stored") throw lost;
            return [];
          });
        turn = answer.finally(() => line.pop());
        return turn;
      };
    }) as <Row extends object>(text: string, use?: "read" | "write") => Statement<Row>);
    const submitted: string[] = [];
    const { submit } = log;
    vi.spyOn(log, "submit").mockImplementation((itemKind, item) => {
      submitted.push((item as unknown as AttestationItem).predicate.attestation_id);
      return submit(itemKind, item);
    });
    let count = 0;
    const check = async (given: (typeof fates)[number][]) => {
      plan = [...given];
      const answers = new Map<string, TestAnswer>();
      const client = async (agent: number) => {
        for (let i = 0; i < 4; i += 1) {
          const action = `act ${++count}`;
          answers.set(action, await send(agent === 3 ? limited : owner, agent % 3, action));
        }
      };
      await Promise.all(Array.from({ length: 9 }, (_, i) => client(i % 4)));
      const rows = (
        await other.query("SELECT action, id, agent_id, leaf_index FROM attestations ORDER BY leaf_index")
      ).rows;
      const labels = rows.map(({ action }) => action);
      expect(labels.length, "nothing is stored twice").toBe(new Set(labels).size);
      for (const [action, { status, body: answer }] of answers) {
        const row = rows.find((one) => one["action"] === action);
        expect([201, 429, 503]).toContain(status);
        if (status === 429) expect(row).toBeUndefined();
        if (status === 201)
          expect([row?.["id"], Number(row?.["leaf_index"])]).toEqual([
            answer.attestation_id,
            answer.log.index,
          ]);
      }
      for (const agent of new Set(rows.map((row) => row["agent_id"]))) {
        const ids = rows.filter((row) => row["agent_id"] === agent).map(({ id }) => id as string);
        const order = ids.map((id) => submitted.indexOf(id)).filter((at) => at >= 0);
        expect(order, "in the order of their coming").toEqual(order.toSorted((a, b) => a - b));
      }
      const [whole] = await checkStoredLogs(database.db, null);
      expect(whole?.check).toMatchObject({ ok: true });
    };
    const transactions = vi.spyOn(database.pipelined, "transaction");
    await check([]);
    expect(transactions, "what is built on the batch before fits").not.toHaveBeenCalled();
    const plans = fc.array(fc.constantFrom(...fates), { minLength: 6, maxLength: 6 });
    await fc.assert(fc.asyncProperty(plans, check), { numRuns: 6, endOnFailure: true });
    vi.restoreAllMocks();
    expect(most, "one is sent behind another, and no third").toBe(2);
    expect(await miscountedAgents(other)).toEqual([]);
    await other.close();
    test.use();
  });

  it("goes on if statements are refused again and again, for whatever reason", async () => {
    const other = await startTestApp(kind, settings);
    const { database } = other.app.context;
    const { key: owner } = await other.createKey();
    const send = () => other.call("POST", "/v1/attest", { key: owner, body: body() });
    expect((await send()).status).toBe(201);
    const make = database.statement;
    const reasons = ["caller", null, "agent", "daily_limit", null, "tile", "head"];
    let calls = 0;
    vi.spyOn(database, "statement").mockImplementation(((text: string, use?: "read" | "write") => {
      const run = make<object>(text, use);
      if (use !== "write") return run;
      return async (...parameters: unknown[]) => {
        const reason = reasons[calls % reasons.length] ?? null;
        calls += 1;
        if (reason === null) return run(...parameters);
        throw Object.assign(new Error(reason), { severity: "ERROR", code: "CS001" });
      };
    }) as <Row extends object>(text: string, use?: "read" | "write") => Statement<Row>);
    const answers: TestAnswer[] = [];
    for (let round = 0; round < 30; round += 1)
      answers.push(...(await Promise.all(Array.from({ length: 4 }, send))));
    vi.restoreAllMocks();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(calls).toBeGreaterThanOrEqual(reasons.length);
    const indexes = answers.map(({ body: answer }) => answer.log.index).sort((x, y) => x - y);
    expect(indexes).toEqual(indexes.map((_, i) => (indexes[0] as number) + i));
    const [log] = await checkStoredLogs(database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
    await other.close();
    test.use();
  });

  it("stores one alone by a function of its own, on a tile that grows or is new, and one that fills a tile by lists", async () => {
    const other = await startTestApp(kind, settings);
    const { database } = other.app.context;
    const { key: owner } = await other.createKey();
    const send = () => other.call("POST", "/v1/attest", { key: owner, body: body() });
    const first = await send();
    for (let left = 254 - first.body.log.index; left > 0; left -= 100) {
      const attestations = Array.from({ length: Math.min(left, 100) }, () => body());
      const batch = { key: owner, body: { attestations } };
      expect((await other.call("POST", "/v1/attest/batch", batch)).body.recorded).toBe(attestations.length);
    }
    const statements = vi.spyOn(database, "statement");
    const answers = [await send(), await send(), await send()];
    const functions = statements.mock.calls.map(([text]) => / FROM (\w+)/.exec(text)?.[1]);
    vi.restoreAllMocks();
    expect(answers.map(({ body: answer }) => answer.log.index)).toEqual([255, 256, 257]);
    expect(functions).toEqual(["append_leaves", "append_attestation", "append_attestation"]);
    const [log] = await checkStoredLogs(database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
    await other.close();
    test.use();
  });
});
