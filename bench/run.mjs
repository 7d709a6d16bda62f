/**
 * The benchmark: `npm run bench [-- case … --quick --json file]`; all cases but `pages` and `approval-flood`, unless some are named. It
 * prints ratios between sides that were measured in the same minute on the same machine, and judges nothing: absolute
 * numbers of another day or machine mean little.
 *
 *   --quick              rounds of one second: for a look, not for a claim
 *   --json file          what was measured, as JSON too
 *   BENCH_DATABASE_URL   an administrator's URL of a PostgreSQL for both sides; else embedded databases
 *   BENCH_SECONDS        of each measurement (default 4)
 *   PROCESSES            as the server's own setting
 *   BENCH_PORT           the first of three ports (default 3460)
 */
import { writeFile } from "node:fs/promises";
import os from "node:os";
import { parseArgs } from "node:util";
import * as approvalFlood from "./case-approval-flood.mjs";
import * as attest from "./case-attest.mjs";
import * as pages from "./case-pages.mjs";
import * as proofsBeside from "./case-proofs-beside.mjs";
import * as reads from "./case-reads.mjs";
import { report } from "./rounds.mjs";
import { startServers } from "./servers.mjs";

const cases = [proofsBeside, attest, reads, pages, approvalFlood];
const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});
const unknown = wanted.filter((name) => !cases.some((one) => one.name === name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; there are: ${cases.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

function describeMachine() {
  const [model] = os.cpus();
  const load = os.loadavg()[0].toFixed(1);
  const database = process.env.BENCH_DATABASE_URL === undefined ? "embedded databases" : "PostgreSQL";
  const processes = process.env.PROCESSES === undefined ? "" : `PROCESSES ${process.env.PROCESSES}, `;
  return `${processes}${os.cpus().length} × ${model?.model.trim()}, Node ${process.versions.node}, ${database}, load average ${load}`;
}

const machine = describeMachine();
console.log(machine);
const seconds = Number(process.env.BENCH_SECONDS ?? (flags.quick ? 1 : 4));
const chosen = cases.filter((one) => (wanted.length === 0 ? !one.isOptional : wanted.includes(one.name)));
const withBaselines = chosen.some(({ needsBaselines }) => needsBaselines !== false);
const servers = await startServers(Number(process.env.BENCH_PORT ?? 3460), withBaselines);
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => void servers.stop().finally(() => process.exit(1)));
try {
  for (const one of chosen) await one.run(servers, seconds);
  console.log(`\nload average at the end ${os.loadavg()[0].toFixed(1)}`);
  if (flags.json !== undefined)
    await writeFile(flags.json, `${JSON.stringify({ machine, seconds, report }, null, 2)}\n`);
} finally {
  await servers.stop();
}
