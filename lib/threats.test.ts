/** docs/threats.md names tests that exist, in every row. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const rows = readFileSync("docs/threats.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:threat\b|-)/.test(line))
  .map((line) => line.split(" | ").map((cell) => cell.trim()));

describe("the table of threats", () => {
  it("has its rows", () => expect(rows.length).toBeGreaterThan(40));

  it("names each threat once", () => {
    const threats = rows.map(([threat]) => threat);
    expect(threats.filter((threat, place) => threats.indexOf(threat) !== place)).toEqual([]);
  });

  it.each(rows)("%s: is proven by tests that exist", (_threat, tests = "") => {
    const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? "");
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });
});
