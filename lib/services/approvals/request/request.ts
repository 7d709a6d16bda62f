/** POST /v1/authorize: one transaction reads what concerns a request, judges and stores it, and decides it if nobody is asked. */

import { type Actor, type KeyPrincipal, toActor } from "#lib/api/http/context";
import { completeIdempotent, type IdempotencyHold } from "#lib/api/http/idempotency";
import type { AuthorizeResponse } from "#lib/api/schemas/authorization-state";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import { type Executor, pipeline } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import { databaseNow } from "#lib/db/shared-clock";
import { AppError, fieldError } from "#lib/errors";
import { requireReceiver } from "#lib/jobs/guarded-request";
import { amountUnits } from "#lib/protocol/approval/amount";
import { type ApprovalRequest, findEnvironment, requestHash } from "#lib/protocol/approval/approval";
import { MAX_GRANT_DAYS } from "#lib/protocol/approval/grant";
import { base64Encode, hexDecode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Derivation } from "#lib/protocol/policy/suggest";
import { dayMs } from "#lib/protocol/time/time-words";
import { type AuditEvent, recordAudit } from "#lib/services/accounts/audit";
import { readIdentity } from "#lib/services/accounts/domains";
import { lockOrganization } from "#lib/services/accounts/organizations";
import { claimAgents, type FoundAgent, findAgent, slugTaken } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { deriveCode, secretCode } from "#lib/services/approvals/decision/confirmation-code";
import { findOwn } from "#lib/services/approvals/decision/decide";
import { signApproval } from "#lib/services/approvals/decision/store";
import { describeMade, expectedEnvironment } from "#lib/services/approvals/read";
import {
  approvalUrl,
  countPending,
  describeRequired,
  findPreviouslyDenied,
} from "#lib/services/approvals/rows";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { RulesOverdueError } from "#lib/services/policies/engine";
import { buildRequest, computeFingerprint, type Hidden, signDetails } from "./build-request";
import { DecidedOtherwise, decideAutomatically } from "./decide-automatically";
import {
  applyObligations,
  type Demands,
  isTooMuch,
  type Judged,
  type JudgedRequest,
  judge,
  readStanding,
  type Standing,
} from "./evaluate-policy";
import { notifyApprovers } from "./notify-approvers";
import {
  countPast,
  describeAsker,
  type NamedGroup,
  type Requester,
  readGroups,
  readRequester,
  requireEnrolled,
} from "./required-groups";

export interface AuthorizeInput {
  principal: KeyPrincipal;
  body: AuthorizeBody;
  hold: IdempotencyHold | null;
  /** Claims an approval that nobody is asked for, in the transaction that gives it. */
  run?: string | undefined;
  /** Basis of the suggested standing approval that it asks for. */
  derivation?: Derivation | undefined;
}

export interface Prepared {
  agent: FoundAgent | null;
  hidden: Hidden;
  createdAt: Date;
  fingerprint: Uint8Array;
  previouslyDenied: AuthorizeResponse["previously_denied"];
  demands: Demands;
  requester: Requester;
  judged: Judged;
}

const maxGrantMs = MAX_GRANT_DAYS * dayMs;

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
function requireOwnLevel({ settings }: Pick<Context, "settings">, body: AuthorizeBody): void {
  if (settings.worldId !== "none" || body.required_level == null || body.required_level === "none") return;
  throw fieldError(
    "validation_error",
    "required_level",
    `is ${body.required_level}, and this service has no World ID: leave it out or use none, and name groups in required_approvers`,
  );
}

/** Refuses requests that nobody could decide: without World ID only enrolled approvers can. */
function requireDeciders({ settings }: Context, { required_approvers: required }: Demands): void {
  if (settings.worldId !== "none" || required.length > 0) return;
  throw fieldError(
    "validation_error",
    "required_approvers",
    "must name a group of your organization: on this service its enrolled approvers decide, with passkeys",
  );
}

