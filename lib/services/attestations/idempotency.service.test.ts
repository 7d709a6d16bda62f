/** Idempotency-Key (docs/wire.md, Idempotency). */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import {
  beginIdempotent,
  completeIdempotent,
  type IdempotencyHold,
  leaseSeconds,
  releaseIdempotent,
} from "#lib/api/http/idempotency";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const body = { agent_slug: "idem", action: "Paid", inputs_hash: "abc", metadata: { a: 1, b: 2.5 } };

describe("Idempotency-Key", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "10000" });
  let key: string;
  let organizationId: string;
  const attest = (name: string, sent: unknown = body, as = key) =>
    test.call("POST", "/v1/attest", {
      key: as,
      headers: { "idempotency-key": name },
      ...(typeof sent === "string" ? { rawBody: sent } : { body: sent }),
    });
  const query = (text: string, values: unknown[] = []) => test.query(text, values);
  const stored = async () => Number((await query("SELECT count(*) AS n FROM attestations")).rows[0]?.["n"]);

  beforeAll(async () => {
    ({ key, organizationId } = await test.createKey());
  });

  it("answers the same body with the first answer, however it is spelled", async () => {
    const first = await attest("k1");
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
    const before = await stored();
    const spellings = [
      body,
      '{ "metadata": {"b": 2.50, "a": 1e0}, "inputs_hash":"\\u0061bc","action":"Paid","agent_slug":"idem"}',
      { ...body, human_authorization: null, code_hash: null },
    ];
    for (const sent of spellings) {
      const again = await attest("k1", sent);
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
      expect(again.body).toEqual(first.body);
    }
    expect(await stored()).toBe(before);
  });

  it("gives a kept answer to a key that works now, whatever this process remembers of it", async () => {
    const own = await test.createKey("revoked@example.com");
    const send = (path: string) =>
      test.call("POST", path, {
        key: own.key,
        headers: { "idempotency-key": "kept" },
        body: path === "/v1/attest" ? { ...body, agent_slug: "kept" } : { agent_slug: "kept", action: "Pay" },
      });
    const sendBoth = async () => [(await send("/v1/attest")).status, (await send("/v1/authorize")).status];
    expect([await sendBoth(), await sendBoth()]).toEqual([
      [201, 201],
      [201, 201],
    ]);
    await query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [own.keyId]);
    expect(await sendBoth()).toEqual([401, 401]);
  });

  it("answers another body with 422 and stores nothing", async () => {
    await attest("k2");
    const before = await stored();
    for (const other of [{ action: "Paid twice" }, { metadata: { ...body.metadata, c: null } }]) {
      const { status, body: problem } = await attest("k2", { ...body, ...other });
      expect([status, problem.code]).toEqual([422, "idempotency_key_reused"]);
    }
    expect(await stored()).toBe(before);
  });

  it("makes one attestation of many parallel requests; the others get 409 or the same answer", async () => {
    const before = await stored();
    const answers = await Promise.all(Array.from({ length: 12 }, () => attest("k3")));
    expect(await stored()).toBe(before + 1);
    const ids = answers.filter(({ status }) => status === 201).map((answer) => answer.body.attestation_id);
    expect(new Set(ids).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect([answer.status, answer.body.code, answer.body.error]).toEqual([
        409,
        "idempotency_conflict",
        "Conflict",
      ]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  it("answers 409 while the first is in flight, and frees the key of one that crashed before its commit", async () => {
    const start = await beginIdempotent(test.app.context, organizationId, "/v1/attest", "k4", body);
    expect(start.kind).toBe("held");
    expect((await attest("k4")).status).toBe(409);
    await query("UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE key = 'k4'");
    expect((await attest("k4")).status).toBe(201);
  });

  it("is free within seconds of a process that was killed, and stays taken while one works on it", async () => {
    const { context } = test.app;
    const hold = async (name: string): Promise<IdempotencyHold> => {
      const start = await beginIdempotent(context, organizationId, "/v1/attest", name, body);
      if (start.kind !== "held") throw new Error("not held");
      return start.hold;
    };
    const startedMs = performance.now();
    await hold("killed");
    const letGo = context.idempotencyLeases.keep(await hold("at work"));
    let waitedMs = 0;
    for (let answer = await attest("killed"); answer.status !== 201; answer = await attest("killed")) {
      expect(answer.status).toBe(409);
      const seconds = Number(answer.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(0);
      await sleep(seconds * 1000);
      waitedMs = performance.now() - startedMs;
    }
    expect(waitedMs).toBeLessThan((leaseSeconds + 30) * 1000);
    // Longer than a lease that nobody renews.
    await sleep(Math.max(0, (leaseSeconds + 2) * 1000 - waitedMs));
    expect((await attest("at work")).status).toBe(409);
    letGo();
    await expect
      .poll(async () => (await attest("at work")).status, { timeout: (leaseSeconds + 30) * 1000 })
      .toBe(201);
  });

  it("is no longer its first holder's once a later request has taken over", async () => {
    const { context } = test.app;
    const begin = async (): Promise<IdempotencyHold> => {
      const start = await beginIdempotent(context, organizationId, "/v1/authorize", "taken", body);
      if (start.kind !== "held") throw new Error("not held");
      return start.hold;
    };
    const slow = await begin();
    await query("UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE key = 'taken'");
    const later = await begin();
    const complete = (hold: IdempotencyHold) =>
      completeIdempotent(context.database.db, hold, { status: 201, response: "{}" });
    await expect(complete(slow)).rejects.toMatchObject({ errorName: "idempotency_conflict" });
    await releaseIdempotent(context, [slow]);
    await complete(later);
    const start = await beginIdempotent(context, organizationId, "/v1/authorize", "taken", body);
    expect(start).toEqual({ kind: "replay", status: 201, response: "{}" });
  });

  it("replays what was committed by a process that died before it could answer", async () => {
    const { submit } = test.app.context.log;
    const crash = new Error("the process is gone");
    test.app.context.log.submit = async (itemKind, item) => {
      await submit(itemKind, item);
      throw crash;
    };
    const died = await attest("k5");
    test.app.context.log.submit = submit;
    expect(died.status).toBe(500);
    const before = await stored();
    const again = await attest("k5");
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(await stored()).toBe(before);
    expect((await test.call("GET", `/v1/verify/${again.body.attestation_id}`)).body.valid).toBe(true);
  });

  it("keeps no failure", async () => {
    expect((await attest("k6", { ...body, action: "" })).status).toBe(422);
    await query("INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'x')");
    const { key: stranger } = await test.createKey("owner@example.com");
    await test.call("POST", "/v1/attest", { key: stranger, body: { ...body, agent_slug: "theirs" } });
    expect((await attest("k6", { ...body, agent_slug: "theirs" })).body.code).toBe("agent_slug_taken");
    expect((await attest("k6")).status).toBe(201);
  });

  it("is scoped to the organization, not to the key, and ends after 24 hours", async () => {
    const first = await attest("k7");
    const { key: colleague } = await test.createKey();
    expect((await attest("k7", body, colleague)).body).toEqual(first.body);
    const { key: stranger } = await test.createKey("other@example.com");
    const theirs = await attest("k7", { ...body, agent_slug: "other" }, stranger);
    expect([theirs.status, theirs.headers.get("idempotency-replayed")]).toEqual([201, null]);
    const { rows } = await query(
      "SELECT extract(epoch FROM expires_at - now()) / 3600 AS hours FROM idempotency_keys WHERE key = 'k7'",
    );
    // Both organizations' own.
    expect(rows.map((row) => Math.round(Number(row["hours"])))).toEqual([24, 24]);
    await query("UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE key = 'k7'");
    const later = await attest("k7");
    expect([later.status, later.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect(later.body.attestation_id).not.toBe(first.body.attestation_id);
  });

  it("takes 255 characters and refuses more, none and others", async () => {
    expect((await attest("k".repeat(255))).status).toBe(201);
    for (const name of ["k".repeat(256), "", "é"]) {
      const { status, body: problem } = await attest(name);
      expect([name.length, status, problem.code]).toEqual([name.length, 400, "bad_request"]);
    }
  });
});
