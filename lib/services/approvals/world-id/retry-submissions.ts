/**
 * Tries stored proofs again that could not be decided, for instance while World was out of reach. Few at once, shared
 * between organizations, requests and clients: one with many waiting does not keep others waiting.
 */

import { createDueWork, type DueWork, startInterval } from "#lib/jobs/due-work";
import { createShare } from "#lib/jobs/fair-queue";
import type { Context } from "#lib/services/approvals/context";
import { claimSubmission, type DueSubmission, findDue, type Submission } from "./store-submissions";
import { attemptSubmission } from "./submissions";

const maxAtOnce = 8;
const maxOfOwnerAtOnce = 4;
const maxDue = 64;
const roundMs = 5_000;

export const createRetries = (context: Context): DueWork =>
  createDueWork<DueSubmission, Submission>({
    slots: maxAtOnce,
    slotsOfOwner: maxOfOwnerAtOnce,
    readDue: (except) => findDue(context, maxDue, except),
    getName: ({ id }) => id,
    getShare: ({ organizationId, requestId, client }) =>
      createShare("approval", { organization: organizationId, request: requestId, client }),
    claim: ({ id }) => claimSubmission(context, id),
    attempt: (claimed) => attemptSubmission(context, claimed),
    onError: (error) => context.logger.error({ err: error }, "a stored approval could not be tried again"),
  });

export const startRetryLoop = (context: Context): (() => Promise<void>) =>
  startInterval(roundMs, createRetries(context).run, (error) =>
    context.logger.error({ err: error }, "the approvals' retry round failed"),
  );