/** Demands of the caller, before the rules have a say. */
const ownDemands = (
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

export async function previewDecision(
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

/** `lock`: takes the organization's, after which all is read. */
export async function prepareRequest(
  context: Context,
  tx: Executor,
  {
    principal,
    body,
  }: { principal: Pick<KeyPrincipal, "organizationId" | "keyId" | "person">; body: AuthorizeBody },
  lock: () => Promise<unknown> = async () => undefined,
): Promise<Prepared> {
  const { organizationId } = principal;
  const fingerprint = computeFingerprint(organizationId, body);
  const [, previouslyDenied, standing, agent, organization, past, groups] = await pipeline(
    lock,
    () => findPreviouslyDenied(tx, fingerprint),
    () => readStanding(tx, organizationId, body),
    () => findAgent(tx, body.agent_slug),
    () => readIdentity(tx, organizationId),
    () => countPast(tx, body.agent_slug),
    () => readGroups(tx, organizationId, body),
  );
  const createdAt = standing.at;
  requireTerms(body, createdAt);
  const own = ownDemands(context, body, groups);
  const known = agent ?? { slug: body.agent_slug, public_key: null };
  const asker = describeAsker(organization, agent, past, body.requester ?? null);
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
  return { agent, hidden, createdAt, demands, requester, judged, fingerprint, previouslyDenied };
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
  isForPeople: body.grant != null,
  own,
  createdAt,
});

export function applyJudged(own: Demands, judged: Judged): Demands {
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

/* Storage and answer of a request. */

export interface Made extends Prepared {
  request: ApprovalRequest;
  status: "pending" | "approved" | "denied";
  decision: { object: Uint8Array | null; usableUntil: string | null } | null;
}

/** A standing approval itself is none that a run can claim. */
const isClaimed = (
  { run }: Pick<AuthorizeInput, "run">,
  { status, request }: Pick<Made, "status" | "request">,
): boolean => run !== undefined && status === "approved" && request.grant === null;

const toRow = ({ require_code }: Pick<AuthorizeBody, "require_code">, request: ApprovalRequest) => ({
  id: request.request_id,
  request_hash: hexDecode(requestHash(request)),
  require_code: require_code ?? false,
});

function describe(
  context: Context,
  body: AuthorizeBody,
  { request, hidden, status, judged, previouslyDenied: previously_denied }: Made,
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
    amendable: request.amendable ?? null,
    required_approvers: describeRequired(request, names.group_names),
    context: body.context ?? {},
    context_salt: salt,
    agent_name: names.agent_name,
    organization_name: names.organization_name,
    requested_by: requestedBy,
    required_level: request.required_level,
    approvals_required: request.approvals_required,
    require_code: body.require_code ?? false,
    confirmation_code: deriveCode(context, toRow(body, request)),
    decided_by: judged.decidedBy,
    denial_reason: judged.denialReason,
    previously_denied,
    environment: expectedEnvironment(context, request),
  };
}

interface Stored {
  principal: Pick<KeyPrincipal, "organizationId" | "keyId" | "isTest">;
  body: Pick<AuthorizeBody, "agent_slug" | "context" | "callback_url" | "require_code">;
  actor: Actor;
  run?: string | undefined;
  derivation?: Derivation | undefined;
  /** The request that this one changes. */
  amends?: string | null;
}

export async function insertRequest(
  context: Context,
  tx: Executor,
  { principal, body, actor, run, derivation, amends = null }: Stored,
  {
    request,
    hidden,
    fingerprint,
    judged,
    status,
    decision,
    createdAt,
    agent: known = null,
  }: Omit<Made, "agent" | "demands" | "requester" | "previouslyDenied"> & Partial<Pick<Made, "agent">>,
): Promise<{ agentId: string; written: Promise<unknown> }> {
  const { organizationId, isTest } = principal;
  const [agent] =
    known?.organization_id === organizationId
      ? [known]
      : await claimAgents(context, tx, [{ slug: body.agent_slug, organizationId, isTest }]);
  if (!agent) throw slugTaken();
  // Registered this moment, in another spelling than the rules saw.
  if (agent.slug !== request.agent_slug) throw new DecidedOtherwise();
  const claims = isClaimed({ run }, { status, request });
  const inserted = tx.insert(authorizationRequests).values({
    ...toRow(body, request),
    amends,
    organization_id: organizationId,
    agent_id: agent.id,
    api_key_id: principal.keyId,
    request: canonicalBytes({ ...request }),
    // Stored in the agent's order, which the page keeps; the hash covers the canonical form.
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
    derivation: derivation ? JSON.stringify(derivation) : null,
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
    ...(claims && { claimed_at: databaseNow, run }),
  });
  const happened = (act: string): AuditEvent => ({
    organizationId,
    actor,
    action: `authorization.${act}`,
    subject: request.request_id,
  });
  const audited = recordAudit(context, tx, happened("requested"), ...(claims ? [happened("claimed")] : []));
  return { agentId: agent.id, written: Promise.all([inserted, audited]) };
}

/** The answer as it is kept for an idempotent replay: without what lets somebody decide. */
function withoutSecrets(response: AuthorizeResponse): string {
  const { approval_url: _link, confirmation_code, ...kept } = response;
  return JSON.stringify(response.require_code ? kept : { ...kept, confirmation_code });
}

/** Adds link and code to a stored response. A key with the permission `hook` can repeat only its own requests. */
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

async function keepAnswer(
  tx: Executor,
  { hold }: Pick<AuthorizeInput, "hold">,
  answer: AuthorizeResponse,
): Promise<void> {
  if (hold === null) return;
  await completeIdempotent(tx, hold, {
    status: 201,
    response: withoutSecrets(answer),
    authorizationId: answer.request_id,
    expiresAt: new Date(answer.expires_at),
  });
}

function tooManyPending(who: string, limit: number): AppError {
  return new AppError(
    "too_many_pending",
    `${who} has ${limit} pending authorization requests; cancel some, or wait until they are decided or expire`,
  );
}

/** Checked under the organization's lock, so that concurrent requests are counted one after another. */
async function checkPendingLimit(context: Context, tx: Executor, principal: KeyPrincipal): Promise<void> {
  const { ofKey, ofOrganization } = await countPending(tx, principal);
  const { LIMIT_AUTHORIZE_PENDING: perKey, LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: perOrganization } =
    context.settings;
  if (ofKey >= perKey) throw tooManyPending("this key", perKey);
  if (ofOrganization >= perOrganization) throw tooManyPending("the organization", perOrganization);
}

async function createPendingRequest(context: Context, input: AuthorizeInput): Promise<AuthorizeResponse> {
  const { principal, body, derivation } = input;
  const { organizationId } = principal;
  return context.database.db.transaction(async (tx) => {
    const prepared = await prepareRequest(context, tx, input, () =>
      pipeline(
        () => lockOrganization(tx, organizationId),
        () => lockAndRecheckKey(tx, principal, "operate"),
        () => checkPendingLimit(context, tx, principal),
      ),
    );
    if (prepared.judged.verdict !== "ask") throw new DecidedOtherwise();
    const request = buildRequest(context, { organizationId, body, derivation, ...prepared });
    const made: Made = { ...prepared, request, status: "pending", decision: null };
    const { written } = await insertRequest(context, tx, { ...input, actor: toActor(principal) }, made);
    await written;
    const named = { id: request.request_id, organizationId };
    const { groupNames } = prepared.demands;
    const names = body.approvers ?? (groupNames.length === 0 ? null : groupNames);
    const notified = await notifyApprovers(tx, named, names);
    const answer = { ...describe(context, body, made), notified };
    await keepAnswer(tx, input, answer);
    return answer;
  });
}

async function decideUnasked(context: Context, input: AuthorizeInput): Promise<AuthorizeResponse> {
  const { principal, body } = input;
  const { organizationId } = principal;
  const { answer, row } = await decideAutomatically(context, organizationId, async (tx, signer) => {
    const prepared = await prepareRequest(context, tx, input, () =>
      pipeline(
        () => lockOrganization(tx, organizationId),
        () => lockAndRecheckKey(tx, principal, "operate"),
      ),
    );
    const { judged, createdAt: decidedAt } = prepared;
    const isByGrantAlone = judged.verdict !== "ask" && judged.grantId !== null && judged.rules === null;
    if (isByGrantAlone) context.unasked.set(nameCall(input), true);
    else context.unasked.delete(nameCall(input));
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
    const { agentId, written } = await insertRequest(
      context,
      tx,
      { ...input, actor: toActor(principal) },
      made,
    );
    const answer = { ...describe(context, body, made), notified: 0 };
    return {
      requestId: request.request_id,
      requestHash: requestHash(request),
      object: signed.object,
      agentId,
      decision,
      decidedAt,
      decidedBy,
      isClaimed: isClaimed(input, made),
      written: Promise.all([written, keepAnswer(tx, input, answer)]),
      answer,
    };
  });
  return row === null ? answer : { ...answer, claimed: await describeMade(context, row, answer, principal) };
}

/** Rules and standing approvals may change between a look and its transaction: then the request is looked at again. */
const maxAttempts = 5;

const nameCall = ({ principal, body }: AuthorizeInput) =>
  JSON.stringify([principal.organizationId, body.agent_slug, body.tool]);

async function looksUnasked(context: Context, { principal, body }: AuthorizeInput): Promise<boolean> {
  const standing = await readStanding(context.database.db, principal.organizationId, body);
  const { verdict } = await previewDecision(context, principal.organizationId, body, standing);
  return verdict !== "ask";
}

export async function requestAuthorization(
  context: Context,
  input: AuthorizeInput,
): Promise<AuthorizeResponse> {
  const { body } = input;
  requireReceiver(context, "callback_url", body.callback_url);
  requireOwnLevel(context, body);
  for (let attempt = 1; ; attempt += 1) {
    try {
      // The last one like it was decided by its standing approval alone: the transaction finds if this one isn't.
      const isLikely = attempt === 1 && context.unasked.has(nameCall(input));
      const isUnasked = isLikely || (await looksUnasked(context, input));
      return await (isUnasked ? decideUnasked : createPendingRequest)(context, input);
    } catch (error) {
      context.unasked.delete(nameCall(input));
      const mayChange = error instanceof DecidedOtherwise || error instanceof RulesOverdueError;
      if (!mayChange || attempt === maxAttempts) throw error;
    }
  }
}
