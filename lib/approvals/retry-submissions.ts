/**
 * Tries stored proofs again that could not be decided, for instance while World was out of reach. Few at once, shared
 * between organizations, requests and clients: whoever has many waiting does not keep others waiting.
 */

import { AppError } from "#lib/errors";
import { createFairQueue } from "#lib/workers/fair-queue";
import { shareOf } from "#lib/workers/fair-share";
import { startRounds } from "#lib/workers/rounds";
import type { Context } from "./context";
import { claimSubmission, type DueSubmission, findDue } from "./store-submissions";
import { attemptSubmission } from "./submissions";

const maxAtOnce = 8;
const maxOfOwnerAtOnce = 4;
/** How many are looked at together; the others stay due. */
const maxDue = 64;
const roundMs = 5_000;

export interface Retries {
  /** Tries everything that is due and not being tried; how many were tried. */
  run(): Promise<number>;
}

export function createRetries(context: Context): Retries {
  const queue = createFairQueue({
    slots: maxAtOnce,
    maxWaiting: maxDue,
    maxPerOwner: maxDue,
    maxRunningPerOwner: maxOfOwnerAtOnce,
    refusal: "too many proofs are being tried again",
  });
  const taken = new Set<string>();

  async function retry({ id }: DueSubmission): Promise<number> {
    const claimed = await claimSubmission(context, id);
    if (claimed === null) return 0;
    await attemptSubmission(context, claimed).catch((error: unknown) => {
      const isExpected = error instanceof AppError && error.errorName !== "server_error";
      if (!isExpected) context.logger.error({ err: error }, "a stored approval could not be tried again");
    });
    return 1;
  }

  /** Zero too if there is no place: it stays due. */
  async function take(due: DueSubmission): Promise<number> {
    const share = shareOf("approval", {
      organization: due.organizationId,
      request: due.requestId,
      client: due.client,
    });
    taken.add(due.id);
    try {
      return await queue.run(share, () => retry(due));
    } catch (error) {
      if (!(error instanceof AppError))
        context.logger.error({ err: error }, "a stored approval could not be taken up again");
      return 0;
    } finally {
      taken.delete(due.id);
    }
  }

  return {
    run: async () => {
      const due = await findDue(context, maxDue, [...taken]);
      const tried = await Promise.all(due.map(take));
      return tried.reduce((sum, one) => sum + one, 0);
    },
  };
}

/** Returns the function that ends the rounds. */
export const startRetryLoop = (
  context: Context,
  retries: Retries = createRetries(context),
): (() => Promise<void>) =>
  startRounds(roundMs, retries.run, (error) =>
    context.logger.error({ err: error }, "the approvals' retry round failed"),
  );
