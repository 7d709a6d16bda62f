/**
 * Deletes what has expired: counters of limits, idempotency keys (they hold answers), email codes, sessions, invitations,
 * nonces of World ID and proofs that were refused, both of which anyone with a link can pile up; the request log and its
 * counts.
 */

import { and, eq, lt, sql } from "drizzle-orm";
import { isForgettable } from "#lib/api/http/idempotency-expiry";
import {
  approvalSubmissions,
  dailyCounts,
  dailyKeyUsage,
  dailyRequests,
  emailCodeFailures,
  emailCodes,
  idempotencyKeys,
  invitations,
  notices,
  rateLimits,
  requestLog,
  sessions,
  verificationTokens,
  webhookMessages,
  worldNonces,
} from "#lib/db/schema";
import { emptyProbe } from "#lib/log/sequencer/readiness";
import type { Context } from "#lib/services/approvals/context";
import { utcDay } from "#lib/services/keys/api-keys";

const intervalMs = 600_000;
const dayMs = 86_400_000;
/** More than any page shows. */
const countedDays = 32;

/** Safe to run in several processes at once. */
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
  const { REQUEST_LOG_DAYS: logDays } = context.settings;
  await db.delete(requestLog).where(lt(requestLog.at, sql`now() - make_interval(days => ${logDays})`));
  const firstCounted = utcDay(new Date(nowMs - countedDays * dayMs));
  for (const table of [dailyRequests, dailyCounts, dailyKeyUsage])
    await db.delete(table).where(lt(table.day, firstCounted));
  await emptyProbe(context.database);
  await db.delete(verificationTokens).where(lt(verificationTokens.expires, sql`now()`));
  await db.delete(sessions).where(lt(sessions.expires, sql`now()`));
  await db.delete(invitations).where(lt(invitations.expires_at, sql`now() - interval '30 days'`));
}

/** Every ten minutes, and never the reason that a process stays. Returns the function that ends it. */
export function startHousekeeping(context: Context): () => void {
  const timer = setInterval(() => {
    deleteExpired(context).catch((error: unknown) =>
      context.logger.warn(
        { err: error },
        "what has expired could not be deleted; the next round tries again",
      ),
    );
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
