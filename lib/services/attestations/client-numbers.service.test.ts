/** An agent's own numbers: whether each follows its instance's last one, in the order in which they are recorded. */
import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, describe, expect, it, vi } from "vitest";
import { checkStoredRecords } from "#lib/log/records/record-snapshot";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import type { TestAnswer } from "#support/app";
import { attestBody } from "#support/attest-body";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const settings = { LIMIT_ATTEST_PER_MINUTE: "100000" };

const numbered = (agent_slug: string, instance: string, sequence: number, more: JsonObject = {}) =>
  attestBody({ agent_slug, client: { instance, sequence }, ...more });

/** The rule of docs/wire.md over a whole record, whatever the order of arrival was. */
function expectRule(answers: readonly TestAnswer[]) {
  const last = new Map<string, number>();
  const inOrder = answers.map(({ body }) => body).sort((a, b) => a.record.sequence - b.record.sequence);
  for (const { client, client_gap, agent_slug, record } of inOrder) {
    const name = JSON.stringify([agent_slug, client.instance]);
    const expected = client.sequence !== (last.get(name) ?? 0) + 1;
    expect([agent_slug, record.sequence, client, client_gap]).toEqual([
      agent_slug,
      record.sequence,
      client,
      expected,
    ]);
    last.set(name, client.sequence);
  }
}

