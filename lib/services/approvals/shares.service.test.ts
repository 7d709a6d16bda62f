/**
 * Tries to disturb other people's approvals from one address or one key, and fails. The pool and World are the test's
 * own, so that every order is theirs and no clock decides.
 */
import { bn254 } from "@noble/curves/bn254.js";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { createFairQueue, createShare } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { deleteExpired } from "#lib/server/background";
import type { WorldIdProvider } from "#lib/services/approvals/world-id/provider";
import { type AskedRequest, ask, fromPage } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const g1 = bn254.G1.Point.BASE.toAffine();
const g2 = bn254.G2.Point.BASE.toAffine();
const toProof = (...words: bigint[]) => `0x${words.map((word) => wordHex(word).slice(2)).join("")}`;
/** Points of the groups, so that nothing but the pairing tells it from a proof. */
const wellFormed = toProof(g1.x, g1.y, g2.x.c1, g2.x.c0, g2.y.c1, g2.y.c0, g1.x, g1.y);

const poll = <T>(read: () => T) => expect.poll(read, { interval: 20, timeout: 60_000 });

describe("shares of approvals", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_APPROVE_PER_MINUTE: "100000" });
  let junkKey: string;
  let strangersKey: string;
  let pool: ZkPool;
  let world: WorldIdProvider;
  beforeAll(async () => {
    ({ key: junkKey } = await test.createKey("junk@example.com"));
    ({ key: strangersKey } = await test.createKey("stranger@example.org"));
    ({ pool, worldId: world } = test.app.context);
  });
  afterEach(async () => {
    Object.assign(test.app.context, { pool, worldId: world });
    await test.query("UPDATE approval_submissions SET status = 'refused' WHERE status = 'pending'", []);
  });

  let humans = 0;
  const post = async (asked: AskedRequest, ip: string, proof = wellFormed) => {
    const path = `/approve/${asked.token}`;
    const opened = await test.call("POST", `${path}/world-id`, { headers: fromPage, body: {}, ip });
    const start = opened.body as WorldIdStart;
    humans += 1;
    const response = {
      identifier: "orb",
      proof,
      merkle_root: wordHex(9n),
      nullifier: wordHex(BigInt(humans)),
    };
    const body = {
      protocol_version: "3.0",
      nonce: start.rp_context.nonce,
      action: start.action,
      environment: start.environment,
      responses: [response],
    };
    return { start, answer: test.call("POST", `${path}/proof`, { headers: fromPage, body, ip }) };
  };
  const count = async (table: string, condition: string) => {
    const sql = `SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`;
    return Number((await test.query(sql, [])).rows[0]?.["n"]);
  };
  const address = (i: number) => `198.51.100.${i}`;

  /** One thread, whose jobs end when the test says so. */
  const setPool = (verdict: (input: { action: string }) => object) => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 32, maxPerOwner: 12, refusal: "busy" });
    /** Actions whose check was asked for, and whose check began. */
    const waiting: string[] = [];
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const run = (_name: string, input: { action: string }, share: Parameters<ZkPool["run"]>[2]) => {
      waiting.push(input.action);
      return queue.run(share, () => {
        started.push(input.action);
        return new Promise((resolve) => ends.push(() => resolve(verdict(input))));
      });
    };
    test.app.context.pool = { ...pool, run } as unknown as ZkPool;
    const end = async (n: number) => {
      for (let i = 0; i < n; i += 1) {
        await poll(() => ends.length).toBe(1);
        ends.shift()?.();
      }
    };
    /** Ends whatever runs until the promise is settled. */
    const endUntil = async <T>(promise: Promise<T>): Promise<T> => {
      const timer = setInterval(() => ends.shift()?.(), 2);
      return promise.finally(() => clearInterval(timer));
    };
    return { queue, waiting, started, end, endUntil };
  };
  const setWorld = (verify: WorldIdProvider["verifyWithPortal"]) => {
    const checkRoot = async () => ({ status: "not_checked" as const, detail: "a test" });
    test.app.context.worldId = { ...world, checkRoot, verifyWithPortal: verify };
  };
  const failPairing = () => ({ ok: false, reason: "pairing_failed" });
  const passPairing = () => ({ ok: true });

  it("sorts out what is no proof before it is stored, spends its nonce, or costs a pairing", async () => {
    const asked = await ask(test, junkKey);
    const started = vi.spyOn(pool, "run");
    const p = bn254.fields.Fp.ORDER;
    for (const proof of [
      `0x${"ff".repeat(256)}`,
      toProof(g1.x + p, g1.y, g2.x.c1, g2.x.c0, g2.y.c1, g2.y.c0, g1.x, g1.y),
      toProof(g1.x, g1.y + 1n, g2.x.c1, g2.x.c0, g2.y.c1, g2.y.c0, g1.x, g1.y),
      toProof(g1.x, g1.y, g2.x.c0, g2.x.c1, g2.y.c1, g2.y.c0, g1.x, g1.y),
    ]) {
      const { start, answer } = await post(asked, address(1), proof);
      const { status, body } = await answer;
      expect([status, body.detail]).toEqual([422, "not approved: the proof is malformed"]);
      const { nonce } = start.rp_context;
      expect(await count("world_nonces", `nonce = '${nonce}' AND used_at IS NULL`)).toBe(1);
    }
    expect(started).not.toHaveBeenCalled();
    expect(await count("approval_submissions", `request_id = '${asked.made.request_id}'`)).toBe(0);
    started.mockRestore();
  });

  it("keeps no refused proof and no nonce for longer than a request can live", async () => {
    const asked = await ask(test, junkKey);
    const thread = setPool(failPairing);
    const sent = [await post(asked, address(1)), await post(asked, address(2))];
    for (const { answer } of sent) expect((await thread.endUntil(answer)).status).toBe(422);
    const ofRequest = `request_id = '${asked.made.request_id}'`;
    await test.query(
      `UPDATE approval_submissions SET created_at = now() - interval '25 hours' WHERE id = (SELECT min(id::text)::uuid FROM approval_submissions WHERE ${ofRequest})`,
      [],
    );
    await test.query(
      `UPDATE world_nonces SET expires_at = now() - interval '25 hours' WHERE nonce = (SELECT min(nonce) FROM world_nonces WHERE ${ofRequest})`,
      [],
    );
    await deleteExpired(test.app.context);
    expect(await count("approval_submissions", ofRequest)).toBe(1);
    expect(await count("world_nonces", ofRequest)).toBe(1);
  });

  it("lets few of one client wait for a request, and more of others; the right person is not locked out", async () => {
    const asked = await ask(test, junkKey);
    const thread = setPool(failPairing);
    const where = `request_id = '${asked.made.request_id}' AND status = 'pending'`;
    const junk = await Promise.all(Array.from({ length: 12 }, () => post(asked, address(1))));
    const answers = Promise.all(junk.map(({ answer }) => answer));
    const early: number[] = [];
    for (const { answer } of junk) void answer.then(({ status }) => early.push(status));
    await poll(() => early).toEqual(Array(9).fill(429));
    expect(await count("approval_submissions", where)).toBe(3);
    const byStatus = (await thread.endUntil(answers)).map(({ status }) => status).sort();
    expect(byStatus).toEqual([422, 422, 422, ...Array(9).fill(429)]);
    const refused = (await answers).filter(({ status }) => status === 429);
    expect(refused.map(({ headers }) => headers.get("retry-after"))).toEqual(Array(9).fill("5"));
    expect(
      await count("world_nonces", `request_id = '${asked.made.request_id}' AND used_at IS NOT NULL`),
    ).toBe(3);

    const waiting = await Promise.all(Array.from({ length: 30 }, (_, i) => post(asked, address(i + 2))));
    const later = Promise.all(waiting.map(({ answer }) => answer));
    await poll(() => count("approval_submissions", where)).toBe(24);
    const crowded = await (await post(asked, address(99))).answer;
    expect([crowded.status, crowded.headers.get("retry-after")]).toEqual([503, "5"]);
    const elsewhere = await ask(test, junkKey);
    const other = await post(elsewhere, address(1));
    await poll(() => count("approval_submissions", `request_id = '${elsewhere.made.request_id}'`)).toBe(1);

    // Twelve of an organization may wait in the pool; the others are stored and tried again.
    expect([422, 503]).toContain((await thread.endUntil(other.answer)).status);
    const ended = (await thread.endUntil(later)).map(({ status }) => status);
    expect(new Set(ended)).toEqual(new Set([422, 503]));
    const right = await post(asked, address(100));
    expect((await thread.endUntil(right.answer)).status).toBe(422);
  });

  it("checks a stranger's proof next, however many wait of one organization, and of verification", async () => {
    const thread = setPool(passPairing);
    setWorld(async () => ({ ok: true }));
    const mine = await ask(test, strangersKey, { agent_slug: "stranger" });
    const flooded = await Promise.all(Array.from({ length: 8 }, () => ask(test, junkKey)));
    const junk = await Promise.all(
      flooded.flatMap((asked, i) => [1, 2, 3].map((j) => post(asked, address(i * 3 + j)))),
    );
    for (let i = 0; i < 100; i += 1) {
      const share = createShare("other", { organization: `o${i}`, client: address(i) });
      void thread.queue.run(share, async () => {}).catch(() => {});
    }
    await poll(() => thread.waiting.length).toBeGreaterThanOrEqual(12);
    await thread.end(2);
    const before = thread.started.length;
    const { start, answer } = await post(mine, address(250));
    await poll(() => thread.waiting.includes(start.action)).toBe(true);
    await thread.end(3);
    expect(thread.started.slice(before, before + 2)).toContain(start.action);
    expect((await answer).status).toBe(200);
    expect((await mine.read()).body.status).toBe("approved");
    await thread.endUntil(Promise.all(junk.map((one) => one.answer)));
  });
});
