/** The golden receipts of every release (public/vectors/<version>/, created once by .ci/make-release.mjs) always verify. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { verifyInBrowser } from "./browser";

const folder = path.resolve("public/vectors");
const releases = readdirSync(folder);

const readText = (...names: string[]) => readFileSync(path.join(folder, ...names), "utf8");

it("there are golden receipts", () => {
  expect(releases).toContain("1.0.0");
});

describe.each(releases)("the golden receipts of %s", (release) => {
  const keys = readText(release, "keys.json");
  const list = JSON.parse(readText(release, "index.json")) as { file: string; verdict: string }[];

  it("are of every kind", () => {
    expect(list.length).toBeGreaterThanOrEqual(13);
    expect(JSON.parse(keys).keys.map(({ status }: { status: string }) => status)).toEqual([
      "retired",
      "active",
    ]);
  });

  it.each(list)("$file is $verdict", async ({ file, verdict }) => {
    const report = await verifyInBrowser(readText(release, file), keys);
    expect(report.checks.filter(({ status }) => status === "fail" || status === "not_run")).toEqual([]);
    expect(report.verdict).toBe(verdict);
  });

  it.each(list)("$file is not under other keys", async ({ file }) => {
    const { keys: own, ...rest } = JSON.parse(keys);
    const moved = own.map((key: object) => ({ ...key, valid_from_index: 1_000, valid_to_index: 1_001 }));
    const others = { ...rest, keys: moved, zk: { ...rest.zk, keys: [] } };
    expect((await verifyInBrowser(readText(release, file), others)).verdict).toBe("invalid");
  });
});
