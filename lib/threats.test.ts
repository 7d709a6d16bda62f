/**
 * docs/threats.md names a test in every row, and the defences that `npm run mutations` takes out are those of its rows,
 * proven by tests of that row. lib/citations.test.ts sees to it that the files exist.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { mutations } from "#ci/mutations/list";

const rows = readFileSync("docs/threats.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:threat\b|-)/.test(line))
  .map((line) => line.split(" | ").map((cell) => cell.trim().replace(/^\| /, "")));

describe("the table of threats", () => {
  it("has its rows, each threat once, each with tests, once too", () => {
    const threats = rows.map(([threat]) => threat);
    expect(threats.length).toBeGreaterThan(40);
    expect(threats.filter((threat, place) => threats.indexOf(threat) !== place)).toEqual([]);
    expect(rows.filter(([, tests = ""]) => !/`[^`]+\.(?:test|spec)\.tsx?`/.test(tests))).toEqual([]);
    const named = rows.map(([, tests = ""]) => [...tests.matchAll(/`[^`]+`/g)].map(([test]) => test));
    expect(named.flatMap((tests) => tests.filter((test, place) => tests.indexOf(test) !== place))).toEqual(
      [],
    );
  });

  it.each(mutations)("$threat: taking a defence out of $file is judged by a test of its row", (mutation) => {
    const { threat, file, from, test } = mutation;
    const [row, more] = rows.filter(([told = ""]) => told.startsWith(threat));
    expect([row?.[1], more]).toEqual([expect.stringContaining(`\`${test}\``), undefined]);
    expect(readFileSync(file, "utf8").split(from)).toHaveLength(2);
  });
});