describe("an agent's own numbers", () => {
  const { test, key } = setupTestApp(anyKind, settings);
  const send = (body: JsonObject, headers: Record<string, string> = {}, as = key) =>
    test.call("POST", "/v1/attest", { key: as, body, headers });
  const attest = async (...sent: Parameters<typeof send>) => {
    const answer = await send(...sent);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body;
  };
  const gapsOf = async (
    slug: string,
    instance: string,
    numbers: number[],
    more: JsonObject = {},
    as = key,
  ) => {
    const gaps: unknown[] = [];
    for (const n of numbers) gaps.push((await attest(numbered(slug, instance, n, more), {}, as)).client_gap);
    return gaps;
  };
  const verify = async (id: string, as?: string) =>
    (await test.call("GET", `/v1/verify/${id}`, as === undefined ? {} : { key: as })).body;

  afterAll(async () => {
    expect(await checkStoredRecords(test.app.context.database.db)).toMatchObject({ problem: null });
  });

  it("show what was skipped, repeated or went back, once each", async () => {
    const gaps = await gapsOf("counting-bot", "one", [1, 2, 4, 5, 5, 3, 4]);
    expect(gaps).toEqual([false, false, true, false, true, true, false]);
    expect(await gapsOf("counting-bot", "begins late", [7, 8])).toEqual([true, false]);
    const most = Number.MAX_SAFE_INTEGER;
    expect(await gapsOf("counting-bot", "most", [most, most])).toEqual([true, true]);
  });

  it("are counted for each instance of each agent, whatever is between them", async () => {
    expect(await gapsOf("two-bot", "a", [1, 2])).toEqual([false, false]);
    expect(await gapsOf("two-bot", "A", [1])).toEqual([false]);
    await attest(attestBody({ agent_slug: "two-bot" }));
    expect(await gapsOf("two-bot", "b", [1, 3])).toEqual([false, true]);
    expect(await gapsOf("other-bot", "a", [1])).toEqual([false]);
    expect(await gapsOf("Two-bot", "a", [3], { is_public: false })).toEqual([false]);
    expect(await gapsOf("two-bot", "a", [4], { enable_zk: true })).toEqual([false]);
    expect(await gapsOf("two-bot", "a", [5])).toEqual([false]);
  });

  it("are signed with their verdict, which every answer shows; a payload without one has neither", async () => {
    const bodies = [numbered("signed-bot", "i", 1), numbered("signed-bot", "i", 3), attestBody()];
    for (const [i, gap] of [false, true, null].entries()) {
      const made = await attest({ ...bodies[i], enable_zk: i === 1 });
      const { request, verdicts } = JSON.parse(made.payload).predicate;
      expect([request.client ?? null, verdicts.client_gap ?? null]).toEqual([made.client, gap]);
      expect("client_gap" in verdicts).toBe(gap !== null);
      const again = await verify(made.attestation_id);
      expect([again.valid, again.client, again.client_gap]).toEqual([true, made.client, gap]);
    }
    const { attestations } = (await test.call("GET", "/v1/agent/signed-bot")).body;
    expect(attestations.map(({ client_gap }: { client_gap: unknown }) => client_gap)).toEqual([true, false]);
  });

  it("show of a private attestation whether there was a gap, and to its owner alone who counted", async () => {
    const { attestation_id: id } = await attest(numbered("quiet-bot", "SECRET", 2, { is_public: false }));
    const { client, client_gap } = await verify(id);
    expect([client, client_gap]).toEqual([null, true]);
    expect((await verify(id, key)).client).toEqual({ instance: "SECRET", sequence: 2 });
    await test.call("DELETE", `/v1/attestations/${id}/content`, { key });
    const erased = await verify(id, key);
    expect([erased.client, erased.client_gap]).toEqual([null, null]);
    expect(await gapsOf("quiet-bot", "SECRET", [3])).toEqual([false]);
  });

  it("count an answer that is sent again once, and what is refused not at all", async () => {
    const headers = { "idempotency-key": "own-number" };
    const body = numbered("once-bot", "i", 1);
    const first = await attest(body, headers);
    expect((await attest(body, headers)).client_gap).toBe(first.client_gap);
    const refused = await send(numbered("once-bot", "i", 2, { human_authorization: {} }));
    expect(refused.status).toBe(422);
    expect(await gapsOf("once-bot", "i", [2])).toEqual([false]);
  });

  it("are covered by the agent's signature, and a neighbour that is refused in a batch takes none", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
    const agent = { slug: "own-key-bot", public_key };
    await test.call("POST", "/v1/identity/register", { key, body: agent });
    const signed = (n: number) => {
      const body = numbered(agent.slug, "i", n);
      const agent_signature = sign(null, canonicalBytes(signedRequest(body)), privateKey).toString("base64");
      return { ...body, agent_signature };
    };
    const one = await attest(signed(1));
    expect([one.agent_authenticated, one.client_gap]).toEqual([true, false]);
    const moved = await attest({ ...signed(1), client: { instance: "i", sequence: 2 } });
    expect([moved.agent_authenticated, moved.client_gap]).toEqual([false, false]);
    const third = signed(3);
    const answers = await Promise.all([send(third), send(third), send(signed(4)), send(signed(5))]);
    expect(answers.map(({ status }) => status)).toEqual([201, 422, 201, 201]);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.map(({ body }) => body.client_gap)).toEqual([false, false, false]);
  });

  it("follow the order of the record in a batch, proofs and several instances among them", async () => {
    const bodies = Array.from({ length: 24 }, (_, i) =>
      numbered("crowd-bot", i % 3 === 0 ? "x" : "y", 1 + Math.floor(i / 2), { enable_zk: i === 13 }),
    );
    const answers = await Promise.all(bodies.map((body) => send(body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 201));
    expectRule(answers);
    for (const { body } of answers.filter(({ body }) => body.has_zk_proof))
      expect((await verify(body.attestation_id)).valid).toBe(true);
  });

  it("are compared with what is stored, whatever is remembered", async () => {
    const { database } = test.app.context;
    const { key: own } = await test.createKey("moved@example.com");
    expect(await gapsOf("moved-bot", "i", [1, 77], {}, own)).toEqual([false, true]);
    await database.query("UPDATE agent_clients SET sequence = 8 WHERE sequence = 77", []);
    expect(await gapsOf("moved-bot", "i", [78, 79], {}, own)).toEqual([true, false]);
  });

  it("cost one that has none nothing, and one that has some no look-up of what is known", async () => {
    const { key: own } = await test.createKey("cheap@example.com");
    await gapsOf("cheap-bot", "i", [1], {}, own);
    const statements = vi.spyOn(test.app.context.database, "statement");
    await attest(attestBody({ agent_slug: "cheap-bot" }), {}, own);
    const plain = statements.mock.calls.map(([text]) => text).join();
    expect(plain).toContain("append_attestation");
    expect(plain).not.toContain("client");
    statements.mockClear();
    await gapsOf("cheap-bot", "i", [2], {}, own);
    const texts = statements.mock.calls.map(([text]) => text).filter((text) => text.includes("client"));
    expect(texts).toEqual([expect.stringMatching(/^SELECT .*advance_clients.* FROM append_attestation/)]);
    statements.mockRestore();
  });

  it("are 1 to 64 characters and a whole number from 1, and nothing else", async () => {
    const wrong = [
      { instance: "", sequence: 1 },
      { instance: "i".repeat(65), sequence: 1 },
      { instance: "i\0", sequence: 1 },
      { instance: 1, sequence: 1 },
      { instance: "i" },
      { sequence: 1 },
      { instance: "i", sequence: null },
      { instance: "i", sequence: 0 },
      { instance: "i", sequence: -1 },
      { instance: "i", sequence: 1.5 },
      { instance: "i", sequence: "1" },
      { instance: "i", sequence: 2 ** 53 },
      { instance: "i", sequence: 1, more: 1 },
      "i",
      [],
    ];
    for (const client of wrong) {
      const { status, body } = await send(attestBody({ agent_slug: "strict-bot", client }));
      expect([status, body.code], JSON.stringify(client)).toEqual([422, "validation_error"]);
      expect(body.errors[0].pointer).toMatch(/^\/client/);
    }
    const none = await attest(attestBody({ agent_slug: "strict-bot", client: null }));
    expect([none.client, none.client_gap]).toEqual([null, null]);
    expect(await gapsOf("strict-bot", "🤖".repeat(64), [1])).toEqual([false]);
  });
});
