/**
 * Batches of every way to commit, in random order and moments, beside another process, a rotated key and answers that are
 * lost: each entry is stored once, where its receipt says, or refused in words that are true. COMMITS_RUNS and COMMITS_SEED
 * make it run longer, or again.
 */
import { randomInt, randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Database } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { checkStoredLogs } from "#lib/log/reading/history";
import { signStatements } from "#lib/log/signing/log-worker";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { setupTestApp } from "#support/setup-app";
import { lockOpenHead } from "./append";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  SigningKeyChanged,
  type SigningThread,
} from "./entry";
import { checkHead, type ForkGuard, type SignedHead } from "./fork-guard";
import { createLogSequencer } from "./sequencer";

const numRuns = Number(process.env["COMMITS_RUNS"] ?? 60);
const seed = Number(process.env["COMMITS_SEED"] ?? randomInt(2 ** 31));

type Item = LogEntry & { isBad: boolean };
const bad = new AppError("validation_error", "bad");
const locked: LogEntryKind<Item> = {
  kind: "agent_change",
  admit: async (_tx, items) => items.map(({ isBad }) => (isBad ? bad : null)),
};
const direct: LogEntryKind<Item> = {
  kind: "agent_change",
  insertStatements: (placed) => {
    const found = placed.filter(({ item }) => item.isBad);
    const verdicts = found.map(({ receipt }) => ({ leaf_index: receipt.index, verdict: "bad" }));
    const parameters = ["verdicts", JSON.stringify(verdicts)];
    return found.length === 0 ? [] : [{ name: "refuse_batch", parameters }];
  },
  toRejection: () => bad,
};

const rarely = <Value>(...values: Value[]) =>
  fc.constantFrom(...values, ...values.flatMap(() => Array<null>(4).fill(null)));
