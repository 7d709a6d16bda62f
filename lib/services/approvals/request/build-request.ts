/** The request as it will be hashed, from what the caller sent and what the service knows at that moment. */
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import {
  contextHash,
  hashEntries,
  type ShownNames,
  type SignedDetails,
  writeTypes,
} from "#lib/protocol/approval/shown-content";
import { authorizationRequestId, base64Encode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type Derivation, deriveStanding } from "#lib/protocol/policy/suggest";
import { type FoundAgent, slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import type { Demands } from "./evaluate-policy";
import type { Requester } from "./required-groups";

const defaultMinutes = 30;

/** Identifies equal requests, whoever makes them when, and whoever they say asks. */
export function computeFingerprint(
  organizationId: string,
  body: Omit<AuthorizeBody, "expires_in_minutes">,
): Uint8Array {
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

interface RequestFacts {
  organizationId: string;
  body: AuthorizeBody;
  agent: FoundAgent | null;
  hidden: Hidden;
  createdAt: Date;
  demands: Demands;
  requester: Requester;
  derivation?: Derivation | undefined;
}

/** Builds the one form that gets hashed, of what is there alone. */
function buildTerms(
  grant: NonNullable<AuthorizeBody["grant"]>,
  derivation: Derivation | null = null,
): GrantTerms {
  const { tools, actions, max_calls, max_amount, max_budget, currency, expires_at, context } = grant;
  const terms = {
    ...(tools && { tools }),
    ...(actions && { actions }),
    max_calls,
    ...(max_amount != null && { max_amount }),
    ...(max_budget != null && { max_budget }),
    ...(currency != null && { currency }),
    expires_at: new Date(expires_at).toISOString(),
    ...(context && Object.keys(context).length > 0 && { context }),
  };
  return derivation === null ? terms : deriveStanding(terms, derivation);
}

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
  const { salt: context_salt, names, requestedBy } = hidden;
  const requested_by = { ...requestedBy } as unknown as JsonObject;
  const shown = { context: body.context ?? {}, context_salt, ...names, requested_by };
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
    // Version 2 only for what is version 2 anyway: verifiers of 1.0.0 read all else.
    ...(details && { details: signDetails(body), entries_hash: hashEntries(shown) }),
    ...(body.amendable && body.amendable.length > 0 && { amendable: body.amendable.toSorted() }),
    required_level: demands.required_level,
    approvals_required: demands.approvals_required,
    required_approvers: demands.required_approvers,
    requester_may_approve: requester.mayApprove,
    ...(requester.id !== null && { requester_id: requester.id }),
    grant: body.grant ? buildTerms(body.grant, facts.derivation) : null,
    ...(typeof usable_for_seconds === "number" && { usable_for_seconds }),
    created_at: createdAt.toISOString(),
    expires_at: new Date(createdAt.getTime() + minutes * 60_000).toISOString(),
    salt: base64Encode(context.random(16)),
  };
}
