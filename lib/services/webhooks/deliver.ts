/**
 * Sends what is due, in the background. A process that dies loses nothing. A slow receiver doesn't keep others waiting: an
 * organization has a part of the places, and what has failed before has places of its own.
 */
import { sql } from "drizzle-orm";
import { arrayLiteral, queryRows } from "#lib/db/client";
import { measure } from "#lib/instrumentation";
import { createDueWork, type DueWork, randomShare, startInterval } from "#lib/jobs/due-work";
import { mayReachLoopback, type Resolve, requestGuarded } from "#lib/jobs/guarded-request";
import { recordAudit } from "#lib/services/accounts/audit";
import { mailOwners, webhookDisabledMail } from "#lib/services/accounts/mails";
import type { Context } from "#lib/services/approvals/context";
import { markExpired } from "#lib/services/approvals/rows";
import { markUnattested } from "#lib/services/approvals/use/claim";
import { type ChatFormat, composeChat } from "./chat";
import {
  type Claimed,
  claimDelivery,
  type Due,
  dueReader,
  settleDelivered,
  settleFailed,
} from "./deliveries";
import {
  type EndpointKeys,
  type EndpointRow,
  failWaiting,
  giveKeys,
  openKeys,
  shownAddress,
  signMessage,
  UnreadableKeys,
} from "./endpoints";

/* Endpoints that end by themselves: one that says it is gone, and one that has failed for days. Its owners get an email. */

const failingDays = 5;
const failingTime = sql.raw(`interval '${failingDays} days'`);

/** True for the one that disabled it. */
async function disable(
  context: Context,
  endpoint: EndpointRow,
  reason: "gone" | "failing",
): Promise<boolean> {
  return context.database.db.transaction(async (tx) => {
    const disabled = await queryRows(
      tx,
      sql`UPDATE webhook_endpoints SET disabled_at = clock_timestamp(), disabled_reason = ${reason}
        WHERE id = ${endpoint.id} AND url = ${endpoint.url} AND disabled_at IS NULL
          AND (${reason} = 'gone' OR failing_since <= clock_timestamp() - ${failingTime}) RETURNING id`,
    );
    if (disabled.length === 0) return false;
    await failWaiting(tx, endpoint.id);
    await recordAudit(context, tx, {
      organizationId: endpoint.organization_id,
      actor: { kind: "system", id: "webhooks", ip: null },
      action: "webhook.disabled",
      subject: endpoint.id,
      detail: { url: shownAddress(endpoint, endpoint.url), reason },
    });
    return true;
  });
}

async function notifyOwners(
  context: Context,
  endpoint: EndpointRow,
  reason: "gone" | "failing",
): Promise<void> {
  const link = `${context.settings.baseUrl}/portal/webhooks/${endpoint.id}`;
  const why = reason === "gone" ? "it answered 410 Gone" : `every attempt failed for ${failingDays} days`;
  await mailOwners(context, endpoint.organization_id, "webhooks", (to) => webhookDisabledMail(to, link, why));
}

/** Disables it after a failed attempt. Callbacks share no receiver, so none of them speaks for the others. */
async function disableIfHopeless(
  context: Context,
  endpoint: EndpointRow,
  status: number | null,
): Promise<void> {
  if (endpoint.url === null) return;
  const { rows } = await context.database.query(
    "UPDATE webhook_endpoints SET failing_since = clock_timestamp() WHERE id = $1 AND url = $2 AND failing_since IS NULL RETURNING id",
    [endpoint.id, endpoint.url],
  );
  const reason = status === 410 ? "gone" : "failing";
  if (rows.length > 0 && reason === "failing") return;
  if (await disable(context, endpoint, reason)) await notifyOwners(context, endpoint, reason);
}

/* Schedule of retries: that of Standard Webhooks, with jitter. */

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;

/** Seconds after the first, second, … failed attempt. */
const pauses = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Receivers that are too busy to answer get twice the time, and a minute at least. */
const busy = new Set([429, 502, 504]);
const maxPauseSeconds = 24 * hour;

export interface FailedAttempt {
  /** Counted with this one. */
  attempts: number;
  status: number | null;
  retryAfterSeconds: number | null;
}

/** Up to a tenth more or less. `random`: 0 to 1. Null after the last attempt. */
export function findPause(
  { attempts, status, retryAfterSeconds }: FailedAttempt,
  random: number,
): number | null {
  const planned = pauses[attempts - 1];
  if (planned === undefined) return null;
  const isBusy = status !== null && busy.has(status);
  const slowed = isBusy ? Math.max(minute, 2 * planned) : planned;
  const spread = slowed * (0.9 + 0.2 * random);
  return Math.max(spread, Math.min(retryAfterSeconds ?? 0, maxPauseSeconds));
}

/** Seconds, of either form of the header (RFC 9110 section 10.2.3). */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}

/* Posts once to a receiver, guarded like every request to a host that a stranger named. */

export interface Posting {
  url: string;
  body: string;
  headers: Record<string, string>;
  mayBeLoopback: boolean;
  allowedHosts?: readonly string[];
  nowMs: number;
  timeoutMs?: number;
  resolve?: Resolve;
}

export interface PostResult {
  status: number | null;
  problem: string | null;
  retryAfterSeconds: number | null;
}

