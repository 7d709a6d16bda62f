/**
 * Sends the notices that are due, in the background. A process that dies loses none, and a mailbox that is slow to take a
 * mail keeps no other organization waiting.
 */

import { arrayLiteral } from "#lib/db/array-literal";
import type { Database } from "#lib/db/client";
import type { notices } from "#lib/db/schema";
import { createDueWork, type DueWork, startInterval } from "#lib/jobs/due-work";
import type { Context } from "#lib/services/approvals/context";
import { findPause, randomShare } from "#lib/services/webhooks/deliver";
import { composeNotice } from "./mails";

/*
 * The notices that wait to be sent. One is taken by one process at a time: the statement that takes it moves its next
 * attempt behind the time limit of this one, so that another takes it only if this process has died. Whether it is
 * still wanted is asked again at that moment. All times are the database's, which its processes share.
 */

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
async function claimNotice(database: Database, due: Due): Promise<Claimed | null> {
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
async function settleNotice({ database }: Context, claimed: Claimed, change: Change): Promise<void> {
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

const roundMs = 1_000;

/** An agent that asks all the time can't fill a mailbox. Null if there is room, else for how long there is none. */
async function findWaitSeconds(context: Context, { organization_id, approver_id }: Claimed) {
  const {
    LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: perAddress,
    LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: perOrganization,
  } = context.settings;
  const ofAddress = { name: "notices_address", limit: perAddress, windowSeconds: 3600 };
  const ofOrganization = { name: "notices_organization", limit: perOrganization, windowSeconds: 3600 };
  const { limiter } = context;
  // A mail that the organization's limit holds back doesn't count for the address.
  let state = limiter.spent(ofOrganization, organization_id);
  state ??= await limiter.consume(ofAddress, approver_id);
  if (state.allowed) state = await limiter.consume(ofOrganization, organization_id);
  return state.allowed ? null : Math.max(1, (state.resetMs - context.clock().getTime()) / 1000);
}

async function send(context: Context, due: Due): Promise<0 | 1> {
  const claimed = await claimNotice(context.database, due);
  if (claimed === null) return 0;
  const mail = await composeNotice(context, claimed);
  if (mail === null) {
    await settleNotice(context, claimed, { status: "dropped" });
    return 1;
  }
  const waitSeconds = await findWaitSeconds(context, claimed);
  if (waitSeconds !== null) {
    await settleNotice(context, claimed, { againSeconds: waitSeconds, isAttempt: false });
    return 1;
  }
  try {
    await context.mailer.send(mail);
  } catch (error) {
    context.logger.warn({ err: error }, "an approver's mail could not be sent; it is tried again");
    const failed = { attempts: claimed.attempts, status: null, retryAfterSeconds: null };
    const againSeconds = findPause(failed, randomShare(context));
    await settleNotice(
      context,
      claimed,
      againSeconds === null ? { status: "failed" } : { againSeconds, isAttempt: true },
    );
    return 1;
  }
  await settleNotice(context, claimed, { status: "sent" });
  return 1;
}

export function createNotices(context: Context): DueWork {
  const readDue = dueReader(context.database);
  return createDueWork<Due>({
    slots: 32,
    slotsOfOwner: 4,
    readDue: (except) => readDue(arrayLiteral(except)),
    nameOf: ({ request_id, kind, approver_id }) => `${request_id} ${kind} ${approver_id}`,
    shareOf: ({ organization_id }) => ({ lane: "other", owners: [`organization ${organization_id}`] }),
    attempt: (due) => send(context, due),
    onError: (error) => context.logger.warn({ err: error }, "a notice could not be sent; it is tried again"),
  });
}

/** Returns the function that ends the rounds. */
export function startNotices(context: Context): () => Promise<void> {
  const notices = createNotices(context);
  const work = async (isStopped: () => boolean) => {
    while ((await notices.run(isStopped)) > 0 && !isStopped());
  };
  return startInterval(roundMs, work, (error) =>
    context.logger.warn({ err: error }, "a round of notices failed"),
  );
}
