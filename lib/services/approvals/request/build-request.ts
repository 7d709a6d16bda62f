/** The request as it will be hashed, from what the caller sent and what the service knows at that moment. */

import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { type SignedDetails, writeTypes } from "#lib/protocol/approval/detail-types";
import type { RequestedBy } from "#lib/protocol/approval/requested-by";
import { contextHash, type ShownNames } from "#lib/protocol/approval/shown-content";
import { base64Encode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { authorizationRequestId } from "#lib/protocol/encoding/ids";
import { type FoundAgent, slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import type { Demands } from "./apply-obligations";
import type { NamedGroup, Requester } from "./required-groups";

const defaultMinutes = 30;

/** Identifies equal requests, whoever makes them when, and whoever they say asks. */
export function fingerprintOf(organizationId: string, body: AuthorizeBody): Uint8Array {
  const { agent_slug, action, context, inputs_hash, tool, amount, grant } = body;
  return sha256(
    canonicalBytes([
      organizationId,
      slugKey(agent_slug),
      action,
      context ?? {},
      inputs_hash ?? null,
      tool ?? null,
      amount ?? null,
      grant ? ({ ...buildTerms(grant) } as JsonObject) : null,
    ]),
  );
}

/** Content that the approval page shows and the public object hides: salted, and as it is at this moment. */
export interface Hidden {
  salt: string;
  names: ShownNames;
  requestedBy: RequestedBy;
}

export interface RequestFacts {
  organizationId: string;
  body: AuthorizeBody;
  agent: FoundAgent | null;
  hidden: Hidden;
  createdAt: Date;
  demands: Demands;
  requester: Requester;
}

/** As the caller asks for it, before the rules have a say. */
export const ownDemands = (
  { settings }: Pick<Context, "settings">,
  { required_level, approvals_required }: AuthorizeBody,
  groups: readonly NamedGroup[],
): Demands => ({
  required_level: required_level ?? (settings.worldId === "none" ? "none" : "device"),
  isLevelChosen: required_level != null,
  approvals_required: groups.reduce((sum, { count }) => sum + count, 0) || (approvals_required ?? 1),
  required_approvers: groups.map(({ group, count }) => ({ group, count })),
  groupNames: groups.map(({ name }) => name),
});

/** In one form, and only what is there: this is what gets hashed. */
function buildTerms(grant: NonNullable<AuthorizeBody["grant"]>): GrantTerms {
  const { tools, actions, max_calls, max_amount, max_budget, currency, expires_at, context } = grant;
  return {
    ...(tools && { tools }),
    ...(actions && { actions }),
    max_calls,
    ...(max_amount != null && { max_amount }),
    ...(max_budget != null && { max_budget }),
    ...(currency != null && { currency }),
    expires_at: new Date(expires_at).toISOString(),
    ...(context && Object.keys(context).length > 0 && { context }),
  };
}

/** As the request has them. */
export const signDetails = ({
  context,
  details,
}: Pick<AuthorizeBody, "context" | "details">): SignedDetails => ({
  complete: details?.complete ?? false,
  types: writeTypes(context ?? {}, details?.types ?? {}),
});

export function buildRequest(context: Context, facts: RequestFacts): ApprovalRequest {
  const { organizationId, body, agent, hidden, createdAt, demands, requester } = facts;
  const { tool, amount, inputs_hash, details, usable_for_seconds } = body;
  const minutes = body.expires_in_minutes ?? defaultMinutes;
  return {
    request_id: authorizationRequestId(context.random(16)),
    origin: context.settings.baseUrl,
    organization: organizationId,
    agent_slug: agent?.slug ?? body.agent_slug,
    agent_public_key: agent?.public_key ? base64Encode(agent.public_key) : null,
    action: body.action,
    ...(typeof tool === "string" && { tool }),
    ...(amount && { amount }),
    context_hash: contextHash(hidden.salt, body.context ?? {}, hidden.names, hidden.requestedBy),
    ...(typeof inputs_hash === "string" && { inputs_hash }),
    ...(details && { details: signDetails(body) }),
    required_level: demands.required_level,
    approvals_required: demands.approvals_required,
    required_approvers: demands.required_approvers,
    requester_may_approve: requester.mayApprove,
    ...(requester.id !== null && { requester_id: requester.id }),
    grant: body.grant ? buildTerms(body.grant) : null,
    ...(typeof usable_for_seconds === "number" && { usable_for_seconds }),
    created_at: createdAt.toISOString(),
    expires_at: new Date(createdAt.getTime() + minutes * 60_000).toISOString(),
    salt: base64Encode(context.random(16)),
  };
}
