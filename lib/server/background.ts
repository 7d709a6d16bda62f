/** Work without a request, which one process does for all. */

import { oneAtATime, startInterval } from "#lib/jobs/interval";
import { startPublisher } from "#lib/log/reading/publisher";
import type { SnapshotContext } from "#lib/log/records/agent-heads";
import { startSnapshots } from "#lib/log/records/snapshot-schedule";
import { runRosterRound } from "#lib/services/accounts/roster-rounds";
import { explainNobody } from "#lib/services/accounts/sign-up";
import type { Context } from "#lib/services/approvals/context";
import { startRetryLoop } from "#lib/services/approvals/world-id/retry-submissions";
import { startNotices } from "#lib/services/notifications/send";
import { startDeliveries } from "#lib/services/webhooks/deliver";
import { startDomainChecks } from "./domain-checks";
import { startHousekeeping } from "./housekeeping";
import { serviceShare } from "./open-time";

function openPublisher({ database, store, logger, settings }: Context): () => Promise<void> {
  if (store === null) return async () => {};
  const { WITNESSES: policy, LOG_STORE_SECONDS: everySeconds } = settings;
  return startPublisher({ database, store, logger, policy, everySeconds });
}

const rosterRoundMs = 3_000;

function startRosterRounds(context: Context): () => Promise<void> {
  const run = oneAtATime(() => runRosterRound(context));
  return startInterval(rosterRoundMs, run, (error) =>
    context.logger.warn({ err: error }, "a round of rosters failed; the next one tries again"),
  );
}

/** Closed sign-up on a new database leaves nobody who could invite the first person. */
async function warnIfNobody(context: Context): Promise<void> {
  const nobody = await explainNobody(context, context.database.db);
  if (nobody !== null)
    context.logger.warn(`${nobody}. Make the first owner: npm run accounts -- add-owner EMAIL`);
}

/** Returns the function that ends it. */
export function startBackground(context: Context): () => Promise<void> {
  warnIfNobody(context).catch((error: unknown) =>
    context.logger.warn({ err: error }, "members can't be read"),
  );
  const stopRetries = startRetryLoop(context);
  const stopNotices = startNotices(context);
  const stopDeliveries = startDeliveries(context);
  const stopHousekeeping = startHousekeeping(context);
  const stopDomainChecks = startDomainChecks(context);
  const merge: SnapshotContext["merge"] = (before, given) =>
    context.pool.run("mergeHeads", { before, given }, serviceShare);
  const stopSnapshots = startSnapshots({ ...context, merge });
  const stopPublisher = openPublisher(context);
  const stopRosters = startRosterRounds(context);
  return async () => {
    await stopRosters();
    await stopPublisher();
    stopHousekeeping();
    stopDomainChecks();
    await stopSnapshots();
    await stopDeliveries();
    await stopNotices();
    await stopRetries();
  };
}
