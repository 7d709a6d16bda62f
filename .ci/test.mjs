/**
 * Runs every check and test and ends with one line, "N passed, N failed". `npm test` comes here after the build.
 *
 *   npm test                                    unit, service and route tests, then the browser's and checks beside them
 *   npm test -- --only checks|unit|e2e [filter…]  one part; filters go to its test runner
 *   npm test -- --only mutations                  a few defences taken out, which takes a test each to see: CI's alone
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { findChromium } from "./chromium.mjs";
import { findNginx, findPgbouncer, findRedis } from "./daemon.mjs";
import { findFreePort, startPostgres } from "./postgres.mjs";
import { findScratch } from "./scratch.mjs";
import { root, seconds } from "./step.mjs";

const parts = ["checks", "unit", "e2e", "mutations"];
const bin = (name) => path.join(root, "node_modules", ".bin", name);
const totals = { passed: 0, failed: 0, skipped: 0 };
/** Failures are printed at the end, where a log that is cut still shows them. */
const failures = [];
process.env.TMPDIR = findScratch();
const scratch = mkdtempSync(path.join(os.tmpdir(), "countersign-test-"));
const children = new Set();
let interrupted = false;

/** The environment without the service's own settings: a developer's DATABASE_URL must not reach a test. */
function cleanEnvironment() {
  const env = { ...process.env };
  const example = path.join(root, ".env.example");
  const text = existsSync(example) ? readFileSync(example, "utf8") : "";
  for (const [, name] of text.matchAll(/^#?\s*([A-Z][A-Z0-9_]+)=/gm)) delete env[name];
  return env;
}

function run(command, args, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...cleanEnvironment(), ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    children.add(child);
    child.on("error", (error) => {
      console.error(error.message);
      resolve(127);
    });
    child.on("exit", (code) => {
      children.delete(child);
      resolve(code ?? 1);
    });
  });
}

function tell(name, counts, startedMs) {
  if (counts.failed > 0) failures.push(...(counts.names?.length ? counts.names : [name]));
  for (const key of Object.keys(totals)) totals[key] += counts[key] ?? 0;
  console.log(`${name}: ${describe(counts)} (${seconds(startedMs)})`);
}

function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
}

/** Runs one part, which gives its counts and, if it knows them, the `names` of what failed. An error counts as one failure. */
async function runPart(name, work) {
  if (interrupted) return;
  const startedMs = Date.now();
  let counts;
  try {
    counts = await work();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    counts = { passed: 0, failed: 1 };
  }
  tell(name, counts, startedMs);
}

const check = (name, command, args) =>
  runPart(name, async () =>
    (await run(command, args)) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 },
  );

/** Side by side: each leaves a processor idle for a part of its time. */
async function runChecks() {
  await Promise.all([
    check("lockfile", process.execPath, [".ci/complete-lockfile.mjs", "--check"]),
    check("types", bin("tsc"), ["--noEmit"]),
    check("lint", bin("biome"), ["check", "."]),
    check("dead code", bin("knip"), []),
  ]);
}

/** A runner that ended badly, or ran nothing, has failed, whatever it counted. */
function judge(counts, code) {
  const sound = code === 0 && counts.passed > 0;
  return sound || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

const readReport = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined);

/** A failed test in one line: its name, how its error begins, and at which line. A log that is cut may show nothing else. */
function nameFailed(name, error = "") {
  const text = stripVTControlCharacters(error).trim();
  const [message] = text.split("\n");
  const [line] = /[^\s/(]+\.(spec|test)\.tsx?:\d+/.exec(text.slice(message.length)) ?? [];
  const said = message ? `${name}: ${message.slice(0, 300)}` : name;
  return line ? `${said} (${line})` : said;
}

/** The full names of the tests, or a file's that failed without one: it did not load, or not end well. */
function listFailed({ name, message, assertionResults }) {
  const file = path.relative(root, name);
  const tests = assertionResults.filter(({ status }) => status === "failed");
  return tests.length > 0
    ? tests.map(({ fullName, failureMessages }) => nameFailed(`${file} › ${fullName}`, failureMessages[0]))
    : [nameFailed(`${file}, outside of its tests`, message)];
}

function countUnit(report) {
  const names = report.testResults.filter(({ status }) => status === "failed").flatMap(listFailed);
  return {
    passed: report.numPassedTests,
    failed: names.length,
    skipped: report.numPendingTests + report.numTodoTests,
    names,
  };
}

async function runUnit(filters) {
  const redis = findRedis();
  const pgbouncer = findPgbouncer();
  const nginx = findNginx();
  const postgres = await startPostgres();
  try {
    const file = path.join(scratch, "unit.json");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const code = await run(bin("vitest"), ["run", ...reporters, ...filters], {
      TEST_DATABASE_URL: postgres.url,
      TEST_REDIS_SERVER: redis,
      TEST_PGBOUNCER: pgbouncer,
      TEST_NGINX: nginx,
    });
    const report = readReport(file);
    return judge(report ? countUnit(report) : { passed: 0, failed: 0 }, code);
  } finally {
    await postgres.stop();
  }
}

/** The full names of the tests that failed, or passed at a second try only. */
function* listFailedSpecs({ title, specs = [], suites = [] }, path = []) {
  const here = title ? [...path, title] : path;
  for (const spec of specs) {
    const name = [...here, spec.title].join(" › ");
    const error = spec.tests.flatMap(({ results }) => results).find((result) => result.error)?.error;
    if (spec.tests.some(({ status }) => status === "unexpected")) yield nameFailed(name, error?.stack);
    if (spec.tests.some(({ status }) => status === "flaky"))
      yield nameFailed(`${name} (at its first try)`, error?.stack);
  }
  for (const suite of suites) yield* listFailedSpecs(suite, here);
}

/** A test that fails now and then has failed. */
function countE2e({ stats, suites }) {
  const names = [...listFailedSpecs({ suites })];
  return { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped, names };
}

async function runE2e(filters) {
  const file = path.join(scratch, "e2e.json");
  const code = await run(bin("playwright"), ["test", ...filters], {
    CHROME_PATH: await findChromium(),
    E2E_DATA_DIR: path.join(scratch, "data"),
    E2E_PORT: String(await findFreePort()),
    E2E_REPORT: file,
  });
  const report = readReport(file);
  return judge(report ? countE2e(report) : { passed: 0, failed: 0 }, code);
}

function readArguments() {
  const args = process.argv.slice(2);
  const at = args.indexOf("--only");
  const only = at < 0 ? undefined : args.splice(at, 2)[1];
  if ((at >= 0 && !parts.includes(only)) || (at < 0 && args.length > 0)) {
    console.error(`usage: npm test -- [--only ${parts.join("|")} [filter…]]`);
    process.exit(2);
  }
  return { only, filters: args };
}

const { only, filters } = readArguments();
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of children) child.kill(signal);
  });
}

const wants = (part) => (only === undefined ? part !== "mutations" : part === only);
if (wants("unit")) await runPart("unit, service and route tests", () => runUnit(filters));
// Unit tests leave the processors idle for a thirtieth of the time, browser tests for a sixth.
const checks = wants("checks") ? runChecks() : undefined;
if (wants("e2e")) await runPart("browser tests", () => runE2e(filters));
await checks;
if (wants("mutations")) await check("mutations", process.execPath, [".ci/mutations.mjs", "--sample", "3"]);
if (interrupted) totals.failed += 1;
for (const name of failures) console.log(`failed: ${name}`);
console.log(describe(totals));
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
