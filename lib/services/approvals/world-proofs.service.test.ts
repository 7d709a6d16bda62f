/** Real proofs by the stand-in, misused, against a service that trusts nobody, not even World's portal. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { AppError } from "#lib/errors";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import type { WorldIdProvider } from "#lib/services/approvals/world-id/provider";
import { createRetries } from "#lib/services/approvals/world-id/submissions";
import { type AskedRequest, ask, makeResult } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

type Result = Awaited<ReturnType<typeof makeResult>>;

describe("approvals", () => {
  const { test, key } = setupTestApp();
  let world: WorldIdProvider;
  beforeAll(async () => {
    world = test.app.context.worldId;
  });
  afterEach(() => {
    test.app.context.worldId = world;
  });

  /** A portal that says yes to everything: nothing of ours may rest on it. */
  const trustPortal = () => {
    test.app.context.worldId = { ...world, verifyWithPortal: async () => ({ ok: true }) };
  };
  const breakPortal = () => {
    const verifyWithPortal = async () => {
      throw new AppError("service_unavailable", "World is out of reach; the request stays open");
    };
    test.app.context.worldId = { ...world, verifyWithPortal };
  };
  const countApprovals = async (id: string) => {
    const sql = "SELECT count(*)::int AS n FROM approvals WHERE request_id = $1";
    return (await test.query(sql, [id])).rows[0]?.["n"];
  };
  const expectRefused = async (asked: AskedRequest, result: object, words: RegExp) => {
    const answer = await asked.submit(result);
    expect([answer.status, answer.body.code]).toEqual([422, "approval_refused"]);
    expect(answer.body.detail).toMatch(words);
    expect((await asked.read()).body.status).toBe("pending");
    expect(await countApprovals(asked.made.request_id)).toBe(0);
  };
  const changed = (result: Result, change: object): Result => ({
    ...result,
    responses: [{ ...result.responses[0], ...change }] as Result["responses"],
  });

  it("refuses every misuse of a proof, also while the portal says yes to all", async () => {
    const asked = await ask(test, key);
    const twin = await ask(test, key);
    const opened = await asked.start();
    const valid = await makeResult(opened, "ada");
    const named = async (start: WorldIdStart, result: object) => ({
      ...result,
      nonce: start.rp_context.nonce,
    });
    for (const portal of ["lying", "honest"] as const) {
      if (portal === "lying") trustPortal();
      else test.app.context.worldId = world;
      const attempt = async (make: (result: Result) => object, words: RegExp) =>
        expectRefused(asked, await named(await asked.start(), make(valid)), words);
      await attempt((r) => ({ ...r, action: twin.made.request_id }), /another action/);
      await attempt((r) => ({ ...r, environment: "production" }), /another World ID environment/);
      await attempt((r) => changed(r, { signal_hash: wordHex(7n) }), /another signal/);
      await attempt((r) => changed(r, { nullifier: wordHex(7n) }), /does not verify/);
      await attempt((r) => changed(r, { merkle_root: wordHex(7n) }), /does not verify/);
      await attempt((r) => changed(r, { identifier: "device" }), /root is no root/);
      await attempt((r) => changed(r, { identifier: "passport" }), /no proof of the level device/);
      const proof = String(valid.responses[0]?.proof);
      const flipped = `${proof.slice(0, 80)}${proof[80] === "0" ? "1" : "0"}${proof.slice(81)}`;
      await attempt((r) => changed(r, { proof: flipped }), /malformed|does not verify/);
      const other = await twin.start();
      await expectRefused(twin, { ...valid, nonce: other.rp_context.nonce }, /another action/);
      const renamed = { ...valid, nonce: (await twin.start()).rp_context.nonce, action: other.action };
      await expectRefused(twin, renamed, /does not verify/);
      await expectRefused(asked, { ...valid, nonce: wordHex(7n) }, /nonce/);
      await expectRefused(asked, { ...valid, nonce: other.rp_context.nonce }, /nonce/);
    }
    // Sent twice at once: one is checked, and the other hears that it is or was.
    for (const answer of await Promise.all([asked.submit(valid), asked.submit(valid)]))
      expect([200, 503]).toContain(answer.status);
    for (const answer of [await asked.submit(valid), await asked.submit(valid)])
      expect([answer.status, answer.body]).toEqual([200, {}]);
    const state = (await asked.read()).body;
    expect(state).toMatchObject({ status: "approved", approvals: { required: 1, given: 1 } });
    const other = await asked.submit(changed(valid, { nullifier: wordHex(7n) }));
    expect([other.status, other.body.code]).toEqual([409, "authorization_not_pending"]);
  });

  it("takes no proof of a weaker level, by its name or under a false one", async () => {
    const asked = await ask(test, key, { required_level: "orb" });
    trustPortal();
    const weak = await makeResult(await asked.start(), "alan", "device");
    await expectRefused(asked, weak, /no proof of the level orb/);
    const nonce = (await asked.start()).rp_context.nonce;
    await expectRefused(
      asked,
      { ...changed(weak, { identifier: "orb" }), nonce },
      /root is no root .* orb tree/,
    );
  });

  it("repeats a refusal by its stored code and words", async () => {
    const { database } = test.app.context;
    const asked = await ask(test, key);
    const { rp_context, ...start } = await asked.start();
    const result = await makeResult({ ...start, rp_context, signal: `0x${"ab".repeat(32)}` }, "ada");
    const first = (await asked.submit(result)).body;
    const readRow = async () => {
      const sql = "SELECT status, code, detail FROM approval_submissions WHERE nonce = $1";
      return (await database.query(sql, [rp_context.nonce])).rows[0];
    };
    const row = { status: "refused", code: "approval_refused", detail: first.detail };
    expect(await readRow()).toEqual(row);
    expect((await asked.submit(result)).body).toMatchObject({ code: row.code, detail: row.detail });
  });

  it("needs as many distinct humans as it says, each once", async () => {
    const asked = await ask(test, key, { approvals_required: 2 });
    expect((await asked.approve("ada")).status).toBe(200);
    const twice = await asked.approve("ada", "device");
    expect([twice.status, twice.body.code]).toEqual([409, "already_approved"]);
    expect((await asked.read()).body).toMatchObject({
      status: "pending",
      approvals: { required: 2, given: 1 },
    });
    expect((await asked.approve("grace")).status).toBe(200);
    const { status, approvals, human_authorization } = (await asked.read()).body;
    expect([status, approvals]).toEqual(["approved", { required: 2, given: 2 }]);
    const nullifiers = human_authorization.approvals.map(
      (one: { nullifier_hash: string }) => one.nullifier_hash,
    );
    expect(new Set(nullifiers).size).toBe(2);
  });

  it("keeps a proof while World is out of reach, and approves when it is back", async () => {
    const asked = await ask(test, key);
    const result = await makeResult(await asked.start(), "ada");
    breakPortal();
    const failed = await asked.submit(result);
    expect([failed.status, failed.body.code]).toEqual([503, "service_unavailable"]);
    expect(failed.headers.get("retry-after")).not.toBeNull();
    expect((await asked.read()).body).toMatchObject({ status: "pending", approvals: { given: 0 } });
    const makeDue = () =>
      test.query(
        "UPDATE approval_submissions SET next_attempt_at = now() WHERE request_id = $1 AND status = 'pending'",
        [asked.made.request_id],
      );
    await makeDue();
    // The app's own loop may be faster than this round, never beside it.
    expect(await createRetries(test.app.context).run()).toBeLessThanOrEqual(1);
    expect((await asked.read()).body.status).toBe("pending");
    test.app.context.worldId = world;
    await makeDue();
    const waiting = asked.read(undefined, "?wait=25");
    const rounds = await Promise.all([1, 2, 3].map(() => createRetries(test.app.context).run()));
    expect(rounds.reduce((sum, tried) => sum + tried)).toBeLessThanOrEqual(1);
    expect((await waiting).body.status).toBe("approved");
    expect((await asked.submit(result)).status).toBe(200);
  });

  it("stays accepted if an attempt that another has overtaken ends later", async () => {
    const asked = await ask(test, key);
    const result = await makeResult(await asked.start(), "ada");
    let answer = () => {};
    const late = new Promise<void>((resolve) => (answer = resolve));
    let isAsked = false;
    const verifyWithPortal: WorldIdProvider["verifyWithPortal"] = async () => {
      isAsked = true;
      await late;
      return { ok: true };
    };
    test.app.context.worldId = { ...world, verifyWithPortal };
    const overtaken = asked.submit(result);
    await expect.poll(() => isAsked).toBe(true);
    test.app.context.worldId = world;
    // Moves it a minute back.
    await test.query("UPDATE approval_submissions SET next_attempt_at = now() WHERE request_id = $1", [
      asked.made.request_id,
    ]);
    await expect.poll(async () => (await asked.submit(result)).status).toBe(200);
    answer();
    await overtaken;
    expect((await asked.submit(result)).status).toBe(200);
  });

  it("does not approve late: a kept proof ends with its request", async () => {
    const asked = await ask(test, key);
    const result = await makeResult(await asked.start(), "ada");
    breakPortal();
    expect((await asked.submit(result)).status).toBe(503);
    await test.query("UPDATE authorization_requests SET expires_at = clock_timestamp() WHERE id = $1", [
      asked.made.request_id,
    ]);
    await test.query("UPDATE approval_submissions SET next_attempt_at = now()", []);
    test.app.context.worldId = world;
    expect(await createRetries(test.app.context).run()).toBeLessThanOrEqual(1);
    await vi.waitFor(async () => {
      const sql = "SELECT status, code FROM approval_submissions WHERE request_id = $1";
      const { rows } = await test.query(sql, [asked.made.request_id]);
      expect(rows[0]).toEqual({ status: "refused", code: "authorization_not_pending" });
    });
    expect((await asked.read()).body).toMatchObject({ status: "expired", approvals: { given: 0 } });
    const late = await asked.submit(result);
    expect([late.status, late.body.code]).toEqual([409, "authorization_not_pending"]);
  });
});
