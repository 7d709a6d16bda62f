/**
 * Ask once, wait, fetch the decision again, compare what is about to run with what was approved, run, attest. Whatever
 * breaks on the way, nothing runs without an approval, and nothing is asked or attested twice.
 */
import { canonicalHash } from "#lib/domain/canonical-json";
import { attest } from "./attest";
import { authorize } from "./authorize";
import { type ApprovedAuthorization, requireApproval, waitForDecision } from "./decision";
import { NotAttestedError } from "./errors";
import { sealInputs } from "./inputs";
import type { AgentKey } from "./sign";
import type { Service } from "./transport";
import type { Attestation, AttestRequest, AuthorizationRequest, AuthorizeRequest } from "./wire";

/** What the human is asked, and for which call of which run. */
export interface GatedAction extends Omit<AuthorizeRequest, "inputs_hash"> {
  /** The framework's id of the run or thread. */
  runId: string;
  /** The framework's id of this tool call in it. For the same ids and arguments a human is asked once. */
  callId: string;
  /** What the attestation says besides. */
  attestation?: AttestationExtras | undefined;
  /** Signs the attestation, if the agent has registered a key. */
  agentKey?: AgentKey | undefined;
  /** Shows link and code to whoever should decide. Also called if the request was made before. */
  onRequest?: ((request: AuthorizationRequest) => void | Promise<void>) | undefined;
  /** False: throw if nobody has decided yet, instead of waiting. For runs that end while a human decides. */
  wait?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export type AttestationExtras = Pick<
  AttestRequest,
  "metadata" | "is_public" | "enable_zk" | "code_hash" | "model_id" | "tools_used" | "client"
>;

/**
 * The action itself. `inputs` is a copy of exactly what was approved. `key` is the same whenever this call runs: pass it
 * on as an idempotency key, so that a crash between the action and its attestation can't double the action.
 */
export type Run<Inputs, Result> = (inputs: Inputs, approval: { requestId: string; key: string }) => Result;

export interface Gated<Result> {
  result: Result;
  attestation: Attestation;
  authorization: ApprovedAuthorization;
}

/** By key: calls under way, and what is left to do for an action that ran and is not attested yet. */
export interface GateMemory {
  running: Map<string, Promise<unknown>>;
  unattested: Map<string, () => Promise<unknown>>;
}

/** Two calls with the same ids and arguments at the same time are one. */
export async function gate<Inputs, Result>(
  service: Service,
  memory: GateMemory,
  action: GatedAction,
  inputs: Inputs,
  run: Run<Inputs, Result>,
): Promise<Gated<Awaited<Result>>> {
  const key = keyOf(action, inputs);
  let call = memory.running.get(key);
  if (call === undefined) {
    const finish = memory.unattested.get(key);
    call = (finish ?? (() => runApproved(service, memory, key, action, inputs, run)))();
    memory.running.set(key, call);
    call = call.finally(() => memory.running.delete(key));
  }
  return (await call) as Gated<Awaited<Result>>;
}

/** The same for the same call of the same run with the same arguments, in any process. */
export function keyOf({ runId, callId }: Pick<GatedAction, "runId" | "callId">, inputs: unknown): string {
  return `gate-${canonicalHash([runId, callId, sealInputs(inputs).hash])}`;
}

async function runApproved<Inputs, Result>(
  service: Service,
  { unattested }: GateMemory,
  key: string,
  action: GatedAction,
  inputs: Inputs,
  run: Run<Inputs, Result>,
): Promise<unknown> {
  const { wait = true, signal } = action;
  const { request_id: requestId } = await askOnce(service, action, inputs);
  if (wait) await waitForDecision(service, requestId, { signal });
  const { authorization, copy } = await confirmApproval(service, requestId, action, inputs);
  const result = await run(copy, { requestId, key });
  // From here on a call with this key must not run the action, whatever becomes of the attestation.
  const finish = async () => {
    const attestation = await attestRun(service, action, authorization, result);
    unattested.delete(key);
    return { result, attestation, authorization };
  };
  unattested.set(key, finish);
  return finish();
}

/** The request of this call, as it was when it was made. It is made if there is none yet. */
export async function askOnce(
  service: Service,
  action: GatedAction,
  inputs: unknown,
): Promise<AuthorizationRequest> {
  const {
    runId: _run,
    callId: _call,
    attestation: _later,
    agentKey: _key,
    onRequest,
    wait: _wait,
    signal,
    ...asked
  } = action;
  const body = { ...asked, inputs_hash: sealInputs(inputs).hash };
  const request = await authorize(service, body, { idempotencyKey: keyOf(action, inputs), signal });
  await onRequest?.(request);
  return request;
}

/** Throws, or the action may run with `copy`, which is what was approved. */
export async function confirmApproval<Inputs>(
  service: Service,
  requestId: string,
  { agent_slug, action, signal }: Pick<GatedAction, "agent_slug" | "action" | "signal">,
  inputs: Inputs,
): Promise<{ authorization: ApprovedAuthorization; copy: Inputs }> {
  let sealed = sealInputs(inputs);
  const readAboutToRun = () => {
    sealed = sealInputs(inputs);
    return { agent_slug, action, inputs_hash: sealed.hash };
  };
  const authorization = await requireApproval(service, requestId, readAboutToRun, { signal });
  return { authorization, copy: sealed.copy };
}

/** Not aborted by the action's signal: it has run. */
export async function attestRun(
  service: Service,
  { attestation = {}, agentKey }: GatedAction,
  { request_id, agent_slug, action, inputs_hash, human_authorization }: ApprovedAuthorization,
  result: unknown,
): Promise<Attestation> {
  const body = { ...attestation, agent_slug, action, inputs_hash: inputs_hash ?? "", human_authorization };
  try {
    return await attest(service, body, { idempotencyKey: `gate-${request_id}`, agentKey });
  } catch (error) {
    throw new NotAttestedError(request_id, result, error);
  }
}
