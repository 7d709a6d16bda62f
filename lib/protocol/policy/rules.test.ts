import cedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import { describe, expect, it } from "vitest";
import type { Cedar } from "./cedar";
import {
  evaluateRules,
  evaluateStrictly,
  prepareRules,
  prepareStrictly,
  type RulesFallback,
} from "./evaluate-rules";
import { type ParsedRules, parseRules, type RulesProblem } from "./parse-rules";
import { isRulesetHash, type RuleContext, readHours, ruleContextHash, rulesetHash } from "./rule-context";
import { rulesTemplates } from "./templates";

const cedar = cedarWasm as unknown as Cedar;

const request: RuleContext = {
  salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  agent: { slug: "invoice-bot", name: null, key_registered: true, code_hash_known: false },
  tool: "pay",
  action: "Pay invoice 17",
  amount: { value: "20", currency: "EUR", spent_today: "0", total_today: "20" },
  context: { payee: "Example Ltd" },
  requester: null,
  hour_utc: 9,
  weekday_utc: 1,
  uses_today: 0,
  environment: "production",
};

function parsed(text: string): ParsedRules {
  const answer = parseRules(cedar, text);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  return answer.rules;
}

function problems(text: string): RulesProblem[] {
  const answer = parseRules(cedar, text);
  return answer.ok ? [] : answer.problems;
}

function decide(text: string, context: Partial<RuleContext> = {}, fallback: RulesFallback = "ask") {
  const rules = parsed(text);
  prepareRules(cedar, "test", rules);
  return evaluateRules(cedar, "test", rules, { ...request, ...context }, fallback);
}

const permit = (id: string, action: string, when = "true") =>
  `@id("${id}") permit (principal, action == Action::"${action}", resource) when { ${when} };`;

