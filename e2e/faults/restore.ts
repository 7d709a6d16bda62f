/** A backup is put back that is older than what was signed: the service refuses, and goes on in a new log. */
import { rm } from "node:fs/promises";
import path from "node:path";
import type { Cluster } from "#ci/postgres";
import { startServer } from "#e2e/http/server-process";
import { expectExit, runProgram } from "#support/commands";
import type { KeptReceipt } from "#support/load";
import { startS3 } from "#support/s3";
import { openProbes } from "./probes";
import { type Outcome, type Scenario, seconds } from "./scenario";
import { openStage, type Stage } from "./stage";
import { settingsOf } from "./store-fails";

async function runTool({ binaries }: Cluster, name: string, args: string[]): Promise<void> {
  expectExit(await runProgram(path.join(binaries, name), args, { env: {} }), 0);
}

const run = (stage: Stage, ...args: string[]) =>
  runProgram(process.execPath, ["dist/cli/log.mjs", ...args], {
    env: { PATH: process.env["PATH"], ...stage.settings },
  });

/** Under load. What was acknowledged before it began, and what puts it back. */
async function backUp({ cluster, ledger, settings }: Stage) {
  const before = ledger.receipts.filter(({ id }) => !ledger.erasing.has(id));
  const file = path.join(settings["DATA_DIR"] ?? "", "backup.dump");
  await runTool(cluster, "pg_dump", ["--format=custom", `--file=${file}`, cluster.url]);
  const restore = () =>
    runTool(cluster, "pg_restore", [
      "--clean",
      "--if-exists",
      "--exit-on-error",
      `--dbname=${cluster.url}`,
      file,
    ]);
  return { before, restore };
}

async function countInvalid(base: string, key: string, receipts: readonly KeptReceipt[]): Promise<string[]> {
  const headers = { authorization: `Bearer ${key}` };
  const invalid: string[] = [];
  for (const { id } of receipts) {
    const answer = await fetch(`${base}/v1/verify/${id}`, { headers });
    const { valid } = (await answer.json()) as { valid?: boolean };
    if (valid !== true) invalid.push(`${id} from before the backup is answered ${answer.status}, ${valid}`);
  }
  return invalid;
}

async function goOn(stage: Stage, before: readonly KeptReceipt[], problems: string[]): Promise<string> {
  const startedMs = performance.now();
  const dataDir = stage.settings["DATA_DIR"] ?? "";
  const refused = await startServer("server", dataDir, stage.settings);
  if (refused.child.exitCode === null) await refused.stop("SIGKILL");
  if (refused.child.exitCode !== 1 || !refused.output().includes("refuses to sign"))
    problems.push(`the old database was taken: ${refused.output().slice(-300)}`);
  expectExit(await run(stage, "new-epoch"), 0);
  expectExit(await run(stage, "check"), 0);
  const server = await startServer("server", dataDir, stage.settings);
  try {
    const probes = await openProbes(server.base, stage.work.key);
    await probes.round([200, 201], problems);
    problems.push(...(await countInvalid(server.base, stage.work.key, before)));
    const log = (await (await fetch(`${server.base}/log/2/checkpoint`)).text()).split("\n");
    return `log 2 has ${log[1]} leaves after ${seconds(performance.now() - startedMs)}`;
  } finally {
    await server.stop();
  }
}

async function tryRestore(stage: Stage, forget: () => Promise<void> = async () => {}): Promise<Outcome> {
  const problems: string[] = [];
  await stage.ledger.reach(60);
  const { before, restore } = await backUp(stage);
  await stage.ledger.reach(60);
  await stage.endLoad();
  await Promise.all(stage.instances.map((one) => one.stop()));
  await restore();
  await forget();
  const text = await goOn(stage, before, problems);
  const after = stage.ledger.receipts.length - before.length;
  return {
    text: `${before.length} attestations before the backup, ${after} after it; refused, then ${text}`,
    problems: [...problems, ...stage.ledger.unexpected],
  };
}

export const oldBackup: Scenario = {
  name: "old backup",
  run: async (chance) => {
    const stage = await openStage({ instances: [1], clients: 3, withApprovals: false, chance });
    return tryRestore(stage).finally(stage.close);
  },
};

/** As a standby that stayed behind, promoted for a machine that has signed nothing: only the store's lock knows. */
export const lostCommits: Scenario = {
  name: "lost commits",
  run: async (chance) => {
    const s3 = await startS3();
    const settings = async () => settingsOf(s3);
    const stage = await openStage({ instances: [1], clients: 3, withApprovals: false, chance, settings });
    const forget = () => rm(path.join(stage.settings["DATA_DIR"] ?? "", "log-guard"), { recursive: true });
    return tryRestore(stage, forget)
      .finally(stage.close)
      .finally(() => s3.kill());
  },
};
