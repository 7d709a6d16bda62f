/**
 * Guarantee: rules and standing approvals decide in the order frozen, denied, covered, allowed, asked; each such decision
 * is signed, logged and verifies offline, is never a human's, and no limit is passed however many ask at once.
 */
import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  type AuthorizationState,
  authorizationState,
  authorizeResponse,
  endedGuidance,
  standingGuidance,
} from "#lib/api/schemas/authorization-state";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import { meetsObligations } from "#lib/protocol/policy/evaluate-rules";
import { type RuleContext, ruleContextHash, rulesetHash } from "#lib/protocol/policy/rule-context";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { DecidedOtherwise } from "#lib/services/approvals/request/decide-automatically";
import { readGrantUsage } from "#lib/services/approvals/request/evaluate-policy";
import {
  type AuthorizeInput,
  insertRequest,
  type Made,
  requestAuthorization,
} from "#lib/services/approvals/request/request";
import { RulesOverdueError } from "#lib/services/policies/engine";
import { approveUnproven, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const eur = (value: string) => ({ value, currency: "EUR" });

const allowSmall = `@id("small") permit (principal, action == Action::"act", resource)
  when { context has amount && context.amount.currency == "EUR" && context.amount.total_today.lessThanOrEqual(decimal("100.0")) };`;
const never = '@id("never") forbid (principal, action, resource == Tool::"rm");';

describe("what decides without people", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_AUTHORIZE_PER_MINUTE: "100000" });
  let key: string;
  let email: string;
  let keyId: string;
  let organizationId: string;
  let slug: string;
  let counter = 0;
  beforeEach(async () => {
    counter += 1;
    email = `owner${counter}@example.com`;
    slug = `payer-${counter}`;
    ({ key, keyId, organizationId } = await test.createKey(email));
  });

  const put = async (text: string, more: object = {}) => {
    const { status, body } = await test.call("PUT", "/v1/rules", {
      key,
      body: { text, mode: "enforce", ...more },
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.rules;
  };
  const request = (body: object = {}) =>
    ask(test, key, { agent_slug: slug, action: "Pay invoice 17", ...body });
  const stateOf = async (asked: { read(key?: string): Promise<{ body: AuthorizationState }> }) =>
    (await asked.read(key)).body;
  const grantWith = async (terms: Partial<GrantTerms>, more: object = {}) => {
    const grant = { tools: ["pay"], max_calls: 3, expires_at: inAnHour(), ...terms };
    const asked = await request({ action: "Standing approval", grant, ...more });
    await approveUnproven(test, asked.made.request_id);
    return asked;
  };
  const attest = (state: AuthorizationState, more: object = {}) =>
    test.call("POST", "/v1/attest", {
      key,
      body: {
        agent_slug: slug,
        action: state.action,
        inputs_hash: "sha256:1",
        human_authorization: state.human_authorization,
        ...more,
      },
    });

  describe("rules", () => {
    it("approve at once, signed and logged, as no human's approval", async () => {
      const rules = await put(allowSmall);
      const asked = await request({ amount: eur("20"), tool: "pay", context: { payee: "Example" } });
      expect(authorizeResponse.parse(asked.made)).toEqual(asked.made);
      expect(asked.made).toMatchObject({ status: "approved", notified: 0, denial_reason: null });
      const state = await stateOf(asked);
      expect(authorizationState.parse(state)).toEqual(state);
      expect(state).toMatchObject({
        status: "approved",
        decided_by: { kind: "rule", ruleset_hash: rulesetHash(allowSmall), policy_ids: ["small"] },
        approvals: { given: 0 },
        rules: { version: rules.version, mode: "enforce", decision: "allow", policy_ids: ["small"] },
      });
      expect(Date.parse(state.usable_until ?? "") - Date.parse(state.decided_at ?? "")).toBe(3_600_000);
      const { context, context_hash } = state.rules ?? {};
      expect(ruleContextHash(context as never)).toBe(context_hash);
      expect(state.decided_by).toMatchObject({ context_hash });
      expect(context).toMatchObject({ tool: "pay", context: { payee: "Example" }, uses_today: 0 });
      expect(JSON.stringify(state.human_authorization)).not.toContain("Example");
      const { status, body } = await attest(state);
      expect(status).toBe(201);
      expect(body.human_approval.method).toBe("rule");
      expect(body.human_approved).not.toBe(true);
      expect((await attest(state)).body.code).toBe("authorization_already_used");
    });

    it("count the day's sums in the transaction: 20 at once never pass the limit", async () => {
      await put(allowSmall);
      const all = await Promise.all(
        Array.from({ length: 20 }, () => request({ amount: eur("30"), tool: "pay" })),
      );
      const statuses = all.map(({ made }) => made.status);
      expect(statuses.filter((status) => status === "approved")).toHaveLength(3);
      expect(statuses.filter((status) => status === "pending")).toHaveLength(17);
      const totals = await Promise.all(
        all
          .filter(({ made }) => made.status === "approved")
          .map(
            async (asked) =>
              ((await stateOf(asked)).rules as unknown as { context: { amount: { total_today: string } } })
                .context.amount,
          ),
      );
      expect(totals.map(({ total_today }) => total_today).sort()).toEqual(["30", "60", "90"]);
    });

    it("count what is dated as the request itself or later: a millisecond has room for two", async () => {
      await put(allowSmall);
      const first = await request({ amount: eur("100") });
      await test.query(
        "UPDATE authorization_requests SET decided_at = decided_at + interval '1 minute' WHERE id = $1",
        [first.made.request_id],
      );
      expect((await request({ amount: eur("1") })).made.status).toBe("pending");
    });

    it("count what a standing approval covers, and not the standing approval", async () => {
      await put(allowSmall);
      await grantWith({});
      const usesOf = async () => {
        const { rules } = await stateOf(await request({ tool: "pay" }));
        return rules?.context?.["uses_today"];
      };
      expect([await usesOf(), await usesOf()]).toEqual([0, 1]);
    });

    it("count each agent and currency by itself", async () => {
      await put(allowSmall);
      await request({ amount: eur("100") });
      expect((await request({ amount: eur("1") })).made.status).toBe("pending");
      expect((await request({ amount: eur("1"), agent_slug: `${slug}-2` })).made.status).toBe("approved");
      expect((await request({ amount: { value: "1", currency: "USD" } })).made.status).toBe("pending");
    });

    it("deny at once, with the deciding policies and nothing to use", async () => {
      await put(`${never} ${allowSmall}`);
      const asked = await request({ tool: "rm", amount: eur("1") });
      expect(asked.made).toMatchObject({ status: "denied", denial_reason: "Denied by rule: never" });
      const state = await stateOf(asked);
      expect(state).toMatchObject({
        status: "denied",
        decided_by: { kind: "rule", policy_ids: ["never"] },
        denial_reason: "Denied by rule: never",
      });
      expect(state).not.toHaveProperty("human_authorization");
      expect(state).not.toHaveProperty("denial_reason_note");
      const record = await test.call("GET", `/v1/agent/${slug}/record`);
      expect(record.body.entries.at(-1).kind).toBe("decision");
    });

    it("see an agent's slug as it is registered, however a request spells it", async () => {
      await put(`@id("not-it") forbid (principal == Agent::"${slug}", action, resource);
        @id("all") permit (principal, action == Action::"act", resource);`);
      const asked = [await request(), await request({ agent_slug: slug.toUpperCase() })];
      expect(asked.map(({ made }) => [made.agent_slug, made.denial_reason])).toEqual([
        [slug, "Denied by rule: not-it"],
        [slug, "Denied by rule: not-it"],
      ]);
    });

    it("are not passed by a name that people read alike, and the record evaluates so again", async () => {
      await put(`@id("all") permit (principal, action == Action::"act", resource);
        @id("no") forbid (principal, action, resource)
        when { context.details.hasTag("payee") && context.details.getTag("payee") == "Café" };`);
      const denied = await request({ context: { payee: "Cafe\u0301 " } });
      expect(denied.made.denial_reason).toBe("Denied by rule: no");
      const { rules } = await stateOf(denied);
      expect(rules).toMatchObject({ decision: "deny", context: { texts_as_read: true } });
      expect(ruleContextHash(rules?.context as unknown as RuleContext)).toBe(rules?.context_hash);
      const allowed = await request({ context: { payee: "Cafe " } });
      expect(allowed.made.status).toBe("approved");
      expect((await stateOf(allowed)).rules?.context).not.toHaveProperty("texts_as_read");
    });

    it("ask people where a forbid about details can't see all of them", async () => {
      const forbid = `@id("no") forbid (principal, action, resource)
        when { context.details.hasTag("payee") && context.details.getTag("payee") == "Evil" };`;
      await put(`@id("all") permit (principal, action == Action::"act", resource); ${forbid}`);
      const inputs_hash = `sha256:${"ab".repeat(32)}`;
      const statusOf = async (more: object) =>
        (await request({ context: { payee: "x" }, ...more })).made.status;
      const hidden = { inputs_hash, details: { complete: false } };
      expect(await statusOf({})).toBe("approved");
      expect(await statusOf({ inputs_hash, details: { complete: true } })).toBe("approved");
      expect(await statusOf(hidden)).toBe("pending");
      expect(await statusOf({ inputs_hash }), "of a client that says nothing").toBe("pending");
      expect(await statusOf({ ...hidden, context: { payee: "Evil" } })).toBe("denied");
      await put(`@id("all") permit (principal, action == Action::"act", resource);`);
      expect(await statusOf(hidden)).toBe("approved");
    });

    it("see typed values, which are signed in version 2 alone", async () => {
      await put(`@id("dry") permit (principal, action == Action::"act", resource)
        when { context.details_complete && context.typed.bools.hasTag("dry_run") && context.typed.bools.getTag("dry_run") };`);
      const context = { dry_run: "true", limit: "10" };
      const types = { dry_run: "boolean", limit: "number" };
      const typed = await request({ context, details: { complete: true, types } });
      const { human_authorization: object, rules } = await stateOf(typed);
      expect(object).toMatchObject({ version: 2, request: { details: { complete: true, types: "bn" } } });
      expect(rules).toMatchObject({
        decision: "allow",
        context: { details: { complete: true, types: "bn" } },
      });
      const text = await request({ context, details: { complete: true, types: { dry_run: "string" } } });
      expect(text.made.status).toBe("pending");
      await put(allowSmall);
      const first = await request({ context, amount: eur("1") });
      const plain = await stateOf(first);
      expect(plain.human_authorization).toMatchObject({ version: 1 });
      expect(plain.human_authorization?.["request"]).not.toHaveProperty("details");
      expect(plain.rules?.context).not.toHaveProperty("details");
      const wrong = (details: object) =>
        test.call("POST", "/v1/authorize", {
          key,
          body: { agent_slug: slug, action: "Pay", context, details },
        });
      for (const types of [{ dry_run: "number" }, { limit: "boolean" }, { other: "string" }])
        expect((await wrong({ complete: true, types })).body.errors[0].pointer).toMatch(
          /^\/details\/types\//,
        );
    });

    it("are not passed by whoever is the first to use a slug, in another spelling than they name", async () => {
      await put(`@id("not-it") forbid (principal == Agent::"${slug}", action, resource);
        @id("all") permit (principal, action == Action::"act", resource);`);
      const spelled = slug.toUpperCase();
      const asking = () =>
        test.call("POST", "/v1/authorize", { key, body: { agent_slug: spelled, action: "Pay" } });
      const refusal = { code: "validation_error", errors: [{ pointer: "/agent_slug" }] };
      expect((await asking()).body).toMatchObject(refusal);
      expect((await test.call("GET", `/v1/identity/${slug}`)).status).toBe(404);
      await test.call("POST", "/v1/identity/register", { key, body: { slug: spelled } });
      expect((await asking()).body, "registered so by another way").toMatchObject(refusal);
      await put(`@id("not-it") forbid (principal == Agent::"${spelled}", action, resource);`);
      expect((await asking()).body.denial_reason).toBe("Denied by rule: not-it");
    });

    it("are asked again if the agent was registered in another spelling meanwhile", async () => {
      await request();
      const spelled = slug.toUpperCase();
      const input = { principal: { organizationId, isTest: true }, body: { agent_slug: spelled } };
      const { context } = test.app;
      const inserted = context.database.db.transaction((tx) =>
        insertRequest(
          context,
          tx,
          input as unknown as Parameters<typeof insertRequest>[2],
          { request: { agent_slug: spelled } } as Made,
        ),
      );
      await expect(inserted).rejects.toThrow(DecidedOtherwise);
    });

    it("deny if they can't be evaluated, or nothing permits and that is the choice", async () => {
      await put(
        '@id("broken") permit (principal, action, resource) when { context.uses_today + 9223372036854775807 > 0 };',
      );
      await put(`${allowSmall}`, { fallback: "deny" });
      expect((await request({ amount: eur("1") })).made.status).toBe("approved");
      const denied = await request({ tool: "x" });
      expect(denied.made).toMatchObject({ status: "denied", denial_reason: "No rule permits this." });
      await put(
        '@id("broken") permit (principal, action, resource) when { context.uses_today + 9223372036854775807 > 0 };',
      );
      const broken = await request({ amount: eur("1") });
      expect(broken.made.denial_reason).toMatch(/^A rule could not be evaluated \(broken\): .*overflow/);
    });

    it("demand more people and a higher level, and what the caller asked for stays", async () => {
      await put(
        '@id("two") @approvals("2") @level("orb") permit (principal, action == Action::"act_approved", resource);',
      );
      expect((await request()).made).toMatchObject({
        status: "pending",
        approvals_required: 2,
        required_level: "orb",
        decided_by: null,
      });
      expect((await request({ approvals_required: 3 })).made.approvals_required).toBe(3);
    });

    it("demand people of a group, and ask nobody and say so if it has too few", async () => {
      const owner = await signInPerson(test.app.context, email);
      await saveGroup(test.app.context, owner, { id: null, name: "finance", memberIds: [] });
      await put(
        '@id("two") @approvals("2") @group("finance") permit (principal, action == Action::"act_approved", resource);',
      );
      const body = { agent_slug: slug, action: "Pay" };
      const refused = await test.call("POST", "/v1/authorize", { key, body });
      expect(refused.status).toBe(422);
      expect(refused.body.detail).toBe(
        'required_approvers.0.count: asks for 2 of "finance", which has 0 enrolled approvers; your organization\'s rules ask for them',
      );
    });

    it("refuse what they and the caller together ask for beyond what a request can", async () => {
      const owner = await signInPerson(test.app.context, email);
      const names = ["a", "b", "c", "d", "e", "f"];
      for (const name of names) await saveGroup(test.app.context, owner, { id: null, name, memberIds: [] });
      await put(
        '@id("f") @group("f") @approvals("6") permit (principal, action == Action::"act_approved", resource);',
      );
      const askFor = async (count: number, ...groups: string[]) => {
        const required_approvers = groups.map((group) => ({ group, count }));
        const body = { agent_slug: slug, action: "Pay", required_approvers };
        return (await test.call("POST", "/v1/authorize", { key, body })).body.detail;
      };
      const tooMuch =
        "required_approvers: together with what rules ask for, these are more than 5 groups or 10 people";
      expect(await askFor(1, "a", "b", "c", "d", "e")).toBe(tooMuch);
      expect(await askFor(5, "a")).toBe(tooMuch);
      expect(await askFor(4, "a")).toContain('asks for 4 of "a"');
    });

    it("change nothing while they only log", async () => {
      await put(never, { mode: "log_only" });
      const asked = await request({ tool: "rm" });
      expect(asked.made.status).toBe("pending");
      expect((await stateOf(asked)).rules).toMatchObject({
        mode: "log_only",
        decision: "deny",
        policy_ids: ["never"],
      });
      await put(never, { mode: "off" });
      expect((await stateOf(await request({ tool: "rm" }))).rules).toBeNull();
    });

    it("are read by the owner alone", async () => {
      await put(allowSmall);
      const asked = await request({ amount: eur("1") });
      expect((await asked.read()).body).not.toHaveProperty("rules");
    });

    it("have their say in the transaction, also if they are an organization's first, and came after a look", async () => {
      const { context } = test.app;
      const { db } = context.database;
      let isSaved = false;
      const saveFirst: typeof db.transaction = async (...args) => {
        if (!isSaved) await put(never);
        isSaved = true;
        return db.transaction(...args);
      };
      const meanwhile = Object.assign(Object.create(db) as typeof db, { transaction: saveFirst });
      const input = {
        principal: { kind: "key", organizationId, keyId, isTest: true, ip: "192.0.2.1" },
        body: { agent_slug: slug, action: "Clean up", tool: "rm" },
        hold: null,
      };
      const late = { ...context, database: { ...context.database, db: meanwhile } };
      const made = await requestAuthorization(late, input as unknown as AuthorizeInput);
      expect(isSaved).toBe(true);
      expect(made).toMatchObject({ status: "denied", decided_by: { kind: "rule", policy_ids: ["never"] } });
    });

    it("leave nothing of a request that is refused after it was written", async () => {
      await put('@id("all") permit (principal, action == Action::"act", resource);');
      const { context } = test.app;
      const input = {
        principal: { kind: "key", organizationId, keyId, isTest: true, ip: "192.0.2.1" },
        body: { agent_slug: slug, action: "Pay" },
        hold: {
          organizationId,
          route: "POST /v1/authorize",
          key: "lost",
          holder: uuidV7(Date.now(), context.random(16)),
        },
      };
      const lost = requestAuthorization(context, input as unknown as AuthorizeInput);
      await expect(lost).rejects.toThrow("another request took over");
      const { rows } = await context.database.query(
        "SELECT id FROM authorization_requests WHERE organization_id = $1",
        [organizationId],
      );
      expect(rows).toEqual([]);
      expect((await test.call("GET", `/v1/agent/${slug}`)).status).toBe(404);
    });

    it("decide nothing for a key that was revoked after it was read", async () => {
      await put('@id("all") permit (principal, action == Action::"act", resource);');
      await test.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [keyId]);
      const input = {
        principal: { kind: "key", organizationId, keyId, isTest: true, ip: "192.0.2.1" },
        body: { agent_slug: slug, action: "Pay" },
        hold: null,
      } as unknown as AuthorizeInput;
      await expect(requestAuthorization(test.app.context, input)).rejects.toThrow("the API key is not valid");
    });

    it("answer a repeat with the same key the same", async () => {
      await put(allowSmall);
      const headers = { "idempotency-key": "once" };
      const body = { agent_slug: slug, action: "Pay", amount: eur("60") };
      const post = () => test.call("POST", "/v1/authorize", { key, body, headers });
      const [first, again] = [await post(), await post()];
      expect(again.body).toEqual(first.body);
      expect(first.body.status).toBe("approved");
      expect((await request({ amount: eur("40") })).made.status).toBe("approved");
    });
  });

  describe("a standing approval", () => {
    it("approves what it covers, use by use, and then people are asked again", async () => {
      const terms = { max_amount: "50", max_budget: "60", currency: "EUR" };
      const given = await grantWith(terms);
      const first = await request({ tool: "pay", amount: eur("50") });
      const { human_authorization } = (await stateOf(given)) as unknown as {
        human_authorization: { binding: { request_hash: string } };
      };
      expect((await stateOf(first)).decided_by).toMatchObject({
        kind: "grant",
        request_hash: human_authorization.binding.request_hash,
        use: 1,
        of: 3,
        spent: "50",
        budget: "60",
        currency: "EUR",
      });
      expect((await request({ tool: "pay", amount: eur("50.01") })).made.status).toBe("pending");
      expect((await request({ tool: "pay", amount: eur("11") })).made.status).toBe("pending");
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
      expect((await request({ tool: "pay", amount: { value: "1", currency: "USD" } })).made.status).toBe(
        "pending",
      );
      expect((await request({ tool: "pay", amount: eur("10") })).made.decided_by).toMatchObject({
        use: 2,
        spent: "60",
      });
      expect(await readGrantUsage(test.app.context.database.db, given.made.request_id)).toEqual({
        uses: 2,
        spentUnits: 600_000n,
      });
      const { body } = await attest(await stateOf(first));
      expect(body.human_approval.method).toBe("standing_approval");
    });

    it("decides a call like the last one in its transaction alone, until rules have a say", async () => {
      const given = await grantWith({});
      const executed = vi.spyOn(test.app.context.database.db, "execute");
      const toText = (query: unknown) => new PgDialect().sqlToQuery(query as SQL).sql;
      const listLooks = () =>
        executed.mock.calls.filter(([query]) => toText(query).includes("FROM rule_sets"));
      expect((await request({ tool: "pay" })).made.status).toBe("approved");
      expect(listLooks()).toHaveLength(1);
      expect((await request({ tool: "pay" })).made.status).toBe("approved");
      expect(listLooks()).toHaveLength(1);
      executed.mockRestore();
      await put('@id("no") forbid (principal, action, resource == Tool::"pay");');
      expect((await request({ tool: "pay" })).made.status).toBe("denied");
      expect(await readGrantUsage(test.app.context.database.db, given.made.request_id)).toMatchObject({
        uses: 2,
      });
    });

    it("keeps the log waiting once, not at each call, for rules that take too long", async () => {
      await grantWith({ max_amount: "5", max_budget: "5", currency: "EUR" });
      const { context } = test.app;
      const pay = async (value: string) => (await request({ tool: "pay", amount: eur(value) })).made.status;
      expect(await pay("1")).toBe("approved");
      await put('@id("rm") forbid (principal, action, resource == Tool::"rm");', { fallback: "ask" });
      const { evaluate } = context.rules;
      let isRemembered = false;
      let overdue = 0;
      vi.spyOn(context.rules, "evaluate").mockImplementation(async (...given) => {
        if (given[3] === undefined) isRemembered = true;
        else if (!isRemembered) {
          overdue += 1;
          throw new RulesOverdueError();
        }
        return evaluate(...given);
      });
      for (const value of ["6", "7", "8"]) {
        isRemembered = false;
        expect(await pay(value)).toBe("pending");
      }
      expect(overdue).toBe(1);
      vi.restoreAllMocks();
    });

    it("is never passed by 50 requests at once", async () => {
      await grantWith({ max_calls: 10, max_amount: "5", max_budget: "35", currency: "EUR" });
      const all = await Promise.all(
        Array.from({ length: 50 }, () => request({ tool: "pay", amount: eur("5") })),
      );
      const uses = all.flatMap(({ made: { decided_by } }) =>
        decided_by?.kind === "grant" ? [decided_by] : [],
      );
      expect(uses.map(({ use }) => use).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(uses.map(({ spent }) => Number(spent)).sort((a, b) => a - b)).toEqual([
        5, 10, 15, 20, 25, 30, 35,
      ]);
    });

    it("backs no action itself, and can't be claimed", async () => {
      const given = await grantWith({});
      const refused = await attest(await stateOf(given));
      expect([refused.status, refused.body.code]).toEqual([422, "authorization_mismatch"]);
      const claim = await test.call("POST", `/v1/authorize/${given.made.request_id}/claim`, {
        key,
        body: { run: "r" },
      });
      expect(claim.status).toBe(422);
      expect((await stateOf(given)).guidance).toBe(standingGuidance);
      await test.query(
        `UPDATE authorization_requests SET request = convert_to(replace(convert_from(request, 'UTF8'), $2, $3), 'UTF8')
          WHERE id = $1`,
        [given.made.request_id, given.made.grant?.expires_at, new Date().toISOString()],
      );
      expect((await stateOf(given)).guidance).toBe(endedGuidance);
    });

    it("is suspended by another key or code hash, and goes on when they are back", async () => {
      const identity = (body: object) =>
        test.call("POST", "/v1/identity/register", { key, body: { slug, name: "Payer", ...body } });
      await identity({ code_hash: "sha256:a" });
      await grantWith({});
      await identity({ code_hash: "sha256:b" });
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
      await identity({ code_hash: "sha256:a" });
      expect((await request({ tool: "pay" })).made.status).toBe("approved");
      await identity({ code_hash: "sha256:a", public_key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" });
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
    });

    it("ends when it is taken back, and gives nothing to who asks after", async () => {
      const given = await grantWith({});
      const path = `/v1/authorizations/${given.made.request_id}/revoke`;
      const revoked = await test.call("POST", path, { key, body: { reason: "over" } });
      expect(revoked.status).toBe(200);
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
    });

    it("gives back what lapsed without a claim or an attestation, and keeps what was claimed", async () => {
      await grantWith({ max_calls: 2 });
      const lapsed = await request({ tool: "pay" });
      const claimed = await request({ tool: "pay" });
      await test.call("POST", `/v1/authorize/${claimed.made.request_id}/claim`, { key, body: { run: "r" } });
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
      await test.query(
        "UPDATE authorization_requests SET usable_until = clock_timestamp() - interval '2 minutes' WHERE id = ANY($1)",
        [[lapsed.made.request_id, claimed.made.request_id]],
      );
      expect((await request({ tool: "pay" })).made.decided_by).toMatchObject({ use: 2, of: 2 });
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
    });

    it("ends at its time", async () => {
      const given = await grantWith({});
      await test.query("UPDATE grants SET expires_at = clock_timestamp() WHERE request_id = $1", [
        given.made.request_id,
      ]);
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
    });

    it("ends when its approval does, if that is earlier", async () => {
      const given = await grantWith({}, { usable_for_seconds: 60 });
      expect((await request({ tool: "pay" })).made.status).toBe("approved");
      await test.query(
        "UPDATE grants SET expires_at = expires_at - interval '1 minute' WHERE request_id = $1",
        [given.made.request_id],
      );
      expect((await request({ tool: "pay" })).made.status).toBe("pending");
    });

    it("is what a repeat with the same key gets while it lasts, and no longer", async () => {
      const grant = { tools: ["pay"], max_calls: 3, expires_at: inAnHour() };
      const body = { agent_slug: slug, action: "Standing approval", grant };
      const headers = { "idempotency-key": `standing ${slug}` };
      const post = async () =>
        (await test.call("POST", "/v1/authorize", { key, body, headers })).body.request_id;
      const id = await post();
      await approveUnproven(test, id);
      const change = (text: string) => test.query(text, [id]);
      await change(
        "UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE authorization_id = $1",
      );
      expect(await post()).toBe(id);
      await change("UPDATE grants SET expires_at = now() - interval '1 second' WHERE request_id = $1");
      expect(await post()).not.toBe(id);
    });

    it("is people's alone to give, whatever rules allow", async () => {
      await put('@id("all") permit (principal, action == Action::"act", resource);');
      const asked = await request({
        action: "Standing",
        grant: { tools: ["pay"], max_calls: 1, expires_at: inAnHour() },
      });
      expect(asked.made.status).toBe("pending");
    });

    it("covers nothing that rules deny, or for which they ask more people than gave it", async () => {
      await grantWith({ tools: ["pay", "rm"] });
      await put(`${never} @id("two") @approvals("2") permit (principal, action == Action::"act_approved", resource)
        when { context.details.hasTag("big") };`);
      expect((await request({ tool: "rm" })).made.status).toBe("denied");
      expect((await request({ tool: "pay", context: { big: "yes" } })).made).toMatchObject({
        status: "pending",
        approvals_required: 2,
      });
      expect((await request({ tool: "pay" })).made.decided_by?.kind).toBe("grant");
    });

    it("covers no request that itself asks for more people, a group or a higher level than gave it", async () => {
      const owner = await signInPerson(test.app.context, email);
      await saveGroup(test.app.context, owner, { id: null, name: "finance", memberIds: [] });
      await grantWith({ max_calls: 9 });
      const decidedBy = async (own: object) => (await request({ tool: "pay", ...own })).made.decided_by?.kind;
      expect(await decidedBy({ approvals_required: 2 })).toBeUndefined();
      expect(await decidedBy({ required_level: "orb" })).toBeUndefined();
      const body = { agent_slug: slug, action: "Pay", tool: "pay" };
      const required_approvers = [{ group: "finance", count: 1 }];
      const ofGroup = await test.call("POST", "/v1/authorize", {
        key,
        body: { ...body, required_approvers },
      });
      expect(ofGroup.body.detail).toContain('asks for 1 of "finance"');
      expect(await decidedBy({ approvals_required: 1, required_level: "device" })).toBe("grant");
      await grantWith({ tools: ["send"] }, { required_level: "orb" });
      expect(await decidedBy({ tool: "send", required_level: "orb" })).toBe("grant");
    });

    it("is weaker than a rule that asks for more of one group, whoever else gave it", () => {
      const given = (...counts: number[]) => ({
        required_level: "none" as const,
        approvals_required: 2,
        required_approvers: counts.map((count, i) => ({ group: `g${i}`, count })),
      });
      const two = { approvals: 2, level: "none" as const, groups: [{ group: "g0", count: 2 }] };
      expect(meetsObligations(given(1, 1), two, (name) => name)).toBe(false);
      expect(meetsObligations(given(2), two, (name) => name)).toBe(true);
      expect(meetsObligations(given(2), two, () => "another")).toBe(false);
    });

    it.each([
      ["grant", { max_calls: 1, expires_at: inAnHour() }],
      ["grant", { tools: ["a"], max_calls: 1, max_amount: "5", expires_at: inAnHour() }],
      ["grant.max_calls", { tools: ["a"], max_calls: 10_001, expires_at: inAnHour() }],
      [
        "grant.max_amount",
        {
          tools: ["a"],
          max_calls: 1,
          max_amount: "05",
          max_budget: "5",
          currency: "EUR",
          expires_at: inAnHour(),
        },
      ],
      [
        "grant.max_budget",
        {
          tools: ["a"],
          max_calls: 1,
          max_amount: "5",
          max_budget: "999999999999999",
          currency: "EUR",
          expires_at: inAnHour(),
        },
      ],
      [
        "grant.currency",
        {
          tools: ["a"],
          max_calls: 1,
          max_amount: "5",
          max_budget: "5",
          currency: "eur",
          expires_at: inAnHour(),
        },
      ],
      ["grant.expires_at", { tools: ["a"], max_calls: 1, expires_at: "2020-01-01T00:00:00Z" }],
      [
        "grant.expires_at",
        { tools: ["a"], max_calls: 1, expires_at: new Date(Date.now() + 91 * 86_400_000).toISOString() },
      ],
      ["grant.expires_at", { tools: ["a"], max_calls: 1, expires_at: "2026-13-01T00:00:00Z" }],
    ])("refuses terms: %s", async (field, grant) => {
      const { status, body } = await test.call("POST", "/v1/authorize", {
        key,
        body: { agent_slug: slug, action: "Standing", grant },
      });
      expect([status, body.detail.split(":")[0]]).toEqual([422, field]);
    });
  });
});