describe("what rules decide", () => {
  it("allows what may go without asking, and names the policy", () => {
    expect(decide(permit("a", "act"))).toMatchObject({ decision: "allow", policy_ids: ["a"] });
  });

  const small = `@id("small-amounts") permit (principal == Agent::"invoice-bot", action == Action::"act", resource == Tool::"pay")
    when { context has amount && context.amount.currency == "EUR" && // by piece && by day
      context.amount.value.lessThan(decimal("100.00")) && context.amount.total_today.lessThan(decimal("500.00")) }
    unless { context.environment == "staging" || context.hour_utc > 20 };`;
  const lessThan = (name: string, limit: string) =>
    `when { context.amount.${name}.lessThan(decimal("${limit}")) }`;
  it.each<[string, Partial<RuleContext>, string[]]>([
    ["no amount", { amount: null }, ["when { context has amount }"]],
    [
      "another currency",
      { amount: { value: "20", currency: "USD", spent_today: "0", total_today: "20" } },
      ['when { context.amount.currency == "EUR" }'],
    ],
    [
      "too much at once",
      { amount: { value: "100", currency: "EUR", spent_today: "0", total_today: "100" } },
      [lessThan("value", "100.00")],
    ],
    [
      "too much in a day",
      { amount: { value: "20", currency: "EUR", spent_today: "480", total_today: "500" } },
      [lessThan("total_today", "500.00")],
    ],
    ["late", { hour_utc: 21 }, ['unless { context.environment == "staging" || context.hour_utc > 20 }']],
    ["another tool", { tool: "read" }, []],
    ["nothing", {}, []],
  ])("names the first condition that a request didn't meet: %s", (_, context, conditions) => {
    const rules = parsed(small);
    prepareStrictly(cedar, "unmet", rules);
    const { decision, unmet } = evaluateStrictly(cedar, "unmet", rules, { ...request, ...context }, "ask");
    expect(unmet).toEqual(conditions.map((condition) => ({ policy_id: "small-amounts", condition })));
    expect(decision).toBe(Object.keys(context).length === 0 ? "allow" : "ask");
  });

  it("lets forbid win over everything", () => {
    const text = `${permit("a", "act")} @id("b") forbid (principal, action, resource == Tool::"pay");`;
    expect(decide(text)).toMatchObject({ decision: "deny", reason: "forbidden", policy_ids: ["b"] });
    expect(decide(text, { tool: "read" }).decision).toBe("allow");
  });

  it("asks if only going without asking is forbidden", () => {
    const text = `${permit("a", "act")} ${permit("c", "act_approved")}
      @id("b") forbid (principal, action == Action::"act", resource);`;
    expect(decide(text)).toMatchObject({ decision: "ask", policy_ids: ["c"] });
  });

  it("does as the organization chose if nothing permits", () => {
    const text = permit("a", "act", "context.uses_today > 5");
    expect(decide(text)).toMatchObject({ decision: "ask", reason: "nothing_permits", policy_ids: [] });
    expect(decide(text, {}, "deny")).toMatchObject({ decision: "deny", reason: "nothing_permits" });
  });

  it("asks with the strictest of all obligations that apply", () => {
    const ask = (id: string, notes: string, when: string) => `${notes} ${permit(id, "act_approved", when)}`;
    const text = [
      ask("one", '@approvals("2") @group("finance")', "true"),
      ask("two", '@group("finance") @level("orb")', "context has amount"),
      ask("three", '@approvals("3") @group("__proto__")', "context.hour_utc < 12"),
      ask("four", '@approvals("9") @group("legal")', "context.hour_utc > 12"),
    ].join("\n");
    expect(decide(text)).toEqual({
      decision: "ask",
      reason: "permitted",
      policy_ids: ["one", "three", "two"],
      obligations: {
        approvals: 3,
        level: "orb",
        groups: [
          { group: "__proto__", count: 3 },
          { group: "finance", count: 2 },
        ],
      },
      error: null,
    });
  });

  it("asks for no World ID only if each policy that applies says so", () => {
    const ask = (id: string, level: string) => `@group("finance") ${level} ${permit(id, "act_approved")}`;
    const levelOf = (...all: string[]) =>
      decide(all.map((level, i) => ask(`p${i}`, level)).join("\n")).obligations?.level;
    const none = '@level("none")';
    expect([levelOf(none), levelOf(none, none), levelOf(none, ""), levelOf("")]).toEqual([
      "none",
      "none",
      null,
      null,
    ]);
    expect([levelOf(none, '@level("device")'), levelOf(none, "", '@level("orb")')]).toEqual([
      "device",
      "orb",
    ]);
  });

  it("denies if a policy can't be evaluated, with its reason", () => {
    const text = `${permit("a", "act")} ${permit("b", "act_approved", "context.uses_today + 9223372036854775807 > 0")}`;
    const found = decide(text, { uses_today: 1 });
    expect(found).toMatchObject({ decision: "deny", reason: "evaluation_error", policy_ids: ["b"] });
    expect(found.error).toContain("overflow");
  });

  it("denies if an amount is more than Cedar's decimals hold", () => {
    const amount = { value: "1", currency: "EUR", spent_today: "1", total_today: "999999999999999999" };
    expect(decide(permit("a", "act"), { amount })).toMatchObject({
      decision: "deny",
      reason: "evaluation_error",
    });
  });

  it("compares tool names exactly: a look-alike is another tool", () => {
    const text = `${permit("a", "act")} @id("b") forbid (principal, action, resource == Tool::"pay");`;
    expect(decide(text, { tool: "pаy" }).decision).toBe("allow"); // Cyrillic а
    expect(decide(permit("only", "act", 'resource == Tool::"pay"'), { tool: "pаy" }).decision).toBe("ask");
  });

  it("compares what the request carries by name and value, with patterns too", () => {
    const text = permit(
      "a",
      "act",
      'context.details.hasTag("q=a") && context.details.getTag("q=a") like "b*"',
    );
    expect(decide(text, { context: { "q=a": "b=c" } }).decision).toBe("allow");
    for (const context of [{ q: "a=b" }, { "q=a": "c" }, {}, { "Q=a": "b" }])
      expect(decide(text, { context: context as Record<string, string> }).decision).toBe("ask");
    const names = JSON.parse('{"__proto__":"x","__entity":"y"}') as Record<string, string>;
    expect(
      decide(
        permit(
          "a",
          "act",
          'context.details.hasTag("__proto__") && context.details.getTag("__proto__") == "x"',
        ),
        { context: names },
      ).decision,
    ).toBe("allow");
  });

  const strictly = (text: string, context: Partial<RuleContext>) => {
    const rules = parsed(text);
    prepareStrictly(cedar, "strict", rules);
    return evaluateStrictly(cedar, "strict", rules, { ...request, ...context }, "ask");
  };
  const getsTo = (payee: string) =>
    `context.details.hasTag("payee") && context.details.getTag("payee") == "${payee}"`;

  it.each([
    ["NFD", "Cafe\u0301"],
    ["a space behind it", "Café "],
    ["an invisible character", "Ca\u200bfé"],
    ["a line break in front", "\nCafé"],
  ])("forbids a name that is read alike: %s", (_, payee) => {
    const text = `${permit("a", "act")} @id("b") forbid (principal, action, resource) when { ${getsTo("Café")} };`;
    expect(strictly(text, { context: { payee } })).toMatchObject({ decision: "deny", isAsRead: true });
    expect(strictly(text, { context: { "pay\u00adee": "Café" } }).decision).toBe("deny");
    expect(strictly(text, { context: { payee: "nobody", "payee ": "Café" } }).decision).toBe("deny");
    expect(strictly(text, { context: { payee: "Café" } })).toMatchObject({
      decision: "deny",
      isAsRead: false,
    });
    expect(strictly(text, { context: { payee: "Cafe" } }).decision).toBe("allow");
    const asRead: RuleContext = { ...request, context: { payee }, texts_as_read: true };
    expect(evaluateRules(cedar, "strict", parsed(text), asRead, "ask").decision).toBe("deny");
  });

  it("permits only what is sent as the rule has it, and demands for what is read so", () => {
    expect(strictly(permit("a", "act", getsTo("Café")), { context: { payee: "Café " } }).decision).toBe(
      "ask",
    );
    const text = `${permit("a", "act_approved")}
      @group("finance") @approvals("2") ${permit("b", "act_approved", getsTo("Café"))}`;
    expect(strictly(text, { context: { payee: "Café " } })).toMatchObject({
      decision: "ask",
      policy_ids: ["a"],
      isAsRead: false,
      obligations: { approvals: 2, groups: [{ group: "finance", count: 2 }] },
    });
  });

  it("compares typed values, which look alike as text", () => {
    const typed = (context: Record<string, string>, types: string, complete = true) => ({
      context,
      details: { complete, types },
    });
    const go = (when: string) => permit("a", "act", when);
    const isReal = 'context.typed.bools.hasTag("dry_run") && context.typed.bools.getTag("dry_run") == false';
    expect(decide(go(isReal), typed({ dry_run: "false" }, "b")).decision).toBe("allow");
    expect(decide(go(isReal), typed({ dry_run: "false" }, "s")).decision).toBe("ask");
    expect(decide(go(isReal), { context: { dry_run: "false" } }).decision).toBe("ask");
    const isText =
      'context.typed.strings.hasTag("dry_run") && context.typed.strings.getTag("dry_run") == "false"';
    expect(decide(go(isText), typed({ dry_run: "false" }, "s")).decision).toBe("allow");
    const isSmall =
      'context.typed.decimals.hasTag("limit") && context.typed.decimals.getTag("limit").lessThan(decimal("100.5"))';
    expect(decide(go(isSmall), typed({ limit: "100" }, "n")).decision).toBe("allow");
    expect(decide(go(isSmall), typed({ limit: "-3.25" }, "n")).decision).toBe("allow");
    expect(decide(go(isSmall), typed({ limit: "101" }, "n")).decision).toBe("ask");
    const isWhole = 'context.typed.longs.hasTag("limit") && context.typed.longs.getTag("limit") == 100';
    expect(decide(go(isWhole), typed({ limit: "100", a: "1.5" }, "nn")).decision).toBe("allow");
    expect(decide(go("context.details_complete")).decision).toBe("allow");
    expect(decide(go("context.details_complete"), typed({ limit: "1" }, "n", false)).decision).toBe("ask");
  });

  it("names rules that use no types by the schema of 1.0.0", () => {
    const plain = permit("a", "act");
    expect(rulesetHash(plain)).toBe("c778cdf2cf4dd3e83229f2b87561cbc3dbb72b661b7059124f28e74da9761e72");
    expect(isRulesetHash(rulesetHash(plain), plain)).toBe(true);
    const types = permit("a", "act", "context.details_complete");
    expect(isRulesetHash(rulesetHash(types), types)).toBe(true);
    expect(isRulesetHash(rulesetHash(types), plain)).toBe(false);
    expect(rulesetHash(types)).toBe("a50b9d0038a479250a1822e55f8a14db8631329e785133103e8942bc9bc2b270");
  });

  it("forbids a tool, an action and a requester that are read alike", () => {
    const forbid = (when: string) =>
      `${permit("a", "act")} @id("b") forbid (principal, action, resource) when { ${when} };`;
    expect(strictly(forbid('resource == Tool::"pay"'), { tool: "pay " }).decision).toBe("deny");
    expect(strictly(forbid('context.action == "Pay"'), { action: "Pay\u200b" }).decision).toBe("deny");
    const requester = forbid('context has requester && context.requester == "Zoë"');
    expect(strictly(requester, { requester: "Zoe\u0308" }).decision).toBe("deny");
  });

  it("keeps two sets of rules apart", () => {
    const [one, two] = [parsed(permit("a", "act")), parsed(permit("b", "act_approved"))];
    prepareRules(cedar, "one", one);
    prepareRules(cedar, "two", two);
    expect(evaluateRules(cedar, "one", one, request, "deny").policy_ids).toEqual(["a"]);
    expect(evaluateRules(cedar, "two", two, request, "deny").policy_ids).toEqual(["b"]);
  });
});

