import { describe, expect, it } from "vitest";
import {
  drawTime,
  findPlantedFault,
  makeMistake,
  type PackedPlanted,
  type Plantable,
  type PlantedEntry,
  type PlantedOpening,
  type PlantedSchedule,
  type PlantedStatement,
  plantedHash,
  plantedOrganization,
} from "./planted";

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

describe("what was planted", () => {
  const [organization, group] = [
    "0198c0de-0000-7000-8000-000000000001",
    "0198c0de-0000-7000-8000-000000000002",
  ];
  const day = (number: number) => `2026-10-${String(number).padStart(2, "0")}T08:00:00.000Z`;
  const period = { from: day(1), to: day(31) };
  const entry: PlantedEntry = { request_id: "areq_1", at: day(5), fact: "payee", salt: "c2FsdA==" };
  const hash = "a".repeat(64);

  function make(change: {
    entry?: Partial<PlantedEntry>;
    ended_at?: string;
    scheduled?: Partial<PlantedStatement>;
    isOpenedFirst?: boolean;
  }) {
    const schedule: PlantedSchedule = {
      ...{ version: 1, organization, group, from: day(2), until: day(30) },
      entries: [plantedHash(change.entry?.at === undefined ? entry : { ...entry, ...change.entry })],
    };
    const opening: PlantedOpening = {
      ...{ version: 1, schedule: plantedHash(schedule), entry: { ...entry, ...change.entry } },
      ...{ request_hash: hash, outcome: "denied", ended_at: change.ended_at ?? day(6) },
    };
    const shared = { organization: plantedOrganization(organization), key_id: "k" };
    const logged = [
      {
        ...{ ...shared, kind: "schedule", digest: plantedHash(schedule), at: day(2), until: day(30) },
        ...change.scheduled,
      },
      { ...shared, kind: "opening", digest: plantedHash(opening), at: day(6), schedule: opening.schedule },
    ] as PlantedStatement[];
    const packed: PackedPlanted = {
      ...{ version: 1, organization },
      schedules: [{ name: "finance", schedule, openings: [opening] }],
    };
    return { packed, logged: change.isOpenedFirst ? logged.reverse() : logged };
  }

  it.each([
    [null, {}],
    [/another time/, { entry: { at: day(1) } }],
    [/another time/, { entry: { at: day(31) } }],
    [/another time/, { ended_at: day(4) }],
    [/nothing that .* commits to/, { entry: { salt: "b3RoZXI=" } }],
    [/before it begins/, { scheduled: { at: day(3) } }],
    [/before it begins/, { scheduled: { until: day(29) } }],
    [/after it/, { isOpenedFirst: true }],
  ])("has the fault %s: %o", (fault, change) => {
    const { packed, logged } = make(change);
    const found = findPlantedFault(packed, logged, period, new Map());
    expect(found).toEqual(fault === null ? null : expect.stringMatching(fault));
  });

  it.each([
    [[], day(6), null],
    [[], day(30), /is missing/],
    [[day(29)], day(6), null],
    [[day(30)], day(6), /is missing/],
  ])("isn't missing before it ended: counted at %s, known by the log at %s", (counted, opened, fault) => {
    const { packed, logged } = make({});
    const later = logged.map((one) => (one.kind === "opening" ? { ...one, at: opened } : one));
    const found = findPlantedFault({ ...packed, schedules: [] }, later, { ...period, counted }, new Map());
    expect(found).toEqual(fault === null ? null : expect.stringMatching(fault));
  });

  it("is of no request that an approval is of, and of an organization of the approvals", () => {
    const { packed, logged } = make({});
    const judge = (...used: [string, string][]) => findPlantedFault(packed, logged, period, new Map(used));
    expect(judge(["b".repeat(64), organization], ["c".repeat(64), group])).toBeNull();
    expect(judge([hash, organization])).toBe("a planted request was approved");
    expect(judge(["b".repeat(64), group])).toBe("they are of another organization than the approvals");
  });
});
