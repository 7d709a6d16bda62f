/**
 * POST /v1/attest. What the statement says is put together first. The log's sequencer gives it its place, has it signed
 * there and stores it (store.ts) if everything that it was made from still holds.
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import type { IdempotencyHold } from "#lib/api/http/idempotency";
import type { AttestBody, AttestResponse } from "#lib/api/schemas/attest";
import { submitAllSigned, submitSigned } from "#lib/log/sequencer/entry";
import { base64Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type ZkKeyPair, zkPredicate } from "#lib/protocol/presentation/disclosure";
import { deriveIdentityChecks } from "#lib/protocol/statement/identity-checks";
import { signedRequest } from "#lib/protocol/statement/signed-request";
import type { TraceMark, UnplacedPredicate } from "#lib/protocol/statement/statement";
import { numberedRandom } from "#lib/protocol/tlog/witness-policy";
import {
  describeRegistered,
  type FoundAgent,
  findAgent,
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
  const found = await findAgent(database.db, slug);
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
export type Attested = PromiseSettledResult<AttestResponse>;

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
export async function attestEach(context: Context, wanted: readonly Wanted[]): Promise<Attested[]> {
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
export async function attestAll(context: Context, wanted: readonly Wanted[]): Promise<Attested[]> {
  const settled = await submitAllSigned(context, attestationKind, (attempt) =>
    makeEach(wanted, (input) => (attempt === 1 ? makeItem(context, input) : rebuildEntry(context, input))),
  );
  return settled.map((one) =>
    one.status === "fulfilled" ? { status: "fulfilled", value: buildResponse(one.value) } : one,
  );
}
