/** The store of the log's lock answers errors, late, after it stored, not at all, or is gone; the load goes on. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, startS3, type TestS3 } from "#support/s3";
import type { Probes } from "./probes";
import { type Scenario, seconds, underLoad } from "./scenario";

export const settingsOf = (s3: TestS3) => ({ ...s3.settings, ...s3.credentials, LOG_STORE_SECONDS: "1" });

const faults: readonly (readonly [string, Fault])[] = [
  ["errors", "error"],
  ["errors after it stored", "error after"],
  ["cut", "cut"],
  ["cut after it stored", "cut after"],
  ["full", "full"],
  ["late", { delayMs: 6_000 }],
];

/** Two of three requests fail, so that a change may be stored and its answer lost, or the other way round. */
async function failOften(s3: TestS3, probes: Probes, problems: string[]): Promise<string> {
  const said: string[] = [];
  for (const [name, fault] of faults) {
    let asked = 0;
    s3.fault = () => (++asked % 3 > 0 ? fault : null);
    const ms = await probes.round([200, 201, 503], problems, 30_000);
    await sleep(1_000);
    s3.fault = () => null;
    await probes.back();
    said.push(`${name} ${seconds(ms)}`);
  }
  return said.join(", ");
}

export const storeFails: Scenario = {
  name: "store fails",
  run: async (chance) => {
    const s3 = await startS3();
    const options = { chance, instances: [1, 2], settings: async () => settingsOf(s3) };
    return underLoad(options, async (_, probes, problems) => {
      const text = await failOften(s3, probes, problems);
      await s3.kill();
      await probes.round([200, 503], problems, 30_000);
      await s3.revive();
      return `answers at most: ${text}; gone, and back after ${seconds(await probes.back())}`;
    }).finally(() => s3.kill());
  },
};
