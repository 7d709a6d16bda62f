import { describe, expect, it } from "vitest";
import type { GrantTerms } from "./decided-by";
import { nextUse, whyOutOfScope } from "./grant";

const terms: GrantTerms = {
  tools: ["pay", "refund"],
  actions: ["Pay invoice *", "Refund"],
  max_calls: 3,
  max_amount: "50",
  max_budget: "100",
  currency: "EUR",
  expires_at: "2026-12-01T00:00:00.000Z",
  context: { payee: "Example Ltd" },
};
const request = { tool: "pay", action: "Pay invoice 17", amount: { value: "50", currency: "EUR" } };
const context = { payee: "Example Ltd", note: "x" };
const at = new Date("2026-11-30T23:59:59.999Z");

describe("what a standing approval covers", () => {
  it("covers what is within all limits, to the last millisecond and the last unit", () => {
    expect(whyOutOfScope(terms, request, context, at)).toBeNull();
    expect(whyOutOfScope(terms, { ...request, action: "Refund" }, context, at)).toBeNull();
  });

  it.each([
    ["expired", {}, context, new Date("2026-12-01T00:00:00.000Z")],
    ["tool", { tool: "pаy" }, context, at], // Cyrillic
    ["tool", { tool: "PAY" }, context, at],
    ["tool", { tool: undefined }, context, at],
    ["action", { action: "Refunds" }, context, at],
    ["action", { action: " Pay invoice 17" }, context, at],
    ["context", {}, { payee: "Example Ltd " }, at],
    ["context", {}, {}, at],
    ["amount_missing", { amount: undefined }, context, at],
    ["currency", { amount: { value: "1", currency: "USD" } }, context, at],
    ["max_amount", { amount: { value: "50.0001", currency: "EUR" } }, context, at],
    ["max_amount", { amount: { value: "99999999999999.9999", currency: "EUR" } }, context, at],
  ])("out of scope: %s", (why, change, given, now) => {
    const { tool, amount, ...rest } = { ...request, ...change };
    const changed = { ...rest, ...(tool !== undefined && { tool }), ...(amount && { amount }) };
    expect(whyOutOfScope(terms, changed, given as Record<string, string>, now)).toBe(why);
  });

  it("never covers an amount without limits for it", () => {
    const { max_amount: _, max_budget: __, currency: ___, ...free } = terms;
    expect(whyOutOfScope(free, request, context, at)).toBe("amount_not_limited");
    expect(whyOutOfScope(free, { tool: "pay", action: "Refund" }, context, at)).toBeNull();
  });

  it("looks for no entry in what every object inherits", () => {
    const named = { ...terms, context: { constructor: "x" } };
    expect(whyOutOfScope(named, request, context, at)).toBe("context");
  });
});

describe("the next use", () => {
  const amount = { value: "33.3334", currency: "EUR" };

  it("counts in whole units", () => {
    expect(nextUse(terms, { uses: 1, spentUnits: 666_666n }, amount)).toEqual({
      use: 2,
      of: 3,
      spent: "100",
      budget: "100",
      currency: "EUR",
    });
  });

  it("is none beyond calls or budget", () => {
    expect(nextUse(terms, { uses: 3, spentUnits: 0n }, amount)).toBe("max_calls");
    expect(nextUse(terms, { uses: 2, spentUnits: 666_667n }, amount)).toBe("max_budget");
    const most = { value: "99999999999999.9999", currency: "EUR" };
    expect(nextUse(terms, { uses: 0, spentUnits: 999_999_999_999_999_999n }, most)).toBe("max_budget");
  });

  it("says nothing of money without limits for it", () => {
    const { max_budget: _, ...free } = terms;
    expect(nextUse(free, { uses: 0, spentUnits: 0n }, undefined)).toMatchObject({ use: 1, spent: null });
  });
});
