/** kill -9 of the service, of one of its processes and of the database, at random points under load. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#ci/postgres";
import type { Chance } from "./chance";
import type { Instance } from "./instance";
import type { Ledger } from "./ledger";

export interface Targets {
  cluster: Cluster;
  instances: readonly Instance[];
}

export const faultNames = [
  "process",
  "first process",
  "service",
  "everything",
  "database",
  "database backend",
] as const;
export type FaultName = (typeof faultNames)[number];

/**
 * Shares of a hundred faults. A first process that dies takes its children with it, as soon as they notice. Faults that
 * take long to start again from come less often.
 */
const shares: [number, FaultName][] = [
  [41, "process"],
  [4, "first process"],
  [10, "service"],
  [1, "everything"],
  [18, "database"],
  [26, "database backend"],
];

function chooseFault(chance: Chance): FaultName {
  let left = chance.int(100);
  for (const [share, name] of shares) {
    if (left < share) return name;
    left -= share;
  }
  return "process";
}

/** The server processes of clients; PostgreSQL then ends all the others and recovers. */
function killBackend(clusterPid: number, chance: Chance): boolean {
  const children = readFileSync(`/proc/${clusterPid}/task/${clusterPid}/children`, "utf8").split(" ");
  const backends = children.filter((pid) => {
    try {
      return pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("127.0.0.1");
    } catch {
      return false;
    }
  });
  if (backends.length === 0) return false;
  process.kill(Number(chance.pick(backends)), "SIGKILL");
  return true;
}

async function restart(cluster: Cluster): Promise<true> {
  await cluster.kill();
  await cluster.start();
  return true;
}

/**
 * Returns false if it didn't happen: an instance that is alone, or just being started, is spared a fault that would end
 * it.
 */
async function strike(name: FaultName, { cluster, instances }: Targets, chance: Chance): Promise<boolean> {
  const instance = chance.pick(instances);
  const isSpared = instances.some((other) => other !== instance && !other.isUp());
  switch (name) {
    case "process":
      return instance.killMember(chance.int(1000));
    case "first process":
      return !isSpared && instance.killFirst();
    case "service":
      return !isSpared && instance.killAll();
    case "everything":
      for (const one of instances) one.killAll();
      return restart(cluster);
    case "database":
      return restart(cluster);
    case "database backend":
      return killBackend(cluster.pid(), chance);
  }
}

export type FaultCounts = Record<FaultName, number>;

export interface Progress {
  isOver?: () => boolean;
  onFault?: (done: number, name: FaultName) => void;
  choose?: (chance: Chance) => FaultName;
}

/** So many faults, each as soon as a few operations have succeeded since the last, and a moment later. */
export async function runKills(
  count: number,
  targets: Targets,
  ledger: Ledger,
  chance: Chance,
  { isOver = () => false, onFault = () => {}, choose = chooseFault }: Progress = {},
): Promise<FaultCounts> {
  const counts = Object.fromEntries(faultNames.map((name) => [name, 0])) as FaultCounts;
  for (let done = 0; done < count && !isOver(); ) {
    await ledger.reach(1 + chance.int(12));
    await sleep(chance.int(200));
    // Sometimes while another is being started, and not always: a start that never succeeds tells nothing.
    if (targets.instances.some((one) => !one.isUp()) && chance.int(4) > 0) continue;
    const name = choose(chance);
    ledger.noteFault(name);
    if (!(await strike(name, targets, chance))) continue;
    counts[name] += 1;
    done += 1;
    onFault(done, name);
  }
  return counts;
}
