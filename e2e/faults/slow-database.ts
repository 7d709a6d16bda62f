/** A database that answers late, or stops in the middle of an answer. */
import { setTimeout as sleep } from "node:timers/promises";
import { layWire, type Wire } from "#support/cut-connections";
import type { Chance } from "./chance";
import type { Probes } from "./probes";
import { type Outcome, type Scenario, seconds, underLoad } from "./scenario";

/** `act` with a wire between service and database, which is mended afterwards. */
async function onWire(
  chance: Chance,
  act: (wire: Wire, probes: Probes, problems: string[]) => Promise<string>,
): Promise<Outcome> {
  const laid: Wire[] = [];
  const settings = async ({ url }: { url: string }) => {
    const wire = await layWire(url);
    laid.push(wire);
    return { DATABASE_URL: wire.url };
  };
  try {
    return await underLoad({ chance, settings }, async (_, probes, problems) => {
      const [wire] = laid;
      if (wire === undefined) throw new Error("there is no wire");
      const text = await act(wire, probes, problems);
      await wire.mend();
      return `${text}, back after ${seconds(await probes.back())}`;
    });
  } finally {
    for (const wire of laid) await wire.close();
  }
}

/** A round trip of 0.2 s is bearable; one of 4 s or more is answered by 503 or, if it suffices, well. */
const delaysMs = [100, 2_000, 5_000, 10_000];
const limitMs = 25_000;

export const slowDatabase: Scenario = {
  name: "slow database",
  run: (chance) =>
    onWire(chance, async (wire, probes, problems) => {
      const said: string[] = [];
      for (const delayMs of delaysMs) {
        wire.delay(delayMs);
        const expected = delayMs < 1_000 ? [200, 201] : [200, 201, 503];
        const ms = Math.max(
          await probes.round(expected, problems, limitMs),
          await probes.round(expected, problems, limitMs),
        );
        said.push(`${seconds(ms)} at ${seconds(delayMs)}`);
        wire.delay(0);
        await sleep(delayMs);
        await probes.back();
      }
      return `answers at most ${said.join(", ")}`;
    }),
};

export async function stopMidAnswer(wire: Wire, probes: Probes, problems: string[]): Promise<string> {
  wire.stallMidAnswer();
  const firstMs = await probes.round([503], problems);
  const laterMs = await probes.round([503], problems);
  return `503 after ${seconds(firstMs)}, then after ${seconds(laterMs)}`;
}

export const stoppedAnswer: Scenario = {
  name: "stopped answer",
  run: (chance) => onWire(chance, stopMidAnswer),
};
