/** Guarantee: one attestation stored alone is judged and stored as the same one in lists, whatever was changed meanwhile. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { type SQL, sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Executor, queryRows, type Statement } from "#lib/db/client";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { startTestApp, type TestApp } from "#support/app";
import { databaseKinds } from "#support/databases";

const tables = (
  "logs log_tiles log_checkpoints log_leaves agent_records agents agent_keys attestations daily_usage " +
  "daily_key_usage idempotency_keys"
).split(" ");

/** Changes between the making of an attestation and its storing. `$1` and `$2`: its id, and the hash of its signature. */
const changes: Record<string, string> = {
  "a frozen agent": "UPDATE agents SET frozen_at = now()",
  "another agent": "UPDATE agents SET name = 'changed'",
  "a slug of somebody else": "UPDATE agents SET slug_key = 'taken' || slug_key",
  "a revoked key": "UPDATE api_keys SET revoked_at = now()",
  "a key that is over": "UPDATE api_keys SET expires_at = now()",
  "a key that is over later": "UPDATE api_keys SET expires_at = now() + interval '1 hour'",
  "a key's limit reached": "UPDATE api_keys SET attestations_per_day = 1",
  "a key's limit not reached": "UPDATE api_keys SET attestations_per_day = 1000",
  "an organization's limit reached": "UPDATE daily_usage SET attestations = 100000",
  "an organization's limit almost reached": "UPDATE daily_usage SET attestations = 99999",
  "another limit of the organization": "UPDATE organizations SET attestations_per_day = 7",
  "the same limit of the organization": "UPDATE organizations SET attestations_per_day = 100000",
  "other visibility": "UPDATE organizations SET default_public = NOT default_public",
  "a deleted organization": "UPDATE organizations SET deleted_at = now()",
  "an Idempotency-Key of somebody else": "UPDATE idempotency_keys SET holder = gen_random_uuid()",
  "an Idempotency-Key that is gone": "DELETE FROM idempotency_keys",
  "a replayed signature": "UPDATE attestations SET agent_signature_hash = $2 WHERE leaf_index = $3",
  "an id that is taken": "UPDATE attestations SET id = $1 WHERE leaf_index = $3",
  "a proven key": "UPDATE agent_keys SET proven_at = now()",
  "a key of the log that was replaced":
    "UPDATE signing_keys SET status = 'retired' WHERE purpose = 'attestation'",
  "a closed log": "UPDATE logs SET closed_at = now()",
  "a longer log": "UPDATE logs SET size = size + 1",
  "another history": "UPDATE logs SET root = sha256(root)",
  "a changed tile": "UPDATE log_tiles SET hashes = sha256(hashes) WHERE level = 0",
  "a tile that is gone": "DELETE FROM log_tiles",
  "a record that has grown": "UPDATE agent_records SET sequence = sequence + 1",
  "a record that is gone": "DELETE FROM agent_records",
};
const refusals = [
  ...["23505", "head", "key_limit", "organization_limit", "ended_key", "outdated", "record", "signing_key"],
  ...["stored", "tile"],
];

interface Stored {
  refused: string | null;
  rows: string | null;
}

