/** A fault that is done once, on purpose, with load on the service; and the comparison afterwards. */
import type { Chance } from "./chance";
import { compare } from "./compare";
import { openProbes, type Probes } from "./probes";
import { openStage, type Stage, type StageOptions } from "./stage";

export interface Outcome {
  /** Description of the events, with counts. */
  text: string;
  /** Promises that were broken, in words. */
  problems: string[];
}

export interface Scenario {
  name: string;
  /** The reason if it cannot be tried here. */
  run(chance: Chance): Promise<Outcome | string>;
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** After the fault: the load ends, the service comes back by itself, and everything acknowledged is compared. */
export async function settle(stage: Stage): Promise<Outcome> {
  const { ledger, work, cluster, receiver, instances } = stage;
  await ledger.reach(20);
  await stage.endLoad();
  await Promise.all(instances.map((one) => one.ready()));
  const at = { base: work.bases[0] ?? "", databaseUrl: cluster.url, receiver };
  const { lost, doubled, forked } = await compare(ledger, at);
  const counts = `${ledger.acknowledged()} operations, ${lost.length} lost, ${doubled.length} doubled, ${forked.length} forked`;
  return { text: counts, problems: [...lost, ...doubled, ...forked, ...ledger.unexpected] };
}

export type Act = (stage: Stage, probes: Probes, problems: string[]) => Promise<string>;

/** `act` does the fault and mends it, and says in words how long what took. */
export async function underLoad(
  options: Partial<StageOptions> & { chance: Chance },
  act: Act,
): Promise<Outcome> {
  const stage = await openStage({ instances: [1], clients: 3, withApprovals: false, ...options });
  try {
    const problems: string[] = [];
    const probes = await openProbes(stage.work.bases[0] ?? "", stage.work.key);
    await stage.ledger.reach(20);
    const text = await act(stage, probes, problems);
    const settled = await settle(stage);
    return { text: `${text}; ${settled.text}`, problems: [...problems, ...settled.problems] };
  } finally {
    await stage.close();
  }
}
