import { expect, it } from "vitest";
import { type ExplainedRules, explainRules } from "./explain-rules";

const record: ExplainedRules = {
  decision: "allow",
  reason: "permitted",
  policy_ids: ["small-amounts"],
  error: null,
  version: 3,
  mode: "enforce",
};
const amount = { value: "20", currency: "EUR", spent_today: "1180", total_today: "1200.5" };

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

it("says which condition wasn't met", () => {
  const unmet = [{ policy_id: "small-amounts", condition: "when { context has amount }" }];
  const words = explainRules(
    { ...record, decision: "ask", reason: "nothing_permits", policy_ids: [], unmet },
    null,
  );
  expect(words).toBe(
    "No rule of version 3 allows it without asking, so people are asked. Rule small-amounts didn't allow it: it needs “when { context has amount }”.",
  );
});

it("says what counted, with the currency's decimals", () => {
  expect(explainRules(record, { amount, uses_today: 1 })).toContain(
    " Counted: 1 request of this agent approved before it that day (UTC), 1,180.00 EUR spent, 1,200.50 EUR with this one.",
  );
  expect(explainRules(record, { amount: null, uses_today: 2 })).toContain(
    " Counted: 2 requests of this agent approved before it that day (UTC).",
  );
});
