/** POST /v1/authorize: a request is built once, and its canonical bytes are what is approved, by people or without. */

import type { KeyPrincipal } from "#lib/api/http/principal";
import type { AuthorizeResponse } from "#lib/api/schemas/authorization-state";
import type { Executor } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { requireReceiver } from "#lib/jobs/receiver-url";
import { requestHash } from "#lib/protocol/approval/approval";
import { findEnvironment } from "#lib/protocol/approval/environment";
import { lockOrganization } from "#lib/services/accounts/organizations";
import type { Context } from "#lib/services/approvals/context";
import { signApproval } from "#lib/services/approvals/decision/logged-decision";
import { countPending } from "#lib/services/approvals/rows";
import { holdCaller } from "#lib/services/keys/hold-caller";
import { RulesOverdueError } from "#lib/services/policies/engine";
import { buildRequest } from "./build-request";
import { DecidedOtherwise, decideAtOnce } from "./decide-at-once";
import { answerRequest, insertRequest, type Made } from "./insert-request";
import { readStanding } from "./judge";
import { notifyApprovers } from "./notify";
import { type AuthorizeInput, foresee, prepareRequest, requireOwnLevel } from "./prepare-request";

function tooManyPending(who: string, limit: number): AppError {
  return new AppError(
    "too_many_pending",
    `${who} has ${limit} pending authorization requests; cancel some, or wait until they are decided or expire`,
  );
}

/** Under the organization's lock, so that requests made at once are counted one after another. */
async function checkPendingLimit(context: Context, tx: Executor, principal: KeyPrincipal): Promise<void> {
  const { ofKey, ofOrganization } = await countPending(tx, principal);
  const { LIMIT_AUTHORIZE_PENDING: perKey, LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: perOrganization } =
    context.settings;
  if (ofKey >= perKey) throw tooManyPending("this key", perKey);
  if (ofOrganization >= perOrganization) throw tooManyPending("the organization", perOrganization);
}

async function askPeople(context: Context, input: AuthorizeInput): Promise<AuthorizeResponse> {
  const { principal, body } = input;
  const { organizationId } = principal;
  return context.database.db.transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    await holdCaller(tx, principal);
    await checkPendingLimit(context, tx, principal);
    const standing = await readStanding(tx, organizationId, body);
    const prepared = await prepareRequest(context, tx, input, standing);
    if (prepared.judged.verdict !== "ask") throw new DecidedOtherwise();
    const request = buildRequest(context, { organizationId, body, ...prepared });
    const made: Made = { ...prepared, request, status: "pending", decision: null };
    await insertRequest(context, tx, input, made);
    const named = { id: request.request_id, organizationId };
    const { groupNames } = prepared.demands;
    const names = body.approvers ?? (groupNames.length === 0 ? null : groupNames);
    return answerRequest(context, tx, input, made, await notifyApprovers(tx, named, names));
  });
}

async function decideUnasked(context: Context, input: AuthorizeInput): Promise<AuthorizeResponse> {
  const { principal, body } = input;
  const { organizationId } = principal;
  return decideAtOnce(context, organizationId, async (tx, signer) => {
    await lockOrganization(tx, organizationId);
    await holdCaller(tx, principal);
    const standing = await readStanding(tx, organizationId, body);
    const prepared = await prepareRequest(context, tx, input, standing);
    const { judged, createdAt: decidedAt } = prepared;
    if (judged.verdict === "ask") throw new DecidedOtherwise();
    const { verdict: decision, decidedBy } = judged;
    const request = buildRequest(context, { organizationId, body, ...prepared });
    const signed =
      decision === "approved" && decidedBy !== null && decidedBy.kind !== "freeze"
        ? signApproval(signer, request, {
            decided_by: decidedBy,
            approvals: [],
            environment: judged.environment ?? findEnvironment(request.origin, []),
            approved_at: decidedAt.toISOString(),
          })
        : { object: null, usableUntil: null };
    const made: Made = { ...prepared, request, status: decision, decision: signed };
    const agentId = await insertRequest(context, tx, input, made);
    return {
      requestId: request.request_id,
      requestHash: requestHash(request),
      object: signed.object,
      agentId,
      decision,
      decidedAt,
      decidedBy,
      answer: await answerRequest(context, tx, input, made, 0),
    };
  });
}

/** Rules and standing approvals may change between a look and its transaction: then the request is looked at again. */
const maxAttempts = 5;

export async function requestAuthorization(
  context: Context,
  input: AuthorizeInput,
): Promise<AuthorizeResponse> {
  const { principal, body } = input;
  requireReceiver(context, "callback_url", body.callback_url);
  requireOwnLevel(context, body);
  for (let attempt = 1; ; attempt += 1) {
    const standing = await readStanding(context.database.db, principal.organizationId, body);
    try {
      const { verdict } = await foresee(context, principal.organizationId, body, standing);
      return await (verdict === "ask" ? askPeople : decideUnasked)(context, input);
    } catch (error) {
      const mayChange = error instanceof DecidedOtherwise || error instanceof RulesOverdueError;
      if (!mayChange || attempt === maxAttempts) throw error;
    }
  }
}
