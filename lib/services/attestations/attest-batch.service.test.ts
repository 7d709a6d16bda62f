/** POST /v1/attest/batch on both databases: each entry as if it had been sent alone, or all of them and nothing less. */
import { generateKeyPairSync, sign } from "node:crypto";
import { availableParallelism } from "node:os";
import { afterAll, describe, expect, it } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import { joinBytes } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { startTestApp } from "#support/app";
import { approveUnproven, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const entry = (n: number, more: object = {}) => ({
  ...{ agent_slug: "importer", action: `step ${n}`, inputs_hash: `hash-${n}`, is_public: true },
  ...more,
});

describe("a batch of attestations", () => {
  const { test, key } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "100000" });
  const send = (attestations: object[], more: object = {}, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest/batch", { key, body: { attestations, ...more }, headers });
  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;
  const stored = async () => Number((await query("SELECT count(*) AS n FROM attestations"))[0]?.["n"]);
  const statuses = (answer: { body: { results: { status: number }[] } }) =>
    answer.body.results.map(({ status }) => status);

  afterAll(async () => {
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
  });

  it("records a hundred in their order, each with the receipt that it would have had alone", async () => {
    const client = (sequence: number) => ({ client: { instance: "one", sequence } });
    const answer = await send(Array.from({ length: 100 }, (_, i) => entry(i, client(i + 1))));
    expect([answer.status, answer.body.recorded]).toEqual([201, 100]);
    const made = answer.body.results.map(({ body }: { body: object }) => body);
    const places = made.map(({ record }: { record: { sequence: number } }) => record.sequence);
    expect(places).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(made.map(({ client_gap }: { client_gap: boolean }) => client_gap)).toEqual(Array(100).fill(false));
    const verified = await test.call("GET", `/v1/verify/${made[99].attestation_id}`, {});
    expect([verified.body.valid, verified.body.action]).toEqual([true, "step 99"]);
    const alone = await test.call("POST", "/v1/attest", { key, body: entry(100) });
    expect(Object.keys(made[0]).sort()).toEqual(Object.keys(alone.body).sort());
  });

  it("has its statements signed in the log's thread if they are many", async () => {
    const { logPool } = test.app.context;
    const jobs: string[] = [];
    const { run } = logPool;
    await run("verifySignatures", joinBytes([]), { lane: "other", owners: [] });
    logPool.run = (name, ...given) => {
      jobs.push(name);
      return run(name, ...given);
    };
    const verifyLast = async (answer: Awaited<ReturnType<typeof send>>) => {
      const { attestation_id: id } = answer.body.results.at(-1).body;
      return (await test.call("GET", `/v1/verify/${id}`, {})).body.valid;
    };
    const entries = Array.from({ length: 32 }, (_, i) => entry(i));
    expect(await verifyLast(await send(entries.slice(1)))).toBe(true);
    expect(jobs).toEqual([]);
    expect(await verifyLast(await send(entries))).toBe(true);
    expect(jobs).toEqual(availableParallelism() > 1 ? ["signStatements"] : []);
    logPool.run = run;
  });

  it("refuses a body of more than 20,000 names and values in words, whatever its size", async () => {
    const numbers = (count: number) => [entry(1, { metadata: { numbers: Array(count).fill(0) } })];
    const many = await send(numbers(20_000));
    expect([many.status, many.body.code, many.body.detail]).toEqual([
      ...[400, "bad_request"],
      "the body is not acceptable JSON: more than 20,000 names and values",
    ]);
    const fewer = await send(numbers(19_900));
    expect([fewer.status, statuses(fewer)]).toEqual([207, [422]]);
  });

  it("names the first twenty places of U+0000 alone", async () => {
    const answer = await send([entry(1, { metadata: { texts: Array(5_000).fill("\0") } })]);
    expect([answer.status, answer.body.errors.length]).toEqual([422, 20]);
    expect(answer.body.errors[19].pointer).toBe("/attestations/0/metadata/texts/19");
  });

  it("keeps its order if an agent was registered again, also beside an entry with an approval", async () => {
    const [first, second] = ["first-bot", "second-bot"].map((agent_slug) => ({ agent_slug }));
    const numbered = (sequence: number) => ({ ...first, client: { instance: "one", sequence } });
    await send([entry(1, numbered(1)), entry(1, second)]);
    const asked = await ask(test, key, { ...first, action: "step 4", inputs_hash: "hash-4" });
    await approveUnproven(test, asked.made.request_id);
    const { human_authorization } = (await asked.read(key)).body;
    await send([entry(1, first), entry(1, second)]);
    await query("UPDATE agents SET code_hash = 'changed' WHERE slug = 'first-bot'");
    const answer = await send([
      entry(2, numbered(2)),
      entry(3, second),
      entry(4, { ...numbered(3), human_authorization }),
    ]);
    const made = answer.body.results.map(({ body }: { body: object }) => body);
    expect(made.map(({ client_gap }: { client_gap: boolean | null }) => client_gap)).toEqual([
      false,
      null,
      false,
    ]);
    const indexes = made.map(({ log }: { log: { index: number } }) => log.index);
    expect(indexes).toEqual(indexes.toSorted((a: number, b: number) => a - b));
  });

  it("gives a new slug the spelling of its first entry", async () => {
    await send(["Spelled-Bot", "spelled-bot"].map((agent_slug) => entry(1, { agent_slug })));
    expect(await query("SELECT slug FROM agents WHERE slug_key = 'spelled-bot'")).toEqual([
      { slug: "Spelled-Bot" },
    ]);
  });

  it("answers an entry that is refused with its own problem, and records the others", async () => {
    const other = await test.createKey("other-batch@example.com");
    await test.call("POST", "/v1/attest", { key: other.key, body: entry(0, { agent_slug: "taken" }) });
    const answer = await send([
      entry(1),
      entry(2, { inputs_hash: "" }),
      entry(3, { agent_slug: "taken" }),
      entry(4, { unknown: true }),
      entry(5),
    ]);
    expect([answer.status, answer.body.recorded]).toEqual([207, 2]);
    expect(statuses(answer)).toEqual([201, 422, 422, 422, 201]);
    const [, invalid, taken, unknown] = answer.body.results;
    expect(invalid.body).toMatchObject({ code: "validation_error", errors: [{ pointer: "/inputs_hash" }] });
    expect(taken.body.code).toBe("agent_slug_taken");
    expect(unknown.body.errors[0].pointer).toBe("/unknown");
    expect(invalid.body.request_id).toBe(answer.headers.get("request-id"));
  });

  it("records all or nothing on request", async () => {
    const before = await stored();
    const refused = await send([entry(1), entry(2, { inputs_hash: "" }), entry(3)], { all_or_nothing: true });
    expect([refused.status, refused.body.recorded, statuses(refused)]).toEqual([207, 0, [424, 422, 424]]);
    expect(refused.body.results[0].body.code).toBe("batch_refused");
    expect(await stored()).toBe(before);
    const whole = await send([entry(1), entry(2), entry(3)], { all_or_nothing: true });
    expect([whole.status, statuses(whole)]).toEqual([201, [201, 201, 201]]);
    expect(await stored()).toBe(before + 3);
  });

  it("records nothing of a group when the database refuses one of its entries", async () => {
    const asked = await ask(test, key, { agent_slug: "importer", action: "step 7", inputs_hash: "hash-7" });
    await approveUnproven(test, asked.made.request_id);
    const { human_authorization } = (await asked.read(key)).body;
    const used = entry(7, { human_authorization });
    expect((await test.call("POST", "/v1/attest", { key, body: used })).status).toBe(201);
    const before = await stored();
    const again = await send([entry(6), used], { all_or_nothing: true });
    expect([again.body.recorded, statuses(again)]).toEqual([0, [424, 422]]);
    const pair = generateKeyPairSync("ed25519");
    const signed = entry(8, { metadata: { nonce: "batch" } });
    const agent_signature = sign(null, canonicalBytes(signedRequest(signed)), pair.privateKey).toString(
      "base64",
    );
    const public_key = pair.publicKey
      .export({ format: "der", type: "spki" })
      .subarray(-32)
      .toString("base64");
    await test.call("PATCH", "/v1/identity/importer", { key, body: { public_key } });
    const twice = await send([entry(9), { ...signed, agent_signature }, { ...signed, agent_signature }], {
      all_or_nothing: true,
    });
    expect(twice.body.recorded).toBe(0);
    expect(statuses(twice)).toEqual([424, 424, 422]);
    expect(await stored()).toBe(before);
  });

  it("goes on beside what else is attested, in several groups at once", async () => {
    const before = await stored();
    const groups = await Promise.all(
      Array.from({ length: 6 }, (_, g) =>
        g % 2 === 0
          ? send([entry(g), entry(g), entry(g)], { all_or_nothing: true })
          : send([entry(g), entry(g, { action: "" }), entry(g)]),
      ),
    );
    expect(groups.map(({ body }) => body.recorded)).toEqual([3, 2, 3, 2, 3, 2]);
    expect(await stored()).toBe(before + 15);
  });

  it("makes a stale group again from what is true now", async () => {
    await send([entry(1)]);
    await query("UPDATE agents SET code_hash = 'changed' WHERE slug = 'importer'");
    const answer = await send([entry(1, { code_hash: "changed" }), entry(2)], { all_or_nothing: true });
    expect(answer.body.results[0].body.code_hash_verified).toBe(true);
    await query("UPDATE agents SET code_hash = NULL WHERE slug = 'importer'");
  });

  it("does each entry once under an Idempotency-Key, also after it was cut off in the middle", async () => {
    const headers = { "idempotency-key": "import 1" };
    const entries = [entry(1), entry(2, { agent_slug: "late" }), entry(3)];
    await test.call("POST", "/v1/attest", {
      key: (await test.createKey("late@example.com")).key,
      body: entry(0, { agent_slug: "late" }),
    });
    const first = await send(entries, {}, headers);
    expect(statuses(first)).toEqual([201, 422, 201]);
    const before = await stored();
    const again = await send(entries, {}, headers);
    expect(again.body).toMatchObject({
      recorded: 2,
      results: [first.body.results[0], {}, first.body.results[2]],
    });
    expect(await stored()).toBe(before);
    const another = await send([...entries, entry(4)], {}, headers);
    expect([another.status, another.body.code]).toEqual([422, "idempotency_key_reused"]);
    const spelled = entries.map((entry) => ({ ...entry, code_hash: null }));
    expect((await send(spelled, {}, headers)).body.results[0]).toEqual(first.body.results[0]);
    await send([entry(1, { inputs_hash: "" }), entry(2)], {}, { "idempotency-key": "import 3" });
    const shorter = await send([entry(1)], {}, { "idempotency-key": "import 3" });
    expect([shorter.status, shorter.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(await stored()).toBe(before + 1);
    const at = await Promise.all([1, 2, 3].map(() => send(entries, {}, { "idempotency-key": "import 2" })));
    expect(at.map(({ status }) => status).sort()).toContain(207);
    expect(await stored()).toBe(before + 3);
  });

  it("counts as many requests as it has entries, against the key's limit and the day's", async () => {
    const small = await startTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "10" });
    try {
      const { key: limited } = await small.createKey();
      const of = (count: number) =>
        small.call("POST", "/v1/attest/batch", {
          key: limited,
          body: { attestations: Array.from({ length: count }, (_, i) => entry(i)) },
        });
      const first = await of(6);
      expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([201, "4"]);
      expect((await of(6)).status).toBe(429);
      const [{ attestations } = { attestations: 0 }] = (
        await small.app.context.database.query("SELECT attestations FROM daily_usage", [])
      ).rows;
      expect(attestations).toBe(6);
    } finally {
      await small.close();
    }
  });

  it("takes a body of 1 MiB, and none that is larger", async () => {
    const sendBytes = async (length: number) => {
      const rawBody = JSON.stringify({ attestations: [entry(1)] }).padEnd(length);
      return (await test.call("POST", "/v1/attest/batch", { key, rawBody })).status;
    };
    expect(await sendBytes(1024 * 1024)).toBe(201);
    expect(await sendBytes(1024 * 1024 + 1)).toBe(413);
  });

  it("refuses what is no batch", async () => {
    for (const attestations of [[], Array.from({ length: 101 }, (_, i) => entry(i)), ["text"], "text"]) {
      const { status, body } = await test.call("POST", "/v1/attest/batch", { key, body: { attestations } });
      expect([status, body.code]).toEqual([422, "validation_error"]);
    }
    expect((await test.call("POST", "/v1/attest/batch", { body: { attestations: [entry(1)] } })).status).toBe(
      401,
    );
  });
});
