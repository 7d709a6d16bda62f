/** How a request is stored and answered. */

import { completeIdempotent } from "#lib/api/http/idempotency";
import { actorOf, type KeyPrincipal } from "#lib/api/http/principal";
import type { AuthorizeResponse } from "#lib/api/schemas/authorization-state";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { Executor } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import { amountUnits } from "#lib/protocol/approval/amount";
import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { hexDecode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { recordAudit } from "#lib/services/accounts/audit";
import { claimAgents, slugTaken } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { codeOf, secretCode } from "#lib/services/approvals/decision/confirmation-code";
import { findOwn } from "#lib/services/approvals/decision/decide";
import { approvalUrl } from "#lib/services/approvals/link";
import { expectedEnvironment } from "#lib/services/approvals/read";
import { describeRequired, findPreviouslyDenied } from "#lib/services/approvals/rows";
import { DecidedOtherwise } from "./decide-at-once";
import type { AuthorizeInput, Prepared } from "./prepare-request";

export interface Made extends Prepared {
  request: ApprovalRequest;
  status: "pending" | "approved" | "denied";
  decision: { object: Uint8Array | null; usableUntil: string | null } | null;
}

const rowOf = ({ require_code }: Pick<AuthorizeBody, "require_code">, request: ApprovalRequest) => ({
  id: request.request_id,
  request_hash: hexDecode(requestHash(request)),
  require_code: require_code ?? false,
});

function describe(
  context: Context,
  body: AuthorizeBody,
  { request, hidden, status, judged }: Made,
  previously_denied: AuthorizeResponse["previously_denied"],
): Omit<AuthorizeResponse, "notified"> {
  const { request_id } = request;
  const { salt, names, requestedBy } = hidden;
  return {
    request_id,
    status,
    approval_url: approvalUrl(context, request_id),
    poll_url: `${context.settings.baseUrl}/v1/authorize/${request_id}`,
    poll_interval: 5,
    expires_at: request.expires_at,
    created_at: request.created_at,
    agent_slug: request.agent_slug,
    action: request.action,
    tool: request.tool ?? null,
    amount: request.amount ?? null,
    grant: request.grant,
    inputs_hash: request.inputs_hash ?? null,
    required_approvers: describeRequired(request, names.group_names),
    context: body.context ?? {},
    context_salt: salt,
    agent_name: names.agent_name,
    organization_name: names.organization_name,
    requested_by: requestedBy,
    required_level: request.required_level,
    approvals_required: request.approvals_required,
    require_code: body.require_code ?? false,
    confirmation_code: codeOf(context, rowOf(body, request)),
    decided_by: judged.decidedBy,
    denial_reason: judged.denialReason,
    previously_denied,
    environment: expectedEnvironment(context, request),
  };
}

export async function insertRequest(
  context: Context,
  tx: Executor,
  { principal, body }: AuthorizeInput,
  { request, hidden, fingerprint, judged, status, decision, createdAt }: Made,
): Promise<string> {
  const [agent] = await claimAgents(context, tx, [
    { slug: body.agent_slug, organizationId: principal.organizationId, isTest: principal.isTest },
  ]);
  if (!agent) throw slugTaken();
  // Somebody registered it in this moment, in another spelling than the rules saw.
  if (agent.slug !== request.agent_slug) throw new DecidedOtherwise();
  await tx.insert(authorizationRequests).values({
    ...rowOf(body, request),
    organization_id: principal.organizationId,
    agent_id: agent.id,
    api_key_id: principal.keyId,
    request: canonicalBytes({ ...request }),
    // In the agent's order, which the page keeps; the hash covers the canonical form.
    context: JSON.stringify(body.context ?? {}),
    context_salt: hidden.salt,
    ...hidden.names,
    group_names: JSON.stringify(hidden.names.group_names),
    requested_by: canonicalJson({ ...hidden.requestedBy } as unknown as JsonObject),
    fingerprint,
    amount_units: request.amount ? amountUnits(request.amount.value) : null,
    currency: request.amount?.currency ?? null,
    grant_id: judged.grantId,
    rule_context: judged.rules ? canonicalJson(judged.rules.context as unknown as JsonObject) : null,
    rule_outcome: judged.rules ? JSON.stringify(judged.rules.record) : null,
    status,
    approvals_required: request.approvals_required,
    callback_url: body.callback_url ?? null,
    created_at: createdAt,
    expires_at: new Date(request.expires_at),
    ...(decision && {
      decided_at: createdAt,
      decided_by: judged.decidedBy ? JSON.stringify(judged.decidedBy) : null,
      denial_reason: judged.denialReason,
      human_authorization: decision.object,
      usable_until: decision.usableUntil === null ? null : new Date(decision.usableUntil),
    }),
  });
  await recordAudit(context, tx, {
    organizationId: principal.organizationId,
    actor: actorOf(principal),
    action: "authorization.requested",
    subject: request.request_id,
  });
  return agent.id;
}

/** The answer as it is kept for an idempotent replay: without what lets somebody decide. */
function withoutSecrets(response: AuthorizeResponse): string {
  const { approval_url: _link, confirmation_code, ...kept } = response;
  return JSON.stringify(response.require_code ? kept : { ...kept, confirmation_code });
}

/** Adds link and code to a stored response. A key with the scope `hook` can repeat only its own requests. */
export async function restoreSecrets(
  context: Context,
  text: string,
  principal: KeyPrincipal,
): Promise<string> {
  const kept = JSON.parse(text) as Partial<AuthorizeResponse> & { request_id: string };
  const { request_id: id, confirmation_code } = kept;
  await findOwn(context, id, principal, "repeats");
  return JSON.stringify({
    ...kept,
    approval_url: approvalUrl(context, id),
    confirmation_code: confirmation_code ?? secretCode(context, id),
  });
}

/** Answers the caller, and keeps the answer for a repeat. */
export async function answerRequest(
  context: Context,
  tx: Executor,
  { body, hold }: AuthorizeInput,
  made: Made,
  notified: number,
): Promise<AuthorizeResponse> {
  const { request, fingerprint, createdAt } = made;
  const previously_denied = await findPreviouslyDenied(tx, fingerprint, createdAt);
  const response = { ...describe(context, body, made, previously_denied), notified };
  if (hold !== null) {
    await completeIdempotent(tx, hold, {
      status: 201,
      response: withoutSecrets(response),
      authorizationId: request.request_id,
      expiresAt: new Date(request.expires_at),
    });
  }
  return response;
}
