/** Rules from an organization's decisions: never wider than what was approved, and each derivation can be checked. */
import cedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import { describe, expect, it } from "vitest";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { type OutOfScope, whyOutOfScope } from "#lib/protocol/approval/grant";
import type { Cedar } from "./cedar";
import { evaluateStrictly, prepareStrictly } from "./evaluate-rules";
import { parseRules } from "./parse-rules";
import type { RuleContext } from "./rule-context";
import {
  checkDerivation,
  type Derivation,
  derivationHash,
  deriveStanding,
  isWithin,
  type PastRequest,
  type SuggestedBounds,
  suggestDefaults,
  suggestRules,
  suggestStanding,
} from "./suggest";

const cedar = cedarWasm as unknown as Cedar;

/** The n-th request: two a day, at 9 and at 15 o'clock, decided at once. */
function past(n: number, more: Partial<PastRequest> = {}): PastRequest {
  const day = String(1 + Math.floor(n / 2)).padStart(2, "0");
  const created_at = more.created_at ?? `2026-11-${day}T${n % 2 === 0 ? "09" : "15"}:00:00.000Z`;
  return {
    hash: String(n).padStart(64, "0"),
    agent: "invoice-bot",
    action: "Send an invoice",
    tool: "send",
    amount: null,
    context: { customer: "Example Ltd", invoice: `INV-${n}` },
    isComplete: true,
    created_at,
    decided_at: created_at,
    outcome: "approved",
    isHeld: false,
    isTest: false,
    ...more,
  };
}
const six = (more: (n: number) => Partial<PastRequest> = () => ({})) =>
  Array.from({ length: 6 }, (_, n) => past(n, more(n)));
const euros = (value: number) => ({ amount: { value: String(value), currency: "EUR" } });
const money = { ...suggestDefaults, withMoney: true };

/** The decision of rules with this text. */
function decide(text: string, { amount, tool, action, context, isComplete, created_at, agent }: PastRequest) {
  const answer = parseRules(cedar, text);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  prepareStrictly(cedar, "suggested", answer.rules);
  const at = new Date(created_at);
  const evaluated: RuleContext = {
    salt: "",
    agent: { slug: agent, name: null, key_registered: false, code_hash_known: false },
    tool,
    action,
    amount: amount && { ...amount, spent_today: "0", total_today: amount.value },
    context,
    details: { complete: isComplete, types: "s".repeat(Object.keys(context).length) },
    requester: null,
    hour_utc: at.getUTCHours(),
    weekday_utc: 1,
    uses_today: 0,
    environment: "production",
  };
  return evaluateStrictly(cedar, "suggested", answer.rules, evaluated, "ask").decision;
}

