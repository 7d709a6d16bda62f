/** POST /v1/authorize: a request is built once, and its canonical bytes are what humans approve. */

import { recordAudit } from "#lib/accounts/audit";
import { lockOrganization } from "#lib/accounts/organizations";
import { claimAgents, type FoundAgent, findAgent, slugKey, slugTaken } from "#lib/agents/agents";
import type { AuthorizeBody, AuthorizeResponse } from "#lib/contract/authorize";
import {
  type ApprovalRequest,
  type AuthorizationVersion,
  contextHash,
  requestHash,
} from "#lib/core/approval/approval";
import { base64Encode, hexDecode, sha256 } from "#lib/core/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonObject } from "#lib/core/encoding/canonical-json";
import { authorizationRequestId } from "#lib/core/encoding/ids";
import type { Executor } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { completeIdempotent } from "#lib/http/idempotency";
import type { IdempotencyHold } from "#lib/http/idempotency-leases";
import { actorOf, type KeyPrincipal } from "#lib/http/principal";
import { requireReceiver } from "#lib/net/receiver-url";
import { codeOf, secretCode } from "./confirmation-code";
import type { Context } from "./context";
import { approvalUrl } from "./link";
import { notifyApprovers } from "./notify";
import { type Asker, readAsker } from "./requested-by";
import { countPending, findPreviouslyDenied, readDatabaseTime } from "./rows";

export interface AuthorizeInput {
  principal: KeyPrincipal;
  body: AuthorizeBody;
  hold: IdempotencyHold | null;
}

const defaultMinutes = 30;

/** What makes two requests equal, whoever makes them when, and whoever they say asks. */
function fingerprintOf(organizationId: string, body: AuthorizeBody): Uint8Array {
  const { agent_slug, action, context, inputs_hash } = body;
  return sha256(
    canonicalBytes([organizationId, slugKey(agent_slug), action, context ?? {}, inputs_hash ?? null]),
  );
}

const version: AuthorizationVersion = 3;

/** What the approval page will show and the public object hides: salted, and as it is at this moment. */
interface Hidden extends Asker {
  salt: string;
}

function buildRequest(
  context: Context,
  { principal, body }: AuthorizeInput,
  agent: FoundAgent | null,
  hidden: Hidden,
  createdAt: Date,
): ApprovalRequest {
  const minutes = body.expires_in_minutes ?? defaultMinutes;
  return {
    request_id: authorizationRequestId(context.random(16)),
    origin: context.settings.baseUrl,
    organization: principal.organizationId,
    agent_slug: body.agent_slug,
    agent_public_key: agent?.public_key ? base64Encode(agent.public_key) : null,
    action: body.action,
    context_hash: contextHash(hidden.salt, body.context ?? {}, hidden.names, hidden.requestedBy),
    ...(typeof body.inputs_hash === "string" ? { inputs_hash: body.inputs_hash } : {}),
    required_level: body.required_level ?? "device",
    approvals_required: body.approvals_required ?? 1,
    created_at: createdAt.toISOString(),
    expires_at: new Date(createdAt.getTime() + minutes * 60_000).toISOString(),
    salt: base64Encode(context.random(16)),
  };
}

function tooManyPending(who: string, limit: number): AppError {
  return new AppError(
    "too_many_pending",
    `${who} has ${limit} pending authorization requests; cancel some, or wait until they are decided or expire`,
  );
}

/** Under the organization's lock, so that requests made at once are counted one after another. */
async function checkPendingLimit(context: Context, tx: Executor, principal: KeyPrincipal): Promise<void> {
  await lockOrganization(tx, principal.organizationId);
  const { ofKey, ofOrganization } = await countPending(tx, principal);
  const { LIMIT_AUTHORIZE_PENDING: perKey, LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: perOrganization } =
    context.settings;
  if (ofKey >= perKey) throw tooManyPending("this key", perKey);
  if (ofOrganization >= perOrganization) throw tooManyPending("the organization", perOrganization);
}

const rowOf = ({ require_code }: Pick<AuthorizeBody, "require_code">, request: ApprovalRequest) => ({
  id: request.request_id,
  request_hash: hexDecode(requestHash(request)),
  require_code: require_code ?? false,
});

