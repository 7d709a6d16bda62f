import { describe, expect, it } from "vitest";
import type { Decider } from "#lib/protocol/approval/decided-by";
import type { Decided } from "#lib/protocol/approval/decided-words";
import {
  describeDecided,
  describeUnasked,
  labelDecided,
  shortenDecided,
} from "#lib/protocol/approval/decided-words";
import { findPayee } from "#lib/protocol/approval/detail-names";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { HumanApproval } from "#lib/protocol/statement/human-approval";
import { type Facts, factsOfApproval, factsOfReceipt, factsOfRequest, listFacts, listPeople } from "./facts";

const finance = "01a21220-337e-7f65-8330-7e7bf12339f0";
const ada = "01a21220-337e-7f65-8330-7e7bf12339f1";
const bob = "01a21220-34fc-78f6-84b0-743e133902bd";

const passkey = (approver_id: string, verified_at: string): JsonObject => ({
  type: "passkey",
  approver_id,
  verified_at,
});

const authorization = (more: JsonObject = {}): JsonObject => ({
  request: {
    agent_slug: "treasury-bot",
    action: "Pay the invoice",
    tool: "transfer",
    amount: { value: "12000.5", currency: "EUR" },
    required_level: "none",
    required_approvers: [{ group: finance, count: 2 }],
    grant: null,
  },
  decided_by: { kind: "people" },
  approvals: [passkey(ada, "2026-11-29T08:00:00.000Z"), passkey(bob, "2026-11-29T08:05:00.000Z")],
  environment: "production",
  approved_at: "2026-11-29T08:05:00.000Z",
  usable_until: null,
  ...more,
});

const backed = (environment = "production"): HumanApproval => ({
  method: "enrolled_approver",
  level: "none",
  request_hash: "",
  authorization_hash: "",
  nullifier_hashes: [],
  approver_ids: [ada, bob],
  environment,
  inputs_bound: false,
});
const attested = (human_approval: HumanApproval) => ({
  request: { agent_slug: "treasury-bot", action: "Pay the invoice" },
  human_approval,
  timestamp: "2026-11-29T08:06:00.000Z",
});
const names = { groups: { [finance]: "finance" }, approvers: { [ada]: "Ada Example" } };

const grantUse: Decider = {
  kind: "grant",
  request_hash: "",
  authorization_hash: "",
  use: 43,
  of: 500,
  spent: "3800",
  budget: "5000",
  currency: "EUR",
};
const ruled = (...policy_ids: string[]): Decider => ({
  kind: "rule",
  ruleset_hash: "",
  context_hash: "",
  policy_ids,
});

const textOf = (facts: Parameters<typeof listFacts>[0]) =>
  Object.fromEntries(listFacts(facts).map(({ id, text }) => [id, text]));

describe("the facts of a receipt", () => {
  it("are all there for the organization", () => {
    expect(textOf(factsOfReceipt(attested(backed()), authorization(), names))).toEqual({
      amount: "12,000.50 EUR",
      what: "Pay the invoice",
      tool: "transfer",
      agent: "treasury-bot",
      decided: "2 members of finance, by passkey",
      people:
        "Ada Example, by passkey, 2026-11-29 08:00:00 UTC; Person 2, by passkey, 2026-11-29 08:05:00 UTC",
      decided_at: "2026-11-29 08:05:00 UTC",
      recorded_at: "2026-11-29 08:06:00 UTC",
      not_proven: "that the action happened as reported; to whom (only a hash of the details is signed)",
    });
  });

  it("say who decided in a pack as packs of version 2 always did", () => {
    const { decided } = factsOfReceipt(attested(backed()), authorization(), names);
    expect(describeDecided(decided, true)).toBe("2 of finance, by passkey");
    const { decided: toPublic } = factsOfReceipt(attested(backed()), authorization());
    expect(describeDecided(toPublic, true)).toBe("2 of one group, by passkey");
  });

  it("name nobody's ids in public", () => {
    const words = JSON.stringify(listFacts(factsOfReceipt(attested(backed()), authorization())));
    expect(words).toContain("2 members of a group, by passkey");
    for (const id of [finance, ada, bob]) expect(words).not.toContain(id);
  });

  it("name an absent approval as the receipt does, and give away no hidden content", () => {
    const facts = factsOfReceipt(attested(backed()), null);
    expect(facts.amount).toBeNull();
    expect(describeDecided(facts.decided)).toBe("2 enrolled approvers, by passkey");
    for (const [method, words] of [
      ["rule", "A rule allowed it. Nobody was asked."],
      ["standing_approval", "Standing approval. Nobody was asked."],
    ] as const)
      expect(
        describeDecided(factsOfReceipt(attested({ ...backed(), method } as HumanApproval), null).decided),
      ).toBe(words);
    expect(textOf(factsOfReceipt(null, authorization()))).toEqual({ decided: "Not shown here" });
  });

  it("never take the caller's word for an approval", () => {
    const asserted = factsOfReceipt(attested({ method: "hash", approver_hash: null }), authorization());
    expect(textOf(asserted)).toMatchObject({
      decided: "The agent says that a human approved. Not proven.",
      not_proven: "that the action happened as reported; that a human approved it",
    });
    expect(asserted.amount).toBeNull();
    expect(textOf(factsOfReceipt(attested({ method: "none" }), null))).toMatchObject({
      decided: "No human approval",
    });
    const trace = { signal: "log", trace_id: null, span_id: null } as const;
    expect(textOf(factsOfReceipt({ ...attested({ method: "none" }), trace }, null))).toMatchObject({
      source: "Reported by a trace",
      not_proven:
        "that the action happened as reported; that the agent itself reported it, and when it happened",
    });
  });

  it("name the attestation by whose authority the agent acted", () => {
    const { request, ...rest } = attested({ method: "none" });
    const parent = { id: finance, payload_hash: "ab".repeat(32), origin: "other.example/log" };
    const follow = (more: JsonObject) =>
      textOf(factsOfReceipt({ ...rest, request: { ...request, ...more } }, null))["parent"];
    expect(follow({ parent })).toBe(`Attestation ${finance} in the log other.example/log`);
    expect(follow({})).toBe(undefined);
    expect(textOf(factsOfReceipt(null, null))["parent"]).toBe(undefined);
  });

  it("say that a TEST is one, in words that fit who decided", () => {
    const people = factsOfReceipt(attested(backed("local")), authorization({ environment: "local" }));
    expect(textOf(people)["not_proven"]).toContain("that a real person approved it (TEST)");
    const rule = factsOfReceipt(
      attested({ ...backed("local"), method: "rule" } as HumanApproval),
      authorization({
        environment: "local",
        decided_by: ruled("small") as unknown as JsonObject,
        approvals: [],
      }),
    );
    expect(textOf(rule)["not_proven"]).not.toContain("person");
    expect(textOf(rule)["not_proven"]).toContain("(TEST)");
  });
});

