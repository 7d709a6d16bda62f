/**
 * request_human_authorization. A client that can open links for its user (protocol 2026-07-28, URL elicitation) gets the
 * link as an input request and calls again; everybody else gets it in a plain result. What comes back with the second
 * call is an attacker's until its HMAC holds: it names a request, and is bound to the key, the tool and the arguments. It
 * never says what the human decided: that is read from the database.
 */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { AuthorizeResponse } from "#lib/api/schemas/authorization-state";
import type { authorizeInput, DecisionOutput } from "#lib/api/schemas/mcp";
import { canonicalHash, isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type CallOperation, ToolFailure } from "./call-operation";
import { describeState, pendingGuidance, readInputsHash, readState } from "./tools";

interface Round {
  pending: DecisionOutput;
  digest: string;
  round: number;
}

export type Rounds = RequestStateCodec<Round>;

/** Clients give up after ten. Each holds the call for as long as the service waits for a decision. */
const maxRounds = 3;
const waitSeconds = 25;
/** A client may take a while to show the link. */
const stateSeconds = 600;

export const createRounds = (key: Uint8Array): Rounds =>
  createRequestStateCodec<Round>({
    key,
    ttlSeconds: stateSeconds,
    bind: ({ mcpReq, http }) => `${mcpReq.method}\0${http?.authInfo?.clientId ?? ""}`,
  });

type Input = z.infer<typeof authorizeInput>;
type Finish = (decision: DecisionOutput) => CallToolResult;

export async function requestAuthorization(
  call: CallOperation,
  rounds: Rounds,
  input: Input,
  ctx: ServerContext,
  finish: Finish,
): Promise<CallToolResult | InputRequiredResult> {
  const digest = canonicalHash(input as JsonObject);
  const state = ctx.mcpReq.requestState<Round>();
  if (state !== undefined) return nextRound(call, rounds, state, digest, ctx, finish);
  const pending = await ask(call, input);
  if (pending.status !== "pending" || !opensLinks(ctx)) return finish(pending);
  const message = `${input.agent_slug} asks for a human's approval: ${input.action}\nConfirmation code: ${pending.confirmation_code}`;
  return inputRequired({
    inputRequests: { approve: inputRequired.elicitUrl({ message, url: pending.approval_url ?? "" }) },
    requestState: await rounds.mint({ pending, digest, round: 1 }, ctx),
  });
}

const deniedBefore =
  "A human denied an equal request in the last 24 hours, and the page says so. Unless a human told you to ask again, cancel this one (cancel_authorization), stop and report. ";

async function ask(call: CallOperation, input: Input): Promise<DecisionOutput> {
  const { inputs: _inputs, idempotency_key, ...fields } = input;
  const idempotencyKey = idempotency_key ?? undefined;
  // The link may pass through logs and other agents: without the code it decides nothing.
  const body = { ...fields, inputs_hash: readInputsHash(input), require_code: true };
  const made = await call<AuthorizeResponse>({ method: "POST", path: "/v1/authorize", body, idempotencyKey });
  // Decided at once, by a rule, a standing approval or a freeze: nobody is to be shown anything.
  if (made.status !== "pending") return describeState(await readState(call, made.request_id));
  return {
    request_id: made.request_id,
    status: made.status,
    agent_slug: made.agent_slug,
    action: made.action,
    inputs_hash: made.inputs_hash,
    expires_at: made.expires_at,
    environment: made.environment,
    approval_url: made.approval_url,
    notified: made.notified,
    confirmation_code: made.confirmation_code,
    guidance: `${made.previously_denied ? deniedBefore : ""}Show approval_url and confirmation_code to the human who should decide: the page asks for the code. ${pendingGuidance}`,
    ...(made.previously_denied && { previously_denied: made.previously_denied }),
  };
}

/** "accept" says that the user opened the link, never that anybody approved. */
async function nextRound(
  call: CallOperation,
  rounds: Rounds,
  { pending, digest, round }: Round,
  digestNow: string,
  ctx: ServerContext,
  finish: Finish,
): Promise<CallToolResult | InputRequiredResult> {
  if (digest !== digestNow) throw new ToolFailure("the arguments are not those of the first call");
  const response = inputResponse(ctx.mcpReq.inputResponses, "approve");
  const isOpen = response.kind !== "elicit" || response.action === "accept";
  const state = await readState(call, pending.request_id, isOpen ? waitSeconds : 0);
  if (state.status !== "pending") return finish(describeState(state));
  if (!isOpen || round >= maxRounds) return finish(pending);
  return inputRequired({ requestState: await rounds.mint({ pending, digest, round: round + 1 }, ctx) });
}

function opensLinks({ mcpReq }: ServerContext): boolean {
  const envelope: Record<string, unknown> = { ...mcpReq.envelope };
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  const elicitation = isJsonObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isJsonObject(elicitation) && elicitation["url"] !== undefined;
}
