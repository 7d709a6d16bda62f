/** Implements the tools, but for asking a human (server.ts). */
import type { z } from "zod";
import type { Call } from "#lib/api/http/pipeline";
import type { HttpRequest, HttpResponse } from "#lib/api/http/problem";
import { rememberPeer } from "#lib/api/http/rate-limit";
import type { AttestResponse } from "#lib/api/schemas/attest";
import {
  type AuthorizationState,
  askedGuidance,
  endedGuidance,
  frozenGuidance,
  standingGuidance,
} from "#lib/api/schemas/authorization-state";
import type { FeedResponse, IdentityResponse } from "#lib/api/schemas/identity";
import type {
  answerInput,
  attestInput,
  attestOutput,
  claimInput,
  DecisionOutput,
  decisionInput,
  freezeInput,
  freezeOutput,
  listInput,
  listOutput,
  requestInput,
  revokeInput,
  verifyInput,
  verifyOutput,
} from "#lib/api/schemas/mcp";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { canonicalHash, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { Context } from "#lib/services/approvals/context";

/*
 * The operations behind the tools, called as the caller would call them: through the same checks, with the caller's key, so
 * that scopes, limits, validation and idempotency are the same.
 */
export type AnswerAsked = (request: HttpRequest) => Promise<HttpResponse | Response>;

/** Operations that the tools may reach. None decides about a request, or lets a frozen agent go on. */
export type ToolOperation =
  | {
      method: "POST";
      path:
        | "/v1/attest"
        | "/v1/authorize"
        | `/v1/authorize/${string}/answer`
        | `/v1/authorize/${string}/claim`
        | `/v1/authorizations/${string}/revoke`
        | `/v1/identity/${string}/freeze`;
      body: object;
      idempotencyKey?: string | undefined;
    }
  | { method: "DELETE"; path: `/v1/authorize/${string}` }
  | { method: "GET"; path: `/v1/authorize/${string}` | `/v1/verify/${string}` | `/v1/agent/${string}` };

/** A problem of the service, in its own words. */
export class ToolFailure extends Error {}

export type CallOperation = <Body>(operation: ToolOperation) => Promise<Body>;

export function callAs({ request, ip }: Call<unknown, unknown, Context>, answer: AnswerAsked): CallOperation {
  return async <Body>(operation: ToolOperation) => {
    const headers = new Headers({ authorization: request.headers.get("authorization") ?? "" });
    const sent = operation.method === "POST" ? operation : undefined;
    if (sent?.idempotencyKey !== undefined) headers.set("idempotency-key", sent.idempotencyKey);
    const asked: HttpRequest = {
      method: operation.method,
      url: `http://localhost${operation.path}`,
      headers,
      body: sent === undefined ? null : new Blob([JSON.stringify(sent.body)]).stream(),
    };
    rememberPeer(asked, ip.replace(/\/64$/, ""));
    const { status, text } = await read(await answer(asked));
    const body = JSON.parse(text);
    if (status >= 400) throw new ToolFailure(`${body.code}: ${body.detail}`);
    return body as Body;
  };
}

async function read(answer: HttpResponse | Response): Promise<{ status: number; text: string }> {
  const text = answer instanceof Response ? await answer.text() : (answer.text ?? "");
  return { status: answer.status, text };
}

/** `inputs` may be null: that too is what an action acts on, unless `inputs_hash` is named. */
export function readInputsHash(given: {
  inputs?: unknown;
  inputs_hash?: string | null | undefined;
}): string | undefined {
  const { inputs, inputs_hash } = given;
  if (inputs === undefined || (inputs === null && inputs_hash !== undefined)) return inputs_hash ?? undefined;
  if (inputs_hash != null) throw new ToolFailure("validation_error: give inputs or inputs_hash");
  return `sha256:${canonicalHash(inputs as JsonValue)}`;
}

export async function attestAction(
  call: CallOperation,
  input: z.infer<typeof attestInput>,
): Promise<z.infer<typeof attestOutput>> {
  const { inputs: _inputs, authorization_request_id: requestId, idempotency_key, ...fields } = input;
  const given = readInputsHash(input);
  const approval = requestId == null ? undefined : await readApproval(call, requestId, given);
  const inputs_hash = given ?? approval?.inputs_hash;
  if (inputs_hash == null) throw new ToolFailure("validation_error: give inputs or inputs_hash");
  const { human_authorization } = approval ?? {};
  const made = await call<AttestResponse>({
    method: "POST",
    path: "/v1/attest",
    body: { ...fields, inputs_hash, ...(human_authorization && { human_authorization }) },
    // An approval backs one attestation: the same call again gets it again, and another one hears that it is used.
    idempotencyKey:
      idempotency_key ??
      (requestId ? `mcp-${requestId}-${canonicalHash({ ...fields, inputs_hash } as JsonObject)}` : undefined),
  });
  return {
    attestation_id: made.attestation_id,
    public_url: made.public_url,
    payload_hash: made.payload_hash,
    inputs_hash: made.inputs_hash,
    is_public: made.is_public,
    agent_authenticated: made.agent_authenticated,
    code_hash_verified: made.code_hash_verified,
    tools_authorized: made.tools_authorized,
    human_approved: made.human_approved,
  };
}

/**
 * Reads the approval from the service, never the caller: a model would have to copy some kilobytes without a mistake.
 */
async function readApproval(call: CallOperation, requestId: string, inputsHash: string | undefined) {
  const state = await readState(call, requestId);
  const { status, human_authorization, inputs_hash } = state;
  if (status !== "approved" || human_authorization === undefined)
    throw new ToolFailure(`not approved: the request is ${status}. ${describeState(state).guidance}`);
  if (inputs_hash !== null && inputsHash !== undefined && inputs_hash !== inputsHash)
    throw new ToolFailure(
      `authorization_mismatch: these inputs (${inputsHash}) are not the approved ones (${inputs_hash}). Attest with the inputs that were approved, or ask again.`,
    );
  return { human_authorization, inputs_hash };
}

export function readState(
  call: CallOperation,
  requestId: string,
  waitSeconds = 0,
): Promise<AuthorizationState> {
  const query = waitSeconds === 0 ? "" : `?wait=${waitSeconds}`;
  return call({ method: "GET", path: `/v1/authorize/${encodeURIComponent(requestId)}${query}` });
}

export const pendingGuidance =
  "Pending: don't perform the action yet. Call check_authorization with this request_id until it is decided.";

const approvedGuidance =
  "Approved: call claim_authorization with this request_id right before you act. Only if that succeeds, perform exactly this action once.";

const claimedGuidance =
  "Claimed: a run has begun this action. Unless this run is yours, don't perform it: report that. When yours is done, call attest_action with authorization_request_id.";

const yourClaimGuidance =
  "Claimed for this run: perform exactly this action once, then call attest_action with authorization_request_id.";

const askedByTool =
  "Pending, and the approver asks something: answer it with answer_question if it is about this request. Don't perform the action yet.";

const usedGuidance = (attestationId: string) =>
  `Used: attestation ${attestationId} records this action. Don't perform it again. To repeat the action, ask again.`;

function chooseGuidance(state: AuthorizationState): string {
  const { status, guidance, attestation_id, claimed_at, human_authorization, revoked_at } = state;
  const isOver = status !== "approved" || human_authorization === undefined || revoked_at !== null;
  if (guidance === askedGuidance) return askedByTool;
  if (isOver || guidance === frozenGuidance) return guidance ?? pendingGuidance;
  if (attestation_id) return usedGuidance(attestation_id);
  if (guidance === endedGuidance || guidance === standingGuidance) return guidance;
  return claimed_at ? claimedGuidance : approvedGuidance;
}

export function describeState(state: AuthorizationState): DecisionOutput {
  const { status, denial_reason, denial_reason_note, attestation_id, claimed_at, run, revoked_at } = state;
  const { previously_denied, usable_until } = state;
  const decided = describeUnasked(state.decided_by, status);
  return {
    request_id: state.request_id,
    status,
    agent_slug: state.agent_slug,
    action: state.action,
    inputs_hash: state.inputs_hash,
    expires_at: state.expires_at,
    environment: state.environment,
    guidance: chooseGuidance(state),
    ...(state.question && {
      question: {
        number: state.question.number,
        question: state.question.question,
        note: state.question.note,
      },
    }),
    ...(state.amended_by && { amended_by: state.amended_by }),
    ...(decided !== null && { decided }),
    ...(status === "approved" && { usable_until }),
    ...(denial_reason !== undefined && { denial_reason }),
    ...(denial_reason_note !== undefined && { denial_reason_note }),
    ...(attestation_id !== undefined && { attestation_id }),
    ...(claimed_at && { claimed_at, run }),
    ...(revoked_at && { revoked_at }),
    ...(previously_denied && { previously_denied }),
  };
}

export async function checkAuthorization(
  call: CallOperation,
  { request_id, wait_seconds }: z.infer<typeof decisionInput>,
): Promise<DecisionOutput> {
  return describeState(await readState(call, request_id, wait_seconds ?? 0));
}

/** Claims; without a name every call is a run of its own. */
export async function claimApproval(
  call: CallOperation,
  { request_id, run }: z.infer<typeof claimInput>,
): Promise<DecisionOutput> {
  const path = `/v1/authorize/${encodeURIComponent(request_id)}/claim` as const;
  const claimed = await call<AuthorizationState>({
    method: "POST",
    path,
    body: { run: run ?? globalThis.crypto.randomUUID() },
  });
  return { ...describeState(claimed), guidance: yourClaimGuidance };
}

export async function answerQuestion(
  call: CallOperation,
  { request_id, number, answer }: z.infer<typeof answerInput>,
): Promise<DecisionOutput> {
  const path = `/v1/authorize/${encodeURIComponent(request_id)}/answer` as const;
  return describeState(await call<AuthorizationState>({ method: "POST", path, body: { number, answer } }));
}

export async function cancelRequest(
  call: CallOperation,
  { request_id }: z.infer<typeof requestInput>,
): Promise<DecisionOutput> {
  await call({ method: "DELETE", path: `/v1/authorize/${encodeURIComponent(request_id)}` });
  return describeState(await readState(call, request_id));
}

export async function revokeApproval(
  call: CallOperation,
  { request_id, reason }: z.infer<typeof revokeInput>,
): Promise<DecisionOutput> {
  const path = `/v1/authorizations/${encodeURIComponent(request_id)}/revoke` as const;
  return describeState(await call<AuthorizationState>({ method: "POST", path, body: { reason } }));
}

/** An agent may stop itself. Only a person, or a key with the permission `freeze`, lets it go on. */
export async function freezeAgent(
  call: CallOperation,
  { agent_slug, reason }: z.infer<typeof freezeInput>,
): Promise<z.infer<typeof freezeOutput>> {
  const path = `/v1/identity/${encodeURIComponent(agent_slug)}/freeze` as const;
  const { slug, frozen_at } = await call<IdentityResponse>({ method: "POST", path, body: { reason } });
  const guidance = `Frozen: requests of ${slug} can't be approved, and its approvals can't be claimed or used. Stop, and report to your operator, who can let it go on.`;
  return { agent_slug: slug, frozen_at, guidance };
}

export async function verifyAttestation(
  call: CallOperation,
  { attestation_id }: z.infer<typeof verifyInput>,
): Promise<z.infer<typeof verifyOutput>> {
  const found = await call<VerifyResponse>({ method: "GET", path: `/v1/verify/${attestation_id}` });
  const failed = found.checks.filter(({ status }) => status === "fail");
  return {
    attestation_id: found.attestation_id,
    valid: found.valid,
    status: found.status,
    warnings: found.warnings,
    failed_checks: failed.map(({ name, detail }) => ({ name, detail })),
    agent_slug: found.agent_slug,
    action: found.action,
    inputs_hash: found.inputs_hash,
    timestamp: found.timestamp,
    human_approved: found.human_approved,
    public_url: found.public_url,
  };
}

export async function listAgentAttestations(
  call: CallOperation,
  { agent_slug, limit, cursor }: z.infer<typeof listInput>,
): Promise<z.infer<typeof listOutput>> {
  const query = new URLSearchParams({ limit: String(limit ?? 20), ...(cursor != null && { cursor }) });
  const path = `/v1/agent/${encodeURIComponent(agent_slug)}?${query}` as const;
  const feed = await call<FeedResponse>({ method: "GET", path });
  return {
    agent_slug: feed.slug,
    total_attestations: feed.total_attestations,
    attestations: feed.attestations.map((entry) => ({
      attestation_id: entry.attestation_id,
      action: entry.action,
      timestamp: entry.timestamp,
      human_approved: entry.human_approved,
      warnings: entry.warnings,
      public_url: entry.public_url,
    })),
    next_cursor: feed.next_cursor,
  };
}