describe("who decided, in words", () => {
  const unasked = (decider: Decider, status = "approved") => describeUnasked(decider, status);

  it.each([
    [unasked(ruled("small-amounts")), "Rule small-amounts allowed it. Nobody was asked."],
    [unasked(ruled("a", "b")), "Rules a, b allowed it. Nobody was asked."],
    [unasked(ruled("never"), "denied"), "Rule never denied it. Nobody was asked."],
    [unasked(ruled(), "denied"), "No rule permits it. Nobody was asked."],
    [unasked(grantUse), "Standing approval: use 43 of 500, 1,200.00 of 5,000.00 EUR left when it was used."],
    [
      unasked({ ...grantUse, spent: null, budget: null, currency: null } as Decider),
      "Standing approval: use 43 of 500.",
    ],
    [
      shortenDecided(unasked({ ...grantUse, use: 1_043, of: 2_500 } as Decider) ?? ""),
      "Standing approval: use 1,043 of 2,500.",
    ],
    [
      shortenDecided("Rule Standing approval: use 1 of 2, x when it was used"),
      "Rule Standing approval: use 1 of 2, x when it was used",
    ],
    [unasked({ kind: "freeze" }, "denied"), "Denied: the organization has frozen this agent."],
    [unasked({ kind: "people" }), null],
  ])("%#", (said, expected) => {
    expect(said).toBe(expected);
  });

  const people = (more: Partial<Decided & { kind: "people" }>): Decided => ({
    kind: "people",
    decision: "approved",
    groups: [],
    people: [{ name: null, way: "World ID", at: null }],
    level: "orb",
    isTest: false,
    ...more,
  });
  const byPasskey = { name: null, way: "passkey", at: null } as const;

  it.each([
    [people({}), "Approved by", "1 person, by World ID (Orb)"],
    [people({ isTest: true }), "Approved by", "1 test wallet, by World ID (Orb)"],
    [
      people({
        people: [byPasskey, byPasskey, byPasskey],
        level: "none",
        groups: [
          { name: null, count: 2 },
          { name: null, count: 1 },
        ],
      }),
      "Approved by",
      "2 members of a group and 1 member of another, by passkey",
    ],
    [
      people({
        people: [{ ...byPasskey, way: "World ID and passkey" }],
        groups: [{ name: "ops", count: 1 }],
        level: "device",
      }),
      "Approved by",
      "1 member of ops, by World ID and passkey (device)",
    ],
    [
      people({
        decision: "denied",
        people: [byPasskey],
        level: "none",
        groups: [{ name: "finance", count: 2 }],
      }),
      "Denied by",
      "1 member of finance, by passkey",
    ],
    [
      people({ decision: "denied", people: [{ ...byPasskey, way: "the link" }], level: "none" }),
      "Denied by",
      "Whoever had the link",
    ],
    [{ kind: "waiting", given: 1, required: 2 } as const, "Approval", "Nobody yet: 1 of 2 approvals"],
  ])("%#", (decided, label, text) => {
    expect([labelDecided(decided), describeDecided(decided)]).toEqual([label, text]);
  });

  it("counts one person of two forms of proof once", () => {
    const both = authorization({
      approvals: [
        { ...passkey(ada, "2026-11-29T08:00:00.000Z"), nullifier_hash: "0x1" },
        { type: "world_id", nullifier_hash: "0x1", verified_at: "2026-11-29T08:00:00.000Z" },
      ],
    });
    expect(listPeople(factsOfApproval(both, names))).toEqual([
      "Ada Example, by World ID and passkey, 2026-11-29 08:00:00 UTC",
    ]);
  });
});

