/** An instance that counts its attestations (docs/wire.md, Attest), so that one that never arrives shows in the next. */
import type { AttestOptions } from "./attest";
import { ApiError } from "./errors";
import { asSent } from "./sign";
import type { Attestation, AttestRequest } from "./wire";

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
