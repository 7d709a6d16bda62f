/** The client: `createCountersign({ baseUrl, apiKey })`. */

import {
  type Attest,
  type AttestMany,
  attest,
  attestMany,
  countAttestations,
  type WriteOptions,
} from "#lib/client/api/attest";
import {
  type ApprovedAuthorization,
  answer,
  authorize,
  cancel,
  claim,
  freeze,
  type ReasonOptions,
  type RequestOptions,
  revoke,
  unfreeze,
  type WaitOptions,
  waitForDecision,
} from "#lib/client/api/authorize";
import { UnreadableError } from "#lib/client/api/errors";
import { hashInputs, signAgentRequest } from "#lib/client/api/inputs";
import { type Runtime, readBaseUrl, readHeader, type Service, sendForText } from "#lib/client/api/transport";
import type {
  AgentIdentity,
  AuthorizationRequest,
  AuthorizationState,
  AuthorizeRequest,
  ClaimedAuthorization,
  Verification,
  VerifyOptions,
} from "#lib/client/api/wire";
import { askOnce, type Gated, type GatedAction, GateMemory, gate, type Run } from "#lib/client/gate/gate";
import { fetchThroughProxy } from "#platform/fetch";

export interface CountersignOptions {
  /** The service's address: https, or http on this machine. */
  baseUrl: string;
  /** Unneeded to verify. Keep it out of browsers. */
  apiKey?: string | undefined;
  /** Default: the global one; on Node through the proxy that HTTPS_PROXY names, unless NO_PROXY has the service. */
  fetch?: Service["fetch"] | undefined;
  /** Time and chance, for tests. */
  runtime?: Partial<Runtime> | undefined;
}

export interface Countersign {
  /** Records what an agent did. Returns the receipt. */
  attest: Attest;
  /**
   * Records up to 100 a request, in their order. Returns a result for each: a receipt, or what refused or ended it, such as
   * a service that stopped answering after the first hundred. Repeat it with the same `idempotencyKey`.
   */
  attestMany: AttestMany;
  /**
   * An `attest` that numbers what it sends for each agent from 1, and sends it one after the other: what never arrives
   * shows as `client_gap` in the next. `instance`: a new name each time that the program starts (default: a random one).
   */
  counting(instance?: string): Attest;
  /**
   * Repeats every check here, without believing the service. `receipt`: the id of an attestation, or a receipt as text or
   * object (an attestation, a Sigstore bundle, a human_authorization, a presentation, a tlog-proof).
   */
  verify(receipt: string | object, options?: VerifyOptions): Promise<Verification>;
  /** Asks for a human's approval. Show `approval_url` and `confirmation_code` to the person who should decide. */
  authorize(request: AuthorizeRequest, options?: WriteOptions): Promise<AuthorizationRequest>;
  /** Takes a pending request back: it can't be approved any more. */
  cancel(requestId: string, options?: RequestOptions): Promise<AuthorizationState>;
  /**
   * Claims an approval for one run of its action. Run the action only if this succeeds: one run has it, however many ask.
   * `run`: your name for this run, the same if you repeat the claim, and another in every other run, process and retry.
   */
  claim(requestId: string, run: string, options?: RequestOptions): Promise<ClaimedAuthorization>;
  /** Takes an approval back that no attestation has used: nothing can claim or use it any more. */
  revoke(requestId: string, options?: ReasonOptions): Promise<AuthorizationState>;
  /** Stops an agent: no request of it is approved, and no approval of it is claimed or used. Any key may. */
  freeze(slug: string, reason: string, options?: RequestOptions): Promise<AgentIdentity>;
  /** Lets it go on. Needs a key with the permission `freeze`, which no agent should have. */
  unfreeze(slug: string, options?: ReasonOptions): Promise<AgentIdentity>;
  /** Throws NotApprovedError if the request is denied, expires or is cancelled. */
  waitForDecision(requestId: string, options?: WaitOptions): Promise<ApprovedAuthorization>;
  /** Answers an approver's question, `question` of the request's state, by its number. */
  answer(
    requestId: string,
    number: number,
    text: string,
    options?: RequestOptions,
  ): Promise<AuthorizationState>;
  /**
   * Runs an action only if a human has approved exactly these inputs, and attests it. Whatever a framework says about an
   * approval is not believed.
   */
  gate<Inputs, Result>(
    action: GatedAction,
    inputs: Inputs,
    run: Run<Inputs, Result>,
  ): Promise<Gated<Awaited<Result>>>;
  /** Asks what `gate` will ask for the same call, without waiting. However often it is called, a human is asked once. */
  ask(action: GatedAction, inputs: unknown): Promise<AuthorizationRequest>;
  signAgentRequest: typeof signAgentRequest;
  hashInputs: typeof hashInputs;
}

export function openService({ baseUrl, apiKey, runtime, ...given }: CountersignOptions): Service {
  return {
    ...standardRuntime,
    ...runtime,
    // The global one is asked for at each request: a page may replace it. Browsers refuse to call theirs as a method.
    fetch: (url, init) => {
      const { fetch: own } = given;
      return own === undefined ? (fetchThroughProxy(url, init) ?? fetch(url, init)) : own(url, init);
    },
    apiKey: apiKey === undefined ? undefined : readHeader("apiKey", apiKey),
    baseUrl: readBaseUrl(baseUrl),
  };
}

export function createCountersign(options: CountersignOptions): Countersign {
  const service = openService(options);
  const attestOnce: Attest = (request, more) => attest(service, request, more);
  const memory = new GateMemory();
  return {
    attest: attestOnce,
    attestMany: (requests, more) => attestMany(service, requests, more),
    counting: (instance = service.randomUuid()) => countAttestations(attestOnce, instance),
    verify: (receipt, more = {}) => verifyHere(service, receipt, more),
    authorize: (request, more) => authorize(service, request, more),
    cancel: (requestId, more) => cancel(service, requestId, more),
    claim: (requestId, run, more) => claim(service, requestId, run, more),
    revoke: (requestId, more) => revoke(service, requestId, more),
    freeze: (slug, reason, more) => freeze(service, slug, reason, more),
    unfreeze: (slug, more) => unfreeze(service, slug, more),
    waitForDecision: (requestId, more) => waitForDecision(service, requestId, more),
    answer: (requestId, number, text, more) => answer(service, requestId, number, text, more),
    gate: (action, inputs, run) => gate(service, memory, action, inputs, run),
    ask: async (action, inputs) => (await askOnce(service, action, inputs)).request,
    signAgentRequest,
    hashInputs,
  };
}

async function verifyHere(
  service: Service,
  receipt: string | object,
  options: VerifyOptions,
): Promise<Verification> {
  const { verify } = await import("#lib/client/api/verify");
  const { signal } = options;
  const readText = async (path: string) => (await sendForText(service, { method: "GET", path, signal })).text;
  return verify(receipt, options, service.now(), readText).catch((error: unknown) => {
    // The verifier is a bundle of its own, whose classes are not these.
    if (!(error instanceof Error) || error.name !== "UnreadableError") throw error;
    throw new UnreadableError(error.message, { cause: error });
  });
}

const standardRuntime: Runtime = {
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }),
  random: Math.random,
  randomUuid: () => crypto.randomUUID(),
  now: () => new Date(),
};
