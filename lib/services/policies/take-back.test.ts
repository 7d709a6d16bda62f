/** Hints at what an organization may want back, each from its own cause and no other. */
import { describe, expect, it } from "vitest";
import type { PastRequest } from "#lib/protocol/policy/suggest";
import { judgeGrant, judgeRule, type UsedGrant } from "./take-back";

const now = new Date("2026-11-29T12:00:00.000Z");
const grant: UsedGrant = {
  request_id: "areq_1",
  agent_slug: "bot",
  action: "Pay invoices",
  terms: {
    ...{ tools: ["pay"], max_calls: 20, max_amount: "50", max_budget: "500", currency: "EUR" },
    expires_at: "2027-01-01T00:00:00.000Z",
  },
  approvedAt: new Date("2026-10-01T00:00:00.000Z"),
  uses: 5,
  lastUsedAt: new Date("2026-11-28T00:00:00.000Z"),
  highest: 400_000n,
  spent: 1_000_000n,
  tools: ["pay"],
};
const refused: PastRequest = {
  ...{ hash: "", agent: "bot", action: "Pay invoice 7", tool: "pay", context: {}, isComplete: true },
  ...{ amount: { value: "20", currency: "EUR" } },
  ...{ created_at: "2026-11-20T09:00:00.000Z", decided_at: "2026-11-20T09:01:00.000Z" },
  ...{ outcome: "refused", isHeld: false, isTest: false },
};
const find = (more: Partial<UsedGrant>, met: PastRequest[] = []) =>
  judgeGrant({ ...grant, ...more }, met, now).map(({ why, detail }) => `${why}: ${detail}`);

describe("a standing approval", () => {
  it.each<[string, string[], Partial<UsedGrant>, PastRequest[]?]>([
    ["in use", [], {}],
    [
      "unused for a month",
      ["unused: unused for 30 days"],
      { lastUsedAt: new Date("2026-10-30T12:00:00.000Z") },
    ],
    ["unused for a day less", [], { lastUsedAt: new Date("2026-10-30T12:00:01.000Z") }],
    ["never used", ["unused: unused for 59 days"], { uses: 0, lastUsedAt: null, highest: 0n, tools: [] }],
    ["with a tool that is never used", ["wider: pay never used"], { tools: ["send"] }],
    [
      "for twice what was used",
      ["wider: up to 50.00 EUR each, and the highest use was 25.00 EUR"],
      { highest: 250_000n },
    ],
    [
      "that met a refusal",
      ["refused: people refused something that it covers: Pay invoice 7"],
      {},
      [refused],
    ],
    ["that met one of another tool", [], {}, [{ ...refused, tool: "send" }]],
    ["that met one before it", [], {}, [{ ...refused, created_at: "2026-09-30T23:59:59.000Z" }]],
    ["of which four fifths are used", ["budget: 400.00 EUR of 500.00 EUR are used"], { spent: 4_000_000n }],
    ["of which less is used", [], { spent: 3_999_999n }],
  ])("%s", (_, hints, more, met) => {
    expect(find(more, met)).toEqual(hints);
  });
});

describe("a rule", () => {
  const bounds = {
    ...{ agent: "bot", tool: "pay", equal: { action: null, context: [] }, open: [] },
    ...{ amount: { currency: "EUR", max: "50" }, hours: { from: 0, to: 23 } },
  };
  const derivation = {
    ...{ version: 1 as const, policy_id: "learned-1", bounds, from: "2026-08-01T00:00:00.000Z" },
    ...{ to: "2026-11-01T00:00:00.000Z", approvals: 5, days: 2, requests: [], salt: "" },
  };
  const rule = { policyId: "learned-1", uses: 3, highest: 400_000n, derivation };
  it("is named if it is unused, wider than its use, or met a refusal after it was learned", () => {
    const why = (more: object, met: PastRequest[] = [], isOld = true) =>
      judgeRule({ ...rule, ...more }, met, isOld).map((one) => one.why);
    expect(why({})).toEqual([]);
    expect(why({ uses: 0 })).toEqual(["unused"]);
    expect(why({ uses: 0 }, [], false)).toEqual([]);
    expect(why({ highest: 250_000n })).toEqual(["wider"]);
    expect(why({}, [refused])).toEqual(["refused"]);
    expect(why({}, [{ ...refused, created_at: "2026-10-31T09:00:00.000Z" }])).toEqual([]);
    expect(why({ derivation: null, highest: 0n }, [refused])).toEqual([]);
  });
});
