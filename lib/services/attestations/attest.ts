/**
 * POST /v1/attest. What the statement says is put together first. The log's sequencer gives it its place, has it signed
 * there and stores it (store.ts) if everything that it was made from still holds.
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import {
  beginIdempotentEach,
  type IdempotencyEntryStart,
  type IdempotencyHold,
  type IdempotencyStart,
  releaseIdempotent,
} from "#lib/api/http/idempotency";
import { validate } from "#lib/api/http/pipeline";
import { answerProblem } from "#lib/api/http/problem";
import {
  type AttestBatchBody,
  type AttestBatchResponse,
  type AttestBody,
  type AttestResponse,
  attestBody,
  maxBatchEntries,
} from "#lib/api/schemas/attest";
import type { Problem } from "#lib/api/schemas/primitives";
import { fieldError } from "#lib/errors";
import { submitAllSigned, submitSigned } from "#lib/log/sequencer/entry";
import { base64Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { signedRequest } from "#lib/protocol/keys/agent-seed";
import { type ZkKeyPair, zkPredicate } from "#lib/protocol/presentation/disclosure";
import { deriveIdentityChecks } from "#lib/protocol/statement/identity-checks";
import type { TraceMark, UnplacedPredicate } from "#lib/protocol/statement/statement";
import { numberedRandom } from "#lib/protocol/tlog/witness-policy";
import {
  describeRegistered,
  type FoundAgent,
  findPublicAgent,
  slugKey,
  slugTaken,
} from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { type PreparedApproval, prepareApproval } from "#lib/services/approvals/use/use-approval";
import { readPrincipalAgain } from "#lib/services/keys/authenticate";
import { type AttestationItem, attestationKind, buildResponse, createEntry } from "./store";
import { verifyAndRemember } from "./stored-receipt";

export interface AttestInput {
  caller: KeyPrincipal;
  body: AttestBody;
  /** The body as it was sent: what the agent's own signature covers. */
  raw: JsonObject;
  hold: IdempotencyHold | null;
  trace?: TraceMark;
}

async function buildPredicate(
  context: Context,
  input: AttestInput,
  agent: FoundAgent | null,
  prepared: PreparedApproval,
  zkKeyPair: ZkKeyPair | null,
): Promise<UnplacedPredicate> {
  const { body, caller } = input;
  const now = context.clock();
  const request = signedRequest(input.raw);
  const agentSignature = body.agent_signature ?? undefined;
  const registered = describeRegistered(agent);
  return {
    attestation_id: uuidV7(
      now.getTime(),
      numberedRandom(context.random(16), context.logList?.number ?? null),
    ),
    timestamp: now.toISOString(),
    key_id: context.keys.signer.keyId,
    organization: caller.organizationId,
    is_public: body.is_public ?? caller.defaultPublic,
    salt: base64Encode(context.random(16)),
    ...(zkKeyPair === null ? {} : { zk: zkPredicate(zkKeyPair.publicKey) }),
    request,
    ...(agentSignature === undefined ? {} : { agent_signature: agentSignature }),
    registered,
    ...(agent?.frozen_at && { agent_frozen_at: agent.frozen_at.toISOString() }),
    verdicts: deriveIdentityChecks(
      request,
      agentSignature,
      registered,
      agent?.manifest ?? null,
      verifyAndRemember,
    ),
    human_approval: prepared.approval,
    ...(prepared.stop && { approval_stopped: prepared.stop }),
    ...(input.trace && { trace: input.trace }),
    ...context.notBefore.fieldAt(now),
  };
}

/**
 * The agent, as it was a moment ago if that is known: the attestation is stored only if it is still the same. What may
 * be refused because of the agent is compared with the agent as it is now.
 */
async function findRecentAgent(context: Context, { body, caller }: AttestInput): Promise<FoundAgent | null> {
  const name = slugKey(body.agent_slug);
  const known = context.agents.get(name);
  const isNeededNow = (body.human_authorization ?? null) !== null;
  if (known?.organization_id === caller.organizationId && !isNeededNow) return known;
  return readAgent(context, body.agent_slug);
}

