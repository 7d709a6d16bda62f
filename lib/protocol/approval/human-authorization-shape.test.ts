import { describe, expect, it } from "vitest";
import { makeTestAuthorization } from "#support/human-authorization";
import type { HumanAuthorization } from "./approval";
import { parseHumanAuthorization } from "./human-authorization-shape";

type Path = (string | number)[];

function listPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const names = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
  return [
    path,
    ...names.flatMap((name) => listPaths((value as Record<string | number, unknown>)[name], [...path, name])),
  ];
}

const copyOf = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? [...value] : { ...value };
};

/** Copies what is on the path and what it leads to: the rest stays the same object. */
// biome-ignore lint/suspicious/noExplicitAny: any JSON
function edit(value: unknown, path: Path, change: (holder: any, name: string | number) => void): unknown {
  const root = { value: copyOf(value) };
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  let holder: any = root;
  let last: string | number = "value";
  for (const name of path) {
    holder = holder[last];
    holder[name] = copyOf(holder[name]);
    last = name;
  }
  change(holder, last);
  return root.value;
}

const v3 = {
  protocol_version: "3.0",
  level: "device",
  proof: `0x${"ab".repeat(256)}`,
};
const replacements = [
  null,
  "",
  "x",
  0,
  1,
  -1,
  1.5,
  2,
  3,
  4,
  2 ** 53,
  true,
  [],
  {},
  "A".repeat(88),
  "x".repeat(2049),
  `0x${"0".repeat(64)}`,
  `0x${"F".repeat(64)}`,
  `0x${"f".repeat(64)}`,
  "ab".repeat(32),
  "2026-02-30T00:00:00.000Z",
  "2026-11-21T08:00:00.000Z",
  "2026-11-21T24:00:00.000Z",
  "2026-11-21T08:00:00Z",
  "production",
  "orb",
  "3.0",
  "4.0",
  ["groth16-local"],
  ["groth16-local", "x"],
];

describe("the shape of a human_authorization", () => {
  it("refuses what a second shape, of the API's schema, refused too until 2026-11-29", () => {
    const whole = makeTestAuthorization();
    const {
      proof: _proof,
      level: _level,
      issuer_schema_id: _i,
      expires_at_min: _e,
      ...common
    } = whole.approvals[0] as never as Record<string, unknown>;
    const samples = [whole, { ...whole, approvals: [{ ...common, ...v3 }] }, { ...whole, log: { index: 1 } }];
    const counts = { accepted: 0, refused: 0 };
    for (const sample of samples) {
      expect(parseHumanAuthorization(sample)).toBe(sample);
      for (const path of listPaths(sample)) {
        const edited = [
          edit(sample, path, (holder, name) => {
            if (Array.isArray(holder)) holder.splice(Number(name), 1);
            else if (path.length > 0) delete holder[name];
          }),
          edit(sample, path, (holder, name) => {
            if (typeof holder[name] === "object" && holder[name] !== null) holder[name].extra = 1;
          }),
          ...replacements.map((one) =>
            edit(sample, path, (holder, name) => {
              holder[name] = one;
            }),
          ),
        ];
        for (const value of edited)
          counts[parseHumanAuthorization(value) === null ? "refused" : "accepted"] += 1;
      }
    }
    expect(counts).toEqual({ accepted: 1094, refused: 7994 });
  });

  const isTaken = (change: (copy: HumanAuthorization) => void) => {
    const copy = structuredClone(makeTestAuthorization());
    change(copy);
    return parseHumanAuthorization(copy) !== null;
  };

  it("counts characters, of which some are two units of UTF-16", () => {
    const withAction = (count: number) => isTaken((copy) => (copy.request.action = "😀".repeat(count)));
    expect([withAction(1000), withAction(1001)]).toEqual([true, false]);
    const withDetail = (count: number) =>
      isTaken((copy) => {
        copy.request.grant = {
          tools: ["😀".repeat(256)],
          max_calls: 1,
          expires_at: copy.request.expires_at,
          context: { ["😀".repeat(256)]: "😀".repeat(count) },
        };
      });
    expect([withDetail(4096), withDetail(4097)]).toEqual([true, false]);
  });

  it.each([
    [500, true],
    [501, false],
  ])("takes as many policies as rules can have: %i", (count, isRight) => {
    const policy_ids = Array.from({ length: count }, (_, i) => `policy-${i}`);
    const hash = "ab".repeat(32);
    const decided_by = { kind: "rule", ruleset_hash: hash, policy_ids, context_hash: hash } as const;
    expect(isTaken((copy) => (copy.decided_by = decided_by))).toBe(isRight);
  });
});
