/**
 * Guarantee: a stop reaches whatever was approved before it. What a standing approval covered can't be claimed or attested
 * once that is taken back, over or for other code, and neither can what rules saved later forbid or ask more people for. What
 * a run had claimed before is attested all the same, and says so in its signed bytes.
 */
import { sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { type AuthorizationState, authorizationState } from "#lib/api/schemas/authorization-state";
import { databaseNow } from "#lib/db/shared-clock";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import type { TestAnswer } from "#support/app";
import { type AskedRequest, approveUnproven, ask, openRequest } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const allowAll = '@id("all") permit (principal, action == Action::"act", resource);';
const never = '@id("never") forbid (principal, action, resource == Tool::"pay");';
const two = '@id("two") @approvals("2") permit (principal, action == Action::"act_approved", resource);';
const one = '@id("one") permit (principal, action == Action::"act_approved", resource);';

describe("stops that come later", () => {
  const { test } = setupTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "100000",
    LIMIT_ATTEST_PER_MINUTE: "100000",
  });
  let key: string;
  let slug: string;
  let counter = 0;
  beforeEach(async () => {
    counter += 1;
    slug = `stopped-${counter}`;
    ({ key } = await test.createKey(`stopper${counter}@example.com`));
  });

  const post = (path: string, body: object) => test.call("POST", path, { key, body });
  const put = async (text: string, more: object = {}) => {
    const { status, body } = await test.call("PUT", "/v1/rules", {
      key,
      body: { text, mode: "enforce", ...more },
    });
    expect(status, JSON.stringify(body)).toBe(200);
  };
  const identity = (body: object) => post("/v1/identity/register", { slug, name: "Payer", ...body });
  const query = (text: string, ...values: unknown[]) => test.query(text, values);
  const request = (body: object = {}) =>
    ask(test, key, { agent_slug: slug, action: "Pay invoice 17", tool: "pay", ...body });
  const stateOf = async (asked: AskedRequest): Promise<AuthorizationState> => (await asked.read(key)).body;
  const claim = (asked: AskedRequest, run = "run") =>
    post(`/v1/authorize/${asked.made.request_id}/claim`, { run });
  const bodyOf = ({ action, human_authorization }: AuthorizationState) => ({
    ...{ agent_slug: slug, action, inputs_hash: "sha256:1", human_authorization },
  });
  const attest = (state: AuthorizationState) => post("/v1/attest", bodyOf(state));
  const outcome = ({ status, body }: TestAnswer) => (status < 300 ? status : `${status} ${body.code}`);

  const grantWith = async (terms: Partial<GrantTerms> = {}) => {
    const grant = { tools: ["pay"], max_calls: 100, expires_at: inAnHour(), ...terms };
    const asked = await request({ action: "Standing approval", tool: undefined, grant });
    await approveUnproven(test, asked.made.request_id);
    return asked;
  };
  const approved = async () => {
    const asked = await request();
    await approveUnproven(test, asked.made.request_id);
    return asked;
  };

  /** One that nobody has claimed is refused both ways; one that was claimed is attested, with the warning. */
  async function expectStopped(
    free: AskedRequest,
    claimed: AskedRequest,
    codes: { claim: string; attest: string; reason: string },
  ) {
    const states = [await stateOf(free), await stateOf(claimed)] as const;
    expect(outcome(await claim(free))).toBe(codes.claim);
    expect(outcome(await attest(states[0]))).toBe(codes.attest);
    expect(outcome(await claim(claimed)), "again by the same run").toBe(codes.claim);
    const { status, body } = await attest(states[1]);
    expect(status, JSON.stringify(body)).toBe(201);
    expect(JSON.parse(body.payload).predicate.approval_stopped).toEqual({
      reason: codes.reason,
      claimed_at: states[1].claimed_at,
    });
    const checked = (await test.call("GET", `/v1/verify/${body.attestation_id}`, { key })).body;
    // The people of this test have proven nothing, so what they approved is not authentic, and warns of nothing.
    const isProven = states[0].decided_by?.kind !== "people";
    expect(checked.valid).toBe(isProven);
    expect(checked.warnings.some(({ code }: { code: string }) => code === "approval_stopped")).toBe(isProven);
    expect(outcome(await attest(states[0])), "still").toBe(codes.attest);
  }

  describe("before a claim in the request itself", () => {
    const askAndClaim = (run: string, headers = {}) =>
      test.call("POST", `/v1/authorize?run=${run}`, {
        key,
        headers,
        body: { agent_slug: slug, action: "Pay invoice 17", tool: "pay", inputs_hash: "sha256:1" },
      });

    it("which is otherwise as one that follows it, once", async () => {
      await grantWith();
      const headers = { "idempotency-key": "call-1" };
      const { body: made } = await askAndClaim("first", headers);
      expect(authorizationState.parse(made.claimed)).toEqual(made.claimed);
      expect(made.claimed).toMatchObject({ run: "first", claimed_at: expect.any(String) });
      const claimAgain = (run: string) => post(`/v1/authorize/${made.request_id}/claim`, { run });
      expect((await claimAgain("first")).body).toEqual(made.claimed);
      expect(outcome(await claimAgain("second"))).toBe("409 already_claimed");
      const { claimed: _, ...stored } = made;
      expect((await askAndClaim("second", headers)).body, "a replay claims nothing").toEqual(stored);
      expect((await attest(made.claimed)).status).toBe(201);
      const audited = await query(
        "SELECT action FROM audit_events WHERE subject = $1 ORDER BY id",
        made.request_id,
      );
      expect(audited.rows.map(({ action }) => action)).toEqual(
        expect.arrayContaining([
          "authorization.requested",
          "authorization.claimed",
          "authorization.approved",
        ]),
      );
      await put(allowAll);
      expect((await askAndClaim("third")).body.claimed.run).toBe("third");
      const terms = {
        agent_slug: slug,
        action: "x",
        grant: { tools: ["x"], max_calls: 1, expires_at: inAnHour() },
      };
      expect((await post("/v1/authorize?run=fourth", terms)).body).not.toHaveProperty("claimed");
    });

    it.each([
      ["taken back", (id: string) => post(`/v1/authorizations/${id}/revoke`, {})],
      [
        "over",
        (id: string) => query("UPDATE grants SET expires_at = clock_timestamp() WHERE request_id = $1", id),
      ],
      ["of other code", () => identity({ code_hash: "b" })],
      ["of a frozen agent", () => post(`/v1/identity/${slug}/freeze`, { reason: "stop" })],
      ["forbidden by a rule", () => put(never)],
    ])("which gets none that is %s", async (_, stop) => {
      await identity({ code_hash: "a" });
      const given = await grantWith();
      expect((await askAndClaim("before")).body.claimed).toBeDefined();
      await stop(given.made.request_id);
      const { body } = await askAndClaim("after");
      expect(body).not.toHaveProperty("claimed");
      const read = await test.call("GET", `/v1/authorize/${body.request_id}`, { key });
      expect(read.body).toMatchObject({
        run: null,
        claimed_at: null,
        status: expect.not.stringMatching("approved"),
      });
    });

    it("which is ordered before or after it", async () => {
      const given = await grantWith();
      const sent = Array.from({ length: 20 }, (_, i) => askAndClaim(`run-${i}`));
      await post(`/v1/authorizations/${given.made.request_id}/revoke`, {});
      const { revoked_at } = await stateOf(given);
      for (const { body } of await Promise.all(sent))
        if (body.status === "approved") expect(body.claimed.claimed_at <= (revoked_at ?? "")).toBe(true);
        else expect(body).not.toHaveProperty("claimed");
    });

    it("at a time that a column doesn't round up, past a stop of the same millisecond", async () => {
      const [made] = await test.app.context.database.db
        .select({ isOver: sql<boolean>`bool_and(${databaseNow}::timestamptz(3) <= clock_timestamp())` })
        .from(sql`generate_series(1, 1000)`);
      expect(made).toEqual({ isOver: true });
    });

    it("before a rule that is saved later, by the database's clock, though the process's is behind", async () => {
      await grantWith();
      const { body: made } = await askAndClaim("before");
      const { context } = test.app;
      const { clock } = context;
      context.clock = () => new Date(clock().getTime() - 60_000);
      await put(never);
      context.clock = clock;
      const [rules] = (await query("SELECT max(created_at)::text AS saved_at FROM rule_sets")).rows;
      expect(new Date(String(rules?.["saved_at"])).toISOString() >= made.claimed.claimed_at).toBe(true);
    });
  });

  describe("of a standing approval", () => {
    it("leave none of 20 uses that were fetched before claimable or attestable", async () => {
      const given = await grantWith();
      const uses = await Promise.all(Array.from({ length: 20 }, () => request()));
      const states = await Promise.all(uses.map(stateOf));
      expect(states.map(({ decided_by }) => decided_by?.kind)).toEqual(Array(20).fill("grant"));
      expect((await post(`/v1/authorizations/${given.made.request_id}/revoke`, {})).status).toBe(200);
      const claims = await Promise.all(uses.map((asked) => claim(asked)));
      expect(new Set(claims.map(outcome))).toEqual(new Set(["422 authorization_revoked"]));
      const attested = await Promise.all(states.map(attest));
      expect(new Set(attested.map(outcome))).toEqual(new Set(["422 authorization_revoked"]));
      expect(attested[0]?.body.detail).toContain("is a use of a standing approval that was taken back");
    });

    it("count if it is taken back", async () => {
      const given = await grantWith();
      const [free, claimed] = [await request(), await request()];
      expect((await claim(claimed)).status).toBe(200);
      await post(`/v1/authorizations/${given.made.request_id}/revoke`, {});
      const codes = { claim: "422 authorization_revoked", attest: "422 authorization_revoked" };
      await expectStopped(free, claimed, { ...codes, reason: "grant_revoked" });
    });

    it("count if it is over, though its uses would last longer", async () => {
      const given = await grantWith();
      const [free, claimed] = [await request(), await request()];
      expect((await claim(claimed)).status).toBe(200);
      await query(
        "UPDATE grants SET expires_at = clock_timestamp() WHERE request_id = $1",
        given.made.request_id,
      );
      const codes = { claim: "422 authorization_ended", attest: "422 authorization_ended" };
      await expectStopped(free, claimed, { ...codes, reason: "grant_ended" });
    });

    it("count while the agent's code is another, and no longer", async () => {
      await identity({ code_hash: "sha256:a" });
      await grantWith();
      const [free, claimed] = [await request(), await request()];
      expect((await claim(claimed)).status).toBe(200);
      await identity({ code_hash: "sha256:b" });
      const codes = { claim: "422 authorization_mismatch", attest: "422 authorization_mismatch" };
      await expectStopped(free, claimed, { ...codes, reason: "code_changed" });
      await identity({ code_hash: "sha256:a" });
      expect(outcome(await claim(free))).toBe(200);
      expect(outcome(await attest(await stateOf(free)))).toBe(201);
    });

    it("count for uses only: what people approve themselves stays usable", async () => {
      await identity({ code_hash: "sha256:a" });
      const asked = await approved();
      await identity({ code_hash: "sha256:b" });
      expect(outcome(await claim(asked))).toBe(200);
      const { status, body } = await attest(await stateOf(asked));
      expect([status, JSON.parse(body.payload).predicate.approval_stopped]).toEqual([201, undefined]);
    });
  });

  describe("by a rule", () => {
    const forbidden = {
      claim: "409 rule_forbids",
      attest: "422 authorization_forbidden",
      reason: "rule_forbids",
    };
    const insufficient = {
      ...{ claim: "409 rule_demands_more", attest: "422 authorization_insufficient" },
      reason: "rule_demands_more",
    };

    it("leave what waits undecided, with the rule's name, and a denial is still taken", async () => {
      const asked = await request();
      await put(never);
      await expect(approveUnproven(test, asked.made.request_id)).rejects.toMatchObject({
        errorName: "rule_forbids",
        detail: expect.stringContaining("never"),
      });
      expect((await stateOf(asked)).status).toBe("pending");
      expect((await openRequest(test, asked.made).deny()).status).toBe(200);
    });

    it("leave what waits undecided if more people are needed now", async () => {
      const asked = await request();
      const more = await request({ approvals_required: 2 });
      await put(two);
      await expect(approveUnproven(test, asked.made.request_id)).rejects.toMatchObject({
        errorName: "rule_demands_more",
        detail: expect.stringContaining("two"),
      });
      await approveUnproven(test, more.made.request_id);
      expect((await stateOf(more)).approvals.given).toBe(1);
    });

    it("reach what people approved", async () => {
      const [free, claimed] = [await approved(), await approved()];
      expect((await claim(claimed)).status).toBe(200);
      await put(never);
      expect((await claim(free)).body.detail).toContain("never");
      await expectStopped(free, claimed, forbidden);
    });

    it("reach what a rule allowed", async () => {
      await put(allowAll);
      const [free, claimed] = [await request(), await request()];
      expect(free.made.decided_by?.kind).toBe("rule");
      expect((await claim(claimed)).status).toBe(200);
      await put(`${allowAll}\n${never}`);
      await expectStopped(free, claimed, forbidden);
    });

    it("reach what nobody was asked about if they forbid something of details, which it doesn't show whole", async () => {
      const people = await approved();
      await put(allowAll);
      const inputs_hash = "sha256:1";
      const [free, claimed] = [await request({ inputs_hash }), await request({ inputs_hash })];
      expect((await claim(claimed)).status).toBe(200);
      const hidden = 'context.details.hasTag("to") && context.details.getTag("to") == "x"';
      await put(`${allowAll} @id("to") forbid (principal, action, resource) when { ${hidden} };`);
      await expectStopped(free, claimed, insufficient);
      expect((await claim(people)).status).toBe(200);
    });

    it("reach what a standing approval covered", async () => {
      await grantWith();
      const [free, claimed] = [await request(), await request()];
      expect((await claim(claimed)).status).toBe(200);
      await put(two);
      await expectStopped(free, claimed, insufficient);
    });

    it("ask for two where one approved, and for one where none did", async () => {
      const [free, claimed] = [await approved(), await approved()];
      expect((await claim(claimed)).status).toBe(200);
      await put(two);
      await expectStopped(free, claimed, insufficient);
      await put(allowAll);
      const [allowed, run] = [await request(), await request()];
      expect((await claim(run)).status).toBe(200);
      await put(one);
      await expectStopped(allowed, run, insufficient);
      expect((await claim(allowed)).body.detail).toContain("one");
    });

    it("refuse what no rule permits any more", async () => {
      const asked = await approved();
      await put(one.replace("resource)", 'resource == Tool::"other")'), { fallback: "deny" });
      expect(outcome(await claim(asked))).toBe("409 rule_forbids");
      expect(outcome(await attest(await stateOf(asked)))).toBe("422 authorization_forbidden");
    });

    it("count only while they are enforced", async () => {
      const asked = await approved();
      await put(never);
      expect(outcome(await claim(asked))).toBe("409 rule_forbids");
      await put(never, { mode: "log_only" });
      expect(outcome(await claim(asked))).toBe(200);
      const { status, body } = await attest(await stateOf(asked));
      expect([status, JSON.parse(body.payload).predicate.approval_stopped]).toEqual([201, undefined]);
    });

    it("judge by the facts of the request, so that other rules alone change nothing", async () => {
      const small = `@id("small") permit (principal, action == Action::"act", resource) when { context.uses_today < 2 };`;
      await put(small);
      const first = await request();
      await request();
      await put(`// the same\n${small}`);
      expect(outcome(await claim(first))).toBe(200);
      expect(outcome(await attest(await stateOf(first)))).toBe(201);
    });

    it("win if they are saved after a look, before the using transaction", async () => {
      const { context } = test.app;
      const asked = await approved();
      const state = await stateOf(asked);
      const rules = context.rules as { evaluate: (...args: unknown[]) => unknown };
      const evaluate = rules.evaluate;
      try {
        await put(one);
        let isSaved = false;
        rules.evaluate = async (...args) => {
          const found = await evaluate(...args);
          if (!isSaved) {
            isSaved = true;
            await put(never);
          }
          return found;
        };
        expect(outcome(await attest(state))).toBe("422 authorization_forbidden");
        expect(isSaved).toBe(true);
        await put(one);
        isSaved = false;
        expect(outcome(await claim(asked))).toBe("409 rule_forbids");
        expect(isSaved).toBe(true);
        await put(one);
        const waiting = await request();
        await put(`// again\n${one}`);
        isSaved = false;
        await expect(approveUnproven(test, waiting.made.request_id)).rejects.toMatchObject({
          errorName: "rule_forbids",
        });
        expect(isSaved).toBe(true);
      } finally {
        rules.evaluate = evaluate;
      }
    });
  });
});
