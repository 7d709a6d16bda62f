/** Every attestation and decision has its number; what is refused or repeated takes none. */
import { afterAll, describe, expect, it } from "vitest";
import type { RecordResponse } from "#lib/api/schemas/record";
import { checkStoredRecords } from "#lib/log/records/record-snapshot";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { walkRecord } from "#lib/verifier/checks/record-checks";
import { ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const settings = { LIMIT_ATTEST_PER_MINUTE: "100000" };

describe("the record of an agent", () => {
  const { test, key } = setupTestApp(anyKind, settings);
  const attest = (agent_slug: string, more: JsonObject = {}, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug, action: "Paid", inputs_hash: "abc", ...more },
      headers,
    });
  const read = async (slug: string, query = ""): Promise<RecordResponse> => {
    const { status, body } = await test.call("GET", `/v1/agent/${slug}/record${query}`);
    expect(status).toBe(200);
    return body;
  };
  const verify = async (id: string) => (await test.call("GET", `/v1/verify/${id}`, { key })).body;
  const recordCheck = async (id: string) =>
    (await verify(id)).checks.find(({ name }: { name: string }) => name === "record");
  const query = async (text: string, values: unknown[] = []) => (await test.query(text, values)).rows;

  /** Recomputes it like an outsider. */
  function follow({ agent_id, entries, head }: RecordResponse) {
    const walk = walkRecord(agent_id);
    for (const { sequence, payload_hash, log_origin, log_index } of entries)
      expect(
        walk.add({
          sequence,
          payloadHash: hexDecode(payload_hash),
          logOrigin: log_origin,
          logIndex: log_index,
        }),
      ).toBeNull();
    expect(walk.end({ ...head, link: hexDecode(head.link) })).toBeNull();
  }

  afterAll(async () => {
    expect(await checkStoredRecords(test.app.context.database.db)).toMatchObject({ problem: null });
  });

  it("numbers attestations and decisions of one agent in one chain, inside what is signed", async () => {
    const first = await attest("chain-bot");
    const denied = await ask(test, key, { agent_slug: "chain-bot", action: "Pay" });
    await denied.deny();
    const approved = await ask(test, key, { agent_slug: "chain-bot", action: "Paid" });
    await approved.approve("ada");
    const { human_authorization } = (await approved.read(key)).body;
    const hidden = await attest("CHAIN-bot", { is_public: false });
    const last = await attest("chain-bot", { human_authorization, enable_zk: true });
    expect([first, hidden, last].map(({ status }) => status)).toEqual([201, 201, 201]);

    const record = await read("chain-bot");
    follow(record);
    expect(
      record.entries.map(({ sequence, kind: what, visibility }) => [sequence, what, visibility]),
    ).toEqual([
      [1, "attestation", "public"],
      [2, "decision", "private"],
      [3, "decision", "private"],
      [4, "attestation", "private"],
      [5, "attestation", "public"],
    ]);
    expect(record.next).toBeNull();
    const signed = [first, hidden, last].map(({ body }) => JSON.parse(body.payload).predicate.record);
    expect(signed).toEqual([first, hidden, last].map(({ body }) => body.record));
    expect(signed.map(({ sequence }) => sequence)).toEqual([1, 4, 5]);
    expect(human_authorization.log.record).toMatchObject({ sequence: 3, agent_id: record.agent_id });
    for (const { body } of [first, hidden, last]) {
      const entry = record.entries[body.record.sequence - 1];
      expect(entry).toMatchObject({ payload_hash: body.payload_hash, log_index: body.log.index });
      expect(entry?.attestation_id).toBe(body.is_public ? body.attestation_id : undefined);
      expect(await recordCheck(body.attestation_id)).toEqual({
        name: "record",
        status: "pass",
        detail: `number ${body.record.sequence} in the agent's record`,
      });
      expect((await verify(body.attestation_id)).valid).toBe(true);
    }
    const denial = record.entries[1];
    const [stored] = await query(
      "SELECT encode(sha256(decision_payload), 'hex') AS hash FROM authorization_requests WHERE leaf_index = $1",
      [denial?.log_index],
    );
    expect(denial?.payload_hash).toBe(stored?.["hash"]);
  });

  it("gives no number to what is refused or sent again, and none twice at once", async () => {
    const headers = { "idempotency-key": "once" };
    const kept = await attest("gap-bot", {}, headers);
    const others = await Promise.all([
      attest("gap-bot", {}, headers),
      attest("gap-bot", { inputs_hash: "" }),
      attest("gap-bot", { human_authorization: {} }),
      ...Array.from({ length: 12 }, (_, n) => attest("gap-bot", { metadata: { n }, enable_zk: n % 5 === 0 })),
      attest("gap-bot", {}, headers),
    ]);
    const made = others.filter(({ status }) => status === 201);
    expect(others.filter(({ status }) => status === 422)).toHaveLength(2);
    expect(made.filter(({ body }) => body.record.sequence === kept.body.record.sequence)).toHaveLength(2);
    const record = await read("gap-bot");
    follow(record);
    const numbers = new Set(made.map(({ body }) => body.record.sequence));
    expect([...numbers].sort((a, b) => a - b)).toEqual(record.entries.map(({ sequence }) => sequence));
    expect(record.head.sequence).toBe(13);
  });

  it("shows pages that join, an empty record, and no record of nobody", async () => {
    const pages = [await read("gap-bot", "?limit=5"), await read("gap-bot", "?from=6&limit=5")];
    expect(pages.map(({ next }) => next)).toEqual([6, 11]);
    const rest = await read("gap-bot", "?from=11&limit=3");
    expect(rest.next).toBeNull();
    follow({ ...rest, entries: [...pages.flatMap(({ entries }) => entries), ...rest.entries] });
    expect(await read("gap-bot", "?from=14")).toMatchObject({ entries: [], next: null });
    await test.call("POST", "/v1/identity/register", { key, body: { slug: "quiet-bot" } });
    const quiet = await read("quiet-bot");
    expect(quiet).toMatchObject({ entries: [], head: { sequence: 0 }, next: null });
    follow(quiet);
    expect((await test.call("GET", "/v1/agent/nobody/record")).status).toBe(404);
    for (const wrong of ["from=0", "limit=1001", "from=x", "more=1"])
      expect((await test.call("GET", `/v1/agent/gap-bot/record?${wrong}`)).status).toBe(400);
  });

  it("keeps the place of what is erased, and shows nothing else of it", async () => {
    const { body } = await attest("gone-bot");
    await attest("gone-bot");
    const erased = await test.call("DELETE", `/v1/attestations/${body.attestation_id}/content`, { key });
    expect(erased.status).toBe(200);
    const record = await read("gone-bot");
    follow(record);
    expect(record.entries.map(({ visibility }) => visibility)).toEqual(["erased", "public"]);
    expect(record.entries[0]?.attestation_id).toBeUndefined();
    expect(await recordCheck(body.attestation_id)).toMatchObject({ reason: "payload_erased" });
  });

  it("shows a changed record as failed, by the neighbours' checks and by the whole", async () => {
    const made = [await attest("torn-bot"), await attest("torn-bot"), await attest("torn-bot")];
    await query("ALTER TABLE log_leaves DISABLE TRIGGER USER");
    const agentId = made[0]?.body.record.agent_id;
    const change = async (text: string, back: string, failing: number[]) => {
      await query(text, [agentId]);
      const checks = await Promise.all(made.map(({ body }) => recordCheck(body.attestation_id)));
      const failed = checks.flatMap(({ status }, i) => (status === "fail" ? [i + 1] : []));
      expect([text, failed]).toEqual([text, failing]);
      expect((await checkStoredRecords(test.app.context.database.db)).problem).not.toBeNull();
      await query(back, [agentId]);
    };
    const leaf = "UPDATE log_leaves SET";
    const zero = "'\\x00'::bytea";
    const second = "WHERE agent_id = $1 AND sequence = 2";
    await change(
      `${leaf} payload_hash = payload_hash || ${zero} ${second}`,
      `${leaf} payload_hash = substring(payload_hash FOR 32) ${second}`,
      [3],
    );
    await change(
      `${leaf} sequence = 20 ${second}`,
      `${leaf} sequence = 2 WHERE agent_id = $1 AND sequence = 20`,
      [1, 2, 3],
    );
    await change(
      "UPDATE agent_records SET sequence = 2 WHERE agent_id = $1",
      "UPDATE agent_records SET sequence = 3 WHERE agent_id = $1",
      [1, 2, 3],
    );
    await query("ALTER TABLE log_leaves ENABLE TRIGGER USER");
    expect(await recordCheck(made[1]?.body.attestation_id)).toMatchObject({ status: "pass" });
  });
});
