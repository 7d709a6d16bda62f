/** Sends what is due, in the background. Nobody's slow receiver keeps others waiting, and a process that dies loses nothing. */
import type { Context } from "#lib/approvals/context";
import { markExpired } from "#lib/approvals/rows";
import type { Resolve } from "#lib/door/guarded-request";
import { mayReachLoopback } from "#lib/door/receiver-url";
import { AppError } from "#lib/errors";
import { measure } from "#lib/steps";
import { createFairQueue } from "#lib/workers/fair-queue";
import { startRounds } from "#lib/workers/rounds";
import { disableIfHopeless } from "./disable";
import { type EndpointRow, giveKeys } from "./endpoints";
import { type EndpointKeys, openKeys, signMessage, UnreadableKeys } from "./keys";
import { type Claimed, claimDelivery, type Due, dueReader, settleDelivered, settleFailed } from "./outbox";
import { type PostResult, post } from "./post";
import { findPause, randomShare } from "./schedule";

const slots = 64;
const slotsOfOwner = 16;
const roundMs = 1_000;
const userAgent = "Countersign-Webhooks/1 (+https://www.standardwebhooks.com)";

export interface DeliveryOptions {
  timeoutMs?: number;
  resolve?: Resolve;
}

function openAll(
  context: Context,
  { id, keys, old_keys, old_keys_until }: EndpointRow,
  now: Date,
): EndpointKeys[] {
  const isOverlapping = old_keys_until !== null && old_keys_until > now;
  const sealed = [keys, isOverlapping ? old_keys : null].filter((one) => one !== null);
  return sealed.map((one) => openKeys(context, id, one));
}

async function attempt(context: Context, claimed: Claimed, options: DeliveryOptions): Promise<PostResult> {
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
  return post({
    url: claimed.address,
    body: claimed.body,
    headers: {
      "content-type": "application/json",
      "user-agent": userAgent,
      "webhook-id": message.id,
      "webhook-timestamp": String(message.timestamp),
      "webhook-signature": signMessage(message, keys),
    },
    mayBeLoopback: mayReachLoopback(context.settings),
    nowMs: now.getTime(),
    ...options,
  });
}

async function deliver(context: Context, due: Due, options: DeliveryOptions): Promise<number> {
  const claimed = await claimDelivery(context.database, due);
  if (claimed === null) return 0;
  const { status, problem, retryAfterSeconds } = await measure(
    "webhook",
    "deliver a webhook",
    async (note) => {
      const result = await attempt(context, claimed, options);
      note({}, result.problem === null ? "ok" : "refused");
      return result;
    },
  );
  if (problem === null && status !== null) {
    await settleDelivered(context, claimed, status);
    return 1;
  }
  const { attempts } = claimed;
  const pause = findPause({ attempts, status, retryAfterSeconds }, randomShare(context));
  const pauseSeconds = status === 410 ? null : pause;
  await settleFailed(context, claimed, { status, problem: problem ?? "no answer", pauseSeconds });
  await disableIfHopeless(context, claimed, status);
  return 1;
}

export interface Deliveries {
  /** Tries everything that is due and not being tried; how many were tried. */
  run(): Promise<number>;
}

export function createDeliveries(context: Context, options: DeliveryOptions = {}): Deliveries {
  const queue = createFairQueue({
    slots,
    maxWaiting: 1_024,
    maxPerOwner: 1_024,
    maxRunningPerOwner: slotsOfOwner,
    refusal: "too many webhooks are being sent",
  });
  const taken = new Set<string>();
  const readDue = dueReader(context.database);

  /** Zero too if there is no place: it stays due. */
  async function take(due: Due): Promise<number> {
    const name = `${due.message_id} ${due.endpoint_id}`;
    if (taken.has(name)) return 0;
    taken.add(name);
    const owners = [`organization ${due.organization_id}`, `endpoint ${due.endpoint_id}`];
    try {
      return await queue.run({ lane: "other", owners }, () => deliver(context, due, options));
    } catch (error) {
      if (!(error instanceof AppError) || error.errorName === "server_error")
        context.logger.error({ err: error }, "a webhook could not be sent; it is tried again");
      return 0;
    } finally {
      taken.delete(name);
    }
  }

  return {
    run: async () => {
      const tried = await Promise.all((await readDue()).map(take));
      return tried.reduce((sum, one) => sum + one, 0);
    },
  };
}

/**
 * A round each second. Requests whose time is over are noticed here too, because somebody may wait for that. Returns the
 * function that ends the rounds.
 */
export function startDeliveries(
  context: Context,
  deliveries: Deliveries = createDeliveries(context),
): () => Promise<void> {
  async function work(isStopped: () => boolean): Promise<void> {
    await markExpired(context.database.db, undefined);
    while ((await deliveries.run()) > 0 && !isStopped());
  }
  return startRounds(roundMs, work, (error) =>
    context.logger.warn({ err: error }, "a round of webhooks failed"),
  );
}
