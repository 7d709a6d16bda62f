/**
 * The benchmark: `npm run bench [-- case … --quick --json file]`; all cases whose file doesn't say `isOptional`, unless
 * some are named. It prints ratios between sides that were measured in the same minute on the same machine, and judges
 * nothing: absolute numbers of another day or machine mean little. The service is the one that `npm start` starts, with its
 * limits raised.
 *
 *   --quick              short rounds and small databases, within three minutes: for a look, not for a claim
 *   --json file          what was measured, as JSON too
 *   BENCH_DATABASE_URL   an administrator's URL of a PostgreSQL for both sides; else one is started, with fsync
 *   BENCH_FSYNC          off: the one that is started does not wait for the disk, for work on the benchmark itself
 *   BENCH_SECONDS        of each measurement (default 4)
 *   BENCH_SIZES          how many attestations there are in databases that are compared, smallest first (default
 *                        1000,100000,1000000, most of the time of a full run; --quick 300,1500,5000); the
 *                        second is also how many ids are verified at random
 *   PROCESSES            as the server's own setting
 */
import { writeFile } from "node:fs/promises";
import os from "node:os";
import { parseArgs } from "node:util";
import * as approvalFlood from "./case-approval-flood.mjs";
import * as approve from "./case-approve.mjs";
import * as attest from "./case-attest.mjs";
import * as authorize from "./case-authorize.mjs";
import * as batch from "./case-batch.mjs";
import * as delay from "./case-delay.mjs";
import * as growing from "./case-growing.mjs";
import * as hook from "./case-hook.mjs";
import * as longPolls from "./case-long-polls.mjs";
import * as pages from "./case-pages.mjs";
import * as peers from "./case-peers.mjs";
import * as processes from "./case-processes.mjs";
import * as proofsBeside from "./case-proofs-beside.mjs";
import * as reads from "./case-reads.mjs";
import * as signedAgents from "./case-signed-agents.mjs";
import * as sizes from "./case-sizes.mjs";
import * as start from "./case-start.mjs";
import * as verifyPage from "./case-verify-page.mjs";
import { printTable, report } from "./rounds.mjs";
import { openServers } from "./servers.mjs";

const cases = [
  attest,
  batch,
  authorize,
  reads,
  growing,
  verifyPage,
  processes,
  longPolls,
  delay,
  sizes,
  start,
  proofsBeside,
  pages,
  approve,
  approvalFlood,
  signedAgents,
  hook,
  peers,
];
const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});
const unknown = wanted.filter((name) => !cases.some((one) => one.name === name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; there are: ${cases.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const settings = {
  seconds: Number(process.env.BENCH_SECONDS ?? (flags.quick ? 0.4 : 4)),
  sizes: (process.env.BENCH_SIZES ?? (flags.quick ? "300,1500,5000" : "1000,100000,1000000"))
    .split(",")
    .map(Number),
};
const chosen = cases.filter((one) => (wanted.length === 0 ? !one.isOptional : wanted.includes(one.name)));
const load = () => os.loadavg()[0].toFixed(1);

function describeMachine(database) {
  const cores = os.cpus();
  const setting = process.env.PROCESSES === undefined ? "" : `PROCESSES ${process.env.PROCESSES}, `;
  return `${setting}${cores.length} × ${cores[0]?.model.trim()}, Node ${process.versions.node}, ${database}, load average ${load()}`;
}

async function runAll(servers) {
  const startedMs = performance.now();
  const machine = describeMachine(servers.databases.description);
  console.log(machine);
  for (const one of chosen) await one.run(servers, settings);
  printTable();
  const tookSeconds = Math.round((performance.now() - startedMs) / 1000);
  console.log(`\nload average at the end ${load()}, after ${tookSeconds} s`);
  if (flags.json === undefined) return;
  await writeFile(
    flags.json,
    `${JSON.stringify({ machine, loadAtEnd: Number(load()), ...settings, ...report }, null, 2)}\n`,
  );
}

const servers = await openServers();
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => void servers.stop().finally(() => process.exit(1)));
try {
  await runAll(servers);
} finally {
  await servers.stop();
}
