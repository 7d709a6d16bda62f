/** Loads the input of a request once in its transaction, and decides it. */

import type { IdempotencyHold } from "#lib/api/http/idempotency-leases";
import type { KeyPrincipal } from "#lib/api/http/principal";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { Executor } from "#lib/db/client";
import { fieldError } from "#lib/errors";
import { MAX_GRANT_DAYS } from "#lib/protocol/approval/grant";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { type FoundAgent, findAgent } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { applyObligations, type Demands, isTooMuch } from "./apply-obligations";
import { fingerprintOf, type Hidden, ownDemands, signDetails } from "./build-request";
import { type Judged, type JudgedRequest, judge, type Standing } from "./judge";
import { readAsker } from "./requested-by";
import { type Requester, readGroups, readRequester, requireEnrolled } from "./required-groups";

export interface AuthorizeInput {
  principal: KeyPrincipal;
  body: AuthorizeBody;
  hold: IdempotencyHold | null;
}

/** Everything about a request but its id, read in the transaction that makes it. */
export interface Prepared {
  agent: FoundAgent | null;
  hidden: Hidden;
  createdAt: Date;
  fingerprint: Uint8Array;
  demands: Demands;
  requester: Requester;
  judged: Judged;
}

const maxGrantMs = MAX_GRANT_DAYS * 86_400_000;

function requireTerms(body: AuthorizeBody, now: Date): void {
  if (!body.grant) return;
  const left = Date.parse(body.grant.expires_at) - now.getTime();
  if (left <= 0 || left > maxGrantMs)
    throw fieldError(
      "validation_error",
      "grant.expires_at",
      `must be in the future, and at most ${MAX_GRANT_DAYS} days away`,
    );
}

/** 422 for a level of World ID where the service has none. */
export function requireOwnLevel({ settings }: Pick<Context, "settings">, body: AuthorizeBody): void {
  if (settings.worldId !== "none" || body.required_level == null || body.required_level === "none") return;
  throw fieldError(
    "validation_error",
    "required_level",
    `is ${body.required_level}, and this service has no World ID: leave it out or use none, and name groups in required_approvers`,
  );
}

/** Without World ID nobody but enrolled approvers can decide. */
function requireDeciders({ settings }: Context, { required_approvers: required }: Demands): void {
  if (settings.worldId !== "none" || required.length > 0) return;
  throw fieldError(
    "validation_error",
    "required_approvers",
    "must name a group of your organization: on this service its enrolled approvers decide, with passkeys",
  );
}

/** Predicts without a lock how a request would be decided now. */
export async function foresee(
  context: Context,
  organizationId: string,
  body: AuthorizeBody,
  standing: Standing,
  slugField?: string,
): Promise<Judged> {
  const { db } = context.database;
  const agent = { slug: standing.agent_slug ?? body.agent_slug, public_key: standing.agent_public_key };
  const own = ownDemands(context, body, await readGroups(db, organizationId, body));
  const request = describeJudged(organizationId, body, agent, own, standing.at);
  return judge(context, db, standing, request, slugField);
}

/** Under the organization's lock, as `standing` was read. */
export async function prepareRequest(
  context: Context,
  tx: Executor,
  { principal, body }: AuthorizeInput,
  standing: Standing,
): Promise<Prepared> {
  const { organizationId } = principal;
  const createdAt = standing.at;
  requireTerms(body, createdAt);
  const agent = await findAgent(tx, body.agent_slug);
  const asker = await readAsker(tx, principal, agent, body.requester ?? null);
  const own = ownDemands(context, body, await readGroups(tx, organizationId, body));
  const known = agent ?? { slug: body.agent_slug, public_key: null };
  const judged = await judge(
    context,
    tx,
    standing,
    describeJudged(organizationId, body, known, own, createdAt),
  );
  const demands = applyJudged(own, judged);
  const requester = await readRequester(tx, principal, demands);
  if (judged.verdict === "ask") {
    requireDeciders(context, demands);
    await requireEnrolled(tx, demands, requester, own);
  }
  const names = { ...asker.names, group_names: demands.groupNames };
  const hidden = { requestedBy: asker.requestedBy, names, salt: base64Encode(context.random(16)) };
  const fingerprint = fingerprintOf(organizationId, body);
  return { agent, hidden, createdAt, demands, requester, judged, fingerprint };
}

/** `agent`: its slug as it is registered, so that rules about it are not passed by another spelling. */
const describeJudged = (
  organizationId: string,
  body: AuthorizeBody,
  { slug, public_key }: Pick<FoundAgent, "slug" | "public_key">,
  own: Demands,
  createdAt: Date,
): JudgedRequest => ({
  organizationId,
  agent_slug: slug,
  agent_public_key: public_key && base64Encode(public_key),
  action: body.action,
  ...(body.tool != null && { tool: body.tool }),
  ...(body.amount && { amount: body.amount }),
  ...(body.inputs_hash != null && { inputs_hash: body.inputs_hash }),
  ...(body.details && { details: signDetails(body) }),
  context: body.context ?? {},
  requester: body.requester ?? null,
  isGrant: body.grant != null,
  own,
  createdAt,
});

function applyJudged(own: Demands, judged: Judged): Demands {
  if (judged.verdict !== "ask" || judged.obligations === null) return own;
  const demands = applyObligations(own, judged.obligations, (name) => judged.groupIds.get(name) ?? "");
  if (isTooMuch(demands.required_approvers))
    throw fieldError(
      "validation_error",
      "required_approvers",
      "together with what rules ask for, these are more than 5 groups or 10 people",
    );
  return demands;
}
