/**
 * The golden receipts of every release (public/vectors/<version>/, created once by .ci/make-release.mjs) always verify, and
 * the conformance suite (.ci/make-conformance.mjs) is judged as it expects.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type ConformanceCase, conformanceFolder, makeConformance } from "#support/conformance";
import { runHere } from "#support/verifier-run";
import { verifyInBrowser } from "./browser";

const folder = path.resolve("public/vectors");
const releases = readdirSync(folder).filter((name) => name !== path.basename(conformanceFolder));

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

describe("the conformance suite", () => {
  const inSuite = (name: string) => path.join(conformanceFolder, name);
  const { cases } = JSON.parse(readFileSync(inSuite("cases.json"), "utf8")) as { cases: ConformanceCase[] };

  it("is made again byte for byte, and has no other files", async () => {
    const files = await makeConformance();
    const written = readdirSync(conformanceFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(conformanceFolder, path.join(parentPath, name)));
    expect(written.sort()).toEqual([...files.keys(), "README.md", "conformance.mjs"].sort());
    for (const [name, bytes] of files)
      expect(
        Buffer.compare(readFileSync(inSuite(name)), bytes),
        `${name}: run .ci/make-conformance.mjs`,
      ).toBe(0);
  });

  it("names the checks that it expects to fail, and each kind of file, good and bad", () => {
    const readme = readFileSync(inSuite("README.md"), "utf8");
    const cells = [...readme.matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell = ""]) => cell);
    const explained = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
    for (const { failed } of cases)
      if (failed) expect(explained).toContain(failed.replace(/^link \d+$/, "link 1"));
    for (const kind of ["receipt", "approval", "presentation", "record", "pack", "chain"] as const) {
      const verdicts = cases.filter((one) => one.kind === kind).map(({ verdict }) => verdict);
      expect(verdicts, kind).toContain("invalid");
      expect(
        verdicts.some((verdict) => verdict === "valid" || verdict === "incomplete"),
        kind,
      ).toBe(true);
    }
  });

  /** Kind and name of each check that a report has; those that fail in a case. */
  const [named, failing] = [new Set<string>(), new Set<string>()];

  it.each(cases)(
    "$kind: $name is $verdict",
    async ({ kind, file, keys, parents = [], other_keys = [], receipts = [], pinned = [], ...expected }) => {
      const argv = [
        ...(["record", "pack", "chain"].includes(kind) ? [kind] : []),
        ...[file, ...parents].map(inSuite),
        ...[keys, ...other_keys].flatMap((name) => ["--keys", inSuite(name)]),
        "--json",
        ...pinned.flatMap((key) => ["--key", key]),
        ...receipts.flatMap((receipt) => ["--receipt", inSuite(receipt)]),
        ...(expected.audience ? ["--audience", expected.audience] : []),
        ...(expected.nonce ? ["--nonce", expected.nonce] : []),
      ];
      const { code, out } = await runHere(argv, { tell: () => {} });
      expect(code).toBe({ valid: 0, invalid: 1, refused: 2, incomplete: 3, erased: 3 }[expected.verdict]);
      if (expected.verdict === "refused") return;
      const report = JSON.parse(out) as {
        verdict: string;
        checks: { name: string; status: string }[];
      };
      expect(report.verdict).toBe(expected.verdict);
      for (const { name, status } of report.checks)
        for (const set of status === "fail" ? [named, failing] : [named])
          set.add(`${kind}: ${name.replace(/^link \d+$/, "link")}`);
      for (const [name, status] of Object.entries(expected.checks ?? {}))
        expect(report.checks.find((check) => check.name === name)?.status, name).toBe(status);
      const failed = report.checks.filter(({ status }) => status === "fail").map(({ name }) => name);
      if (expected.failed) expect(failed).toContain(expected.failed);
      else expect(failed).toEqual([]);
    },
  );

  it("has a case that fails at each check that files alone can fail at", () => {
    expect([...named].filter((name) => !failing.has(name)).sort()).toEqual([
      // Checked by a node of World Chain, with an option of the reader's, or only in a pack.
      ...["approval: anchors_on_chain", "pack: verifier", "presentation: payload"],
      ...["record: counted", "record: sum"],
    ]);
  });
});