const usualTimeoutMs = 15_000;

export async function post({ nowMs, timeoutMs = usualTimeoutMs, ...posting }: Posting): Promise<PostResult> {
  const answer = await requestGuarded({ ...posting, method: "POST", timeoutMs, maxBytes: 0 });
  if (answer.status === null) return { status: null, problem: answer.problem, retryAfterSeconds: null };
  const { status, headers } = answer;
  const isAccepted = status >= 200 && status < 300;
  return {
    status,
    problem: isAccepted ? null : `HTTP ${status}`,
    retryAfterSeconds: readRetryAfter(headers["retry-after"], nowMs),
  };
}

const places = {
  first: { slots: 48, slotsOfOwner: 8 },
  again: { slots: 16, slotsOfOwner: 4 },
};
const roundMs = 1_000;
const userAgent = "Countersign-Webhooks/1 (+https://www.standardwebhooks.com)";

function openAll(
  context: Context,
  { id, keys, old_keys, old_keys_until }: EndpointRow,
  now: Date,
): EndpointKeys[] {
  const isOverlapping = old_keys_until !== null && old_keys_until > now;
  const sealed = [keys, isOverlapping ? old_keys : null].filter((one) => one !== null);
  return sealed.map((one) => openKeys(context, id, one));
}

const send = (context: Context, claimed: Claimed, body: string, headers: Record<string, string>) =>
  post({
    url: claimed.address,
    body,
    headers: { "content-type": "application/json", "user-agent": userAgent, ...headers },
    mayBeLoopback: mayReachLoopback(context.settings),
    allowedHosts: context.settings.WEBHOOK_ALLOWED_HOSTS,
    nowMs: context.clock().getTime(),
  });

/** An incoming webhook of a chat checks no signature: its address is the secret. */
async function attemptChat(context: Context, claimed: Claimed, format: ChatFormat): Promise<PostResult> {
  const { organization_id: organizationId, body, shows_facts: showsFacts } = claimed;
  const text = await composeChat(context, format, { organizationId, body, showsFacts });
  // Counts as accepted by the chat: it isn't retried, and the endpoint is not at fault.
  if (text === null) return { status: 200, problem: null, retryAfterSeconds: null };
  return send(context, claimed, text, {});
}

async function attempt(context: Context, claimed: Claimed): Promise<PostResult> {
  if (claimed.format !== "standard") return attemptChat(context, claimed, claimed.format);
  const now = context.clock();
  let keys: EndpointKeys[];
  try {
    keys = openAll(context, await giveKeys(context, claimed), now);
  } catch (error) {
    if (!(error instanceof UnreadableKeys)) throw error;
    return {
      status: null,
      problem: "its keys cannot be read any more: rotate them",
      retryAfterSeconds: null,
    };
  }
  const message = { id: claimed.message_id, timestamp: Math.floor(now.getTime() / 1000), body: claimed.body };
  return send(context, claimed, claimed.body, {
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestamp),
    "webhook-signature": signMessage(message, keys),
  });
}

async function deliver(context: Context, claimed: Claimed): Promise<void> {
  const { status, problem, retryAfterSeconds } = await measure(
    "webhook",
    "deliver a webhook",
    async (note) => {
      const result = await attempt(context, claimed);
      note({}, result.problem === null ? "ok" : "refused");
      return result;
    },
  );
  if (problem === null && status !== null) {
    await settleDelivered(context, claimed, status);
    return;
  }
  const { attempts } = claimed;
  const pause = findPause({ attempts, status, retryAfterSeconds }, randomShare(context));
  const pauseSeconds = status === 410 ? null : pause;
  await settleFailed(context, claimed, { status, problem: problem ?? "no answer", pauseSeconds });
  await disableIfHopeless(context, claimed, status);
}

export function createDeliveries(context: Context): DueWork[] {
  const readDue = dueReader(context.database);
  return [false, true].map((isAgain) =>
    createDueWork<Due, Claimed>({
      ...(isAgain ? places.again : places.first),
      readDue: (except) => readDue(isAgain, arrayLiteral(except)),
      getName: ({ message_id, endpoint_id }) => `${message_id} ${endpoint_id}`,
      getShare: ({ organization_id, endpoint_id }) => ({
        lane: "other",
        owners: [`organization ${organization_id}`, `endpoint ${endpoint_id}`],
      }),
      claim: (due) => claimDelivery(context, due),
      attempt: (claimed) => deliver(context, claimed),
      onError: (error) =>
        context.logger.error({ err: error }, "a webhook could not be sent; it is tried again"),
    }),
  );
}

/**
 * A round each second. Requests whose time is over and runs without an attestation are noticed here too, because somebody
 * may wait for that. Returns the function that ends the rounds.
 */
export function startDeliveries(context: Context): () => Promise<void> {
  const deliveries = createDeliveries(context);
  async function work(isStopped: () => boolean): Promise<void> {
    await markExpired(context.database.db, undefined);
    await markUnattested(context.database);
    await Promise.all(deliveries.map(({ runAll }) => runAll(isStopped)));
  }
  return startInterval(roundMs, work, (error) =>
    context.logger.warn({ err: error }, "a round of webhooks failed"),
  );
}
