/** Attests a run on an approval: as it ended, and whatever happened to the approval meanwhile. */

import { attest } from "#lib/client/api/attest";
import type { ApprovedAuthorization } from "#lib/client/api/authorize";
import { ApiError, NotAttestedError } from "#lib/client/api/errors";
import type { Service } from "#lib/client/api/transport";
import type { Attestation, AttestRequest } from "#lib/client/api/wire";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { GatedAction } from "./gate";

/**
 * How an action ended, as `outcome` in the metadata of its attestation: `failed` may have done half of it, `started` goes
 * on in the background, and `unknown` is what nobody told.
 */
export type Outcome = "completed" | "failed" | "started" | "unknown";

type Reported =
  | { [name in "isError" | "status" | "tool_call_id" | "messages" | "update"]?: unknown }
  | null
  | undefined;

const list = (value: unknown): Reported[] => (Array.isArray(value) ? value : []);

/** LangGraph's ToolNode and Command hold messages. */
const listReports = (result: Reported): Reported[] => [
  result,
  ...list(result?.messages),
  ...list((result?.update as Reported)?.messages),
];

const isToolError = (report: Reported): boolean =>
  report?.isError === true || (report?.status === "error" && typeof report.tool_call_id === "string");

/** Results by which tools report errors that they handled: MCP's `isError`, LangChain's messages of status `error`. */
export function readOutcome(result: unknown): Outcome {
  try {
    const reports = (Array.isArray(result) ? list(result) : [result as Reported]).flatMap(listReports);
    return reports.some(isToolError) ? "failed" : "completed";
  } catch {
    // A getter of the result's own.
    return "unknown";
  }
}

/** Not aborted by the action's signal: it has run. */
export async function attestRun(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  result: unknown,
  outcome: Outcome = readOutcome(result),
): Promise<Attestation> {
  const { human_authorization } = authorization;
  const ended = withMetadata(action, { outcome });
  try {
    return await attestAs(service, ended, authorization, { human_authorization });
  } catch (error) {
    const stopped = error instanceof ApiError ? stoppedWhileRunning[error.code] : undefined;
    if (stopped === undefined) throw new NotAttestedError(authorization.request_id, result, error);
    return attestStopped(service, ended, authorization, stopped, result);
  }
}

function withMetadata(action: GatedAction, more: JsonObject): GatedAction {
  const metadata = { ...action.attestation?.metadata, ...more };
  return { ...action, attestation: { ...action.attestation, metadata } };
}

/** A failed action may have done half of its work, so it is attested too, as a failure that the hook sees is. */
export async function attestFailure(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  failure: unknown,
): Promise<Attestation> {
  return attestRun(service, action, authorization, undefined, "failed").catch((notAttested: unknown) => {
    const message = failure instanceof Error ? failure.message : String(failure);
    throw new AggregateError([failure, notAttested], `${message} (and its attestation could not be stored)`, {
      cause: failure,
    });
  });
}

type RunFacts = Pick<ApprovedAuthorization, "request_id" | "agent_slug" | "action" | "inputs_hash">;

const stoppedWhileRunning: Partial<Record<ApiError["code"], string>> = {
  authorization_revoked: "taken back while the action ran",
  authorization_ended: "over before the action was",
  agent_frozen: "unusable, because the agent was frozen while the action ran",
};

/** Attests a run whose approval was stopped meanwhile, without the approval. */
export async function attestStopped(
  service: Service,
  action: GatedAction,
  state: RunFacts,
  approval: string,
  result: unknown,
): Promise<Attestation> {
  try {
    return await attestAs(service, withMetadata(action, { approval }), state, {}, "-stopped");
  } catch (error) {
    throw new NotAttestedError(state.request_id, result, error);
  }
}

function attestAs(
  service: Service,
  { attestation = {}, agentKey }: GatedAction,
  { request_id, agent_slug, action, inputs_hash }: RunFacts,
  more: Pick<AttestRequest, "human_authorization">,
  suffix = "",
): Promise<Attestation> {
  const body = { ...attestation, agent_slug, action, inputs_hash: inputs_hash ?? "", ...more };
  return attest(service, body, { idempotencyKey: `gate-${request_id}${suffix}`, agentKey });
}
