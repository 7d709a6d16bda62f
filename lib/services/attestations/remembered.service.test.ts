/**
 * Answers that are remembered are as good as new ones: each stored column is changed between two reads, in all rows that an
 * answer is made from, and the second one says what a reader says who remembers nothing.
 */
import { generateKeyPairSync } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type CachedResponse, openResponseCache } from "#lib/api/http/response-cache";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";

/** Another value of the type. */
const others: Record<string, (column: string) => string> = {
  bytea: (c) => `coalesce(set_byte(${c}, 0, get_byte(${c}, 0) # 1), '\\x00')`,
  text: (c) => `coalesce(${c} || 'x', 'x')`,
  "text[]": (c) => `array_append(${c}, 'x')`,
  boolean: (c) => `NOT ${c}`,
  integer: (c) => `coalesce(${c}, 0) + 1000`,
  bigint: (c) => `coalesce(${c}, 0) + 1000`,
  uuid: (c) => `md5(coalesce(${c}::text, ''))::uuid`,
  "timestamp(3) with time zone": (c) => `coalesce(${c}, now()) + interval '1 s'`,
};

describe("remembered answers", () => {
  let test: TestApp;
  let key: string;
  const slug = "remembered";
  let ids: string[];
  beforeAll(async () => {
    const pair = generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" });
    const public_key = pair.subarray(-32).toString("base64");
    test = await startTestApp(anyKind, { LIMIT_FEED_PER_MINUTE: "10000", LIMIT_VERIFY_PER_MINUTE: "10000" });
    ({ key } = await test.createKey());
    await test.call("POST", "/v1/identity/register", { key, body: { slug, tools: ["a"], public_key } });
    ids = [];
    for (let i = 0; i < 3; i += 1) ids.push((await attest()).attestation_id);
    // Within the second another checkpoint would become the one that readers get.
    await force("UPDATE log_checkpoints SET created_at = created_at - interval '10 s'");
  });
  afterAll(() => test.close());

  const attest = async (fields: object = {}) => {
    const body = {
      agent_slug: slug,
      action: `Paid ${ids.length}`,
      inputs_hash: "x",
      tools_used: ["a"],
      ...fields,
    };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  /** Foreign keys and triggers are no part of what whoever changes a row has to keep. */
  const force = (...statements: string[]) =>
    test.app.context.database.db.transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      for (const statement of statements) await tx.execute(sql.raw(statement));
    });
  const run = (text: string) => test.query(text, []);
  /** Read at once: the first attestation by a statement for it alone, the others by one for both. */
  const readPaths = () => [...ids.slice(0, 3).map((id) => `/v1/verify/${id}`), `/v1/agent/${slug}`];
  const read = async () => {
    const answers = await Promise.all(readPaths().map((path) => test.call("GET", path)));
    return answers.map(({ status, body }) => ({ status, ...body, instance: null, request_id: null }));
  };
  const readAnew = async () => {
    test.app.context.answers.clear();
    return read();
  };

  const rows: [string, () => string][] = [
    ["attestations", () => `id = '${ids[1]}'`],
    ["agents", () => `slug = '${slug}'`],
    ["agent_keys", () => "true"],
    ["tool_manifests", () => "true"],
    ["agent_records", () => "true"],
    ["log_leaves", () => `leaf_index = (SELECT leaf_index FROM attestations WHERE id = '${ids[1]}')`],
    ["log_leaves", () => `leaf_index = (SELECT leaf_index FROM attestations WHERE id = '${ids[0]}')`],
    ["log_leaves", () => `leaf_index = (SELECT leaf_index FROM attestations WHERE id = '${ids[2]}')`],
    ["logs", () => "true"],
    ["log_checkpoints", () => "true"],
    ["log_tiles", () => "true"],
  ];

  it.each(rows)("notice a change of each column of %s", async (table, where) => {
    const { database } = test.app.context;
    const { rows: columns } = await database.query(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped`,
      [],
    );
    await read();
    const before = await read();
    const remembered = vi.spyOn(test.app.context.answers, "keep").mockClear();
    expect([await read(), remembered.mock.calls]).toEqual([before, []]);
    let changed = 0;
    for (const { name, type } of columns as { name: string; type: string }[]) {
      const other = others[type]?.(name);
      // Published keys are read with the log that they are of, and once a second.
      const isOfKeys = table === "logs" && ["id", "origin"].includes(name);
      if (other === undefined) throw new Error(`no other value of ${type}`);
      const isRefused = await force(
        `CREATE TABLE snapshot AS SELECT * FROM ${table}`,
        `UPDATE ${table} SET ${name} = ${other} WHERE ${where()}`,
      ).then(
        () => false,
        // A constraint that nobody who writes SQL gets around.
        (error: { cause: { code: string } }) => /^23/.test(error.cause.code),
      );
      if (isRefused) continue;
      if (isOfKeys) await sleep(1_100);
      const noticed = await read();
      expect([name, noticed]).toEqual([name, await readAnew()]);
      if (JSON.stringify(noticed) !== JSON.stringify(before)) changed += 1;
      await force(
        `DELETE FROM ${table}`,
        `INSERT INTO ${table} SELECT * FROM snapshot`,
        "DROP TABLE snapshot",
      );
      if (isOfKeys) await sleep(1_100);
      await read();
      expect([name, await read()]).toEqual([name, before]);
    }
    expect(changed).toBeGreaterThan(0);
  });

  it("are of the newest checkpoint of the last whole second, or of the head if that does not cover them", async () => {
    const earlier = await attest();
    const later = await attest();
    const age = (size: number, seconds: number) =>
      force(
        `UPDATE log_checkpoints SET created_at = now() - interval '${seconds} s' WHERE size ${seconds > 0 ? "<=" : ">"} ${size}`,
      );
    const sizeOf = async ({ attestation_id }: { attestation_id: string }) =>
      (await test.call("GET", `/v1/verify/${attestation_id}`)).body.log.tree_size;
    const { tree_size: before } = earlier.log;
    await age(before, 10);
    await age(before, -100);
    expect([await sizeOf(earlier), await sizeOf(later)]).toEqual([before, later.log.tree_size]);
    await age(later.log.tree_size, 10);
    expect(await sizeOf(earlier)).toBe(later.log.tree_size);
  });

  it("notice a key that was revoked, or is another one", async () => {
    const { rows: stored } = await run("SELECT public_key FROM signing_keys WHERE purpose = 'attestation'");
    const before = await read();
    const changes: [string, string][] = [
      ["status = 'revoked'", "status = 'active'"],
      ["valid_from_index = 1000", "valid_from_index = 0"],
      ["public_key = sha256(public_key)", "public_key = $1"],
    ];
    const change = (assignment: string, values: unknown[] = []) =>
      test.query(`UPDATE signing_keys SET ${assignment} WHERE purpose = 'attestation'`, values);
    for (const [to, back] of changes) {
      await change(to);
      await expect.poll(read).not.toEqual(before);
      expect(await read()).toEqual(await readAnew());
      await change(back, back.includes("$1") ? [stored[0]?.["public_key"]] : []);
      await expect.poll(read).toEqual(before);
    }
  });

  it("are gone in every process when the content is erased", async () => {
    const { answers, database } = test.app.context;
    const other = await openResponseCache(database);
    const [id = ""] = ids;
    const path = `/v1/verify/${id}`;
    const has = () => [answers, other].map((one) => one.get("verification", id) !== undefined);
    const begun = other.begin();
    await test.call("GET", path);
    other.keep(begun, "verification", id, answers.get("verification", id) as CachedResponse);
    expect(has()).toEqual([true, true]);
    const late = [answers.begin(), other.begin()];
    const remembered = answers.get("verification", id) as CachedResponse;
    await test.call("DELETE", `/v1/attestations/${id}/content`, { key });
    await expect.poll(has).toEqual([false, false]);
    // A reader that began before the erasure caches nothing after it.
    answers.keep(late[0] ?? 0, "verification", id, remembered);
    other.keep(late[1] ?? 0, "verification", id, remembered);
    expect(has()).toEqual([false, false]);
    expect((await test.call("GET", path)).body).toMatchObject({ status: "erased", payload: null });
  });
});