describe("templates", () => {
  it.each(rulesTemplates)("$title", ({ text }) => {
    expect(problems(text)).toEqual([]);
  });

  it("together do what their titles say", () => {
    const text = rulesTemplates.map((one) => one.text).join("\n");
    const of = (value: string, total = value, currency = "EUR") =>
      decide(text, { amount: { value, currency, spent_today: "0", total_today: total } });
    const twoOfFinance = { approvals: 2, level: "none", groups: [{ group: "finance", count: 2 }] };
    expect(of("50").decision).toBe("allow");
    expect(of("50", "200.0001")).toMatchObject({ decision: "ask", reason: "nothing_permits" });
    expect(of("50.0001").decision).toBe("ask");
    expect(of("1000.0001").obligations).toEqual(twoOfFinance);
    expect(of("1", "1", "USD").obligations, "another currency is no way around it").toEqual(twoOfFinance);
    expect(decide(text, { tool: "delete_database" }).decision).toBe("deny");
    expect(text).toContain('To demand World ID from each of them too, write "device" or "orb"');
  });
});

describe("what a policy is found to be", () => {
  const findings = (text: string) => parsed(text).policies.flatMap(({ refusals }) => refusals);
  const when = (condition: string, effect = "permit") =>
    `@id("a") ${effect} (principal, action, resource) when { ${condition} };`;
  const money = (condition: string) => findings(when(`context has amount && ${condition}`));

  it.each([
    ['context.amount.currency == "EUX"', "EUX"],
    ['"eur" == context.amount.currency', "eur"],
    ['["EUR", "XXX"].contains(context.amount.currency)', "XXX"],
    ['!(context.amount.currency != "US")', "US"],
  ])("names a currency that isn't one: %s", (condition, code) => {
    expect(money(condition).join()).toContain(`"${code}"`);
  });

  it("knows the decimals of the currency", () => {
    const above = (code: string, value: string) =>
      money(`context.amount.currency == "${code}" && context.amount.value.greaterThan(decimal("${value}"))`);
    expect(above("JPY", "10.5")).toEqual(["JPY has no decimals: 10.5 can't be paid"]);
    expect(above("EUR", "10.555")).toHaveLength(1);
    expect([above("JPY", "10.0"), above("KWD", "10.555"), above("EUR", "10.55")].flat()).toEqual([]);
  });

  it("names texts that are never compared in their form, and escaped stars", () => {
    expect(findings(when('context.action == "Cafe\u0301"'))).toHaveLength(1);
    expect(findings(when('context.action == "Pay "'))).toHaveLength(1);
    expect(findings(when('context.action == "\\u{20}Pay"'))).toHaveLength(1);
    expect(findings(when('context.action == "Pay  now"'))).toHaveLength(1);
    expect(findings(when('context.action == "Pay\\u{200b}"'))).toHaveLength(1);
    expect(findings(when('context.action like "Cafe\u0301*"'))).toHaveLength(1);
    expect(findings(when('context.action like "*Pay "'))).toHaveLength(1);
    expect(findings(when('resource == Tool::"wire "'))).toHaveLength(1);
    expect(findings('@id("a") permit (principal, action, resource == Tool::"wire ");')).toHaveLength(1);
    expect(findings(when('resource == Tool::"wire" && context.action like "Pay * now"'))).toEqual([]);
    expect(findings(when('context.action like "2 \\* *"')).join()).toContain("escaped star");
    expect(findings(when('context.action like "Pay *"'))).toEqual([]);
    expect(findings(when('context.action == "2 * 3"'))).toEqual([]);
  });

  it("warns about a forbid that whoever leaves something out passes", () => {
    const warnings = (condition: string, effect?: string) =>
      parsed(when(condition, effect)).policies.flatMap((policy) => policy.warnings);
    const isOwn = 'context.details.hasTag("payee") && context.details.getTag("payee") == "Own Ltd"';
    expect(warnings(isOwn, "forbid").join()).toContain('context.details.hasTag("payee")');
    expect(warnings('context has requester && context.requester == "x"', "forbid")).toHaveLength(1);
    expect(warnings(isOwn)).toEqual([]);
    const tool = 'resource == Tool::"wire"';
    const inScope = `@id("a") forbid (principal, action, ${tool});`;
    for (const found of [warnings(tool, "forbid"), parsed(inScope).policies.flatMap((one) => one.warnings)])
      expect(found.join()).toContain(tool);
    expect([warnings(tool), warnings(`!(${tool})`, "forbid")].flat()).toEqual([]);
    expect(warnings(`!(${isOwn})`, "forbid")).toEqual([]);
    const unless = `@id("a") forbid (principal, action, resource) unless { ${isOwn} };`;
    expect(parsed(unless).policies[0]).toMatchObject({ warnings: [], forbidsDetails: true });
    expect(parsed(when("context.hour_utc > 20", "forbid")).policies[0]?.forbidsDetails).toBe(false);
    expect(parsed(when(isOwn)).policies[0]?.forbidsDetails).toBe(false);
  });
});

