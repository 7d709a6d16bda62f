/** Sends the notices that are due, in the background. A process that dies loses none. */
import type { Context } from "#lib/approvals/context";
import { findPause, randomShare } from "#lib/webhooks/schedule";
import { startRounds } from "#lib/workers/rounds";
import { composeNotice } from "./mails";
import { type Claimed, claimNotice, type Due, dueReader, settleNotice } from "./outbox";

const roundMs = 1_000;

/** An agent that asks all the time fills nobody's mailbox. Null if there is room, else for how long there is none. */
async function findWaitSeconds(context: Context, { organization_id, approver_id }: Claimed) {
  const {
    LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: perAddress,
    LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: perOrganization,
  } = context.settings;
  const limits = [
    { name: "notices_address", limit: perAddress, key: approver_id },
    { name: "notices_organization", limit: perOrganization, key: organization_id },
  ];
  for (const { name, limit, key } of limits) {
    const policy = { name, limit, windowSeconds: 3600 };
    const { allowed, resetMs } = await context.limiter.consume(policy, key);
    if (!allowed) return Math.max(1, (resetMs - context.clock().getTime()) / 1000);
  }
  return null;
}

async function send(context: Context, due: Due): Promise<number> {
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

/** Everything that is due, a few at once. */
export async function sendNotices(context: Context, isStopped: () => boolean = () => false): Promise<void> {
  const readDue = dueReader(context.database);
  for (;;) {
    const tried = await Promise.all((await readDue()).map((due) => send(context, due)));
    if (isStopped() || !tried.includes(1)) return;
  }
}

/** Returns the function that ends the rounds. While mail can't be sent, rounds don't pile up. */
export function startNotices(context: Context): () => Promise<void> {
  let isBusy = false;
  async function work(isStopped: () => boolean): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    try {
      await sendNotices(context, isStopped);
    } finally {
      isBusy = false;
    }
  }
  return startRounds(roundMs, work, (error) =>
    context.logger.warn({ err: error }, "a round of notices failed"),
  );
}
