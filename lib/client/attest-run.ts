/** What ran on an approval goes on record: as it ended, and whatever became of the approval meanwhile. */
import { attest } from "./attest";
import type { ApprovedAuthorization } from "./decision";
import { ApiError, NotAttestedError } from "./errors";
import type { GatedAction } from "./gate";
import type { Service } from "./transport";
import type { Attestation, AttestRequest } from "./wire";

/**
 * How an action ended, as `outcome` in the metadata of its attestation: `failed` may have done half of it, `started` goes
 * on in the background, and `unknown` is what nobody told.
 */
export type Outcome = "completed" | "failed" | "started" | "unknown";

/** Not aborted by the action's signal: it has run. */
export async function attestRun(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  result: unknown,
): Promise<Attestation> {
  const { human_authorization } = authorization;
  try {
    return await attestAs(service, action, authorization, { human_authorization });
  } catch (error) {
    const stopped = error instanceof ApiError ? stoppedWhileRunning[error.code] : undefined;
    if (stopped === undefined) throw new NotAttestedError(authorization.request_id, result, error);
    return attestStopped(service, action, authorization, stopped, result);
  }
}

/** What failed may have done half of it: it is on record, as what the hook sees fail. */
export async function attestFailure(
  service: Service,
  action: GatedAction,
  authorization: ApprovedAuthorization,
  failure: unknown,
): Promise<void> {
  const metadata = { ...action.attestation?.metadata, outcome: "failed" };
  const failed = { ...action, attestation: { ...action.attestation, metadata } };
  await attestRun(service, failed, authorization, undefined).catch((notAttested: unknown) => {
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

/** What ran on an approval that was stopped meanwhile is on record too, without the approval. */
export async function attestStopped(
  service: Service,
  action: GatedAction,
  state: RunFacts,
  approval: string,
  result: unknown,
): Promise<Attestation> {
  const metadata = { ...action.attestation?.metadata, approval };
  try {
    return await attestAs(service, action, state, { metadata }, "-stopped");
  } catch (error) {
    throw new NotAttestedError(state.request_id, result, error);
  }
}

function attestAs(
  service: Service,
  { attestation = {}, agentKey }: GatedAction,
  { request_id, agent_slug, action, inputs_hash }: RunFacts,
  more: Pick<AttestRequest, "human_authorization" | "metadata">,
  suffix = "",
): Promise<Attestation> {
  const body = { ...attestation, agent_slug, action, inputs_hash: inputs_hash ?? "", ...more };
  return attest(service, body, { idempotencyKey: `gate-${request_id}${suffix}`, agentKey });
}
