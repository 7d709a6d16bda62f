/**
 * Several processes attest and decide at once, in random order, while keys are rotated, a new log begins and processes
 * are killed around the very statement that stores a batch. After each round the log holds and goes on from what it showed;
 * in the end every record is whole, and every answer that anybody got is in it. INTERLEAVING_RUNS and INTERLEAVING_SEED make it run longer, or again.
 */

import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestAnswer } from "#support/app";
import { ask } from "#support/authorizations";
import { expectExit } from "#support/commands";
import type { Moment } from "#support/cut-connections";
import { databaseKinds } from "#support/databases";
import { type Fleet, type Member, startFleet } from "#support/fleet";
import { visitServer } from "#support/load";
import type { RememberedCheckpoint } from "#support/log";
import { run } from "#support/operator-commands";
import { fetchApiKey } from "#support/processes";
import { readHistory } from "#support/stored-history";

const numRuns = Number(process.env["INTERLEAVING_RUNS"] ?? 1);
const seed = Number(process.env["INTERLEAVING_SEED"] ?? randomInt(2 ** 31));
const memberCount = 3;
const whats = ["plain", "private", "numbered", "kept", "spending", "bad key"] as const;
type What = (typeof whats)[number] | "proven";
/**
 * A process is killed at some time, or around the statement that stores a batch: before the database has it, before it is
 * committed, and after that. Or only its connection is cut, or its database is gone for a while.
 */
const events = [
  "kill",
  "kill asked",
  "kill committing",
  "kill committed",
  "cut asked",
  "cut committed",
  "gone",
  "rotate",
  "epoch",
  "deny",
  "approve",
  "prove",
] as const;
type Event = (typeof events)[number];

/** Has each batch say how its statements are planned. */
const noteModes = `
  CREATE TABLE modes (mode text);
  CREATE FUNCTION note_mode() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO modes VALUES (current_setting('plan_cache_mode')); RETURN NULL; END $$;
  CREATE TRIGGER noted AFTER INSERT ON log_leaves FOR EACH STATEMENT EXECUTE FUNCTION note_mode()`;

const operation = fc.record({
  member: fc.nat(memberCount - 1),
  agent: fc.nat(2),
  what: fc.constantFrom(...whats),
});
const round = fc.record({
  member: fc.nat(memberCount - 1),
  delayMs: fc.nat(40),
  operations: fc.array(operation, { minLength: 6, maxLength: 10 }),
});

/** Every event once, in any order, each in the middle of some requests. */
const plan = fc.record({
  order: fc.shuffledSubarray([...events], { minLength: events.length }),
  rounds: fc.array(round, { minLength: events.length, maxLength: events.length }),
});

type ValueOf<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never;
type Operation = Omit<ValueOf<typeof operation>, "what"> & { what: What };

/** 0: the connection broke; 409: the first with this Idempotency-Key has not ended; 503: nothing, or nobody knows. */
const expected: Record<What, number[]> = {
  plain: [201, 503, 0],
  private: [201, 503, 0],
  numbered: [201, 503, 0],
  proven: [201, 503, 0],
  kept: [201, 409, 503, 0],
  spending: [201, 422, 503, 0],
  "bad key": [401, 503, 0],
};

