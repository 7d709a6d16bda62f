/**
 * Sends the notices that are due, in the background. A process that dies loses none, and a mailbox that is slow to take a
 * mail keeps no other organization waiting.
 */

import { arrayLiteral } from "#lib/db/array-literal";
import { createDueWork, type DueWork } from "#lib/jobs/due-work";
import { startInterval } from "#lib/jobs/interval";
import type { Context } from "#lib/services/approvals/context";
import { findPause, randomShare } from "#lib/services/webhooks/schedule";
import { composeNotice } from "./mails";
import { type Claimed, claimNotice, type Due, dueReader, settleNotice } from "./outbox";

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
