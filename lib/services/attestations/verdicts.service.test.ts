/**
 * Each verdict of the database's function on an attestation, alone and in the middle of a batch: its caller gets the
 * answer that is right now, its neighbours are stored at once in their order, and no second way is taken.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { checkStoredLogs } from "#lib/log/reading/history";
import type { LogEntry } from "#lib/log/sequencer/entry";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import type { TestAnswer, TestCall } from "#support/app";
import { approveUnproven, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import type { AttestationItem } from "./store";

interface Case {
  sent: TestCall & { body: JsonObject };
  /** Change after the item was made and before it is stored. */
  change?: (item: AttestationItem) => unknown;
  expected: { status: number; body?: object };
}

describe("the verdict on an attestation", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_ATTEST_PER_MINUTE: "100000",
    LIMIT_AUTHORIZE_PER_MINUTE: "100000",
    LIMIT_AUTHORIZE_PENDING: "1000",
  });
  let neighbour: string;
  let count = 0;
  const query = async (text: string, ...values: unknown[]) => (await test.query(text, values)).rows;

  beforeAll(async () => {
    neighbour = (await test.createKey("neighbour@example.com")).key;
  });
  afterAll(async () => {
    const [log] = await checkStoredLogs(test.app.context.database.db, null);
    expect(log?.check).toMatchObject({ ok: true });
  });

  /** Submits them in one turn, in the order of the calls, after the changes. */
  async function attestTogether(calls: readonly Omit<Case, "expected">[]): Promise<TestAnswer[]> {
    const { log, database } = test.app.context;
    const { submit } = log;
    const made: { item: LogEntry; go: () => void }[] = [];
    let arrived: () => void;
    const all = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const spy = vi.spyOn(log, "submit").mockImplementation((itemKind, item) => {
      if (made.length === calls.length) return submit(itemKind, item);
      return new Promise((resolve, reject) => {
        made.push({ item, go: () => submit(itemKind, item).then(resolve, reject) });
        if (made.length === calls.length) arrived();
      });
    });
    const transactions = vi.spyOn(database.pipelined, "transaction");
    try {
      const answers: Promise<TestAnswer>[] = [];
      for (const [at, { sent }] of calls.entries()) {
        answers.push(test.call("POST", "/v1/attest", sent));
        await vi.waitUntil(() => made.length === at + 1, { interval: 1, timeout: 60_000 });
      }
      await all;
      for (const [at, { change }] of calls.entries()) await change?.(made[at]?.item as AttestationItem);
      transactions.mockClear();
      for (const { go } of made) go();
      const settled = await Promise.all(answers);
      expect(transactions, "nothing goes another way").not.toHaveBeenCalled();
      return settled;
    } finally {
      for (const one of [spy, transactions]) one.mockRestore();
    }
  }

  const bodyOf = (agent_slug: string, more: JsonObject = {}): JsonObject => {
    count += 1;
    return { agent_slug, action: `Act ${count}`, inputs_hash: "abc", ...more };
  };
  /** The process knows the log's head, the organization and its agent, as it does after the first attestation. */
  const known = async (slug: string, as = key) => {
    expect((await test.call("POST", "/v1/attest", { key: as, body: bodyOf(slug) })).status).toBe(201);
    return slug;
  };
  const named = (name: string) => `${name}-${++count}`;
  const signedBody = async (as = key) => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const slug = named("signer");
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
    const made = await test.call("POST", "/v1/identity/register", { key: as, body: { slug, public_key } });
    expect(made.status).toBeLessThan(300);
    const body = bodyOf(slug);
    const agent_signature = sign(null, canonicalBytes(signedRequest(body)), privateKey).toString("base64");
    return { ...body, agent_signature };
  };
  const approvedBody = async () => {
    const slug = named("spender");
    const asked = await ask(test, key, { agent_slug: slug });
    await approveUnproven(test, asked.made.request_id);
    const { human_authorization } = (await asked.read()).body;
    return bodyOf(slug, { action: asked.made.action, human_authorization });
  };
  const owner = async () => test.createKey(`${named("owner")}@example.com`);
  const attest = (sent: TestCall) => test.call("POST", "/v1/attest", sent);
  const fault = (status: number, code: string, detail?: string) => ({
    status,
    body: { status, code, ...(detail === undefined ? {} : { detail: expect.stringContaining(detail) }) },
  });

  const cases: Record<string, () => Promise<Case>> = {
    "a key without a row": async () => ({
      sent: { key, body: bodyOf(await known(named("keyless"))) },
      change: (item) => {
        item.caller = { ...item.caller, keyId: "00000000-0000-7000-8000-000000000000" };
      },
      expected: fault(503, "service_unavailable", "could not be looked up"),
    }),
    "a revoked key": async () => {
      const one = await owner();
      return {
        sent: { key: one.key, body: bodyOf(await known(named("revoked"), one.key)) },
        change: () => query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", one.keyId),
        expected: fault(401, "invalid_api_key"),
      };
    },
    "an expired key": async () => {
      const one = await owner();
      return {
        sent: { key: one.key, body: bodyOf(await known(named("expired"), one.key)) },
        change: () => query("UPDATE api_keys SET expires_at = now() WHERE id = $1", one.keyId),
        expected: fault(401, "invalid_api_key"),
      };
    },
    "an organization that is gone": async () => {
      const one = await owner();
      return {
        sent: { key: one.key, body: bodyOf(await known(named("gone"), one.key)) },
        change: () => query("UPDATE organizations SET deleted_at = now() WHERE id = $1", one.organizationId),
        expected: fault(401, "invalid_api_key"),
      };
    },
    "a changed setting": async () => {
      const one = await owner();
      return {
        sent: { key: one.key, body: bodyOf(await known(named("hidden"), one.key)) },
        change: () =>
          query("UPDATE organizations SET default_public = false WHERE id = $1", one.organizationId),
        expected: { status: 201, body: { is_public: false } },
      };
    },
    "an agent that was changed": async () => {
      const slug = await known(named("changed"));
      return {
        sent: { key, body: bodyOf(slug, { code_hash: "sha256:new" }) },
        change: () => query("UPDATE agents SET code_hash = 'sha256:new' WHERE slug = $1", slug),
        expected: { status: 201, body: { code_hash_verified: true } },
      };
    },
    "a lost Idempotency-Key": async () => {
      const name = named("lost");
      return {
        sent: { key, body: bodyOf(await known(named("late"))), headers: { "idempotency-key": name } },
        change: () => query("UPDATE idempotency_keys SET holder = gen_random_uuid() WHERE key = $1", name),
        expected: fault(409, "idempotency_conflict", "another request took over"),
      };
    },
    "a signature that was used meanwhile": async () => {
      const body = await signedBody();
      return {
        sent: { key, body },
        change: async () => expect((await attest({ key, body })).status).toBe(201),
        expected: fault(422, "agent_signature_replayed"),
      };
    },
    "a slug that another organization claimed": async () => {
      const slug = named("taken");
      const other = await owner();
      return {
        sent: { key, body: bodyOf(slug) },
        change: () => known(slug, other.key),
        expected: fault(422, "agent_slug_taken"),
      };
    },
    "a slug that its own organization claimed": async () => {
      const slug = named("claimed");
      return { sent: { key, body: bodyOf(slug) }, change: () => known(slug), expected: { status: 201 } };
    },
    "a slug that its own organization registered": async () => {
      const slug = named("registered");
      const body = { slug, code_hash: "sha256:one" };
      return {
        sent: { key, body: bodyOf(slug, { code_hash: "sha256:one" }) },
        change: async () =>
          expect((await test.call("POST", "/v1/identity/register", { key, body })).status).toBe(201),
        expected: { status: 201, body: { code_hash_verified: true } },
      };
    },
    "an authorization that was used meanwhile": async () => {
      const body = await approvedBody();
      return {
        sent: { key, body },
        change: async () => expect((await attest({ key, body })).status).toBe(201),
        expected: fault(422, "authorization_already_used"),
      };
    },
    "an organization at its limit": async () => {
      const one = await owner();
      const set = "UPDATE organizations SET attestations_per_day = 1 WHERE id = $1";
      await query(set, one.organizationId);
      return {
        sent: { key: one.key, body: bodyOf(await known(named("limited"), one.key)) },
        expected: fault(429, "daily_limit_exceeded", "the organization can record 1 "),
      };
    },
    "an organization whose limit is lowered meanwhile": async () => {
      const one = await owner();
      const slug = await known(named("lowered"), one.key);
      const set = "UPDATE organizations SET attestations_per_day = 1 WHERE id = $1";
      return {
        sent: { key: one.key, body: bodyOf(slug) },
        change: () => query(set, one.organizationId),
        expected: fault(429, "daily_limit_exceeded", "the organization can record 1 "),
      };
    },
    "a key at its limit": async () => {
      const one = await owner();
      const slug = await known(named("key-limited"), one.key);
      return {
        sent: { key: one.key, body: bodyOf(slug) },
        change: () => query("UPDATE api_keys SET attestations_per_day = 1 WHERE id = $1", one.keyId),
        expected: fault(429, "daily_limit_exceeded", "this API key can record 1 "),
      };
    },
  };

  it.each(Object.keys(cases))("%s, alone", async (name) => {
    const { expected, ...one } = await (cases[name] as () => Promise<Case>)();
    const [answer] = await attestTogether([one]);
    expect(answer).toMatchObject(expected);
    if (expected.status === 429) expect(Number(answer?.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it.each(Object.keys(cases))("%s, between good neighbours", async (name) => {
    const { expected, ...one } = await (cases[name] as () => Promise<Case>)();
    const slug = await known(named("neighbour"), neighbour);
    const numbered = (sequence: number) => ({
      sent: { key: neighbour, body: bodyOf(slug, { client: { instance: "i", sequence } }) },
    });
    const answers = await attestTogether([numbered(1), numbered(2), one, numbered(3), numbered(4)]);
    expect(answers[2]).toMatchObject(expected);
    const good = answers.toSpliced(2, 1);
    expect(good.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const indexes = good.map(({ body }) => body.log.index);
    expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
    expect(good.map(({ body }) => body.record.sequence)).toEqual([2, 3, 4, 5]);
    const gaps = good.map(({ body }) => JSON.parse(body.payload).predicate.verdicts.client_gap);
    expect(gaps).toEqual([false, false, false, false]);
  });

  it("puts its owner's next attestations into batches of their own", async () => {
    const one = await owner();
    const slug = await known(named("apart"), one.key);
    const next = async () => {
      const both = [one.key, neighbour].map((as, i) => ({
        sent: { key: as, body: bodyOf(i === 0 ? slug : "beside") },
      }));
      const answers = await attestTogether(both);
      expect(answers.map(({ status }) => status)).toEqual([201, 201]);
      return new Set(answers.map(({ body }) => body.log.checkpoint)).size;
    };
    await known("beside", neighbour);
    expect(await next()).toBe(1);
    const limit = (most: number) =>
      query("UPDATE api_keys SET attestations_per_day = $2 WHERE id = $1", one.keyId, most);
    await limit(0);
    expect((await attest({ key: one.key, body: bodyOf(slug) })).status).toBe(429);
    await limit(1000);
    expect(await next()).toBe(2);
  });

  it("gives what only one can have to the first that is stored, not to the first that came", async () => {
    const one = await owner();
    const { key: second } = await test.createKey(
      (await query("SELECT email FROM api_keys WHERE id = $1", one.keyId))[0]?.["email"] as string,
    );
    const body = await signedBody(second);
    const slug = named("contested");
    await query("UPDATE api_keys SET attestations_per_day = 0 WHERE id = $1", one.keyId);
    const answers = await attestTogether([
      { sent: { key: one.key, body } },
      { sent: { key: second, body } },
      { sent: { key: second, body } },
      { sent: { key: one.key, body: bodyOf(slug) } },
      { sent: { key, body: bodyOf(slug) } },
    ]);
    expect(answers.map(({ status, body: { code } }) => code ?? status)).toEqual([
      "daily_limit_exceeded",
      201,
      "agent_signature_replayed",
      "daily_limit_exceeded",
      201,
    ]);
    expect(answers[2]?.body.detail).toContain(answers[1]?.body.attestation_id);
  });

  it("lets one authorization of a batch back one attestation", async () => {
    const body = await approvedBody();
    const answers = await attestTogether(Array.from({ length: 4 }, () => ({ sent: { key, body } })));
    const codes = answers.map(({ status, body: { code } }) => code ?? status);
    expect(codes).toEqual([201, ...Array(3).fill("authorization_already_used")]);
  });

  it("fills a limit exactly, whoever is refused for something else", async () => {
    const one = await owner();
    const slug = await known(named("filling"), one.key);
    await query("UPDATE organizations SET attestations_per_day = 4 WHERE id = $1", one.organizationId);
    await known(slug, one.key);
    const sent = { key: one.key, body: bodyOf(slug) };
    const name = named("taken");
    const lost = {
      sent: { ...sent, headers: { "idempotency-key": name } },
      change: () => query("UPDATE idempotency_keys SET holder = gen_random_uuid() WHERE key = $1", name),
    };
    const answers = await attestTogether([lost, { sent }, { sent }, { sent }]);
    const codes = answers.map(({ status, body: { code } }) => code ?? status);
    expect(codes).toEqual(["idempotency_conflict", 201, 201, "daily_limit_exceeded"]);
  });

  it("on an approval is what why_unusable says, for a claim too", async () => {
    const body = await approvedBody();
    const id = (body["human_authorization"] as { request: { request_id: string } }).request.request_id;
    const claim = () => test.call("POST", `/v1/authorize/${id}/claim`, { key, body: { run: "one" } });
    const say = (what: string) =>
      query(`CREATE OR REPLACE FUNCTION why_unusable(request authorization_requests) RETURNS text
        LANGUAGE sql VOLATILE AS $$ SELECT ${what} $$`);
    await say("'used'");
    expect((await attest({ key, body })).body.code).toBe("authorization_already_used");
    expect((await claim()).status).toBe(422);
    const [answer] = await attestTogether([{ sent: { key, body: bodyOf(named("fine")) } }]);
    expect(answer?.status).toBe(201);
    await say("NULL::text");
    const [late] = await attestTogether([{ sent: { key, body }, change: () => say("'used'") }]);
    expect(late?.body.code).toBe("authorization_already_used");
    await say("NULL::text");
    expect((await claim()).status).toBe(200);
    expect((await attest({ key, body })).status).toBe(201);
  });
});