const step = fc.record({
  kind: fc.constantFrom(direct, locked),
  agent: fc.constantFrom(randomUUID(), randomUUID()),
  count: fc.integer({ min: 1, max: 3 }),
  how: rarely("one is bad", "as a group", "elsewhere"),
  event: rarely("not sent", "cut", "no answer", "rotation", "noted"),
  /** Before the next step; null: until nothing is under way. */
  turns: fc.oneof(fc.nat(6), fc.constant(null)),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
/** After another process has moved the head, no batch goes directly for long. */
const plan = fc.record({
  steps: fc.array(step, { minLength: 3, maxLength: 12 }),
  isAlone: fc.boolean(),
  isSignedInThread: fc.boolean(),
});
type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never;

const faults = new Set<Step["event"]>(["not sent", "cut", "no answer"]);
const isUnknown = ({ message }: Error) => message.includes("may or may not have been recorded");
const isExpected = (error: Error, isBad: boolean, steps: readonly Step[]) =>
  (isBad && error === bad) ||
  (error instanceof SigningKeyChanged && steps.some(({ event }) => event === "rotation")) ||
  (error.message.includes("the database is unreachable") && steps.some(({ event }) => faults.has(event)));

const turn = () => new Promise((next) => setImmediate(next));

/** Takes its time, fails now and then, and is free again at once. */
function openThread(): SigningThread {
  let jobs = 0;
  return {
    least: 2,
    isReady: () => true,
    run: async (job) => {
      for (let turns = 0; turns < 6; turns += 1) await turn();
      jobs += 1;
      if (jobs % 3 === 0) throw new Error("the thread has ended");
      return signStatements(job);
    },
  };
}

/** Fork guard like the real one, with a pause for each note. */
function openGuard(): ForkGuard {
  let kept: SignedHead | null = null;
  const check = (head: SignedHead) => checkHead(kept, head);
  const advance = async (head: SignedHead) => {
    check(head);
    await turn();
    kept = head;
  };
  return { current: () => kept, check, advance };
}

/** `next`: what happens to the next writes. */
function withFaults(database: Database, next: Step["event"][]): Database {
  const failWith = (code: string) => Promise.reject(Object.assign(new Error("a fault"), { code }));
  const meet = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    const fault = next.shift();
    if (fault === "not sent") return failWith("ECONNREFUSED");
    const result = fault === "cut" ? null : await write();
    return fault === undefined ? (result as Result) : failWith("ECONNRESET");
  };
  const transaction = ((work) =>
    meet(() => database.pipelined.transaction(work))) as Database["pipelined"]["transaction"];
  const statement = ((text, use) => {
    const ask = database.statement(text, use);
    return use === "write" ? (...given) => meet(() => ask(...given)) : ask;
  }) as Database["statement"];
  return { ...database, statement, pipelined: { transaction } };
}

const { test } = setupTestApp();

it("stores each entry once, where its receipt says, or refuses it in words that are true", async () => {
  const { database, keys, random, logger } = test.app.context;
  let count = 0;
  /** Under the head's lock, as a rotation is. */
  const turnKey = (from: string, to: string) =>
    database.db.transaction(async (tx) => {
      await lockOpenHead(tx);
      const of = sql`purpose = 'attestation' AND status = ${from}`;
      await tx.execute(sql`UPDATE signing_keys SET status = ${to} WHERE ${of}`);
    });

  async function play({ steps, isAlone, isSignedInThread }: Plan) {
    const [next, noted] = [[] as Step["event"][], [] as Step[]];
    const { signer } = keys;
    const thread = isSignedInThread ? { thread: openThread() } : {};
    const open = (on: Database) =>
      createLogSequencer({ database: on, keys, guard: openGuard(), lock: null, random, logger, ...thread });
    const here = open(withFaults(database, next));
    const elsewhere = isAlone ? here : open(database);
    const drain = () => Promise.all([here.drain(), elsewhere.drain()]);
    const ends = new Map<string, { isBad: boolean; end: Promise<Placed<Item> | Error> }>();
    const submit = ({ kind, agent: agentId, count: many, how }: Step) => {
      const log = how === "elsewhere" ? elsewhere : here;
      const made = Array.from({ length: many }, (_, i) => {
        count += 1;
        const payload = utf8Encode(`entry ${count}`);
        const build = () => ({ signer, payload });
        const isBad = how === "one is bad" && i === 0;
        const item = { build, agentId, owner: agentId, keyId: keys.signer.keyId, isBad };
        return { item, hash: hexEncode(sha256(payload)) };
      });
      const items = made.map(({ item }) => item);
      const group = how === "as a group" ? log.submitAll(kind, items) : null;
      for (const [i, { item, hash }] of made.entries()) {
        const placed = group?.then((all) => all[i] as Placed<Item>) ?? log.submit(kind, item);
        ends.set(hash, { isBad: item.isBad, end: placed.catch((error: Error) => error) });
      }
    };
    here.onCommit(() => noted.splice(0).forEach(submit));
    for (const one of steps) {
      const isRotating = one.event === "rotation";
      if (isRotating) await turnKey("active", "retired");
      if (one.event === "noted") noted.push(one);
      else submit(one);
      if (faults.has(one.event)) next.push(one.event);
      for (let turns = one.turns ?? 0; turns > 0; turns -= 1) await turn();
      if (one.turns === null) await drain();
      if (isRotating) await turnKey("retired", "active");
    }
    await drain();
    next.length = noted.length = 0;
    const wasPlayed = ends.size;
    for (const kind of [direct, locked]) submit({ ...(steps[0] as Step), kind, how: null });
    await drain();
    const after = await Promise.all([...ends.values()].slice(wasPlayed).map(({ end }) => end));
    expect(after.filter((end) => end instanceof Error)).toEqual([]);
    const { rows } = await test.query(
      "SELECT encode(payload_hash, 'hex') AS hash, leaf_index, sequence FROM log_leaves",
      [],
    );
    for (const [hash, { isBad, end: ending }] of ends) {
      const end = await ending;
      const places = rows
        .filter((row) => row["hash"] === hash)
        .map((row) => [row["leaf_index"], row["sequence"]].map(Number));
      if (!(end instanceof Error)) expect(places).toEqual([[end.receipt.index, end.place?.record.sequence]]);
      else if (isUnknown(end)) expect(places.length).toBeLessThanOrEqual(1);
      else expect([isExpected(end, isBad, steps) || end, places]).toEqual([true, []]);
    }
  }
  await fc.assert(fc.asyncProperty(plan, play), { numRuns, seed });
  const logs = await checkStoredLogs(database.db, null);
  expect(logs.map(({ check }) => check.ok)).toEqual([true]);
});

it("sends a batch behind the one under way, whose signatures took a while too", async () => {
  const { database, keys, random, logger } = test.app.context;
  let [underway, most] = [0, 0];
  const statement = ((text, use) => {
    const ask = database.statement(text, use);
    return async (...given) => {
      underway += 1;
      most = Math.max(most, underway);
      const rows = await ask(...given);
      for (let turns = 0; turns < 50; turns += 1) await turn();
      underway -= 1;
      return rows;
    };
  }) as Database["statement"];
  const watched = { ...database, statement };
  const thread = { ...openThread(), least: 1 };
  const log = createLogSequencer({
    ...{ database: watched, keys, guard: openGuard(), lock: null, random, logger, thread },
  });
  const { signer } = keys;
  const agentId = randomUUID();
  const submit = () => {
    const payload = utf8Encode(randomUUID());
    const item = { build: () => ({ signer, payload }), agentId, keyId: signer.keyId, isBad: false };
    return log.submit(direct, item);
  };
  await submit();
  const placed: Promise<Placed<Item>>[] = [];
  for (let turns = 0; turns < 100; turns += 1) {
    placed.push(submit());
    await turn();
  }
  const sequences = (await Promise.all(placed)).map(({ place }) => place?.record.sequence);
  expect(sequences).toEqual(placed.map((_, i) => i + 2));
  expect(most).toBe(2);
});
