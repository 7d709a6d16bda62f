/** Caches Cedar's answer for a context, and asks again about anything else that could change the answer. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Cedar } from "#lib/protocol/policy/cedar";
import { type RuleContext, rulesetHash } from "#lib/protocol/policy/rule-context";
import { describeForRules } from "./describe-request";
import {
  createEvaluator,
  createRulesEngine,
  type EngineOptions,
  type RulesEngine,
  RulesOverdueError,
} from "./engine";

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

const engines: RulesEngine[] = [];
afterAll(() => {
  for (const engine of engines) engine.close();
});

/** And what its processes did. */
function openEngine(options: Partial<EngineOptions> = {}) {
  const seen = { evaluations: 0, errors: 0 };
  const engine = createRulesEngine({
    logger: {
      error: () => {
        seen.errors += 1;
      },
    },
    ...{ taskMs: 120_000, startMs: 120_000 },
    ...options,
    onStart: (child) => {
      child.on("message", (result: object) => {
        if ("outcomes" in result) seen.evaluations += 1;
      });
      options.onStart?.(child);
    },
  });
  engines.push(engine);
  return { engine, seen };
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

describe("rules in a process of their own", () => {
  const { engine, seen } = openEngine();

  it("are evaluated once for contexts that differ in their salt alone", async () => {
    const before = seen.evaluations;
    const rules = permit("true");
    const first = await engine.evaluate(rules, context, "ask");
    expect(first.decision).toBe("allow");
    expect(await engine.evaluate(rules, { ...context, salt: "BBBBBBBBBBBBBBBBBBBBBA==" }, "ask")).toEqual(
      first,
    );
    expect(seen.evaluations - before).toBe(1);
  });

  it.each(others)("are evaluated again where this may say something else: %s", async (condition, change) => {
    const before = seen.evaluations;
    const rules = permit(condition);
    expect((await engine.evaluate(rules, context, "ask")).decision).toBe("allow");
    expect((await engine.evaluate(rules, { ...context, ...change }, "ask")).decision).toBe("ask");
    expect(seen.evaluations - before).toBe(2);
  });

  it("are evaluated again after they changed, and with another choice for what nothing permits", async () => {
    expect((await engine.evaluate(permit("true"), context, "ask")).decision).toBe("allow");
    expect((await engine.evaluate(permit("context.hour_utc == 10"), context, "ask")).decision).toBe("ask");
    expect((await engine.evaluate(permit("context.hour_utc == 10"), context, "deny")).decision).toBe("deny");
  });

  it("have every field of the context among these tests", () => {
    const changed = new Set(others.flatMap(([, change]) => Object.keys(change)));
    expect([...changed, "salt"].sort()).toEqual(Object.keys(context).sort());
  });

  it("sees the fraction of totals that are larger than an amount can be", async () => {
    const limit = permit(
      'context has amount && context.amount.total_today.lessThanOrEqual(decimal("100000000000000.0"))',
    );
    const decide = async (value: string) => {
      const request = { ...context, agent_slug: "payer", agent_public_key: null, tool: "pay" };
      const described = describeForRules(
        { ...request, amount: { value, currency: "EUR" }, created_at: "2026-11-21T08:00:00.000Z" },
        { ...context, agentName: null, isCodeKnown: true, usesTypes: false },
        { uses: 1, spentUnits: 999_999_999_999_999_999n },
      );
      const { decision } = await engine.evaluate(limit, described, "ask");
      return [described.amount?.total_today, decision];
    };
    expect(await decide("0.0001")).toEqual(["100000000000000.0000", "allow"]);
    expect(await decide("1")).toEqual(["100000000000000.9999", "ask"]);
  });
});

describe("a process that ends", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-rules-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Answers no task before it gets the word. */
  const deaf = path.join(folder, "deaf.mjs");
  writeFileSync(deaf, "process.on('message', () => {}); process.on('disconnect', () => process.exit());");

  const refusal = (detail: string) => ({
    errorName: "service_unavailable",
    message: expect.stringContaining(detail),
  });
  const rules = permit("true");

  it("evaluates 40,000 times without an end", async () => {
    const { engine, seen } = openEngine();
    const contexts = Array.from({ length: 20_000 }, (_, uses_today) => ({ ...context, uses_today }));
    const limited = permit("context.uses_today < 10000");
    const outcomes = await engine.compare(limited, contexts, "ask");
    const allowed = outcomes.filter(({ decision }) => decision === "allow");
    expect([outcomes.length, allowed.length, seen.errors]).toEqual([20_000, 10_000, 0]);
  });

  it("is replaced in the midst of an evaluation, which is right", async () => {
    let starts = 0;
    const { engine, seen } = openEngine({
      onStart: (child) => {
        starts += 1;
        if (starts === 1) child.kill("SIGKILL");
      },
    });
    expect((await engine.evaluate(rules, context, "ask")).decision).toBe("allow");
    expect([starts, seen.errors]).toEqual([2, 1]);
  });

  it("allows nothing if the next one ends too, and the call after it works", async () => {
    let starts = 0;
    const { engine } = openEngine({
      onStart: (child) => {
        starts += 1;
        if (starts <= 2) child.kill("SIGKILL");
      },
    });
    await expect(engine.evaluate(rules, context, "ask")).rejects.toMatchObject(refusal("has ended"));
    expect((await engine.evaluate(rules, context, "ask")).decision).toBe("allow");
    expect(starts).toBe(3);
  });

  it("is ended after the deadline, once", async () => {
    const { engine, seen } = openEngine({ program: deaf, taskMs: 200, startMs: 0 });
    await expect(engine.parse(rules.text, "own")).rejects.toMatchObject(refusal("too long"));
    expect(seen.errors).toBe(1);
  });

  it("has a bounded number of tasks that wait, and fewer of one organization", async () => {
    const { engine } = openEngine({ program: deaf, maxWaiting: 4 });
    const refused: unknown[] = [];
    const ask = (organizationId: string) =>
      engine
        .evaluate({ ...rules, organizationId }, context, "ask")
        .catch((error: unknown) => void refused.push(error));
    for (const each of ["one", "one", "one"]) void ask(each);
    await new Promise(setImmediate);
    expect(refused).toMatchObject([refusal("too many rules")]);
    for (const each of ["two", "three", "four", "five"]) void ask(each);
    await new Promise(setImmediate);
    expect(refused).toMatchObject([refusal("too many rules"), refusal("too many rules")]);
  });

  it("keeps a transaction that waits for it no longer than it has patience, and remembers the outcome", async () => {
    let resume = () => {};
    const { engine, seen } = openEngine({
      onStart: (child) => {
        child.kill("SIGSTOP");
        resume = () => child.kill("SIGCONT");
      },
    });
    await expect(engine.evaluate(rules, context, "ask", 50)).rejects.toBeInstanceOf(RulesOverdueError);
    resume();
    await expect.poll(() => seen.evaluations).toBe(1);
    expect((await engine.evaluate(rules, context, "ask", 50)).decision).toBe("allow");
    expect(seen.evaluations).toBe(1);
  });

  it("drops an instance of Cedar that broke, and evaluates with another", () => {
    let loads = 0;
    const evaluate = createEvaluator(() => {
      loads += 1;
      const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs") as Cedar;
      if (loads > 1) return cedar;
      const statefulIsAuthorized = () => {
        throw new WebAssembly.RuntimeError("unreachable");
      };
      return { ...cedar, statefulIsAuthorized };
    });
    const task = { ...rules, contexts: [context], fallback: "ask" } as const;
    expect(evaluate(task)).toEqual({ failure: "RuntimeError: unreachable" });
    expect(evaluate(task)).toMatchObject({ outcomes: [{ decision: "allow" }] });
    expect(loads).toBe(2);
  });
});