async function readAgent({ database, agents }: Context, slug: string): Promise<FoundAgent | null> {
  const found = await findPublicAgent(database, slug);
  if (found !== null) agents.set(slugKey(slug), found);
  return found;
}

/** Compared with what is registered now; stored only if that still holds then. */
async function makeItem(context: Context, input: AttestInput): Promise<AttestationItem> {
  const { body, caller } = input;
  const agent = await findRecentAgent(context, input);
  if (agent !== null && agent.organization_id !== caller.organizationId) throw slugTaken();
  const { agent_public_key } = describeRegistered(agent);
  const prepared = await prepareApproval(context, caller, body, agent_public_key);
  const zkKeyPair = body.enable_zk === true ? await context.keys.zkKeyPair() : null;
  const predicate = await buildPredicate(context, input, agent, prepared, zkKeyPair);
  const facts = {
    caller,
    hold: input.hold,
    predicate,
    keyId: predicate.key_id,
    agentId: agent?.id ?? uuidV7(context.clock().getTime(), context.random(16)),
    authorization: prepared.authorization,
    agent: agent && { id: agent.id, version: agent.version },
    isKeyUnproven: agent?.key_proven_at === null,
  };
  return createEntry(context, facts, zkKeyPair);
}

async function rebuildEntry(context: Context, input: AttestInput): Promise<AttestationItem> {
  context.agents.delete(slugKey(input.body.agent_slug));
  return makeItem(context, { ...input, caller: await readPrincipalAgain(context, input.caller) });
}

export async function attest(
  context: Context,
  input: AttestInput,
  first = makeItem(context, input),
): Promise<AttestResponse> {
  const placed = await submitSigned(context, attestationKind, (attempt) =>
    attempt === 1 ? first : rebuildEntry(context, input),
  );
  return buildResponse(placed);
}

type Wanted = PromiseSettledResult<AttestInput>;
type Attested = PromiseSettledResult<AttestResponse>;

const makeEach = (wanted: readonly Wanted[], make: (input: AttestInput) => Promise<AttestationItem>) =>
  Promise.allSettled(
    wanted.map(async (one) => {
      if (one.status === "rejected") throw one.reason;
      return make(one.value);
    }),
  );

/**
 * Each as if alone. They go into the log in this order: all are made before the first is submitted, from their agents as
 * they are now. One made from an older agent would be made again, and come after those behind it.
 */
async function attestEach(context: Context, wanted: readonly Wanted[]): Promise<Attested[]> {
  const slugs = wanted.flatMap((one) =>
    one.status === "fulfilled" ? [slugKey(one.value.body.agent_slug)] : [],
  );
  await Promise.all([...new Set(slugs)].map((slug) => readAgent(context, slug)));
  const made = await makeEach(wanted, (input) => makeItem(context, input));
  return Promise.allSettled(
    wanted.map(async (one, i) => {
      const first = made[i];
      if (one.status === "rejected") throw one.reason;
      if (first?.status !== "fulfilled") throw first?.reason;
      return attest(context, one.value, Promise.resolve(first.value));
    }),
  );
}

/** All of them or none. Each has the reason why it is refused, or that another one is. */
async function attestAll(context: Context, wanted: readonly Wanted[]): Promise<Attested[]> {
  const settled = await submitAllSigned(context, attestationKind, (attempt) =>
    makeEach(wanted, (input) => (attempt === 1 ? makeItem(context, input) : rebuildEntry(context, input))),
  );
  return settled.map((one) =>
    one.status === "fulfilled" ? { status: "fulfilled", value: buildResponse(one.value) } : one,
  );
}

/*
 * POST /v1/attest/batch: up to a hundred attestations in one request, each with the status and body that it would have
 * had alone. They go into the log in the order of the request (docs/wire.md has the exceptions).
 */

interface AttestBatchInput {
  caller: KeyPrincipal;
  body: AttestBatchBody;
  raw: JsonObject;
  requestId: string;
  idempotencyKey: string | null;
}

