/**
 * Takes defences out of a copy of the repository, one at a time, and sees that the test which its threat's row names
 * fails (docs/threats.md). What survives is a test that proves nothing.
 *
 *   npm run mutations                     all of .ci/mutations/
 *   npm run mutations -- --sample 4       as many, another few each day (--seed TEXT: those of that seed)
 *   npm run mutations -- --only TEXT      those whose threat, file or test contains it
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { mutations } from "./mutations/list.mjs";
import { findScratch } from "./scratch.mjs";
import { root, seconds } from "./step.mjs";

const left = new Set([".git", ".next", "data", "dist", "node_modules", "playwright-report", "test-results"]);

/** The sources as they are; packages and what was built of them, such as the embedded database's worker, by a link. */
function copyRepository() {
  const folder = mkdtempSync(path.join(findScratch(), "countersign-mutations-"));
  cpSync(root, folder, {
    recursive: true,
    filter: (file) => file === root || !left.has(path.basename(file)),
  });
  for (const name of ["node_modules", "dist"]) symlinkSync(path.join(root, name), path.join(folder, name));
  return folder;
}

function choose({ sample, seed, only }) {
  const told = mutations.filter((one) =>
    [one.threat, one.file, one.test].some((text) => text.includes(only)),
  );
  if (sample === undefined) return told;
  const rank = (one) => createHash("sha256").update(`${seed}\0${one.file}\0${one.from}`).digest("hex");
  return told.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, Number(sample));
}

/** Counts the file's passed and failed tests. */
function runTest(folder, test) {
  const report = path.join(folder, "report.json");
  rmSync(report, { force: true });
  const vitest = path.join(folder, "node_modules/vitest/vitest.mjs");
  const flags = ["run", "--config", ".ci/mutations/vitest.config.mjs", "--root", folder];
  const output = ["--reporter=json", `--outputFile=${report}`];
  spawnSync(process.execPath, [vitest, ...flags, ...output, test], { cwd: folder, stdio: "ignore" });
  if (!existsSync(report)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  return { passed: numPassedTests, failed: numFailedTests };
}

/** Null if the test fails as it must, else what is wrong. */
function judge(folder, { file, from, to, test }) {
  const place = path.join(folder, file);
  const source = readFileSync(place, "utf8");
  if (source.split(from).length !== 2) return "its text does not occur once";
  writeFileSync(
    place,
    source.replace(from, () => to),
  );
  const { passed, failed } = runTest(folder, test);
  writeFileSync(place, source);
  if (failed === 0) return passed > 0 ? "SURVIVED" : "its test did not run";
  // Otherwise the file may have failed for another reason: it has to run as it is.
  const sound = passed > 0 ? { failed: 0, passed } : runTest(folder, test);
  return sound.failed === 0 && sound.passed > 0 ? null : "its test fails without it too";
}

const { values } = parseArgs({
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: new Date().toISOString().slice(0, 10) },
    only: { type: "string", default: "" },
  },
});
const chosen = choose(values);
if (chosen.length === 0) throw new Error("no mutation is chosen");
const folder = copyRepository();
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let wrong = 0;
for (const one of chosen) {
  const startedMs = Date.now();
  const problem = judge(folder, one);
  if (problem !== null) wrong += 1;
  console.log(`${problem ?? "killed"} (${seconds(startedMs)}): ${one.threat}: ${one.file}`);
  if (problem !== null) console.log(`  ${one.from}\n  → ${one.to}\n  ${one.test}`);
}
console.log(`${chosen.length - wrong} of ${chosen.length} mutations were killed`);
process.exit(wrong === 0 ? 0 : 1);