describe.skipIf(!databaseKinds.includes("postgres"))("interleavings of several processes", () => {
  let fleet: Fleet;
  let key: string;
  let count = 0;
  /** Keyed by action, which nothing else has: what was sent, and each answer to it. */
  const answers = new Map<string, TestAnswer[]>();
  let authorization: object = {};
  const numbers = [0, 0, 0];
  const marker = "interleaved";

  const memberAt = (index: number) => fleet.members[index] as Member;

  function bodyOf({ agent, what }: Operation) {
    count += 1;
    const body = { agent_slug: `agent-${agent}`, action: `${marker} ${count}, ${what}`, inputs_hash: "x" };
    switch (what) {
      case "private":
        return { ...body, is_public: false };
      case "proven":
        return { ...body, enable_zk: true };
      case "numbered":
        return { ...body, client: { instance: "i", sequence: ++(numbers[agent] as number) } };
      case "kept":
        return { ...body, action: `${marker}, kept for agent ${agent}` };
      case "spending":
        return {
          ...body,
          agent_slug: "treasurer",
          action: "Pay",
          metadata: { count },
          human_authorization: authorization,
        };
      default:
        return body;
    }
  }

  async function perform(one: Operation): Promise<void> {
    const body = bodyOf(one);
    const isAnswered = answers.get(body.action)?.some(({ status }) => status === 201) ?? false;
    const answer = await memberAt(one.member).call("POST", "/v1/attest", {
      key: one.what === "bad key" ? "cs_test_nobody" : key,
      headers: one.what === "kept" ? { "idempotency-key": `kept-${one.agent}` } : {},
      body,
    });
    expect(expected[one.what], `${one.what}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
    if (one.what === "kept" && isAnswered) expect(answer.status, "the answer is kept").not.toBe(409);
    answers.set(body.action, [...(answers.get(body.action) ?? []), answer]);
  }

  async function decide(member: Member, isApproved: boolean): Promise<void> {
    const asked = await ask(member, key, { agent_slug: "treasurer", action: "Pay" });
    const { status, body } = await (isApproved ? asked.approve("ada") : asked.deny());
    expect(status, JSON.stringify(body)).toBe(200);
    if (isApproved) authorization = (await asked.read(key)).body.human_authorization;
  }

  async function happen(event: Event, index: number, delayMs: number): Promise<void> {
    const member = memberAt(index);
    if (event === "prove") return perform({ member: index, agent: 0, what: "proven" });
    if (event === "rotate")
      return expectExit(await run("keys", ["rotate", "attestation"], fleet.settings), 0);
    if (event === "epoch") return expectExit(await run("log", ["new-epoch", "--anyway"], fleet.settings), 0);
    if (event === "approve" || event === "deny") return decide(member, event === "approve");
    if (event === "kill") {
      await sleep(delayMs);
      return member.kill();
    }
    if (event === "gone") {
      await sleep(delayMs);
      member.wire.cut();
      await sleep(500);
      return member.wire.mend();
    }
    const [what, moment] = event.split(" ") as [string, Moment];
    return member.wire.cutAt(moment, marker, what === "kill" ? () => void member.kill() : undefined);
  }

  /** The whole log, as anyone reads it: it holds, and goes on from where it stood at the last look. */
  let last: { origin: string; checkpoint: RememberedCheckpoint } | undefined;
  async function checkLog(member: Member): Promise<void> {
    const { log, logKey } = await visitServer(await member.ready());
    const whole = await log.check();
    expect(whole, "the log holds").toMatchObject({ ok: true });
    if (last?.origin === logKey.name)
      expect(await log.isPrefix(last.checkpoint, whole.size), "nothing that was shown is gone").toBe(true);
    last = { origin: logKey.name, checkpoint: await log.checkpoint() };
  }

  async function runRound({ member, delayMs, operations }: ValueOf<typeof round>, event: Event) {
    await memberAt(member).ready();
    const happening = happen(event, member, delayMs);
    // Gives the member that it happens to something to store, whatever the plan.
    const own: Operation = { member, agent: 0, what: "numbered" };
    await Promise.all([happening, ...[...operations, own].map(perform)]);
    // A process publishes the keys that it has read within the last second.
    if (event === "epoch") await sleep(1_500);
    await checkLog(memberAt((member + 1) % memberCount));
  }

  async function runPlan({ order, rounds }: ValueOf<typeof plan>): Promise<void> {
    for (const [i, one] of rounds.entries()) await runRound(one, order[i] as Event);
    for (const index of fleet.members.keys()) await perform({ member: index, agent: index, what: "kept" });
  }

  async function checkHistory(): Promise<void> {
    const stored = await readHistory(fleet.settings.DATABASE_URL);
    const byId = new Map(stored.map((one) => [one.id, one]));
    const labels = stored.map(({ action }) => action).filter((action) => action.startsWith(marker));
    expect(labels.length, "nothing is stored twice").toBe(new Set(labels).size);
    for (const [action, given] of answers)
      for (const { status, body } of given) {
        if (status === 401) expect(labels, `${action} was refused`).not.toContain(action);
        if (status !== 201) continue;
        const { record, log } = body;
        const place = {
          agentId: record.agent_id,
          sequence: record.sequence,
          origin: log.origin,
          index: log.index,
        };
        expect(byId.get(body.attestation_id), action).toMatchObject({ payload: body.payload, place });
      }
    for (const label of labels) expect([...answers.keys()], "nobody sent it").toContain(label);
    const spent = stored.flatMap(({ payload }) => payload.match(/"human_authorization_hash":"\w+"/) ?? []);
    expect(spent.length, "an authorization backs one attestation").toBe(new Set(spent).size);
    const sql = postgres(fleet.settings.DATABASE_URL, { max: 1 });
    // No process plans a batch again, be the head in its memory or locked.
    expect([...(await sql`SELECT DISTINCT mode FROM modes`)]).toEqual([{ mode: "force_generic_plan" }]);
    await sql.end();
    // Every leaf is counted, or there is no snapshot.
    for (const word of ["snapshot", "check"]) expectExit(await run("log", [word], fleet.settings), 0);
  }

  beforeAll(async () => {
    // At once on an empty database: they migrate it and make the first keys once.
    fleet = await startFleet(memberCount);
    const sql = postgres(fleet.settings.DATABASE_URL, { max: 1, onnotice: () => {} });
    await sql.unsafe(noteModes);
    await sql.end();
    key = await fetchApiKey(await memberAt(0).ready());
  });
  afterAll(() => fleet?.close());

  it(
    "leave every record whole, with every answer in it",
    async () => {
      console.info(`seed ${seed}`);
      const property = fc.asyncProperty(plan, async (one) => {
        await runPlan(one);
        await checkHistory();
      });
      await fc.assert(property, { numRuns, seed, endOnFailure: true });
    },
    360_000 * numRuns,
  );
});
