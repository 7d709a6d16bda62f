/** An instance that counts its attestations (docs/wire.md, Attest), so that one that never arrives shows in the next. */
import type { AttestOptions } from "./attest";
import type { Attestation, AttestRequest } from "./wire";

export type Attest = (request: AttestRequest, options?: AttestOptions) => Promise<Attestation>;

/** One after the other: the service compares numbers in the order in which it records them. */
export function countAttestations(attest: Attest, instance: string): Attest {
  const last = new Map<string, number>();
  let turn: Promise<unknown> = Promise.resolve();
  return (request, options) => {
    const agent = request.agent_slug.toLowerCase();
    const sequence = (last.get(agent) ?? 0) + 1;
    last.set(agent, sequence);
    const sent = turn.then(() => attest({ ...request, client: { instance, sequence } }, options));
    turn = sent.catch(() => undefined);
    return sent;
  };
}
