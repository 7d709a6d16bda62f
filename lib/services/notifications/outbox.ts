/**
 * The notices that wait to be sent. One is taken by one process at a time: the statement that takes it moves its next
 * attempt behind the time limit of this one, so that another takes it only if this process has died. Whether it is
 * still wanted is asked again at that moment. All times are the database's, which its processes share.
 */

import type { Database } from "#lib/db/client";
import type { notices } from "#lib/db/schema";
import type { Context } from "#lib/services/approvals/context";

export type Due = Pick<
  typeof notices.$inferSelect,
  "request_id" | "kind" | "approver_id" | "organization_id"
>;

const maxDue = 64;

/** In rounds: first one of each organization, then each one's second, and so on. `$1`: what to leave out. */
export const dueReader = (database: Database) =>
  database.statement<Due>(
    `SELECT request_id, kind, approver_id, organization_id FROM (
       SELECT *, row_number() OVER (PARTITION BY organization_id ORDER BY next_attempt_at) AS place
       FROM notices WHERE status = 'pending' AND next_attempt_at <= clock_timestamp()
         AND request_id || ' ' || kind || ' ' || approver_id <> ALL ($1::text[])
     ) AS due
     ORDER BY place, next_attempt_at LIMIT ${maxDue}`,
  );

const leaseSeconds = 60;

export interface Claimed extends Due {
  attempts: number;
  /** Null if this person is not to get it any more. */
  email: string | null;
}

/** Null if another process is at it, or it has ended. */
export async function claimNotice(database: Database, due: Due): Promise<Claimed | null> {
  const [row] = await database.statement<Claimed>(
    `WITH claimed AS (
       UPDATE notices SET attempts = attempts + 1,
         next_attempt_at = clock_timestamp() + interval '${leaseSeconds} seconds'
       WHERE request_id = $1 AND kind = $2 AND approver_id = $3
         AND status = 'pending' AND next_attempt_at <= clock_timestamp()
       RETURNING request_id, kind, approver_id, organization_id, attempts
     )
     SELECT c.*, a.email FROM claimed c
     LEFT JOIN request_audience a ON a.request_id = c.request_id AND a.approver_id = c.approver_id
       AND CASE c.kind WHEN 'waiting' THEN a.waiting WHEN 'reminder' THEN a.reminder ELSE a.decided END`,
    "write",
  )(due.request_id, due.kind, due.approver_id);
  return row ?? null;
}

type Change = { status: "sent" | "dropped" | "failed" } | { againSeconds: number; isAttempt: boolean };

/** Records the result of this attempt. One that was not made doesn't count. */
export async function settleNotice({ database }: Context, claimed: Claimed, change: Change): Promise<void> {
  const isOver = "status" in change;
  await database.query(
    `UPDATE notices SET status = $5, attempts = attempts - $6::int,
       next_attempt_at = clock_timestamp() + make_interval(secs => $7::float8)
     WHERE request_id = $1 AND kind = $2 AND approver_id = $3 AND attempts = $4 AND status = 'pending'`,
    [
      claimed.request_id,
      claimed.kind,
      claimed.approver_id,
      claimed.attempts,
      isOver ? change.status : "pending",
      isOver || change.isAttempt ? 0 : 1,
      isOver ? 0 : change.againSeconds,
    ],
  );
}