/** Undoes what `work` has done. */
async function undone<Result>(tx: Executor, work: (within: Executor) => Promise<Result>): Promise<Result> {
  const undo = new Error("undone");
  let result: Result | undefined;
  await tx
    .transaction(async (within) => {
      result = await work(within);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return result as Result;
}

async function store(tx: Executor, call: SQL): Promise<Stored> {
  const stored: Stored = { refused: null, rows: null };
  await undone(tx, async (within) => {
    try {
      await within.transaction(async (inner) => void (await inner.execute(call)));
    } catch (error) {
      const { message, detail, code } = (error as Error).cause as Error & { detail: string; code: string };
      stored.refused = JSON.stringify([code, message, detail]);
      return;
    }
    const contents = tables.map(
      (name) =>
        sql`(SELECT jsonb_agg(to_jsonb(kept) ORDER BY to_jsonb(kept)) FROM ${sql.identifier(name)} AS kept)`,
    );
    const [read] = await queryRows<{ rows: string }>(
      within,
      sql`SELECT jsonb_build_array(${sql.join(contents, sql`, `)})::text AS rows`,
    );
    stored.rows = read?.rows ?? null;
  });
  return stored;
}

describe.each(databaseKinds)("one attestation alone (%s)", (kind) => {
  let test: TestApp;
  let key: string;
  let named: string[];
  const pair = generateKeyPairSync("ed25519");
  const slug = "alone";
  const send = (body: JsonObject, headers: Record<string, string> = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: slug, action: "Pay", inputs_hash: "x", ...body },
      headers,
    });
  beforeAll(async () => {
    test = await startTestApp(kind, { LIMIT_ATTEST_PER_DAY: "100000" });
    ({ key } = await test.createKey());
    const public_key_pem = pair.publicKey.export({ format: "pem", type: "spki" }).toString();
    const agent = { slug, public_key_pem };
    expect((await test.call("POST", "/v1/identity/register", { key, body: agent })).status).toBe(201);
    expect((await send({})).status).toBe(201);
    await defineByLists(test.app.context.database.db);
  });
  afterAll(() => test.close());

  /** `store_by_lists` has the parameters of `append_attestation`, and gives them to the functions for many. */
  async function defineByLists(db: Executor): Promise<void> {
    const [found] = await queryRows<{ parameters: string; source: string }>(
      db,
      sql`SELECT pg_get_function_arguments(oid) AS parameters, prosrc AS source FROM pg_proc
        WHERE proname = 'append_attestation'`,
    );
    const [judged] = /RETURN store_attestations\(.*?\);/s.exec(found?.source ?? "") ?? [];
    if (found === undefined || judged === undefined) throw new Error("append_attestation has another form");
    named = found.parameters.split(", ").map((one) => one.split(" ")[0] ?? "");
    await db.execute(
      sql.raw(`CREATE FUNCTION store_by_lists(${found.parameters}) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        PERFORM append_leaves(of_log, old_size, old_root, log_key, attestation_key, zk_key, new_size, new_root, new_note,
          ARRAY[leaf_kind], ARRAY[hashed_leaf], ARRAY[leaf], ARRAY[hash_of_payload], ARRAY[recorded], ARRAY[its_sequence],
          ARRAY[previous_link], ARRAY[of_level], ARRAY[of_tile], ARRAY[held], ARRAY[added], ARRAY[grown],
          ARRAY[grown_from], ARRAY[grown_to], ARRAY[new_link], ARRAY[more_listed], ARRAY[new_salt]);
        ${judged} END $$`),
    );
  }

  /** Judges the parameters of the next attestation, before it is stored. */
  async function judgeNext(
    judge: (parameters: ReadonlyMap<string, SQL>) => Promise<void>,
    body: JsonObject,
    headers: Record<string, string>,
  ): Promise<void> {
    const { database } = test.app.context;
    const make = database.statement;
    const judged: Promise<void>[] = [];
    vi.spyOn(database, "statement").mockImplementation(((text: string, use?: "read" | "write") => {
      const run = make<object>(text, use);
      const [, names] = / FROM append_attestation\((.*)\)$/.exec(text) ?? [];
      if (names === undefined) return run;
      return async (...given: unknown[]) => {
        const values = names.split(", ").map((name) => sql`${sql.param(given[Number(name.slice(1)) - 1])}`);
        judged.push(judge(new Map(values.map((value, at) => [named[at] ?? "", value]))));
        await Promise.allSettled(judged);
        return run(...given);
      };
    }) as <Row extends object>(text: string, use?: "read" | "write") => Statement<Row>);
    const { status } = await send(body, headers);
    vi.restoreAllMocks();
    await Promise.all(judged);
    expect([status, judged.length]).toEqual([201, 1]);
  }

  it.each(["plain", "signed", "with a key", "signed, with a key"])(
    "%s",
    { timeout: 120_000 },
    async (form) => {
      const unsigned = { agent_slug: slug, action: "Pay", inputs_hash: "x", metadata: { nonce: form } };
      const agent_signature = sign(null, canonicalBytes(signedRequest(unsigned)), pair.privateKey);
      const body: JsonObject = {
        ...unsigned,
        ...(form.includes("signed") && { agent_signature: agent_signature.toString("base64") }),
      };
      const headers: Record<string, string> = form.includes("key") ? { "idempotency-key": randomUUID() } : {};
      const { db } = test.app.context.database;
      const seen = new Set<string>();
      await judgeNext(
        async (parameters) => {
          const [id, hash, place] = ["its_id", "signature_hash", "place"].map((name) => parameters.get(name));
          const values = sql.join([...parameters.values()], sql`, `);
          const toSql = (text: string) =>
            sql.join(
              text
                .split(/(\$\d)/)
                .map((part) => ({ $1: id, $2: hash, $3: sql`${place} - 1` })[part] ?? sql.raw(part)),
            );
          const compare = async (names: readonly string[]) => {
            const [alone, lists] = await undone(db, async (tx) => {
              for (const name of names) await tx.execute(toSql(changes[name] ?? ""));
              return [
                await store(tx, sql`SELECT append_attestation(${values})`),
                await store(tx, sql`SELECT store_by_lists(${values})`),
              ];
            });
            expect(alone, names.join(", ")).toEqual(lists);
            const [code, message, detail] = JSON.parse(alone?.refused ?? '["stored"]') as string[];
            if (code !== "CS001") seen.add(code ?? "");
            else if (message !== "verdicts") seen.add(message ?? "");
            else for (const one of JSON.parse(detail ?? "") as { verdict: string }[]) seen.add(one.verdict);
          };
          for (const name of ["", ...Object.keys(changes)]) await compare(name === "" ? [] : [name]);
          const drawn = fc.uniqueArray(fc.constantFrom(...Object.keys(changes)), {
            minLength: 2,
            maxLength: 4,
          });
          await fc.assert(fc.asyncProperty(drawn, compare), { numRuns: 40 });
        },
        body,
        headers,
      );
      const more = [form.includes("key") && "taken_over", form.includes("signed") && "signature_replayed"];
      expect([...seen].sort()).toEqual([...refusals, ...more.filter((one) => one !== false)].sort());
    },
  );
});