describe("suggested rules", () => {
  it("let through what was the same, leave open what was another each time, and say the rest of it", () => {
    const [suggested, ...others] = suggestRules(six());
    expect(others).toEqual([]);
    expect(suggested?.bounds).toEqual({
      agent: "invoice-bot",
      tool: "send",
      equal: { action: "Send an invoice", context: [["customer", "Example Ltd"]] },
      open: ["invoice"],
      amount: null,
      hours: { from: 9, to: 15 },
    });
    expect(suggested?.covers).toHaveLength(6);
    expect(suggestRules(six().reverse()), "in any order").toEqual(suggestRules(six()));
  });

  const suggested = suggestRules(six(euros), money)[0];
  const text = suggested?.text ?? "";
  const bounds = suggested?.bounds as SuggestedBounds;
  it.each<[string, Partial<PastRequest>, boolean]>([
    ["another invoice", { context: { customer: "Example Ltd", invoice: "INV-99" } }, true],
    ["the highest amount", euros(5), true],
    ["a higher one", euros(6), false],
    ["another currency", { amount: { value: "1", currency: "USD" } }, false],
    ["no amount", { amount: null }, false],
    ["another customer", { context: { customer: "Other Ltd", invoice: "INV-1" } }, false],
    ["no invoice", { context: { customer: "Example Ltd" } }, false],
    ["one more name", { context: { ...past(3).context, copy_to: "other@example.com" } }, false],
    ["another name in the place of one", { context: { customer: "Example Ltd", copy_to: "x" } }, false],
    ["another action", { action: "Send two invoices" }, false],
    ["another tool", { tool: "pay" }, false],
    ["another agent", { agent: "other-bot" }, false],
    ["a part of the details", { isComplete: false }, false],
    ["an earlier hour", { created_at: "2026-11-04T08:59:00.000Z" }, false],
    ["a later hour", { created_at: "2026-11-04T16:00:00.000Z" }, false],
  ])("say the same as Cedar about %s", (_, more, isAllowed) => {
    const request = past(3, { ...euros(3), ...more });
    expect(isWithin(bounds, request)).toBe(isAllowed);
    expect(decide(text, request)).toBe(isAllowed ? "allow" : "ask");
  });

  it("quote every text as Cedar reads it", () => {
    const odd = `a "b" \\ c\u0301 ${"*"} 'd'`.normalize("NFC");
    const all = six((n) => ({ action: odd, tool: odd, context: { [odd]: odd, id: String(n) } }));
    const [one] = suggestRules(all);
    expect(all.map((request) => decide(one?.text ?? "", request))).toEqual(Array(6).fill("allow"));
  });

  it.each<[string, PastRequest[]]>([
    ["four approvals", six().slice(0, 4)],
    ["approvals of one day", six(() => ({ created_at: "2026-11-04T09:00:00.000Z" }))],
    ["test approvals", six(() => ({ isTest: true }))],
    ["what rules hold back", six(() => ({ isHeld: true }))],
    ["details that are a part", six(() => ({ isComplete: false }))],
    ["amounts", six(euros)],
    ["texts that read otherwise than they are sent", six(() => ({ tool: "se\u200Bnd" }))],
    ["a refusal among them", [...six(), past(6, { outcome: "refused" })]],
    ["one that rules held back among them", [...six(), past(6, { isHeld: true })]],
    ["a refusal that reads like them", [...six(), past(6, { outcome: "refused", tool: "se\u200Bnd" })]],
    [
      "values that come again, each too seldom",
      six((n) => ({ context: { customer: ["A Ltd", "B Ltd", "C Ltd"][n % 3] ?? "", invoice: `INV-${n}` } })),
    ],
  ])("don't come from %s", (_, requests) => {
    expect(suggestRules(requests)).toEqual([]);
  });

  it("aren't kept from by refusals of other things, and not by a refused test", () => {
    const others = [
      past(6, { outcome: "refused", tool: "pay" }),
      past(7, { outcome: "refused", context: { customer: "Other Ltd", invoice: "INV-7" } }),
      past(8, { outcome: "refused", isTest: true }),
      past(9, { outcome: "refused", created_at: "2026-11-04T22:00:00.000Z" }),
      past(10, { outcome: "refused", context: { ...past(10).context, note: "rush" } }),
    ];
    expect(suggestRules([...six(), ...others])).toHaveLength(1);
    const inherited = six((n) => ({ context: { constructor: "Example Ltd", toString: String(n) } }));
    expect(suggestRules([...inherited, ...others])).toHaveLength(1);
  });

  it("go below the lowest amount that was refused, or aren't made", () => {
    const refused = (value: number) => past(90, { ...euros(value), outcome: "refused" });
    const all = Array.from({ length: 12 }, (_, n) => past(n, euros(n + 1)));
    expect(suggestRules([...all, refused(9)], money)[0]).toMatchObject({
      bounds: { amount: { currency: "EUR", max: "8" } },
      covers: { length: 8 },
    });
    expect(suggestRules([...all, refused(3)], money)).toEqual([]);
  });

  it("are made of 100,000 decisions in well under ten seconds", () => {
    const all = Array.from({ length: 100_000 }, (_, n) =>
      past(n, {
        agent: `bot-${n % 50}`,
        context: { customer: `Customer ${Math.floor(n / 50) % 14}`, invoice: `INV-${n}` },
        created_at: `2026-11-${String(1 + (Math.floor(n / 700) % 28)).padStart(2, "0")}T09:00:00.000Z`,
        outcome: Math.floor(n / 50) % 14 === 0 ? "refused" : "approved",
      }),
    );
    const before = process.cpuUsage();
    expect(suggestRules(all)).toHaveLength(50);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(10);
  });
});

