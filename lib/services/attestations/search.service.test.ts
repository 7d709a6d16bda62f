/** GET /v1/search finds what is public by what names it exactly, and never what is private, erased or changed. */
import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { maxSearchResults, type SearchResponse } from "#lib/api/schemas/identity";
import { planSettings } from "#lib/db/postgres/time-limits";
import { startTestApp } from "#support/app";
import { setupTestApp } from "#support/setup-app";
import { feedTexts } from "./feed";
import { searchTexts } from "./list";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("the public search", () => {
  const { test, key } = setupTestApp();
  const attest = async (inputs_hash: string, fields: object = {}) => {
    const body = { agent_slug: "finder", action: "Filed a report", inputs_hash, ...fields };
    const made = await test.call("POST", "/v1/attest", { key, body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body as { attestation_id: string; payload_hash: string; log: { index: number } };
  };
  const search = async (q: string): Promise<SearchResponse> => {
    const { status, body } = await test.call("GET", `/v1/search?q=${encodeURIComponent(q)}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const found = async (q: string) =>
    (await search(q)).results.map(({ attestation_id, matched }) => [attestation_id, matched]);

  it("finds one by id, link, payload hash, inputs hash and log index", async () => {
    const file = sha256("the report");
    const made = await attest(`sha256:${file}`);
    const { attestation_id: id } = made;
    expect(await found(id)).toEqual([[id, "attestation_id"]]);
    expect(await found(`https://example.com/verify/finder/${id}`)).toEqual([[id, "attestation_id"]]);
    expect(await found(made.payload_hash)).toEqual([[id, "payload_hash"]]);
    expect(await found(`sha256:${made.payload_hash.toUpperCase()}`)).toEqual([[id, "payload_hash"]]);
    expect(await found(file)).toEqual([[id, "inputs_hash"]]);
    expect(await found(String(made.log.index))).toEqual([[id, "log_index"]]);
    const { results } = await search(file);
    expect(results[0]).toMatchObject({
      ...{ agent_slug: "finder", action: "Filed a report", log_index: made.log.index },
      inputs_hash: `sha256:${file}`,
    });
  });

  it("finds a bare hash of inputs too, in each report that has it, and no text that isn't one", async () => {
    const file = sha256("shared");
    const first = await attest(file);
    const second = await attest(`sha256:${file}`);
    expect(await found(file)).toEqual([
      [second.attestation_id, "inputs_hash"],
      [first.attestation_id, "inputs_hash"],
    ]);
    // Hashes differ at the end; a payload's other bytes may hold any 64 characters.
    await attest(`md5:${sha256("elsewhere")}`);
    expect(await found(sha256("elsewhere"))).toEqual([]);
    for (const text of ["finder", "Filed a report", "%", "999999"]) expect(await found(text)).toEqual([]);
  });

  it("shows neither private nor erased ones, by any name of theirs", async () => {
    const file = sha256("secret");
    const hidden = await attest(`sha256:${file}`, { is_public: false });
    const erased = await attest(`sha256:${file}`);
    const erase = `/v1/attestations/${erased.attestation_id}/content`;
    expect(await found(file)).toEqual([[erased.attestation_id, "inputs_hash"]]);
    expect((await test.call("DELETE", erase, { key })).status).toBe(200);
    expect(await found(file)).toEqual([]);
    for (const { attestation_id, payload_hash, log } of [hidden, erased])
      for (const text of [attestation_id, payload_hash, String(log.index)])
        expect(await found(text), text).toEqual([]);
  });

  it("does not find a changed row by what it was changed to", async () => {
    const made = await attest(`sha256:${sha256("true")}`);
    const forged = sha256("forged");
    await test.query(
      `UPDATE attestations SET payload_hash = decode($2, 'hex'), authorization_id = 'areq_0123456789abcdefghijkl',
        payload = convert_to(replace(convert_from(payload, 'UTF8'), $3, $2), 'UTF8') WHERE id = $1`,
      [made.attestation_id, forged, sha256("true")],
    );
    expect(await found(forged)).toEqual([]);
    expect(await found("areq_0123456789abcdefghijkl")).toEqual([]);
  });

  it("answers a bounded number, and says that there are more", async () => {
    const file = sha256("often");
    const reports = Array.from({ length: maxSearchResults + 2 }, () => attest(file));
    await Promise.all(reports);
    const answer = await search(file);
    expect([answer.results.length, answer.has_more]).toEqual([maxSearchResults, true]);
    expect((await search(sha256("shared"))).has_more).toBe(false);
  });

  it("refuses no text, too much of it, and what it doesn't know", async () => {
    for (const query of ["", "?q=", `?q=${"a".repeat(501)}`, "?q=1&other=2"])
      expect((await test.call("GET", `/v1/search${query}`)).status, query).toBe(400);
  });

  const explain = async (text: string) => {
    const lines = await test.app.context.database.db.transaction(async (tx) => {
      for (const [name, value] of Object.entries(planSettings))
        await tx.execute(sql.raw(`SET LOCAL ${name} = ${value}`));
      await tx.execute(sql.raw(`PREPARE searched AS ${text}`));
      const values = [...new Set(text.match(/\$\d/g))].fill("NULL").join();
      const explained = await tx.execute(sql.raw(`EXPLAIN EXECUTE searched(${values})`));
      await tx.execute(sql`DEALLOCATE searched`);
      return explained;
    });
    return JSON.stringify(lines);
  };

  const plans = [
    [searchTexts.attestation_id, ["attestations_pkey"], []],
    [searchTexts.hash, ["attestations_payload_hash", "attestations_inputs"], ["Sort"]],
    [searchTexts.request_id, ["attestations_authorization"], []],
    [searchTexts.log_index, ["attestations_log_id_leaf_index_index"], []],
    [feedTexts.amount, ["attestations_amount"], ["Sort Key: a."]],
    [feedTexts.newest, ["attestations_feed"], ["Sort Key: a."]],
  ] as const;

  const expectIndexes = async () => {
    for (const [text, indexes, without] of plans) {
      const plan = await explain(text);
      expect(plan.match(/(?<=Scan (?:Backward )?using )attestations\w+/g), plan).toEqual(indexes);
      for (const word of without) expect(plan).not.toContain(word);
    }
  };

  it("reads no table through, and sorts none", expectIndexes);

  it("does so if all of a few hundred attestations are one agent's, and the statistics say that", async () => {
    const { attestation_id: id } = await attest(sha256("copied"));
    await test.query(
      `INSERT INTO attestations SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'leaf_index', 1000 + n))).*
       FROM attestations a, generate_series(1, 200) n WHERE id = $1`,
      [id],
    );
    await test.query("ANALYZE");
    await expectIndexes();
  });
});

it("answers 503 in words if a search of PostgreSQL waits for longer than a statement may", async () => {
  const test = await startTestApp("postgres");
  const { db } = test.app.context.database;
  try {
    await db.transaction(async (tx) => {
      await tx.execute(sql`LOCK TABLE attestations IN ACCESS EXCLUSIVE MODE`);
      const { status, body } = await test.call("GET", `/v1/search?q=${sha256("held up")}`);
      expect([status, body.code, body.detail]).toEqual([
        ...[503, "service_unavailable"],
        "the database is unreachable; try again shortly",
      ]);
    });
    expect((await test.call("GET", `/v1/search?q=${sha256("held up")}`)).status).toBe(200);
  } finally {
    await test.close();
  }
});
