/**
 * The database's answers are cut at any byte, its backends ended, its statements cancelled: what is valid is done or
 * answered 503, and never refused. CUTS=300 makes a long run of it; CUTS_SEED repeats one.
 */
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createChance } from "#e2e/faults/chance";
import { checkStoredLogs } from "#lib/log/reading/history";
import { startTestApp, type TestAnswer, type TestApp } from "#support/app";
import { approveUnproven, ask } from "#support/authorizations";
import { layWire, type Wire } from "#support/cut-connections";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { noLimits } from "#support/processes";

const cuts = Number(process.env["CUTS"] ?? 40);
const seed = Number(process.env["CUTS_SEED"] ?? randomInt(2 ** 31));
const chance = createChance(seed);

/** Things that can be done once: each is used in one round. */
const stock = Math.ceil(cuts / 3);
const limits = {
  ...noLimits,
  LIMIT_AUTHORIZE_PER_MINUTE: "1000000",
  LIMIT_AUTHORIZE_PENDING: "1000000",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000000",
  LIMIT_KEY_VERIFY_PER_IP_PER_HOUR: "1000000",
  LIMIT_FEED_PER_MINUTE: "1000000",
  LIMIT_READ_AUTHORIZATION_PER_MINUTE: "1000000",
};

describe.skipIf(!databaseKinds.includes("postgres"))(`answers that are cut (CUTS_SEED=${seed})`, () => {
  const closing: (() => Promise<unknown>)[] = [];
  const keys: string[] = [];
  const approved: Awaited<ReturnType<typeof ask>>[] = [];
  const codes: { email: string; code: string }[] = [];
  let wire: Wire;
  let direct: postgres.Sql;
  let test: TestApp;
  let known: { id: string; request: string; webhook: string };

  const call = (method: string, target: string, body?: object, headers: Record<string, string> = {}) =>
    test.call(method, target, { key: chance.pick(keys), headers, ...(body && { body }) });
  const attest = (slug: string, headers = {}, more: object = {}) =>
    call("POST", "/v1/attest", { agent_slug: slug, action: "act", inputs_hash: "x", ...more }, headers);
  /** In the name of whoever made it. */
  const answered = async (answer: Promise<TestAnswer>) => {
    const { status, body } = await answer;
    expect([200, 201], JSON.stringify(body)).toContain(status);
    return body;
  };

  beforeAll(async () => {
    const database = await createTestDatabase();
    wire = await layWire(database.url);
    direct = postgres(database.url, { max: 1, onnotice: () => {} });
    test = await startTestApp("postgres", { ...limits, DATABASE_URL: wire.url });
    closing.push(
      () => test.close(),
      () => wire.close(),
      () => direct.end(),
      database.drop,
    );
    for (let n = 0; n < 5; n += 1) keys.push((await test.createKey()).key);
    const identity = { slug: "known" };
    await answered(call("POST", "/v1/identity/register", identity));
    known = {
      id: (await answered(attest("known"))).attestation_id,
      request: (await ask(test, keys[0] ?? "")).made.request_id,
      webhook: (
        await answered(
          call("POST", "/v1/webhooks", { url: "https://example.com/", events: ["attestation.created"] }),
        )
      ).id,
    };
    for (let n = 0; n < stock; n += 1) {
      const asked = await ask(test, keys[0] ?? "", { agent_slug: "known" });
      await approveUnproven(test, asked.made.request_id);
      approved.push(asked);
      const email = `person-${n}@example.com`;
      await answered(call("POST", "/v1/keys/request", { email }));
    }
    for (const { to, subject } of (await answered(call("GET", "/dev/mailbox"))).messages)
      codes.push({ email: to, code: subject.slice(0, 6) });
    // A key that is remembered isn't looked up.
    vi.spyOn(test.app.context.callers, "recall").mockReturnValue(null);
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  const attestOnce = async (sent: { key: string; slug: string; more?: object }) =>
    attest(sent.slug, { "idempotency-key": sent.key }, sent.more);
  const lost: Parameters<typeof attestOnce>[0][] = [];
  const attestKept = async (slug: string, more?: object) => {
    const sent = { key: randomUUID(), slug, ...(more && { more }) };
    const answer = await attestOnce(sent);
    if (answer.status === 503) lost.push(sent);
    return answer;
  };
  const operations: Record<string, () => Promise<TestAnswer | null>> = {
    key: () => call("GET", "/v1/keys/info"),
    attest: () => attestKept("known"),
    "attest for a new agent": () => attestKept(`bot-${randomUUID()}`),
    verify: () => call("GET", `/v1/verify/${known.id}`),
    authorize: () => call("POST", "/v1/authorize", { agent_slug: "known", action: "Pay" }),
    "read a request": () => call("GET", `/v1/authorize/${known.request}`),
    list: () => call("GET", "/v1/attestations"),
    "list requests": () => call("GET", "/v1/authorizations"),
    identity: () => call("GET", "/v1/identity/known"),
    agent: () => call("GET", "/v1/agent/known"),
    record: () => call("GET", "/v1/agent/known/record"),
    webhook: () => call("GET", `/v1/webhooks/${known.webhook}`),
    tile: () => call("GET", "/log/tile/0/000.p/1"),
    "sign-in code": async () => {
      const given = codes.pop();
      return given === undefined ? null : call("POST", "/v1/keys/verify", given);
    },
    "claim and use an approval": async () => {
      const asked = approved.pop();
      if (asked === undefined) return null;
      const { agent_slug, action, request_id } = asked.made;
      const claimed = await call("POST", `/v1/authorize/${request_id}/claim`, { run: "one" });
      if (claimed.status !== 200) return claimed;
      const state = await asked.read();
      const { human_authorization } = state.body;
      return state.status === 200 ? attestKept(agent_slug, { action, human_authorization }) : state;
    },
  };
  const names = Object.keys(operations);

  /** One of the things that happen to connections, in the midst of what is asked at once. */
  async function disturb(): Promise<void> {
    const kind = chance.int(10);
    // Small numbers as often as large ones: the driver's own questions are as vulnerable as we are.
    const bytes = 1 + Math.floor(Math.exp(chance.next() * Math.log(20_000)));
    if (kind < 8) wire.cutAfter(bytes, kind < 6 ? "back" : "there", chance.int(2) === 0);
    else {
      await sleep(chance.int(15));
      const end = kind === 8 ? "pg_terminate_backend" : "pg_cancel_backend";
      await direct.unsafe(
        `SELECT ${end}(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
    }
  }

  it(
    "refuse nothing that is valid, and lose nothing that was acknowledged",
    async () => {
      const counts: Record<string, number> = {};
      const refused: string[] = [];
      const made: string[] = [];
      for (let n = 0; n < cuts; n += 1) {
        const disturbed = disturb();
        const chosen = Array.from({ length: 8 }, () => chance.pick(names));
        const asked = chosen.map(async (name) => {
          const answer = await operations[name]?.();
          if (!answer) return;
          const { status, body, headers } = answer;
          counts[status] = (counts[status] ?? 0) + 1;
          const isFine = status === 200 || status === 201;
          if (!isFine && (status !== 503 || headers.get("retry-after") === null))
            refused.push(`${n} ${name}: ${status} ${body.code} ${body.detail}`);
          if (isFine && typeof body.attestation_id === "string") made.push(body.attestation_id);
        });
        await Promise.all([disturbed, ...asked]);
      }
      await wire.mend();
      await vi.waitFor(async () => expect((await test.call("GET", "/v1/health")).status).toBe(200), 60_000);
      expect(refused).toEqual([]);
      // Each of both has happened, or nothing was tested.
      expect(counts[503]).toBeGreaterThan(cuts / 4);
      expect(counts[200]).toBeGreaterThan(cuts);
      for (const sent of lost.slice(0, 100)) {
        const again = await vi.waitFor(async () => {
          const answer = await attestOnce(sent);
          expect(answer.status, JSON.stringify(answer.body)).not.toBe(503);
          return answer;
        }, 60_000);
        expect(again.status, JSON.stringify(again.body)).toBe(201);
      }
      for (const id of made) await answered(call("GET", `/v1/verify/${id}`));
      const [log] = await checkStoredLogs(test.app.context.database.db, null);
      expect(log?.check).toMatchObject({ ok: true });
    },
    360_000 + 2_000 * cuts,
  );
});
