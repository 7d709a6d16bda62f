/** `npm run faults` (.ci/faults.mjs): a host that vanishes, kills by the hundred, the comparison. Exits with 1 if anything is amiss. */
import { randomInt } from "node:crypto";
import { createChance } from "./chance";
import { type Comparison, compare } from "./compare";
import { type FaultCounts, runKills } from "./kills";
import type { Ledger } from "./ledger";
import { openStage } from "./stage";
import { tryVanishedHost } from "./vanished-host";

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function print(counts: FaultCounts, ledger: Ledger, comparison: Comparison): void {
  const faults = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  const of = (status: string) =>
    [...ledger.decisions.values()].filter((one) => one.has(status as never)).length;
  const used = ledger.sent.filter(
    ({ authorizationId: id, acknowledged }) => id !== null && acknowledged.size > 0,
  );
  const lines = [
    ["operations", `${ledger.operations}, ${ledger.acknowledged()} answered as they should be`],
    ["faults", `${Object.values(counts).reduce((a, b) => a + b)} (${faults.join(", ")})`],
    ["attestations", `${ledger.receipts.length} acknowledged, ${ledger.erased.size} of them erased`],
    [
      "decisions",
      `${of("approved")} approved, ${used.length} used, ${of("denied")} denied, ${of("cancelled")} cancelled`,
    ],
    ["events", `${comparison.events}`],
    ["checkpoints", `${ledger.checkpoints.size}, log of ${comparison.logSize} leaves`],
    ["lost", `${comparison.lost.length}`],
    ["doubled", `${comparison.doubled.length}`],
    ["forked", `${comparison.forked.length}`],
    [
      "unknown outcomes",
      `${ledger.unknown} answers, ${comparison.storedUnheard} attestations stored unheard`,
    ],
    ["unexpected answers", `${ledger.unexpected.length}`],
    ["longest outage", seconds(ledger.longestOutageMs)],
    ["longest answer", seconds(ledger.longestAnswerMs)],
  ];
  for (const [name = "", text] of lines) console.log(`${name.padEnd(20)}${text}`);
  for (const [name, all] of Object.entries({ ...comparison, unexpected: ledger.unexpected }))
    if (Array.isArray(all)) for (const one of all.slice(0, 20)) console.log(`  ${name}: ${one}`);
}

async function run(): Promise<boolean> {
  const count = Number(process.env["FAULTS"] ?? 1000);
  const seed = Number(process.env["FAULTS_SEED"] ?? randomInt(2 ** 31));
  const minutes = Number(process.env["FAULTS_MINUTES"] ?? Number.POSITIVE_INFINITY);
  console.log(`${count} faults, FAULTS_SEED=${seed}`);
  const stage = await openStage({
    instances: [1, 2],
    clients: 6,
    withApprovals: true,
    chance: createChance(seed),
  });
  try {
    const startedMs = performance.now();
    const elapsedMs = () => performance.now() - startedMs;
    const counts = await runKills(count, stage, stage.ledger, createChance(seed + 1), {
      isOver: () => elapsedMs() > minutes * 60_000,
      onFault: (done) => {
        if (done % 50 === 0)
          console.log(`${done} faults after ${seconds(elapsedMs())}, ${stage.ledger.operations} operations`);
      },
    });
    await stage.ledger.reach(20);
    await stage.endLoad();
    await Promise.all(stage.instances.map((one) => one.ready()));
    const [first] = stage.work.bases;
    const at = { base: first ?? "", databaseUrl: stage.cluster.url, receiver: stage.receiver };
    const comparison = await compare(stage.ledger, at);
    print(counts, stage.ledger, comparison);
    const { lost, doubled, forked } = comparison;
    return lost.length + doubled.length + forked.length + stage.ledger.unexpected.length === 0;
  } finally {
    await stage.close();
  }
}

async function runVanishedHost(): Promise<boolean> {
  const outcome = await tryVanishedHost();
  if (typeof outcome === "string") {
    console.log(`vanished host       skipped: ${outcome}`);
    return true;
  }
  const { firstMs, laterMs, backMs, problems } = outcome;
  const times = `503 after ${seconds(firstMs)}, then after ${seconds(laterMs)}; back after ${seconds(backMs)}`;
  console.log(`vanished host       ${times}`);
  for (const problem of problems) console.log(`  vanished host: ${problem}`);
  return problems.length === 0;
}

const outcomes = [await runVanishedHost(), await run()];
process.exit(outcomes.every(Boolean) ? 0 : 1);
