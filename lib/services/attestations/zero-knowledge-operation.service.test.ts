/** Running with proofs: a full pool refuses proofs whole and nothing else; a rotated BBS key keeps what it signed. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createZkPool } from "#lib/jobs/zk-worker-pool";
import { logMadeKeys } from "#lib/log/keys/key-events";
import { base64Decode, base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { findEndorsementFault } from "#lib/protocol/keys/key-endorsement";
import { zkKeyId, zkKeyPairFromSeed } from "#lib/protocol/presentation/disclosure";
import { setupTestApp } from "#support/setup-app";

const plain = { agent_slug: "busy-agent", action: "Do it", inputs_hash: "abc" };
const withProof = { ...plain, is_public: false, enable_zk: true };
/** Proofs of one agent are made one after the other, because each is for its place in the record. */
const ofAgent = (n: number) => ({ ...withProof, agent_slug: `busy-agent-${n}` });

describe("proofs in operation", () => {
  const { test, key } = setupTestApp();

  const attest = (body: object, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest", { key, body, headers });
  const query = (text: string, values: unknown[] = []) => test.query(text, values);
  const countRows = async () => {
    const { rows } = await query(
      "SELECT (SELECT count(*) FROM attestations)::int AS attestations, (SELECT count(*) FROM log_leaves WHERE kind = 'attestation')::int AS leaves",
    );
    return rows[0];
  };

  it("answers 503 to a proof beyond the bound, records nothing of it, and lets plain attestations pass", async () => {
    const { context } = test.app;
    const first = await attest(withProof);
    const roomy = context.pool;
    const folder = await mkdtemp(path.join(tmpdir(), "countersign-held-"));
    const [workerFile, mayGoOn] = [path.join(folder, "worker.mjs"), path.join(folder, "may-go-on")];
    const jobs = JSON.stringify(path.resolve("dist/zk-worker.mjs"));
    await writeFile(
      workerFile,
      `import { existsSync } from "node:fs";
       import * as jobs from ${jobs};
       export * from ${jobs};
       export async function issueZkProof(input) {
         while (!existsSync(${JSON.stringify(mayGoOn)})) await new Promise((later) => setTimeout(later, 20));
         return jobs.issueZkProof(input);
       }`,
    );
    const small = createZkPool({ workerFile, maxThreads: 1, maxQueued: 2 });
    const started = vi.spyOn(small, "run");
    context.pool = small;
    try {
      const before = await countRows();
      const running = Promise.all([1, 2, 3].map((n) => attest(ofAgent(n))));
      await expect.poll(() => started.mock.calls.length, { interval: 5 }).toBe(3);
      const refused = await attest(ofAgent(4), { "idempotency-key": "again" });
      expect([refused.status, refused.body.code]).toEqual([503, "service_unavailable"]);
      expect(refused.headers.get("retry-after")).toBe("2");
      // No verdict rather than one that nobody checked.
      const unchecked = await test.call("GET", `/v1/verify/${first.body.attestation_id}`);
      expect(unchecked.status).toBe(503);
      const meanwhile = await Promise.all(Array.from({ length: 10 }, () => attest(plain)));
      expect(meanwhile.map(({ status }) => status)).toEqual(Array(10).fill(201));
      await writeFile(mayGoOn, "");
      expect((await running).map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(await countRows()).toEqual({
        attestations: Number(before?.["attestations"]) + 13,
        leaves: Number(before?.["leaves"]) + 13,
      });
      const later = await attest(ofAgent(4), { "idempotency-key": "again" });
      expect(later.status).toBe(201);
      expect(later.headers.get("idempotency-replayed")).toBeNull();
    } finally {
      context.pool = roomy;
      await writeFile(mayGoOn, "");
      await small.close();
      await rm(folder, { recursive: true });
    }
    const seen = await test.call("GET", `/v1/verify/${first.body.attestation_id}`);
    expect(seen.body.valid).toBe(true);
  });

  /** Proofs begin when the test lets them. */
  const holdProofs = () => {
    const { pool } = test.app.context;
    const run = pool.run.bind(pool) as (...given: unknown[]) => Promise<never>;
    const begin: (() => void)[] = [];
    const spy = vi.spyOn(pool, "run").mockImplementation(async (...given: unknown[]) => {
      await new Promise<void>((resolve) => begin.push(resolve));
      return run(...given);
    });
    const end = () => {
      spy.mockRestore();
      for (const one of begin) one();
    };
    return { begin, until: (count: number) => expect.poll(() => begin.length).toBe(count), end };
  };
  const expectOthersGoOn = async () => {
    const answers: number[] = [];
    void attest(plain).then(({ status }) => answers.push(status));
    await expect.poll(() => answers).toEqual([201]);
  };
  const attestBatch = (attestations: object[], all_or_nothing = false) =>
    test.call("POST", "/v1/attest/batch", { key, body: { attestations, all_or_nothing } });
  const numbered = (sequence: number) => ({ client: { instance: "one", sequence } });
  const placeOf = ({ record, client_gap }: { record: { sequence: number }; client_gap: boolean | null }) => [
    record.sequence,
    client_gap,
  ];

  it("lets no group take the place of a proof that is being made, and no group of another agent wait for it", async () => {
    const own = { ...plain, agent_slug: "held-agent" };
    await attest(own);
    const { begin, until, end } = holdProofs();
    try {
      const slow = attest({ ...own, enable_zk: true });
      await until(1);
      const submitted = vi.spyOn(test.app.context.log, "submitAll");
      const group = attestBatch([own, own], true);
      await expect.poll(() => submitted.mock.calls.length).toBe(1);
      const others = { ...plain, agent_slug: "other-agent" };
      expect((await attestBatch([others, others], true)).status).toBe(201);
      begin[0]?.();
      expect((await slow).body.record.sequence).toBe(2);
      const { results } = (await group).body;
      expect(results.map(({ body }: { body: { record: object } }) => body.record)).toMatchObject([
        { sequence: 3 },
        { sequence: 4 },
      ]);
      expect(begin).toHaveLength(1);
    } finally {
      end();
    }
  });

  it("makes proofs again beside others' attestations if a group was first to use their slug, in their order", async () => {
    const own = (sequence: number) => ({ ...plain, agent_slug: "claimed-agent", ...numbered(sequence) });
    const { begin, until, end } = holdProofs();
    try {
      const slow = attestBatch([{ ...own(1), enable_zk: true }, { ...own(2), enable_zk: true }, own(3)]);
      await until(1);
      expect((await attestBatch([{ ...plain, agent_slug: "Claimed-Agent" }], true)).status).toBe(201);
      begin[0]?.();
      // The first for its new place, and the second as if the slug were its own.
      await until(3);
      await expectOthersGoOn();
      for (const one of begin) one();
      await until(4);
      await expectOthersGoOn();
      begin[3]?.();
      const { results } = (await slow).body;
      expect(results.map(({ body }: { body: Parameters<typeof placeOf>[0] }) => placeOf(body))).toEqual([
        [2, false],
        [3, false],
        [4, false],
      ]);
      expect(begin).toHaveLength(4);
    } finally {
      end();
    }
  });

  it("signs again what waited for its proof while its slug was claimed and the agent frozen", async () => {
    const own = { ...plain, agent_slug: "frozen-meanwhile" };
    const { begin, until, end } = holdProofs();
    try {
      const slow = attest({ ...own, enable_zk: true });
      await until(1);
      expect((await attestBatch([own], true)).status).toBe(201);
      const frozen = await test.call("POST", `/v1/identity/${own.agent_slug}/freeze`, {
        key,
        body: { reason: "It paid twice" },
      });
      expect(frozen.status).toBe(200);
      end();
      const { status, body } = await slow;
      expect([status, body.record?.sequence]).toEqual([201, 3]);
      const { payload } = (await test.call("GET", `/v1/verify/${body.attestation_id}`, { key })).body;
      expect(JSON.parse(payload).predicate.agent_frozen_at).toBe(frozen.body.frozen_at);
      expect(begin).toHaveLength(1);
    } finally {
      end();
    }
  });

  it("makes each proof once if several and more are the first to use a slug, in their order", async () => {
    const own = (sequence: number) => ({ ...plain, agent_slug: "fresh-agent", ...numbered(sequence) });
    const made = vi.spyOn(test.app.context.pool, "run");
    const { results } = (
      await attestBatch([{ ...own(1), enable_zk: true }, { ...own(2), enable_zk: true }, own(3)])
    ).body;
    expect(results.map(({ body }: { body: Parameters<typeof placeOf>[0] }) => placeOf(body))).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect(made).toHaveBeenCalledTimes(2);
    made.mockRestore();
  });

  it("proves with the new BBS key after a rotation elsewhere, and verifies and presents with the old", async () => {
    const old = (await attest(withProof)).body;
    const seed = new Uint8Array(randomBytes(32));
    const { publicKey } = await zkKeyPairFromSeed(seed);
    const kid = zkKeyId(publicKey);
    await writeFile(path.join(test.dataDir, "keys", "zk-signing-key"), Buffer.from(seed).toString("base64"));
    await query("UPDATE signing_keys SET status = 'retired', retired_at = now() WHERE purpose = 'zk'");
    await query(
      "INSERT INTO signing_keys (key_id, purpose, public_key, status, log_id) VALUES ($1, 'zk', decode($2, 'hex'), 'active', 1)",
      [kid, Buffer.from(publicKey).toString("hex")],
    );
    await logMadeKeys(test.app.context);

    // This process still holds the old key; plain attestations in the same batch are not touched.
    const [fresh, beside] = await Promise.all([attest(withProof), attest(plain)]);
    expect([fresh.status, beside?.status]).toEqual([201, 201]);
    expect(fresh.body.zk.credential.kid).toBe(kid);
    expect(JSON.parse(fresh.body.payload).predicate.zk.kid).toBe(kid);
    expect(old.zk.credential.kid).not.toBe(kid);
    for (const { attestation_id: id } of [old, fresh.body]) {
      const seen = await test.call("GET", `/v1/verify/${id}`);
      expect(seen.body).toMatchObject({ valid: true, has_zk_proof: true });
      const shown = await test.call("POST", `/v1/attestations/${id}/presentations`, {
        key,
        body: { disclose: ["action"], audience: "a", nonce: "n" },
      });
      expect(shown.status).toBe(201);
    }

    const { body: keys } = await test.call("GET", "/v1/pubkey");
    expect(keys.zk.kid).toBe(kid);
    // biome-ignore lint/suspicious/noExplicitAny: an answer read freely
    const published: any[] = keys.zk.keys;
    expect(published.map((one) => [one.kid, one.status]).sort()).toEqual(
      [
        [kid, "active"],
        [old.zk.credential.kid, "retired"],
      ].sort(),
    );
    // biome-ignore lint/suspicious/noExplicitAny: an answer read freely
    const signers = keys.keys.map((one: any) => ({
      keyId: one.key_id,
      publicKey: base64Decode(one.public_key),
      validFromIndex: one.valid_from_index,
      validToIndex: one.valid_to_index,
    }));
    for (const { public_key, endorsement } of published) {
      const endorsed = base64UrlDecode(public_key);
      expect(findEndorsementFault(endorsed, endorsement, signers, verifyEd25519Strict)).toBeNull();
    }
  });
});
