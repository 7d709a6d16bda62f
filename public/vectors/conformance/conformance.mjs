#!/usr/bin/env node
/**
 * Runs the conformance suite against any verifier of Countersign receipts. Apache-2.0; use it freely.
 *
 *   node conformance.mjs [options] -- COMMAND [ARGUMENT...]
 *
 * Each case calls COMMAND ARGUMENT... FILE --keys FILE [--key KEY]... [--receipt FILE]... [--audience TEXT]
 * [--nonce TEXT] --json, with "record", "pack" or "chain" before the FILE of one. README.md has the rest.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const usage = `usage: node conformance.mjs [options] -- COMMAND [ARGUMENT...]
  --from ADDRESS      fetch the suite from here, such as https://host/vectors/conformance/ (default: beside this file)
  --only TEXT         cases whose kind or name has this text; can be repeated
  --without PART      a part that your verifier doesn't have: pairing, post_quantum, record, pack, report,
                      chain; can be repeated
  --jobs NUMBER       cases at once (default: one for each processor)
Exit codes: 0 all pass, 1 one fails, 2 wrong usage.
`;

const exitCodes = { valid: 0, invalid: 1, refused: 2, incomplete: 3, erased: 3 };
const timeoutMs = 60_000;

function readArguments(argv) {
  const end = argv.indexOf("--");
  const options = { from: null, only: [], without: [], jobs: os.availableParallelism() };
  const command = end < 0 ? [] : argv.slice(end + 1);
  const given = end < 0 ? argv : argv.slice(0, end);
  for (let i = 0; i < given.length; i += 2) {
    const [name, value] = [given[i].replace(/^--/, ""), given[i + 1]];
    if (!(name in options) || value === undefined) return null;
    if (Array.isArray(options[name])) options[name].push(value);
    else options[name] = name === "jobs" ? Number(value) : value;
  }
  return command.length === 0 || !(options.jobs >= 1) ? null : { ...options, command };
}

/** The files that a case names, from their address into a folder. */
async function fetchSuite(address, folder) {
  const base = new URL(address.endsWith("/") ? address : `${address}/`);
  const at = path.join(folder, "vectors", "conformance");
  const get = async (name) => {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new Error(`${response.url}: HTTP ${response.status}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const file = path.join(at, name);
    // The list comes from that address too, and may name any file of this machine.
    if (path.relative(folder, file).startsWith("..")) throw new Error(`${name}: outside of the suite`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    return bytes;
  };
  const { cases } = JSON.parse(await get("cases.json"));
  const listFiles = ({ file, keys, other_keys = [], parents = [], receipts = [] }) =>
    [[file, keys], other_keys, parents, receipts].flat();
  for (const name of new Set(cases.flatMap(listFiles))) await get(name);
  return at;
}

function run(command, argv, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, argv, { cwd, stdio: ["ignore", "pipe", "ignore"], timeout: timeoutMs });
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, out }));
  });
}

function toArguments({ kind, file, keys, audience, nonce, ...more }) {
  const { parents = [], other_keys = [], pinned = [], receipts = [] } = more;
  const word = ["record", "pack", "chain"].includes(kind) ? [kind] : [];
  return [
    ...[...word, file, ...parents],
    ...[keys, ...other_keys].flatMap((name) => ["--keys", name]),
    ...pinned.flatMap((key) => ["--key", key]),
    ...receipts.flatMap((receipt) => ["--receipt", receipt]),
    ...(audience === undefined ? [] : ["--audience", audience]),
    ...(nonce === undefined ? [] : ["--nonce", nonce]),
    "--json",
  ];
}

/** Null if the answer is the one that the case expects. */
function findFault({ verdict, failed, checks = {} }, { code, signal, out }) {
  if (signal !== null) return `ended by ${signal}`;
  if (code !== exitCodes[verdict]) return `exit code ${code} instead of ${exitCodes[verdict]} (${verdict})`;
  if (verdict === "refused") return null;
  let report;
  try {
    report = JSON.parse(out);
  } catch {
    return "its output is not JSON";
  }
  if (report?.verdict !== verdict) return `verdict ${report?.verdict} instead of ${verdict}`;
  const found = Array.isArray(report.checks) ? report.checks : [];
  for (const [name, status] of Object.entries(checks)) {
    const own = found.find((check) => check.name === name)?.status;
    if (own !== status) return `${name}: ${own} instead of ${status}`;
  }
  const names = found.filter(({ status }) => status === "fail").map(({ name }) => name);
  if (failed === undefined) return names.length === 0 ? null : `failed: ${names.join(", ")}`;
  return names.includes(failed) ? null : `failed: ${names.join(", ") || "nothing"} instead of ${failed}`;
}

const options = readArguments(process.argv.slice(2));
if (options === null) {
  process.stderr.write(usage);
  process.exit(2);
}
const scratch = mkdtempSync(path.join(os.tmpdir(), "conformance-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const beside = path.dirname(fileURLToPath(import.meta.url));
const folder = options.from === null ? beside : await fetchSuite(options.from, scratch);
const { version, cases } = JSON.parse(readFileSync(path.join(folder, "cases.json"), "utf8"));

const isWanted = ({ kind, name }) =>
  options.only.length === 0 || options.only.some((text) => kind === text || name.includes(text));
const isSkipped = ({ needs = [] }) => needs.some((part) => options.without.includes(part));
const wanted = cases.filter(isWanted);
const queue = wanted.filter((one) => !isSkipped(one));
// A command's own relative paths stay those of the caller.
const [command, ...rest] = options.command.map((word) =>
  /^\.{0,2}\//.test(word) || /\.m?js$/.test(word) ? path.resolve(word) : word,
);
const counts = { passed: 0, failed: 0, skipped: wanted.length - queue.length };

async function work() {
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
    const fault = findFault(one, await run(command, [...rest, ...toArguments(one)], folder));
    counts[fault === null ? "passed" : "failed"] += 1;
    if (fault !== null) console.log(`FAIL ${one.kind}: ${one.name}: ${fault}`);
  }
}

await Promise.all(Array.from({ length: options.jobs }, work));
console.log(`suite ${version}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
