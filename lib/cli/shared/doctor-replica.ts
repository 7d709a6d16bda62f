/** The standby of DATABASE_REPLICA_URL: whether it follows the primary closely enough to answer public reads. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "#lib/db/client";
import { openReplicaDatabase } from "#lib/db/postgres/client";
import { watchReplica } from "#lib/db/postgres/replica";
import { explain, type Finding, openArea } from "./findings";

const silent = { info: () => {}, warn: () => {} };

/** It is asked as the service asks, until it is fresh or something is wrong with it, for `patienceMs` at most. */
export async function examineReplica(url: string, primary: Database, patienceMs = 6_000): Promise<Finding[]> {
  const area = openArea("replica");
  const clockMs = () => performance.now();
  const untilMs = clockMs() + patienceMs;
  const replica = watchReplica({ primary, open: () => openReplicaDatabase(url), logger: silent, clockMs });
  const isLate = () => replica.fresh() === null && typeof replica.problem() === "string";
  while (isLate() && clockMs() < untilMs) await sleep(50);
  if (replica.fresh() === null)
    area.fault(
      `the replica isn't used: ${explain(replica.problem())}`,
      "Let DATABASE_REPLICA_URL lead to a streaming standby of this database that keeps up. Until then the primary answers.",
    );
  else area.ok("the replica follows the primary");
  await replica.close();
  return area.found;
}