type Result = AttestBatchResponse["results"][number];

export const batchRoute = "/v1/attest/batch";

/**
 * A key for each entry, stored with its attestation: a request that was cut off in the middle goes on with the entries
 * that are missing. Each remembers the hash of the whole body.
 */
function begin(context: Context, input: AttestBatchInput): Promise<(IdempotencyStart | null)[]> {
  const { idempotencyKey, caller, body, raw } = input;
  if (idempotencyKey === null) return Promise.resolve(body.attestations.map(() => null));
  const all = Array.from({ length: maxBatchEntries }, (_, i) => `${idempotencyKey} ${i}`);
  const keys = all.slice(0, body.attestations.length);
  const place = { organizationId: caller.organizationId, route: batchRoute };
  return beginIdempotentEach(context, { ...place, keys, besides: all.slice(keys.length) }, raw);
}

function toInput({ caller, body }: AttestBatchInput, i: number, hold: IdempotencyHold | null): AttestInput {
  const raw = body.attestations[i] as JsonObject;
  const entry = validate(attestBody, raw, "validation_error");
  // The proof is made before the batch, and the batch is what all-or-nothing needs.
  if (body.all_or_nothing === true && entry.enable_zk === true)
    throw fieldError("validation_error", "enable_zk", "can't be combined with all_or_nothing");
  return { caller, body: entry, raw, hold };
}

function describeRefusal(context: Context, reason: unknown, requestId: string): Result {
  const { baseUrl } = context.settings;
  const { status, text } = answerProblem(reason, baseUrl, requestId, context.logger);
  return { status, body: JSON.parse(text ?? "null") as Problem };
}

/**
 * The entries that have no answer yet, recorded as `record` does it; those that aren't valid are refused like others. What
 * was held for a refused one is given back.
 */
export async function recordHeld(
  context: Context,
  starts: readonly (IdempotencyEntryStart | null)[],
  toInput: (at: number, hold: IdempotencyHold | null) => AttestInput,
  record = attestEach,
): Promise<Map<number, Attested>> {
  const holds = new Map(
    starts.flatMap((start, i) => (start?.kind === "held" ? [[i, start.hold] as const] : [])),
  );
  const stopRenewing = [...holds.values()].map((hold) => context.idempotencyLeases.keep(hold));
  const attested = new Map<number, Attested>();
  try {
    const open = [...starts.keys()].filter((i) => starts[i] === null || holds.has(i));
    const wanted = await Promise.allSettled(open.map(async (i) => toInput(i, holds.get(i) ?? null)));
    const made = open.length === 0 ? [] : await record(context, wanted);
    for (const [n, one] of made.entries()) attested.set(open[n] ?? -1, one);
    return attested;
  } finally {
    for (const stop of stopRenewing) stop();
    const refused = [...holds].filter(([i]) => attested.get(i)?.status !== "fulfilled");
    await releaseIdempotent(
      context,
      refused.map(([, hold]) => hold),
    );
  }
}

/** `attested`: the agents of what was recorded now, and not before with the same key. */
export async function attestBatch(
  context: Context,
  input: AttestBatchInput,
): Promise<AttestBatchResponse & { attested: string[] }> {
  const starts = await begin(context, input);
  const record = input.body.all_or_nothing === true ? attestAll : attestEach;
  const made = await recordHeld(context, starts, (i, hold) => toInput(input, i, hold), record);
  const results = starts.map((start, i): Result => {
    if (start?.kind === "replay") return { status: 201, body: JSON.parse(start.response) as AttestResponse };
    const one = made.get(i);
    return one?.status === "fulfilled"
      ? { status: 201, body: one.value }
      : describeRefusal(context, one?.reason, input.requestId);
  });
  const recorded = results.filter(({ status }) => status === 201).length;
  const attested = [...made.values()].flatMap((one) =>
    one.status === "fulfilled" ? [one.value.agent_slug] : [],
  );
  return { results, recorded, attested };
}
