/**
 * Runs checks and tests and ends with one line, "N passed, N failed". `npm test` comes here after the build.
 *
 *   npm test                  checks, pure and service tests on one database, a smoke test of programs, and those of the browser
 *   npm run test:all          the same and what it leaves out: programs, the second database, all of the browser
 *   npm test -- --rest        what `npm test` leaves out, and a sample of the mutations: for CI, after `npm test`
 *   npm test -- --only checks|unit|e2e [filter…]  one part, whole; filters go to its test runner
 *   npm test -- --only mutations                  a few defences taken out, which takes a test each to see
 *
 * TEST_DATABASES (postgres, embedded or both) names the databases; the usual is PostgreSQL if its programs are there.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { findChromium } from "./chromium.mjs";
import { findNginx, findPgbouncer, findRedis } from "./daemon.mjs";
import { findBinaries, findFreePort, startPostgres } from "./postgres.mjs";
import { findScratch } from "./scratch.mjs";
import { root, seconds } from "./step.mjs";

const parts = ["checks", "unit", "e2e", "mutations"];
const bin = (name) => path.join(root, "node_modules", ".bin", name);
const totals = { passed: 0, failed: 0, skipped: 0 };
/** Failures are printed at the end, where a log that is cut still shows them. */
const failures = [];
process.env.TMPDIR = findScratch();
// Servers and commands that tests start here would read it: its database is nobody's to test on.
if (existsSync(path.join(root, ".env"))) {
  console.error(
    "There is a .env in this folder, which tests would use. Move it away, or test in another clone.",
  );
  process.exit(1);
}
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

/** Programs that only process tests start. */
const findPrograms = () => ({
  TEST_REDIS_SERVER: findRedis(),
  TEST_PGBOUNCER: findPgbouncer(),
  TEST_NGINX: findNginx(),
});

/** `databases`: postgres, embedded or both; `programs`: whether process tests run. */
async function runUnit({ databases, programs, args }) {
  const found = programs ? findPrograms() : {};
  const postgres = databases === "embedded" ? undefined : await startPostgres();
  try {
    const file = path.join(scratch, "unit.json");
    rmSync(file, { force: true });
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const code = await run(bin("vitest"), ["run", ...reporters, ...args], {
      TEST_DATABASES: databases,
      TEST_DATABASE_URL: postgres?.url,
      ...found,
    });
    const report = readReport(file);
    return judge(report ? countUnit(report) : { passed: 0, failed: 0 }, code);
  } finally {
    await postgres?.stop();
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

async function runE2e(args) {
  const file = path.join(scratch, "e2e.json");
  rmSync(file, { force: true });
  const code = await run(bin("playwright"), ["test", ...args], {
    CHROME_PATH: await findChromium(),
    E2E_DATA_DIR: path.join(scratch, "data"),
    E2E_PORT: String(await findFreePort()),
    E2E_REPORT: file,
  });
  const report = readReport(file);
  return judge(report ? countE2e(report) : { passed: 0, failed: 0 }, code);
}

const usage = `usage: npm test -- [--all | --rest | --only ${parts.join("|")} [filter…]]`;

/** `scope`: fast, all, rest, or the one part that was asked for, whose runner gets the filters. */
function readArguments() {
  const [flag, part, ...filters] = process.argv.slice(2);
  if (flag === undefined) return { scope: "fast", filters };
  if (flag === "--only" && parts.includes(part)) return { scope: part, filters };
  if ((flag === "--all" || flag === "--rest") && part === undefined) return { scope: flag.slice(2), filters };
  console.error(usage);
  process.exit(2);
}

const { scope, filters } = readArguments();
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of children) child.kill(signal);
  });
}

const chosen = process.env.TEST_DATABASES;
const one = chosen ?? (process.env.TEST_DATABASE_URL || findBinaries() ? "postgres" : "embedded");
const both = chosen ?? "both";
const runMutations = () => check("mutations", process.execPath, [".ci/mutations.mjs", "--sample", "3"]);
const runService = () =>
  runPart(`pure and service tests (${one})`, () =>
    runUnit({ databases: one, args: ["--project=!process*"] }),
  );
const runPrograms = () =>
  runPart("tests of programs", () =>
    runUnit({ databases: both, programs: true, args: ["--project=process*"] }),
  );
/** Service tests of what differs between the databases. */
const listPerDatabase = () =>
  readdirSync(path.join(root, "lib"), { recursive: true })
    .filter((file) => /\.service\..*test\.ts$/.test(file))
    .map((file) => path.join("lib", file))
    .filter((file) => readFileSync(path.join(root, file), "utf8").includes(".each(databaseKinds)"));
const runEmbedded = () =>
  runPart("service tests (embedded)", () =>
    runUnit({
      databases: "embedded",
      args: ["--project=service*", "--testNamePattern=\\(embedded\\)", ...listPerDatabase()],
    }),
  );
const runUnits = () =>
  runPart("unit, service and route tests", () => runUnit({ databases: both, programs: true, args: filters }));
const runBrowser = (args) => runPart("browser tests", () => runE2e(args));
/** Unit tests leave the processors idle for a thirtieth of the time, browser tests for a sixth. */
const runBeside = (...work) => Promise.all(work.map((start) => start()));

const plans = {
  fast: async () => {
    await runService();
    await runBeside(runChecks, () => runBrowser(["--grep", "@smoke"]));
  },
  rest: async () => {
    await runPrograms();
    await runEmbedded();
    await runBeside(runMutations, () => runBrowser(["--grep-invert", "@smoke"]));
  },
  all: async () => {
    await runUnits();
    await runBeside(runChecks, () => runBrowser([]));
  },
  checks: runChecks,
  unit: runUnits,
  e2e: () => runBrowser(filters),
  mutations: runMutations,
};
await plans[scope]();

if (interrupted) totals.failed += 1;
for (const name of failures) console.log(`failed: ${name}`);
if (scope === "fast") {
  const other = one === "postgres" ? "the embedded database" : "PostgreSQL, whose programs are not here";
  console.log(
    `left out: tests that start programs, ${other}, most browser tests. All of it: npm run test:all`,
  );
}
console.log(describe(totals));
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
