/**
 * Sends the notices that are due, in the background. A process that dies loses none, and a mailbox that is slow to take a
 * mail keeps no other organization waiting.
 */

import { arrayLiteral, type Database } from "#lib/db/client";
import type { notices } from "#lib/db/schema";
import { claimDue, createDueWork, type DueWork, randomShare, startInterval } from "#lib/jobs/due-work";
import type { Context } from "#lib/services/approvals/context";
import { lookMinutes } from "#lib/services/approvals/looks";
import { findPause } from "#lib/services/webhooks/deliver";
import { bundleNotices, composeNotice } from "./mails";
import { pushToDevices } from "./push";

export type Due = Pick<
  typeof notices.$inferSelect,
  "request_id" | "kind" | "approver_id" | "organization_id"
>;

const maxDue = 64;

/** In rounds: first one of each organization, then each one's second, and so on. `$1`: what to leave out. */
const dueReader = (database: Database) =>
  database.statement<Due>(
    `SELECT request_id, kind, approver_id, organization_id FROM (
       SELECT *, row_number() OVER (PARTITION BY organization_id ORDER BY next_attempt_at) AS place
       FROM notices WHERE status = 'pending' AND next_attempt_at <= clock_timestamp()
         AND request_id || ' ' || kind || ' ' || approver_id <> ALL ($1::text[])
     ) AS due
     ORDER BY place, next_attempt_at LIMIT ${maxDue}`,
  );

export interface Claimed extends Due {
  attempts: number;
  /** As it is when the notice is claimed; null if this person is not to get it any more. */
  email: string | null;
  /** Their subjects name what runs. */
  has_titles: boolean | null;
  /** While a person who is signed in says that they are looking at the request; null if nobody does. */
  looked_seconds: number | null;
}

const claimNotice = ({ database }: Context, { request_id, kind, approver_id }: Due) =>
  claimDue<Claimed>(database, {
    table: "notices",
    key: { request_id, kind, approver_id },
    select: `SELECT c.*, coalesce(a.email, q.email) AS email, p.subject_titles AS has_titles,
        (SELECT extract(epoch FROM max(l.looked_at) + interval '${lookMinutes} minutes' - clock_timestamp())::float8
          FROM looks l WHERE l.request_id = c.request_id AND l.name <> '') AS looked_seconds
      FROM claimed c
      LEFT JOIN approvers p ON p.id = c.approver_id
      LEFT JOIN request_audience a ON a.request_id = c.request_id AND a.approver_id = c.approver_id
        AND CASE c.kind WHEN 'waiting' THEN a.waiting WHEN 'reminder' THEN a.reminder WHEN 'decided' THEN a.decided END
      LEFT JOIN approvers q ON q.id = p.id AND c.kind = 'question' AND q.status = 'confirmed' AND q.requests <> 'none'
        AND EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
          WHERE m.organization_id = c.organization_id AND u.email = q.email)`,
  });

type Change = { status: "sent" | "dropped" | "failed" } | { againSeconds: number; isAttempt: boolean };

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

const bundleSeconds = 60;

interface Beside extends Pick<Due, "request_id"> {
  status: "pending" | "sent";
  /** Since it was sent. */
  age: number;
}

/** Notices of the same agent that the person got or would get within the same minute. */
const readBeside = ({ database }: Context, { request_id, approver_id }: Due) =>
  database.statement<Beside>(
    `SELECT n.request_id, n.status, extract(epoch FROM clock_timestamp() - n.next_attempt_at)::float8 AS age
     FROM notices n JOIN shown_requests r ON r.id = n.request_id
     WHERE n.created_at > clock_timestamp() - interval '1 day' AND n.approver_id = $2 AND n.kind = 'waiting'
       AND n.request_id <> $1 AND r.agent_id = (SELECT agent_id FROM shown_requests WHERE id = $1)
       AND CASE n.status WHEN 'pending' THEN n.next_attempt_at <= clock_timestamp() + interval '${bundleSeconds + 1} seconds'
         WHEN 'sent' THEN n.next_attempt_at > clock_timestamp() - interval '${bundleSeconds} seconds' ELSE false END
     ORDER BY n.request_id LIMIT 100`,
  )(request_id, approver_id);

