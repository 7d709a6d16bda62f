/**
 * Sends what is due, in the background. A process that dies loses nothing. A slow receiver doesn't keep others waiting: an
 * organization has a part of the places, and what has failed before has places of its own.
 */

import { arrayLiteral } from "#lib/db/array-literal";
import { measure } from "#lib/instrumentation";
import { createDueWork, type DueWork } from "#lib/jobs/due-work";
import { startInterval } from "#lib/jobs/interval";
import { mayReachLoopback } from "#lib/jobs/receiver-url";
import type { Context } from "#lib/services/approvals/context";
import { markExpired } from "#lib/services/approvals/rows";
import { markUnattested } from "#lib/services/approvals/use/unattested";
import { disableIfHopeless } from "./disable";
import { type EndpointRow, giveKeys } from "./endpoints";
import { type EndpointKeys, openKeys, signMessage, UnreadableKeys } from "./keys";
import { type Claimed, claimDelivery, type Due, dueReader, settleDelivered, settleFailed } from "./outbox";
import { type PostResult, post } from "./post";
import { findPause, randomShare } from "./schedule";

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

async function attempt(context: Context, claimed: Claimed): Promise<PostResult> {
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
  });
}

async function deliver(context: Context, due: Due): Promise<0 | 1> {
  const claimed = await claimDelivery(context.database, due);
  if (claimed === null) return 0;
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
    return 1;
  }
  const { attempts } = claimed;
  const pause = findPause({ attempts, status, retryAfterSeconds }, randomShare(context));
  const pauseSeconds = status === 410 ? null : pause;
  await settleFailed(context, claimed, { status, problem: problem ?? "no answer", pauseSeconds });
  await disableIfHopeless(context, claimed, status);
  return 1;
}

/** Two kinds of work: first attempts, and those to a receiver that failed before. */
export function createDeliveries(context: Context): DueWork[] {
  const readDue = dueReader(context.database);
  return [false, true].map((isAgain) =>
    createDueWork<Due>({
      ...(isAgain ? places.again : places.first),
      readDue: (except) => readDue(isAgain, arrayLiteral(except)),
      nameOf: ({ message_id, endpoint_id }) => `${message_id} ${endpoint_id}`,
      shareOf: ({ organization_id, endpoint_id }) => ({
        lane: "other",
        owners: [`organization ${organization_id}`, `endpoint ${endpoint_id}`],
      }),
      attempt: (due) => deliver(context, due),
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
    const sendAll = async ({ run }: DueWork) => {
      while ((await run(isStopped)) > 0 && !isStopped());
    };
    await Promise.all(deliveries.map(sendAll));
  }
  return startInterval(roundMs, work, (error) =>
    context.logger.warn({ err: error }, "a round of webhooks failed"),
  );
}
