import { setTimeout as sleep } from "node:timers/promises";

const dayMs = 86_400_000;
/** Most tests take seconds. */
const enoughMs = 60_000;
// Saved before a test replaces it.
const { now } = Date;

/** Limits and sums of a UTC day begin again at midnight, also in the midst of a test: it waits for the new day. */
export async function passMidnight(): Promise<void> {
  const leftMs = dayMs - (now() % dayMs);
  if (leftMs < enoughMs) await sleep(leftMs + 100);
}
