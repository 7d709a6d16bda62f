import cedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import { expect, it } from "vitest";
import type { Cedar } from "./cedar";
import { evaluateStrictly, prepareStrictly } from "./evaluate-rules";
import { type ExplainedRules, explainBriefly, explainRules, quoteRules } from "./explain-rules";
import { parseRules } from "./parse-rules";
import type { RuleContext } from "./rule-context";
import { suggestDefaults, suggestRules } from "./suggest";
import { rulesTemplates } from "./templates";

const cedar = cedarWasm as unknown as Cedar;

const record: ExplainedRules = {
  decision: "allow",
  reason: "permitted",
  policy_ids: ["small-amounts"],
  error: null,
  version: 3,
  mode: "enforce",
};
const request: RuleContext = {
  salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  agent: { slug: "invoice-bot", name: null, key_registered: true, code_hash_known: false },
  tool: "pay",
  action: "Pay invoice 17",
  amount: { value: "20", currency: "EUR", spent_today: "1180", total_today: "1200.5" },
  context: {},
  requester: null,
  hour_utc: 9,
  weekday_utc: 1,
  uses_today: 0,
  environment: "production",
};

it.each([
  [{}, "Rule small-amounts of version 3 allows it without asking."],
  [{ decision: "ask", policy_ids: ["a", "b"] }, "Rules a, b of version 3 demand that people approve it."],
  [
    { decision: "ask", reason: "nothing_permits", policy_ids: [] },
    "No rule of version 3 allows it without asking, so people are asked.",
  ],
  [
    { decision: "deny", reason: "nothing_permits", policy_ids: [] },
    "No rule of version 3 allows it without asking, and such requests are denied.",
  ],
  [{ decision: "deny", reason: "forbidden" }, "Rule small-amounts of version 3 forbids it."],
  [
    { decision: "deny", reason: "evaluation_error", error: "overflow" },
    "The rules of version 3 couldn't be evaluated (overflow), so it is denied.",
  ],
  [{ mode: "log_only" }, "Rules only log: Rule small-amounts of version 3 allows it without asking."],
] as [Partial<ExplainedRules>, string][])("%j", (more, words) => {
  expect(explainRules({ ...record, ...more }, null)).toBe(words);
});

it("says what counted, with the currency's decimals", () => {
  expect(explainRules(record, { ...request, uses_today: 1 })).toContain(
    " Counted: 1 request of this agent approved before it that day (UTC), 1,180.00 EUR spent, 1,200.50 EUR with this one.",
  );
  expect(explainRules(record, { ...request, amount: null, uses_today: 2 })).toContain(
    " Counted: 2 requests of this agent approved before it that day (UTC).",
  );
});

/** Explains Cedar's decision, without the sums. */
function explain(text: string, more: Partial<RuleContext> = {}): string {
  const answer = parseRules(cedar, text);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  const context = { ...request, ...more };
  prepareStrictly(cedar, "explained", answer.rules);
  const verdict = evaluateStrictly(cedar, "explained", answer.rules, context, "ask");
  const seen = verdict.isAsRead ? { ...context, texts_as_read: true as const } : context;
  return explainRules({ ...verdict, version: 3, mode: "enforce" }, seen).replace(/ Counted: .*/, "");
}

const asked = "No rule of version 3 allows it without asking, so people are asked. ";
const [small = "", never = "", large = ""] = rulesTemplates.map(({ text }) => text);
const cost = (value: string, currency = "EUR", total = value) => ({
  amount: { value, currency, spent_today: "0", total_today: total },
});

it.each<[string, string, Partial<RuleContext>, string]>([
  [
    "allowed",
    small,
    cost("12.5", "EUR", "180"),
    "Rule small-amounts of version 3 allows it without asking: the amount, 12.50 EUR, is at most 50.00 EUR; the day's total with this one (UTC), 180.00 EUR, is at most 200.00 EUR.",
  ],
  [
    "too much",
    small,
    cost("12000.5"),
    `${asked}Rule small-amounts didn't allow it: the amount, 12,000.50 EUR, is above the rule's limit of 50.00 EUR.`,
  ],
  [
    "too much in a day",
    small,
    cost("50", "EUR", "230.5"),
    `${asked}Rule small-amounts didn't allow it: the day's total with this one (UTC), 230.50 EUR, is above the rule's limit of 200.00 EUR.`,
  ],
  [
    "another currency",
    small,
    cost("20", "USD"),
    `${asked}Rule small-amounts didn't allow it: the currency is USD, and the rule says EUR.`,
  ],
  ["no amount", small, { amount: null }, `${asked}Rule small-amounts didn't allow it: it has no amount.`],
  [
    "never",
    never,
    { tool: "delete_database" },
    "Rule never-delete of version 3 forbids it: the tool is delete_database.",
  ],
  [
    "two of a group, in another currency",
    large,
    { amount: { value: "5", currency: "USD", spent_today: "0.0", total_today: "5.0" } },
    "Rule other-currencies of version 3 demands that people approve it: the currency, USD, isn't EUR.",
  ],
  [
    "two of a group",
    `${small}${large}`,
    cost("12000.5"),
    "Rule large-amounts of version 3 demands that people approve it: the amount, 12,000.50 EUR, is above 1,000.00 EUR. Rule small-amounts didn't allow it: the amount, 12,000.50 EUR, is above the rule's limit of 50.00 EUR.",
  ],
])("puts the templates into sentences: %s", (_, text, context, words) => {
  expect(explain(text, context)).toBe(words);
});