it("calls a test wallet no person", () => {
  const approvals = [{ type: "world_id", nullifier_hash: "0x1", verified_at: "2026-11-29T08:00:00.000Z" }];
  const list = (environment: string) =>
    listPeople(factsOfApproval(authorization({ approvals, environment })));
  expect(list("local")).toEqual(["Test wallet 1, by World ID, 2026-11-29 08:00:00 UTC"]);
  expect(list("production")).toEqual(["Person 1, by World ID, 2026-11-29 08:00:00 UTC"]);
});

describe("the facts of a request", () => {
  const asked = {
    action: "Pay the invoice",
    amount: { value: "100.5", currency: "EUR" },
    agent_slug: "treasury-bot",
    context: { memo: "July", iban: "DE00", payee: "Example Ltd" },
    status: "pending",
    approvals: { given: 0, required: 2 },
    groups: [{ name: "finance", count: 2 }],
    people: [],
    required_level: "none",
    environment: "production",
  };

  it("have the payee, who asked and what it waits for", () => {
    expect(textOf(factsOfRequest({ ...asked, requester: "Ada" }))).toEqual({
      amount: "100.50 EUR",
      payee: "Example Ltd",
      what: "Pay the invoice",
      agent: "treasury-bot",
      requester: "Ada",
      decided: "Nobody yet: 0 of 2 approvals",
    });
  });

  it("say the terms of a standing approval with the currency's decimals", () => {
    const grant = {
      tools: ["transfer"],
      max_calls: 500,
      max_amount: "50",
      max_budget: "5000",
      currency: "EUR",
      expires_at: "2026-12-31T00:00:00.000Z",
    };
    expect(textOf(factsOfRequest({ ...asked, amount: null, grant }))["limits"]).toBe(
      "Standing approval: at most 500 uses, 50.00 EUR each, 5,000.00 EUR in all, until 2026-12-31 00:00:00 UTC",
    );
  });

  it("are empty after an erasure", () => {
    expect(factsOfRequest({ ...asked, action: "", amount: null, context: null }).what).toBeNull();
  });

  it.each([
    [{ payee_iban: "DE00", payeeName: "Example Ltd" }, "Example Ltd"],
    [{ to: "a@example.com" }, "a@example.com"],
    [{ recipient_email: "a@example.com" }, "a@example.com"],
    [{ total: "5", host: "example.com" }, null],
    [{}, null],
  ])("%j is paid to %s", (context, payee) => {
    expect(findPayee(context as Record<string, string>)).toBe(payee);
  });
});

describe("a call that was recorded without its arguments", () => {
  const client: JsonObject = { client: { instance: "hook-1", sequence: 1 } };
  const recorded = (at: unknown, more = client, human_approval: HumanApproval = { method: "none" }) =>
    factsOfReceipt(
      {
        request: {
          agent_slug: "coder",
          action: "Use the tool Bash",
          metadata: { title: "ls", at } as JsonObject,
          ...more,
        },
        human_approval,
        timestamp: "2026-11-29T08:06:00.000Z",
      },
      null,
    );
  const lateIn = (facts: Facts) => listFacts(facts).find(({ id }) => id === "ended_at")?.text;

  it("says that it was recorded late, and its title", () => {
    const late = recorded("2026-11-29T07:00:00.000Z");
    expect([late.title, late.endedAt]).toEqual(["ls", "2026-11-29T07:00:00.000Z"]);
    expect(lateIn(late)).toBe("It ended at 2026-11-29 07:00:00 UTC by its machine's clock");
    for (const at of ["2026-11-29T08:05:30.000Z", "2026-11-29T09:00:00.000Z", "yesterday", 7, undefined])
      expect(lateIn(recorded(at)), String(at)).toBeUndefined();
    const others = recorded("2026-11-29T07:00:00.000Z", {});
    expect([others.title, others.endedAt], "metadata of somebody else").toEqual([null, null]);
    const approved = recorded(undefined, client, backed());
    expect(approved.title, "not what was approved").toBe(null);
  });
});
