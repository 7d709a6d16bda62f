/** How often lib/log/sequencer/interleavings.process.test.ts runs, and from which seed: INTERLEAVING_RUNS and INTERLEAVING_SEED. */
import { randomInt } from "node:crypto";

const number = (name: string) => (process.env[name] === undefined ? undefined : Number(process.env[name]));

export const interleavingRuns = {
  numRuns: number("INTERLEAVING_RUNS") ?? 1,
  seed: number("INTERLEAVING_SEED") ?? randomInt(2 ** 31),
};