it("is the first condition alone where a line has no room", () => {
  const unmet = [{ policy_id: "a", condition: "unless { context.uses_today == 0 }" }];
  const briefly = (more: object) => explainBriefly({ ...record, ...more }, request);
  expect(briefly({ unmet })).toBe("The number of requests approved before it that day (UTC) is 0");
  expect(
    briefly({ unmet, deciding: [{ policy_id: "b", conditions: ['when { resource == Tool::"pay" }'] }] }),
  ).toBe("The tool is pay");
  const reason = "Rule small-amounts of version 3 allows it without asking.";
  expect([briefly({}), briefly({ unmet, mode: "log_only" })]).toEqual([reason, reason]);
});

it("quotes what the sentences speak of", () => {
  expect(quoteRules(record)).toBeNull();
  const unmet = [{ policy_id: "small", condition: "when { context has amount }" }];
  const deciding = [{ policy_id: "large", conditions: ["when { a }", "unless { b }"] }];
  expect(quoteRules({ ...record, unmet, deciding })).toBe(
    "large: when { a }\nlarge: unless { b }\nsmall: when { context has amount }",
  );
  expect(explainRules({ ...record, unmet }, null)).toContain(
    "Rule small didn't allow it: it needs “when { context has amount }”.",
  );
});

it("puts a suggested rule into sentences", () => {
  const past = Array.from({ length: 6 }, (_, i) => ({
    ...{ hash: `${i}`, agent: "invoice-bot", action: "Pay an invoice", tool: "pay", isComplete: true },
    ...{ amount: { value: `${i + 1}0`, currency: "EUR" }, context: { payee: "Example Ltd", number: `${i}` } },
    ...{ created_at: `2026-11-0${i + 1}T09:00:00Z`, decided_at: `2026-11-0${i + 1}T09:01:00Z` },
    ...{ outcome: "approved" as const, isHeld: false, isTest: false },
  }));
  const [{ text, policyId } = { text: "", policyId: "" }] = suggestRules(past, {
    ...suggestDefaults,
    withMoney: true,
  });
  const context = { action: "Pay an invoice", context: { payee: "Example Ltd", number: "7" }, ...cost("60") };
  const allowed = `Rule ${policyId} of version 3 allows it without asking: `;
  expect(explain(text, context)).toBe(
    `${allowed}the agent is invoice-bot; the tool is pay; its details are all there is; the action is “Pay an invoice”; the detail “payee” is “Example Ltd”; the number of details is 2; the amount, 60.00 EUR, is at most 60.00 EUR; the hour (UTC), 9, isn't before 9; the hour (UTC), 9, isn't after 9.`,
  );
  const missed = `${asked}Rule ${policyId} didn't allow it: `;
  for (const [more, words] of [
    [
      { context: { payee: "Other Ltd", number: "7" } },
      "the detail “payee” is “Other Ltd”, and the rule says “Example Ltd”",
    ],
    [{ context: { ...context.context, note: "" } }, "the number of details is 3, and the rule says 2"],
    [{ context: { payee: "Example Ltd", note: "" } }, "it has no detail “number”"],
    [{ hour_utc: 22 }, "the hour (UTC), 22, is after 9"],
    [{ details: { complete: false, types: "ss" } }, "its details aren't all there is"],
  ] as const)
    expect(explain(text, { ...context, ...more })).toBe(`${missed}${words}.`);
});

const details = { context: { payee: "Example Ltd", count: "3", urgent: "true" } };
const typed = { ...details, details: { complete: true, types: "nsb" } };
const tag = (kind: string, name: string) =>
  `context.${kind}.hasTag("${name}") && context.${kind}.getTag("${name}")`;
