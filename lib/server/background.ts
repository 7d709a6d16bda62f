/** Work without a request, which one process does for all. */

import { and, eq, lt, sql } from "drizzle-orm";
import { isForgettable } from "#lib/api/http/idempotency";
import {
  approvalSubmissions,
  dailyCounts,
  dailyKeyUsage,
  dailyRequests,
  emailCodeFailures,
  emailCodes,
  idempotencyKeys,
  invitations,
  looks,
  notices,
  rateLimits,
  requestLog,
  sessions,
  verificationTokens,
  webhookMessages,
  worldNonces,
} from "#lib/db/schema";
import { oneAtATime, startInterval } from "#lib/jobs/due-work";
import { startPublisher } from "#lib/log/reading/export-tiles";
import type { SnapshotContext } from "#lib/log/records/agent-heads";
import { startSnapshots } from "#lib/log/records/record-snapshot";
import { emptyProbe } from "#lib/log/sequencer/sequencer";
import { dayMs } from "#lib/protocol/time/time-words";
import { notifyStarted } from "#lib/services/accounts/approver-groups";
import { deleteOldAudit } from "#lib/services/accounts/audit-list";
import { checkDueDomains } from "#lib/services/accounts/domains";
import { explainNobody } from "#lib/services/accounts/organizations";
import { runRosterRound } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { plantedRoundMs, runPlantedRound } from "#lib/services/approvals/planted";
import { startRetryLoop } from "#lib/services/approvals/world-id/submissions";
import { eraseOutdated } from "#lib/services/attestations/erase";
import { utcDay } from "#lib/services/keys/api-keys";
import { startNotices } from "#lib/services/notifications/send";
import { startDeliveries } from "#lib/services/webhooks/deliver";
import { serviceShare } from "./open-parts";
import { dropUnsent, startAuditExport } from "./telemetry/audit-events";

const intervalMs = 600_000;

/** Runs in the background: a host may be slow, and pending domains are checked again after the next start. */
function startDomainChecks(context: Context): () => void {
  const run = oneAtATime(async (isStopped) => {
    while (!isStopped() && (await checkDueDomains(context)) > 0);
  });
  const end = startInterval(intervalMs, run, (error) =>
    context.logger.warn({ err: error }, "a round of domain checks failed"),
  );
  return () => void end();
}

/*
 * Deletes what has expired: counters of limits, idempotency keys (they hold answers), email codes, sessions, invitations,
 * nonces of World ID and proofs that were refused, both of which anyone with a link can pile up; the request log and its
 * counts.
 */

/** More than any page shows. */
const countedDays = 32;

export async function deleteExpired(context: Context): Promise<void> {
  const { db } = context.database;
  const nowMs = context.clock().getTime();
  await db.delete(rateLimits).where(lt(rateLimits.expire, nowMs - 60_000));
  await db.delete(idempotencyKeys).where(isForgettable);
  await db.delete(emailCodes).where(lt(emailCodes.expires_at, sql`now()`));
  await db.delete(emailCodeFailures).where(lt(emailCodeFailures.day, utcDay(new Date(nowMs - dayMs))));
  // A request lives for a day at most; until then a refused proof that is sent again gets its first answer.
  const dayAgo = sql`now() - interval '1 day'`;
  await db.delete(worldNonces).where(lt(worldNonces.expires_at, dayAgo));
  await db
    .delete(approvalSubmissions)
    .where(and(eq(approvalSubmissions.status, "refused"), lt(approvalSubmissions.created_at, dayAgo)));
  await db.delete(webhookMessages).where(lt(webhookMessages.created_at, sql`now() - interval '30 days'`));
  await db.delete(notices).where(lt(notices.created_at, sql`now() - interval '30 days'`));
  await db.delete(looks).where(lt(looks.looked_at, dayAgo));
  const { AUDIT_LOG_DAYS: auditDays, REQUEST_LOG_DAYS: logDays } = context.settings;
  if (auditDays !== undefined) await deleteOldAudit(db, auditDays);
  if (context.settings.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT === undefined) await dropUnsent(db);
  await db.delete(requestLog).where(lt(requestLog.at, sql`now() - make_interval(days => ${logDays})`));
  const firstCounted = utcDay(new Date(nowMs - countedDays * dayMs));
  for (const table of [dailyRequests, dailyCounts, dailyKeyUsage])
    await db.delete(table).where(lt(table.day, firstCounted));
  await emptyProbe(context.database);
  await db.delete(verificationTokens).where(lt(verificationTokens.expires, sql`now()`));
  await db.delete(sessions).where(lt(sessions.expires, sql`now()`));
  await db.delete(invitations).where(lt(invitations.expires_at, sql`now() - interval '30 days'`));
}

const startHousekeeping = (context: Context): (() => Promise<void>) =>
  startInterval(
    intervalMs,
    () => deleteExpired(context),
    (error) =>
      context.logger.warn(
        { err: error },
        "what has expired could not be deleted; the next round tries again",
      ),
  );

function openPublisher({ database, store, logger, settings }: Context): () => Promise<void> {
  if (store === null) return async () => {};
  const { WITNESSES: policy, LOG_STORE_SECONDS: everySeconds } = settings;
  return startPublisher({ database, store, logger, policy, everySeconds });
}

function startRetention(context: Context): () => Promise<void> {
  const run = oneAtATime((isStopped) => eraseOutdated(context, isStopped));
  return startInterval(intervalMs, run, (error) =>
    context.logger.warn({ err: error }, "a round of retention failed; the next one tries again"),
  );
}

const deputyRoundMs = 10_000;

function startDeputyRounds(context: Context): () => Promise<void> {
  const run = oneAtATime(() => notifyStarted(context));
  return startInterval(deputyRoundMs, run, (error) =>
    context.logger.warn(
      { err: error },
      "deputies could not be notified of what waits; the next round tries again",
    ),
  );
}

const rosterRoundMs = 3_000;

function startRosterRounds(context: Context): () => Promise<void> {
  const run = oneAtATime(() => runRosterRound(context));
  return startInterval(rosterRoundMs, run, (error) =>
    context.logger.warn({ err: error }, "a round of rosters failed; the next one tries again"),
  );
}

function startPlantedRounds(context: Context): () => Promise<void> {
  const run = oneAtATime((isStopped) => runPlantedRound(context, isStopped));
  return startInterval(plantedRoundMs, run, (error) =>
    context.logger.warn({ err: error }, "a round of planted requests failed; the next one tries again"),
  );
}

/** Closed sign-up on a new database leaves nobody who could invite the first person. */
async function warnIfNobody(context: Context): Promise<void> {
  const nobody = await explainNobody(context, context.database.db);
  if (nobody !== null)
    context.logger.warn(`${nobody}. Make the first owner: npm run accounts -- add-owner EMAIL`);
}

export function startBackground(context: Context): () => Promise<void> {
  warnIfNobody(context).catch((error: unknown) =>
    context.logger.warn({ err: error }, "members can't be read"),
  );
  const merge: SnapshotContext["merge"] = (before, given) =>
    context.pool.run("mergeHeads", { before, given }, serviceShare);
  const ends = [
    startRetention(context),
    startRosterRounds(context),
    startDeputyRounds(context),
    startPlantedRounds(context),
    startAuditExport(context),
    openPublisher(context),
    startHousekeeping(context),
    startDomainChecks(context),
    startSnapshots({ ...context, merge }),
    startDeliveries(context),
    startNotices(context),
    startRetryLoop(context),
  ];
  return async () => {
    for (const end of ends) await end();
  };
}