describe("a text that is refused, with line and column", () => {
  const at = (text: string) =>
    problems(text).map(({ line, column, message }) => `${line}:${column} ${message}`);

  it.each([
    ["a typo in an attribute", `// ü\n${permit("a", "act", "context.amonut.value == 1")}`, "2:71", "amonut"],
    [
      "an attribute that may be absent",
      permit("a", "act", 'context.amount.currency == "EUR"'),
      "1:",
      "amount",
    ],
    ["a type that isn't there", '@id("a")\nforbid (principal, action, resource == Tol::"x");', "2:40", "Tol"],
    ["an action that isn't there", permit("a", "acts"), "1:", "acts"],
    ["numbers compared with text", permit("a", "act", 'context.uses_today > "3"'), "1:", "expected Long"],
    [
      "a policy that can never match",
      permit("a", "act", "context.uses_today > 1 && false"),
      "1:1",
      "impossible",
    ],
    ["mixed scripts", permit("a", "act", 'context.action == "pаy"'), "1:", "mixed scripts"],
    ["what does not parse", `\n\n  @id("x") permit(principal, action resource);`, "3:37", "unexpected token"],
    ["a policy without a name", "permit (principal, action, resource);", "1:1", "@id"],
    ["a name used twice", `${permit("a", "act")}\n${permit("a", "act")}`, "2:1", "twice"],
    ["a misspelled annotation", `@aprovals("2") ${permit("a", "act_approved")}`, "1:1", "@aprovals"],
    ["a demand of nobody", `@approvals("2") ${permit("a", "act")}`, "1:1", "act_approved"],
    [
      "a demand that is not only for asking",
      '@id("a") @level("orb") permit (principal, action, resource);',
      "1:1",
      "act_approved",
    ],
    ["no World ID from anybody", `@level("none") ${permit("a", "act_approved")}`, "1:1", "needs a @group"],
    ["eleven approvals", `@approvals("11") ${permit("a", "act_approved")}`, "1:1", "1-10"],
    ["a template", '@id("a") permit (principal == ?principal, action, resource);', "1:1", "templates"],
    [
      "a decimal of five places",
      permit("a", "act", 'context has amount && context.amount.value == decimal("1.00001")'),
      "1:",
      "decimal",
    ],
  ])("%s", (_, text, position, message) => {
    const found = at(text);
    expect(found[0]).toContain(message);
    expect(found[0]).toMatch(new RegExp(`^${position}`));
  });

  it("names each mistake at its own place, in the order of the text, beyond ten policies", () => {
    const text = Array.from({ length: 14 }, (_, i) =>
      i === 10 ? "permit (principal, action, resource);" : permit(`p${i}`, "act"),
    ).join("\n");
    expect(at(text)).toHaveLength(1);
    expect(at(text)[0]).toMatch(/^11:1 /);
  });

  it("1 MB", () => {
    const text = `// ${"x".repeat(1_000_000)}\n${permit("a", "act")}`;
    expect(at(text)[0]).toContain("at most 32768");
  });

  it("a thousand brackets, before Cedar sees them", () => {
    const deep = `${"(".repeat(1000)}true${")".repeat(1000)}`;
    expect(at(`\n${permit("a", "act", deep)}`)[0]).toMatch(/^2:.*brackets/);
    expect(at(permit("a", "act", `context.action == "${"(".repeat(200)}"`))).toEqual([]);
  });

  it("a string that never ends, however many quotes it has, as fast as one that does", () => {
    const unended = `"${'\\"'.repeat(16_000)}`;
    const fastest = (text: string, problem: string) => {
      const times = [1, 2, 3].map(() => {
        const started = performance.now();
        expect(at(text)[0]).toContain(problem);
        return performance.now() - started;
      });
      return Math.min(...times);
    };
    // Parsing it took two hundred times as long.
    const ended = fastest(`${unended}"`, "unexpected");
    expect(fastest(unended, "invalid token")).toBeLessThan(50 * ended);
  });

  it("conditions that are nested without brackets", () => {
    const chain = permit("a", "act", `context.uses_today${" + 1".repeat(60)} > 0`);
    expect(at(chain)[0]).toContain("nested");
  });
});

describe("hashes", () => {
  it("name text and context, and change with them", () => {
    expect(rulesetHash("a")).not.toBe(rulesetHash("b"));
    expect(rulesetHash("a")).toMatch(/^[0-9a-f]{64}$/);
    const hash = ruleContextHash(request);
    for (const change of [
      { salt: "BAAAAAAAAAAAAAAAAAAAAA==" },
      { tool: null },
      { uses_today: 1 },
      { amount: null },
    ])
      expect(ruleContextHash({ ...request, ...change })).not.toBe(hash);
  });

  it("knows the hour and the weekday in UTC", () => {
    expect(readHours(new Date("2026-11-22T23:59:59.999Z"))).toEqual({ hour_utc: 23, weekday_utc: 7 });
    expect(readHours(new Date("2026-11-23T00:00:00Z"))).toEqual({ hour_utc: 0, weekday_utc: 1 });
  });
});
