/** Work that nobody asks for, which one process does for all. */
import type { Context } from "#lib/approvals/context";
import { startRetryLoop } from "#lib/approvals/retry-submissions";
import type { SnapshotContext } from "#lib/log/records/agent-heads";
import { startSnapshots } from "#lib/log/records/snapshot-schedule";
import { startNotices } from "#lib/notifications/send";
import { startDeliveries } from "#lib/webhooks/deliver";
import { startDomainChecks } from "./domain-checks";
import { startHousekeeping } from "./housekeeping";
import { serviceShare } from "./open-time";

/** Returns the function that ends it. */
export function startBackground(context: Context): () => Promise<void> {
  const stopRetries = startRetryLoop(context);
  const stopNotices = startNotices(context);
  const stopDeliveries = startDeliveries(context);
  const stopHousekeeping = startHousekeeping(context);
  const stopDomainChecks = startDomainChecks(context);
  const merge: SnapshotContext["merge"] = (before, given) =>
    context.pool.run("mergeHeads", { before, given }, serviceShare);
  const stopSnapshots = startSnapshots({ ...context, merge });
  return async () => {
    stopHousekeeping();
    stopDomainChecks();
    await stopSnapshots();
    await stopDeliveries();
    await stopNotices();
    await stopRetries();
  };
}
