/** The disk of the embedded database fills up under load, and has space again. */
import { setTimeout as sleep } from "node:timers/promises";
import { obtainKey, startServer } from "#e2e/http/server-process";
import { checkEverything, type Load, startLoad } from "#support/load";
import { noLimits } from "#support/processes";
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from "#support/small-disk";
import { openProbes, type Probes } from "./probes";
import { type Outcome, type Scenario, seconds } from "./scenario";

/** An empty database has a hundred. */
const megabytes = 160;
/** Bytes left on the disk when it is filled: nothing, or enough for a moment of load. */
const leftBytes = [0, 2_000_000];
const fullMs = 5_000;
const fillLimitMs = 120_000;

async function untilRefused(load: Load): Promise<void> {
  const before = load.failures.length;
  for (const startedMs = performance.now(); load.failures.length === before; ) {
    if (performance.now() - startedMs > fillLimitMs) throw new Error("the disk did not fill up");
    await sleep(20);
  }
}

/** Refused by 503 while it is full, reads go on, and afterwards everything does. */
async function fillOnce(disk: SmallDisk, left: number, load: Load, probes: Probes, problems: string[]) {
  await load.reach(load.receipts.length + 20);
  disk.fill(left);
  await untilRefused(load);
  const longest = { ms: 0 };
  for (const startedMs = performance.now(); performance.now() - startedMs < fullMs; await sleep(200)) {
    const { status, ms } = await probes.ask("attest");
    longest.ms = Math.max(longest.ms, ms);
    if (status !== 503) problems.push(`an attestation was answered ${status} while the disk was full`);
    for (const name of ["verify", "list", "page"]) {
      const read = await probes.ask(name);
      if (read.status !== 200) problems.push(`${name} was answered ${read.status} while the disk was full`);
    }
  }
  disk.free();
  const backMs = await probes.back();
  return `503 within ${seconds(longest.ms)}, back after ${seconds(backMs)}`;
}

async function observe(disk: SmallDisk): Promise<Outcome> {
  const settings = { ...noLimits, LOG_LEVEL: "warn" };
  const server = await startServer("server", disk.folder, settings, disk.launcher);
  const problems: string[] = [];
  try {
    const key = await obtainKey(server.base);
    const probes = await openProbes(server.base, key);
    const load = startLoad(server.base, key, 3);
    const said: string[] = [];
    for (const left of leftBytes) said.push(await fillOnce(disk, left, load, probes, problems));
    await load.reach(load.receipts.length + 20);
    await load.stop();
    const wrong = load.failures.filter((status) => status !== 503);
    if (wrong.length > 0) problems.push(`the load was answered ${[...new Set(wrong)].join(", ")}`);
    await checkEverything(server.base, load.receipts).catch((error: Error) => problems.push(error.message));
    const counts = `${load.receipts.length} acknowledged, ${load.failures.length} refused`;
    return { text: `${said.join("; ")}; ${counts}`, problems };
  } finally {
    await server.stop("SIGKILL");
  }
}

export const fullDisk: Scenario = {
  name: "full disk",
  run: async () => {
    const reason = whyNoSmallDisk();
    if (reason !== null) return reason;
    const disk = await openSmallDisk(megabytes);
    return observe(disk).finally(disk.close);
  },
};