describe("a derivation", () => {
  const requests = [...six(euros), past(7, { ...euros(50), outcome: "refused" })];
  const [made] = suggestRules(requests, money);
  const text = `// other rules\n${made?.text}`;
  const derivation: Derivation = {
    version: 1,
    policy_id: made?.policyId ?? "",
    bounds: made?.bounds as SuggestedBounds,
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-12-01T00:00:00.000Z",
    approvals: 5,
    days: 2,
    requests: made?.covers ?? [],
    salt: "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const check = (more: Partial<Derivation>, all: PastRequest[] = requests, rules = text) =>
    checkDerivation({ ...derivation, ...more }, rules, all);

  it("holds with all that it names, and says how much is not here", () => {
    expect(check({})).toEqual({ fault: null, missing: 0 });
    expect(check({}, requests.slice(2))).toEqual({ fault: null, missing: 2 });
  });

  it.each<[string, string, Partial<Derivation>, (PastRequest[] | undefined)?, string?]>([
    ["another rule", "not_in_rules", {}, undefined, text.replace("5.0", "50.0")],
    ["other bounds", "not_in_rules", { bounds: { ...derivation.bounds, open: [] } }],
    ["too few requests", "too_few", { requests: derivation.requests.slice(2) }],
    ["one request twice", "too_few", { requests: [...derivation.requests, derivation.requests[0] ?? ""] }],
    ["one that was refused", "not_approved", { requests: [...derivation.requests, past(7).hash] }],
    ["one that is outside", "not_approved", {}, [past(0, euros(77)), ...requests.slice(1)]],
    [
      "a refusal that it would let through",
      "refusal_covered",
      {},
      [...requests, past(8, { ...euros(1), outcome: "refused" })],
    ],
    [
      "one that rules held back",
      "refusal_covered",
      {},
      [...requests, past(8, { ...euros(1), isHeld: true })],
    ],
    [
      "too few requests, as it says itself",
      "too_few",
      { requests: derivation.requests.slice(2), approvals: 3 },
    ],
    [
      "one day, as it says itself",
      "too_few",
      { days: 1 },
      six((n) => ({ ...euros(n), created_at: past(n % 2).created_at })),
    ],
    [
      "requests that were chosen: another had the value of a name that it leaves open",
      "wider_than_approved",
      {},
      [...requests, past(9, { ...euros(1), context: past(0).context })],
    ],
    ["one day", "too_few", {}, six((n) => ({ ...euros(n), created_at: past(n % 2).created_at }))],
    ["a lower highest amount", "wider_than_approved", {}, [...requests.slice(0, 5), past(5, euros(4))]],
    [
      "a name that had few values",
      "wider_than_approved",
      {},
      six((n) => ({ ...euros(n), context: { customer: "Example Ltd", invoice: `INV-${n % 2}` } })),
    ],
  ])("doesn't hold with %s", (_, fault, more, all, rules) => {
    expect(check(more, all, rules).fault).toBe(fault);
  });

  const standing = suggestStanding(derivation.bounds, derivation.to, requests.slice(0, 6)) as GrantTerms;
  const asked = { agent_slug: "invoice-bot", grant: deriveStanding(standing, derivation) };

  it("is one of a standing approval too, for as much as was approved in thirty days", () => {
    expect(standing).toEqual({
      ...{ tools: ["send"], actions: ["Send an invoice"], context: { customer: "Example Ltd" } },
      ...{ max_calls: 6, max_amount: "5", max_budget: "15", currency: "EUR" },
      expires_at: "2026-12-31T00:00:00.000Z",
    });
    expect(asked.grant.derived).toEqual({
      ...{ derivation: derivationHash(derivation), details: ["customer", "invoice"] },
      hours: { from: 9, to: 15 },
    });
    expect(checkDerivation(derivation, asked, requests)).toEqual({ fault: null, missing: 0 });
    expect(checkDerivation(derivation, asked, requests.slice(2))).toEqual({ fault: null, missing: 2 });
    const later = { ...derivation, to: "2026-12-02T00:00:00.000Z" };
    const grant = deriveStanding(
      suggestStanding(later.bounds, later.to, requests.slice(0, 6)) as GrantTerms,
      later,
    );
    expect(grant, "those of the first day are too old").toMatchObject({ max_calls: 4, max_budget: "14" });
    expect(checkDerivation(later, { ...asked, grant }, requests).fault).toBeNull();
    const none = (bounds: Partial<SuggestedBounds>, to = derivation.to) =>
      suggestStanding({ ...derivation.bounds, ...bounds }, to, requests.slice(0, 6));
    expect(none({}, "2027-03-01T00:00:00.000Z"), "nothing lately").toBeNull();
    expect(none({ tool: null }), "it would cover any tool").toBeNull();
    expect(none({ equal: { action: "Send *", context: [] } }), "it would be a prefix").toBeNull();
  });

  it.each<[string, string, Partial<GrantTerms> | null, Partial<Derivation>?, PastRequest[]?]>([
    ["one more use", "not_in_terms", { max_calls: 7 }],
    ["a larger budget", "not_in_terms", { max_budget: "15.01" }],
    ["a longer time", "not_in_terms", { expires_at: "2027-01-01T00:00:00.000Z" }],
    ["a second tool", "not_in_terms", { tools: ["send", "pay"] }],
    ["no terms", "not_in_terms", null],
    ["another derivation", "not_in_terms", {}, { salt: "BAAAAAAAAAAAAAAAAAAAAA==" }],
    ["a time that is none", "not_in_terms", {}, { to: "today" }],
    [
      "a longer time, if not all is known",
      "not_in_terms",
      { expires_at: "2027-01-01T00:00:00.000Z" },
      {},
      requests.slice(1),
    ],
    [
      "a refusal that it covers",
      "refusal_covered",
      {},
      {},
      [...requests, past(8, { ...euros(1), outcome: "refused" })],
    ],
  ])("of a standing approval doesn't hold with %s", (_, fault, terms, more = {}, all = requests) => {
    const grant = terms && { ...asked.grant, ...terms };
    expect(checkDerivation({ ...derivation, ...more }, { ...asked, grant }, all).fault).toBe(fault);
  });

  it("is of one agent", () => {
    expect(checkDerivation(derivation, { ...asked, agent_slug: "other" }, requests).fault).toBe(
      "not_in_terms",
    );
  });

  it.each<[string, Partial<PastRequest>, OutOfScope | null]>([
    ["another invoice", { context: { customer: "Example Ltd", invoice: "INV-99" } }, null],
    ["one more name", { context: { ...past(3).context, copy_to: "x" } }, "details"],
    ["no invoice", { context: { customer: "Example Ltd" } }, "details"],
    ["a part of the details", { isComplete: false }, "details"],
    ["an earlier hour", { created_at: "2026-12-04T08:59:00.000Z" }, "hours"],
    ["a later hour", { created_at: "2026-12-04T16:00:00.000Z" }, "hours"],
    ["a higher amount", euros(6), "max_amount"],
  ])("lets a standing approval cover no more than the rule: %s", (_, more, why) => {
    const request = past(3, { ...euros(3), created_at: "2026-12-04T09:00:00.000Z", ...more });
    const { action, isComplete, context, created_at, amount } = request;
    const covered = { action, tool: "send", ...(amount && { amount }), details: { complete: isComplete } };
    expect(whyOutOfScope(asked.grant, covered, context, new Date(created_at))).toBe(why);
    expect(isWithin(derivation.bounds, request)).toBe(why === null);
  });

  it("doesn't mind a refusal outside of its time", () => {
    const later = past(8, { ...euros(1), outcome: "refused", decided_at: "2026-12-01T09:00:00.000Z" });
    expect(check({}, [...requests, later]).fault).toBeNull();
  });
});