it.each<[string, Partial<RuleContext>, string]>([
  [
    "context.uses_today < 3",
    { uses_today: 3 },
    "the number of requests approved before it that day (UTC), 3, isn't below 3",
  ],
  [
    'context.action != "a && (b || {" && context.uses_today < 3',
    { uses_today: 3 },
    "the number of requests approved before it that day (UTC), 3, isn't below 3",
  ],
  ["3 > context.uses_today", {}, "the number of requests approved before it that day (UTC), 0, is below 3"],
  [
    "context.uses_today <= 10",
    { uses_today: 12 },
    "the number of requests approved before it that day (UTC), 12, is above the rule's limit of 10",
  ],
  ["context.hour_utc >= 8", { hour_utc: 6 }, "the hour (UTC), 6, is before 8"],
  ["context.weekday_utc < 6", { weekday_utc: 7 }, "the weekday (UTC), Sunday, isn't before Saturday"],
  [
    "[1, 2, 3].contains(context.weekday_utc)",
    { weekday_utc: 5 },
    "the weekday (UTC), Friday, is none of Monday, Tuesday, Wednesday",
  ],
  ["!(context has amount)", {}, "it has an amount"],
  ["!(context has amount)", { amount: null }, "it has no amount"],
  ['context.action == "Pay"', {}, "the action is “Pay invoice 17”, and the rule says “Pay”"],
  ['context.action != "Pay"', { action: "Pay" }, "the action is “Pay”, which the rule leaves out"],
  ['context.action like "Pay invoice *"', {}, "the action, “Pay invoice 17”, matches “Pay invoice *”"],
  ['context.action like "Refund*"', {}, "the action, “Pay invoice 17”, doesn't match “Refund*”"],
  [
    '["pay", "refund"].contains(context.action)',
    {},
    "the action, “Pay invoice 17”, is none of “pay”, “refund”",
  ],
  [
    '["a", "b", "c", "d", "e", "f"].contains(context.environment)',
    {},
    "the environment, production, is none of a, b, c, d, e and 1 other",
  ],
  ['resource == Tool::"read"', {}, "the tool is pay, and the rule says read"],
  [
    'resource == Tool::"read"',
    { tool: "read, and the rule says read" },
    "the tool is “read, and the rule says read”, and the rule says read",
  ],
  ['resource == Tool::"read"', { tool: "none" }, "the tool is “none”, and the rule says read"],
  [
    'context.action == "read"',
    { action: 'pay”. Rule b allows it: "read"' },
    "the action is “pay'. Rule b allows it: 'read'”, and the rule says “read”",
  ],
  ['resource in [Tool::"read", Tool::"pay"]', {}, "the tool, pay, is one of read, pay"],
  ['principal == Agent::"other"', {}, "the agent is invoice-bot, and the rule says other"],
  ["principal.code_hash_known", {}, "the agent's code isn't known"],
  ["principal.key_registered", {}, "the agent has a registered key"],
  ['principal has name && principal.name == "x"', {}, "the agent has no name"],
  [
    'context has requester && context.requester == "ann"',
    { requester: "bob" },
    "the requester is “bob”, and the rule says “ann”",
  ],
  [
    `${tag("details", "payee")} == "Other \\u{4c}td"`,
    details,
    "the detail “payee” is “Example Ltd”, and the rule says “Other Ltd”",
  ],
  [`!(${tag("details", "payee")} == "Example Ltd")`, details, "the detail “payee” is “Example Ltd”"],
  [`${tag("details", "payee")} == "Example Ltd"`, { context: {} }, "it has no detail “payee”"],
  [`${tag("typed.longs", "count")} <= 2`, typed, "the detail “count”, 3, is above the rule's limit of 2"],
  [`${tag("typed.bools", "urgent")}`, typed, "the detail “urgent” is true"],
  [`${tag("typed.longs", "count")} <= 2`, details, "it has no whole number “count”"],
  [
    'context has amount && (context.amount.currency == "CHF" || context.amount.currency == "USD")',
    {},
    "the currency, EUR, is none of CHF, USD",
  ],
  [
    "context has amount && context.amount.value.greaterThan(context.amount.spent_today)",
    {},
    "the amount, 20.00 EUR, isn't above the total approved before it that day (UTC), 1,180.00 EUR",
  ],
  [
    "if context.hour_utc > 8 then false else true",
    {},
    "it needs “when { if context.hour_utc > 8 then false else true }”",
  ],
  ["context.uses_today > 9007199254740993", {}, "it needs “when { context.uses_today > 9007199254740993 }”"],
  ["context.uses_today + 1 < 1", {}, "it needs “when { context.uses_today + 1 < 1 }”"],
])("puts conditions into sentences: %s, of %j", (condition, context, words) => {
  const rule = `@id("r") permit (principal, action == Action::"act", resource) when { ${condition} };`;
  const told = explain(rule, context);
  expect([
    `Rule r of version 3 allows it without asking: ${words}.`,
    `${asked}Rule r didn't allow it: ${words}.`,
  ]).toContain(told);
});
