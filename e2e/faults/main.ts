/** `npm run faults` (.ci/faults.mjs): one scenario after the other, kills by the hundred, the comparison. Exits with 1 if anything is amiss. */
import { randomInt } from "node:crypto";
import { type Chance, createChance } from "./chance";
import { type Comparison, compare } from "./compare";
import { type FaultCounts, runKills } from "./kills";
import type { Ledger } from "./ledger";
import { seconds } from "./scenario";
import { scenarios } from "./scenarios";
import { openStage } from "./stage";

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
    ["longest outage", `${seconds(ledger.longestOutage.ms)} (${ledger.longestOutage.faults.join(", ")})`],
    ["longest conflict", seconds(ledger.longestConflictMs)],
    ["longest answer", seconds(ledger.longestAnswerMs)],
  ];
  for (const [name = "", text] of lines) console.log(`${name.padEnd(20)}${text}`);
  for (const [name, all] of Object.entries({ ...comparison, unexpected: ledger.unexpected }))
    if (Array.isArray(all)) for (const one of all.slice(0, 20)) console.log(`  ${name}: ${one}`);
}

async function runKillsUnderLoad(seed: number): Promise<boolean> {
  const count = Number(process.env["FAULTS"] ?? 1000);
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

async function runScenario({ name, run }: (typeof scenarios)[number], chance: Chance): Promise<boolean> {
  const outcome = await run(chance).catch((error: Error) => ({
    text: "failed",
    problems: [String(error.stack)],
  }));
  const { text, problems } =
    typeof outcome === "string" ? { text: `skipped: ${outcome}`, problems: [] } : outcome;
  console.log(`${name.padEnd(20)}${text}`);
  for (const problem of problems.slice(0, 20)) console.log(`  ${name}: ${problem}`);
  return problems.length === 0;
}

const only = process.env["FAULTS_ONLY"];
const seed = Number(process.env["FAULTS_SEED"] ?? randomInt(2 ** 31));
const outcomes: boolean[] = [];
for (const scenario of scenarios)
  if (only === undefined || only === scenario.name)
    outcomes.push(await runScenario(scenario, createChance(seed)));
if (only === undefined || only === "kills") outcomes.push(await runKillsUnderLoad(seed));
process.exit(outcomes.length > 0 && outcomes.every(Boolean) ? 0 : 1);