type Bundle = { againSeconds: number } | { others: string[] };

/**
 * The first of an agent is sent at once; what follows within a minute waits for its end and goes as one. Of those that
 * wait, the first by id takes the others along.
 */
async function findBundle(context: Context, claimed: Claimed): Promise<Bundle> {
  if (claimed.kind !== "waiting") return { others: [] };
  const beside = await readBeside(context, claimed);
  const sentAges = beside.filter(({ status }) => status === "sent").map(({ age }) => age);
  if (sentAges.length > 0) return { againSeconds: Math.max(1, bundleSeconds - Math.min(...sentAges)) };
  const others = beside.map(({ request_id }) => request_id);
  const [first] = others;
  return first !== undefined && first < claimed.request_id ? { againSeconds: 2 } : { others };
}

const settleOthers = ({ database }: Context, { approver_id }: Claimed, ids: readonly string[]) =>
  database.query(
    `UPDATE notices SET status = 'sent', next_attempt_at = clock_timestamp()
     WHERE approver_id = $1 AND kind = 'waiting' AND status = 'pending' AND request_id = ANY ($2::text[])`,
    [approver_id, arrayLiteral(ids)],
  );

async function send(context: Context, claimed: Claimed): Promise<void> {
  const settle = (change: Change) => settleNotice(context, claimed, change);
  const own = await composeNotice(context, claimed);
  if (own === null) return settle({ status: "dropped" });
  // Somebody is deciding: the others needn't.
  if (["waiting", "reminder"].includes(claimed.kind) && (claimed.looked_seconds ?? 0) > 0)
    return settle({ againSeconds: claimed.looked_seconds ?? 0, isAttempt: false });
  const bundle = await findBundle(context, claimed);
  if ("againSeconds" in bundle) return settle({ ...bundle, isAttempt: false });
  const others = await Promise.all(
    bundle.others.map((request_id) => composeNotice(context, { ...claimed, request_id })),
  );
  const notice = bundleNotices(
    context,
    own,
    others.filter((other) => other !== null),
  );
  const waitSeconds = await findWaitSeconds(context, claimed);
  if (waitSeconds !== null) return settle({ againSeconds: waitSeconds, isAttempt: false });
  try {
    // A mail as well would be a second interruption; it is what is left if no device took the message.
    const taken = notice.push === null ? 0 : await pushToDevices(context, claimed.approver_id, notice.push);
    if (taken === 0) await context.mailer.send(notice.mail);
    if (bundle.others.length > 0) await settleOthers(context, claimed, bundle.others);
  } catch (error) {
    context.logger.warn({ err: error }, "an approver's mail could not be sent; it is tried again");
    const failed = { attempts: claimed.attempts, status: null, retryAfterSeconds: null };
    const againSeconds = findPause(failed, randomShare(context));
    return settle(againSeconds === null ? { status: "failed" } : { againSeconds, isAttempt: true });
  }
  await settle({ status: "sent" });
}

export function createNotices(context: Context): DueWork {
  const readDue = dueReader(context.database);
  return createDueWork<Due, Claimed>({
    slots: 32,
    slotsOfOwner: 4,
    readDue: (except) => readDue(arrayLiteral(except)),
    getName: ({ request_id, kind, approver_id }) => `${request_id} ${kind} ${approver_id}`,
    getShare: ({ organization_id }) => ({ lane: "other", owners: [`organization ${organization_id}`] }),
    claim: (due) => claimNotice(context, due),
    attempt: (claimed) => send(context, claimed),
    onError: (error) => context.logger.warn({ err: error }, "a notice could not be sent; it is tried again"),
  });
}

export const startNotices = (context: Context): (() => Promise<void>) =>
  startInterval(roundMs, createNotices(context).runAll, (error) =>
    context.logger.warn({ err: error }, "a round of notices failed"),
  );
