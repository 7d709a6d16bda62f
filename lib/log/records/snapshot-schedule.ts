/** A snapshot every hour, or after 100,000 leaves, in the background of one process. */

import { oneAtATime, startInterval } from "#lib/jobs/interval";
import { snapshotIntervalSeconds } from "#lib/protocol/record/agent-heads";
import {
  dropOldRows,
  makeSnapshot,
  readSinceSnapshot,
  type SnapshotContext,
  SnapshotTaken,
} from "./agent-heads";

const keepRowsMs = 31 * 86_400_000;

const lookMs = 60_000;
const everyMs = snapshotIntervalSeconds * 1_000;
const everyLeaves = 100_000;

export async function snapshotIfDue(context: SnapshotContext): Promise<boolean> {
  const { leaves, at } = await readSinceSnapshot(context.database.db);
  const ageMs = context.clock().getTime() - at.getTime();
  if (ageMs < everyMs && leaves < everyLeaves) return false;
  try {
    await makeSnapshot(context);
  } catch (error) {
    if (error instanceof SnapshotTaken) return false;
    throw error;
  }
  await dropOldRows(context.database.db, new Date(context.clock().getTime() - keepRowsMs));
  return true;
}

/** Returns the function that ends the rounds. */
export function startSnapshots(context: SnapshotContext): () => Promise<void> {
  const run = oneAtATime(() => snapshotIfDue(context));
  return startInterval(lookMs, run, (error) =>
    context.logger.error({ err: error }, "no snapshot of the agents' records could be made"),
  );
}
