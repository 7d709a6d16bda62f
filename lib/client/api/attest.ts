/** POST /v1/attest. */

import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { ApiError, CountersignError } from "./errors";
import { type AgentKey, asSent, signAgentRequest } from "./inputs";
import { type Service, send } from "./transport";
import type { Attestation, AttestBatchAnswer, AttestRequest } from "./wire";

export interface WriteOptions {
  /**
   * With the same key the service does it once (docs/wire.md, Idempotency). Default: one of this call's own, which covers
   * lost connections, but not a call that you repeat.
   */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface AttestOptions extends WriteOptions {
  /** Signs the request as the agent. */
  agentKey?: AgentKey | undefined;
}

export async function attest(
  service: Service,
  request: AttestRequest,
  { agentKey, idempotencyKey = service.randomUuid(), signal }: AttestOptions = {},
): Promise<Attestation> {
  const body = agentKey === undefined ? request : await signAgentRequest(request, agentKey);
  return send(service, { method: "POST", path: "/v1/attest", body, idempotencyKey, signal });
}

/* POST /v1/attest/batch. */

export interface AttestManyOptions extends AttestOptions {
  /** If one of them is refused, none is recorded. At most 100 then. */
  allOrNothing?: boolean | undefined;
}

export type AttestMany = (
  requests: readonly AttestRequest[],
  options?: AttestManyOptions,
) => Promise<PromiseSettledResult<Attestation>[]>;

const maxEntries = 100;
/** Below the service's 1 MiB, as the rest of the body takes room too. */
const maxBytes = 1_000_000;

/** In their order, as many to a request as it takes. */
function cut(requests: readonly AttestRequest[]): AttestRequest[][] {
  const parts: AttestRequest[][] = [];
  let bytes = 0;
  for (const request of requests) {
    const own = new TextEncoder().encode(JSON.stringify(request)).length + 1;
    const part = parts.at(-1);
    const fits = part !== undefined && part.length < maxEntries && bytes + own <= maxBytes;
    bytes = fits ? bytes + own : own;
    if (fits) part.push(request);
    else parts.push([request]);
  }
  return parts;
}

export type BatchResult = AttestBatchAnswer["results"][number];

/**
 * One result for each, in their order, as each batch ends. Throws if a batch as a whole fails; with the same key it can be
 * repeated, also with more requests at its end.
 */
export async function* sendBatches(
  service: Service,
  requests: readonly AttestRequest[],
  {
    agentKey,
    idempotencyKey = service.randomUuid(),
    signal,
    allOrNothing: all_or_nothing = false,
  }: AttestManyOptions = {},
): AsyncGenerator<BatchResult[], void> {
  const signed =
    agentKey === undefined
      ? asSent(requests)
      : await Promise.all(requests.map((request) => signAgentRequest(request, agentKey)));
  const parts = cut(signed);
  if (all_or_nothing && parts.length > 1)
    throw new TypeError(`allOrNothing: at most ${maxEntries} requests and 1 MB`);
  for (const [i, attestations] of parts.entries()) {
    const { results } = await send<AttestBatchAnswer>(service, {
      method: "POST",
      path: "/v1/attest/batch",
      body: { attestations, all_or_nothing },
      idempotencyKey: i === 0 ? idempotencyKey : `${idempotencyKey} ${i}`,
      signal,
    });
    yield results;
  }
}

export const toApiError = ({ status, body }: BatchResult) => new ApiError(status, body as JsonObject, null);

const settle = (result: BatchResult): PromiseSettledResult<Attestation> =>
  result.status === 201
    ? { status: "fulfilled", value: result.body as Attestation }
    : { status: "rejected", reason: toApiError(result) };

/** Throws if the first batch fails. A later one's error becomes the result of all from there on, and no more is sent. */
export async function attestMany(
  service: Service,
  requests: readonly AttestRequest[],
  options?: AttestManyOptions,
): Promise<PromiseSettledResult<Attestation>[]> {
  const settled: PromiseSettledResult<Attestation>[] = [];
  const { length } = requests;
  try {
    for await (const batch of sendBatches(service, requests, options)) settled.push(...batch.map(settle));
  } catch (error) {
    if (!(error instanceof CountersignError) || settled.length === 0) throw error;
    while (settled.length < length) settled.push({ status: "rejected", reason: error });
  }
  return settled;
}

/* An instance that counts its attestations (docs/wire.md, Attest), so that one that never arrives shows in the next. */

export type Attest = (request: AttestRequest, options?: AttestOptions) => Promise<Attestation>;

/** One after the other: the service compares numbers in the order in which it records them. */
export function countAttestations(attest: Attest, instance: string): Attest {
  const last = new Map<string, number>();
  /** A call that is repeated under its key keeps its number until it is answered. */
  const unanswered = new Map<string, number>();
  let turn: Promise<unknown> = Promise.resolve();
  return async (given, options) => {
    const request = asSent(given);
    const agent = request.agent_slug.toLowerCase();
    const key = options?.idempotencyKey && JSON.stringify([agent, options.idempotencyKey]);
    const newest = last.get(agent) ?? 0;
    const sequence = (key && unanswered.get(key)) || newest + 1;
    last.set(agent, Math.max(newest, sequence));
    if (key) unanswered.set(key, sequence);
    const sent = turn.then(() => attest({ ...request, client: { instance, sequence } }, options));
    const forget = () => void (key && unanswered.delete(key));
    turn = sent.then(forget, (error: unknown) => {
      if (error instanceof ApiError && !error.retryable) forget();
    });
    return sent;
  };
}
