/**
 * Queue of deliveries. A delivery is taken by one process at a time: the statement that takes it moves its next attempt
 * behind the time limit of this one, so that another takes it only if this process has died. All times are the
 * database's, which its processes share.
 */

import type { Database } from "#lib/db/client";
import type { Context } from "#lib/services/approvals/context";
import type { EndpointRow } from "./endpoints";

export interface Due {
  message_id: string;
  endpoint_id: string;
  organization_id: string;
}

/** How many of one endpoint are looked at together, and of all. */
const maxOfEndpoint = 32;
const maxDue = 256;

/**
 * In rounds: first one of each organization, then each one's second, and so on, and likewise its endpoints among each
 * other. `$1`: what failed before, or else what didn't; `$2`: what to leave out.
 */
export const dueReader = (database: Database) =>
  database.statement<Due>(
    `SELECT message_id, endpoint_id, organization_id FROM (
       SELECT due.message_id, e.id AS endpoint_id, e.organization_id, due.next_attempt_at,
         row_number() OVER (PARTITION BY e.organization_id ORDER BY due.place, due.next_attempt_at) AS place
       FROM webhook_endpoints e
       JOIN organizations o ON o.id = e.organization_id AND o.deleted_at IS NULL
       CROSS JOIN LATERAL (
         SELECT message_id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at) AS place
         FROM webhook_deliveries d
         WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.next_attempt_at <= clock_timestamp()
           AND (d.attempts > 0 OR e.failing_since IS NOT NULL) = $1
           AND d.message_id || ' ' || d.endpoint_id <> ALL ($2::text[])
         ORDER BY d.next_attempt_at LIMIT ${maxOfEndpoint}
       ) AS due
       WHERE e.disabled_at IS NULL
     ) AS ranked ORDER BY place, next_attempt_at LIMIT ${maxDue}`,
  );

const leaseSeconds = 60;

export interface Claimed extends EndpointRow {
  message_id: string;
  attempts: number;
  body: string;
  /** Where it goes. */
  address: string;
}

/** Null if another process is at it, or it has ended. */
export async function claimDelivery(database: Database, due: Due): Promise<Claimed | null> {
  const [row] = await database.statement<Claimed>(
    `WITH claimed AS (
       UPDATE webhook_deliveries SET attempts = attempts + 1, last_attempt_at = clock_timestamp(),
         last_status = NULL, last_problem = NULL,
         next_attempt_at = clock_timestamp() + interval '${leaseSeconds} seconds'
       WHERE message_id = $1 AND endpoint_id = $2 AND status = 'pending' AND next_attempt_at <= clock_timestamp()
       RETURNING message_id, endpoint_id, attempts, url
     )
     SELECT e.*, c.message_id, c.attempts, m.body, coalesce(c.url, e.url) AS address FROM claimed c
     JOIN webhook_messages m ON m.id = c.message_id JOIN webhook_endpoints e ON e.id = c.endpoint_id`,
    "write",
  )(due.message_id, due.endpoint_id);
  return row ?? null;
}

const ofThisAttempt = "message_id = $1 AND endpoint_id = $2 AND attempts = $3";

/** An arrived message counts as delivered, whatever was said of it while it was on its way. */
export async function settleDelivered(
  { database }: Context,
  claimed: Claimed,
  status: number,
): Promise<void> {
  const { message_id, id, url, attempts } = claimed;
  await database.query(
    `UPDATE webhook_deliveries SET status = 'delivered', last_status = $4, last_problem = NULL
     WHERE ${ofThisAttempt} AND status <> 'delivered'`,
    [message_id, id, attempts, status],
  );
  if (url === null) return;
  // Whatever it was when this one was taken: another message may have failed meanwhile.
  await database.query(
    "UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND url = $2 AND failing_since IS NOT NULL",
    [id, url],
  );
}

export interface Failure {
  status: number | null;
  problem: string;
  /** Until the next attempt; null if there is none. */
  pauseSeconds: number | null;
}

export async function settleFailed({ database }: Context, claimed: Claimed, failure: Failure): Promise<void> {
  const { message_id, id, attempts } = claimed;
  await database.query(
    `UPDATE webhook_deliveries SET last_status = $4, last_problem = $5,
       status = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END,
       next_attempt_at = clock_timestamp() + make_interval(secs => coalesce($6::float8, 0))
     WHERE ${ofThisAttempt} AND status = 'pending'`,
    [message_id, id, attempts, failure.status, failure.problem, failure.pauseSeconds],
  );
}
