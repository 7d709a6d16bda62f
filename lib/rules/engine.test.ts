/** What Cedar said of a context is remembered; whatever else could change what it says is asked. */
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import type { Cedar } from "#lib/core/rules/cedar";
import type { RuleContext } from "#lib/core/rules/rule-context";
import { rulesetHash } from "#lib/core/rules/rules-schema";
import { describeForRules } from "./describe-request";
import { createRulesEngine } from "./engine";

const context: RuleContext = {
  salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  agent: { slug: "payer", name: null, key_registered: true, code_hash_known: true },
  tool: "pay",
  action: "Pay",
  amount: { value: "10", currency: "EUR", spent_today: "0", total_today: "10" },
  context: { payee: "Example Ltd" },
  requester: null,
  hour_utc: 9,
  weekday_utc: 1,
  uses_today: 0,
  environment: "staging",
};

const permit = (condition: string) => {
  const text = `@id("one") permit (principal, action == Action::"act", resource) when { ${condition} };`;
  return { organizationId: "own", text, hash: rulesetHash(text) };
};

function countEvaluations() {
  const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs") as Cedar;
  let count = 0;
  const statefulIsAuthorized: Cedar["statefulIsAuthorized"] = (call) => {
    count += 1;
    return cedar.statefulIsAuthorized(call);
  };
  const engine = createRulesEngine(() => ({ ...cedar, statefulIsAuthorized }));
  return { engine, evaluations: () => count / 2 };
}

/** Each makes another context, and of a permission for `context` a question to people. */
const others: [string, Partial<RuleContext>][] = [
  [`principal == Agent::"payer"`, { agent: { ...context.agent, slug: "other" } }],
  [`principal.key_registered`, { agent: { ...context.agent, key_registered: false } }],
  [`principal.code_hash_known`, { agent: { ...context.agent, code_hash_known: false } }],
  [`!(principal has name)`, { agent: { ...context.agent, name: "Payer" } }],
  [`resource == Tool::"pay"`, { tool: null }],
  [`context.action == "Pay"`, { action: "Pay twice" }],
  [`context has amount`, { amount: null }],
  [
    `context has amount && context.amount.total_today.lessThanOrEqual(decimal("10.0"))`,
    { amount: { value: "10", currency: "EUR", spent_today: "10", total_today: "20" } },
  ],
  [
    `context.details.hasTag("payee") && context.details.getTag("payee") == "Example Ltd"`,
    { context: { payee: "Somebody Else" } },
  ],
  [`!(context has requester)`, { requester: "ana@example.com" }],
  [`context.hour_utc == 9`, { hour_utc: 10 }],
  [`context.weekday_utc == 1`, { weekday_utc: 7 }],
  [`context.uses_today == 0`, { uses_today: 1 }],
  [`context.environment == "staging"`, { environment: "production" }],
];

describe("rules in this process", () => {
  it("are evaluated once for contexts that differ in their salt alone", async () => {
    const { engine, evaluations } = countEvaluations();
    const rules = permit("true");
    const first = await engine.evaluate(rules, context, "ask");
    expect(first.decision).toBe("allow");
    expect(await engine.evaluate(rules, { ...context, salt: "BBBBBBBBBBBBBBBBBBBBBA==" }, "ask")).toEqual(
      first,
    );
    expect(evaluations()).toBe(1);
  });

  it.each(others)("are evaluated again where this may say something else: %s", async (condition, change) => {
    const { engine, evaluations } = countEvaluations();
    const rules = permit(condition);
    expect((await engine.evaluate(rules, context, "ask")).decision).toBe("allow");
    expect((await engine.evaluate(rules, { ...context, ...change }, "ask")).decision).toBe("ask");
    expect(evaluations()).toBe(2);
  });

  it("are evaluated again after they changed, and with another choice for what nothing permits", async () => {
    const { engine } = countEvaluations();
    expect((await engine.evaluate(permit("true"), context, "ask")).decision).toBe("allow");
    expect((await engine.evaluate(permit("context.hour_utc == 10"), context, "ask")).decision).toBe("ask");
    expect((await engine.evaluate(permit("context.hour_utc == 10"), context, "deny")).decision).toBe("deny");
  });

  it("have every field of the context among these tests", () => {
    const changed = new Set(others.flatMap(([, change]) => Object.keys(change)));
    expect([...changed, "salt"].sort()).toEqual(Object.keys(context).sort());
  });

  it("are evaluated by another instance after one that broke, which remembers no answer of the break", async () => {
    let loads = 0;
    const engine = createRulesEngine(() => {
      loads += 1;
      const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs") as Cedar;
      if (loads > 1) return cedar;
      const statefulIsAuthorized = () => {
        throw new WebAssembly.RuntimeError("unreachable");
      };
      return { ...cedar, statefulIsAuthorized };
    });
    await expect(engine.evaluate(permit("true"), context, "ask")).rejects.toThrow("unreachable");
    expect((await engine.evaluate(permit("true"), context, "ask")).decision).toBe("allow");
    expect(loads).toBe(2);
  });

  it("sees the fraction of totals that are larger than an amount can be", async () => {
    const limit = permit(
      'context has amount && context.amount.total_today.lessThanOrEqual(decimal("100000000000000.0"))',
    );
    const decide = async (value: string) => {
      const request = { ...context, agent_slug: "payer", agent_public_key: null, tool: "pay" };
      const described = describeForRules(
        { ...request, amount: { value, currency: "EUR" }, created_at: "2026-11-21T08:00:00.000Z" },
        { ...context, agentName: null, isCodeKnown: true },
        { uses: 1, spentUnits: 999_999_999_999_999_999n },
      );
      const { decision } = await createRulesEngine().evaluate(limit, described, "ask");
      return [described.amount?.total_today, decision];
    };
    expect(await decide("0.0001")).toEqual(["100000000000000.0000", "allow"]);
    expect(await decide("1")).toEqual(["100000000000000.9999", "ask"]);
  });
});
