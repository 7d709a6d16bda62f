import { describe, expect, it } from "vitest";
import { drawTime, makeMistake, type Plantable } from "./planted";

const real: Plantable = {
  agent_slug: "payer",
  action: "Pay 1,200.50 EUR to Example Ltd for invoice 1200.5 (EUR 1200.50), asked by payer",
  amount: { value: "1200.5", currency: "EUR" },
  context: { payee: "Example Ltd", total: "1200.50", invoice: "1200.5x", note: "Example Ltd" },
};

describe("a mistake", () => {
  it("misspells the payee wherever it stands whole, and nothing else", () => {
    const made = makeMistake(real, "payee", () => 0);
    expect(made).toEqual({
      mistake: { right: "Example Ltd", wrong: "Eaxmple Ltd" },
      wrong: {
        ...real,
        action: "Pay 1,200.50 EUR to Eaxmple Ltd for invoice 1200.5 (EUR 1200.50), asked by payer",
        context: { ...real.context, payee: "Eaxmple Ltd", note: "Eaxmple Ltd" },
      },
    });
  });

  it("has ten times the amount in all its forms, where it is one", () => {
    const made = makeMistake(real, "amount", () => 0);
    expect(made?.wrong).toEqual({
      ...real,
      amount: { value: "12005", currency: "EUR" },
      action: "Pay 12,005.00 EUR to Example Ltd for invoice 1200.5 (EUR 12005.00), asked by payer",
      context: { ...real.context, total: "12005.00" },
    });
  });

  it("names an agent like the real one", () => {
    expect(makeMistake(real, "agent", () => 0.99)?.wrong).toMatchObject({
      agent_slug: "payre",
      action: expect.stringMatching(/asked by payre$/),
    });
  });

  it.each([
    ["payee", { context: {} }],
    ["payee", { context: { payee: "7777" } }],
    ["amount", { amount: undefined }],
    ["amount", { amount: { value: "0", currency: "EUR" } }],
    ["amount", { amount: { value: "99999999999999", currency: "EUR" } }],
    ["agent", { agent_slug: "aaa" }],
  ] as const)("isn't made of what has no such fact: %s %o", (fact, without) => {
    expect(makeMistake({ ...real, ...without } as Plantable, fact, () => 0)).toBeNull();
  });
});

describe("a time", () => {
  const hour = 3_600_000;
  const week = 168 * hour;

  it("is at the weekday and hour of a real request, half an hour about, within the window", () => {
    const [from, to] = [1_000 * week, 1_004 * week];
    const past = [990 * week + 34 * hour, 995 * week + 57 * hour];
    for (let i = 0; i < 200; i += 1) {
      const shares = [i / 200, ((i * 7) % 200) / 200, ((i * 31) % 200) / 200];
      const at = drawTime(past, { from, to }, () => shares.shift() ?? 0);
      expect(at).toBeGreaterThanOrEqual(from);
      expect(at).toBeLessThanOrEqual(to);
      const off = past.map((one) => {
        const rest = (((at - one) % week) + week) % week;
        return Math.min(rest, week - rest);
      });
      expect(Math.min(...off)).toBeLessThanOrEqual(hour / 2);
    }
  });
});