function describe(
  context: Context,
  body: AuthorizeBody,
  request: ApprovalRequest,
  { salt, names, requestedBy }: Hidden,
  previously_denied: AuthorizeResponse["previously_denied"],
): Omit<AuthorizeResponse, "notified"> {
  const { request_id } = request;
  return {
    request_id,
    status: "pending",
    approval_url: approvalUrl(context, request_id),
    poll_url: `${context.settings.baseUrl}/v1/authorize/${request_id}`,
    poll_interval: 5,
    expires_at: request.expires_at,
    created_at: request.created_at,
    agent_slug: request.agent_slug,
    action: request.action,
    inputs_hash: request.inputs_hash ?? null,
    context: body.context ?? {},
    context_salt: salt,
    ...names,
    requested_by: requestedBy,
    required_level: request.required_level,
    approvals_required: request.approvals_required,
    require_code: body.require_code ?? false,
    confirmation_code: codeOf(context, rowOf(body, request)),
    previously_denied,
    environment: context.worldId.environment,
  };
}

async function insert(
  context: Context,
  tx: Executor,
  input: AuthorizeInput,
  request: ApprovalRequest,
  hidden: Hidden,
  fingerprint: Uint8Array,
): Promise<number> {
  const { principal, body } = input;
  const [agent] = await claimAgents(context, tx, [
    { slug: body.agent_slug, organizationId: principal.organizationId, isTest: principal.isTest },
  ]);
  if (!agent) throw slugTaken();
  await tx.insert(authorizationRequests).values({
    ...rowOf(body, request),
    organization_id: principal.organizationId,
    agent_id: agent.id,
    api_key_id: principal.keyId,
    request: canonicalBytes({ ...request }),
    // In the agent's order, which the page keeps; the hash covers the canonical form.
    context: JSON.stringify(body.context ?? {}),
    version,
    context_salt: hidden.salt,
    ...hidden.names,
    requested_by: canonicalJson({ ...hidden.requestedBy } as unknown as JsonObject),
    fingerprint,
    status: "pending",
    approvals_required: request.approvals_required,
    callback_url: body.callback_url ?? null,
    created_at: new Date(request.created_at),
    expires_at: new Date(request.expires_at),
  });
  const { organizationId } = principal;
  const notified = await notifyApprovers(tx, { id: request.request_id, organizationId }, body.approvers);
  await recordAudit(context, tx, {
    organizationId,
    actor: actorOf(principal),
    action: "authorization.requested",
    subject: request.request_id,
  });
  return notified;
}

/** The answer as it is kept for an idempotent replay: without what lets somebody decide. */
function withoutSecrets(response: AuthorizeResponse): string {
  const { approval_url: _link, confirmation_code, ...kept } = response;
  return JSON.stringify(response.require_code ? kept : { ...kept, confirmation_code });
}

export function restoreSecrets(context: Context, text: string): string {
  const kept = JSON.parse(text) as Partial<AuthorizeResponse> & { request_id: string };
  const { request_id: id, confirmation_code } = kept;
  return JSON.stringify({
    ...kept,
    approval_url: approvalUrl(context, id),
    confirmation_code: confirmation_code ?? secretCode(context, id),
  });
}

export async function requestAuthorization(
  context: Context,
  input: AuthorizeInput,
): Promise<AuthorizeResponse> {
  requireReceiver(context, "callback_url", input.body.callback_url);
  return context.database.db.transaction(async (tx) => {
    await checkPendingLimit(context, tx, input.principal);
    const createdAt = await readDatabaseTime(tx);
    const agent = await findAgent(tx, input.body.agent_slug);
    const asker = await readAsker(tx, input.principal, agent, input.body.requester ?? null);
    const hidden = { ...asker, salt: base64Encode(context.random(16)) };
    const fingerprint = fingerprintOf(input.principal.organizationId, input.body);
    const request = buildRequest(context, input, agent, hidden, createdAt);
    const notified = await insert(context, tx, input, request, hidden, fingerprint);
    const previously_denied = await findPreviouslyDenied(tx, fingerprint, createdAt);
    const response = { ...describe(context, input.body, request, hidden, previously_denied), notified };
    if (input.hold !== null) {
      await completeIdempotent(tx, input.hold, {
        status: 201,
        response: withoutSecrets(response),
        authorizationId: request.request_id,
        expiresAt: new Date(request.expires_at),
      });
    }
    return response;
  });
}
