/** An attestation on its way into the log: put together, but without a place yet, and so without a signature. */

import type { IdempotencyHold } from "#lib/api/http/idempotency-leases";
import type { KeyPrincipal } from "#lib/api/http/principal";
import { shareOf } from "#lib/jobs/fair-share";
import {
  type LogItem,
  type Place,
  type Preparation,
  requirePlace,
  SigningKeyChanged,
} from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { base64Decode, sha256 } from "#lib/protocol/encoding/bytes";
import { type ZkKeyPair, zkKeyId } from "#lib/protocol/presentation/disclosure";
import type { ZkCredential, ZkProof } from "#lib/protocol/presentation/presentation";
import { clientNumberOf } from "#lib/protocol/statement/client-number";
import {
  type ActionPredicate,
  buildActionStatement,
  type UnplacedPredicate,
} from "#lib/protocol/statement/statement";
import { slugKey } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import type { UsedAuthorization } from "#lib/services/approvals/use/embed";

/** Facts that don't depend on the process; structured clone can carry them. */
export interface AttestationFacts {
  caller: KeyPrincipal;
  hold: IdempotencyHold | null;
  predicate: UnplacedPredicate;
  /** The key that signs it. */
  keyId: string;
  /** The BBS key that the predicate names, if it names one. */
  zkKeyId?: string | undefined;
  /** The agent's, or the one that it makes by being the first to use the slug. */
  agentId: string;
  authorization: UsedAuthorization | null;
  /** Whose it is, as it was looked up; null for an unclaimed slug. */
  agent: { id: string; version: string } | null;
  /** The agent's registered key has not verified anything before. */
  isKeyUnproven: boolean;
}

export interface AttestationItem extends AttestationFacts, LogItem {
  context: Context;
  agentId: string;
  /** The public proof, and the credential that goes to the caller alone; made for its place. */
  zk: { zkProof: ZkProof; credential: ZkCredential } | null;
}

type HasPredicate = Pick<AttestationFacts, "predicate">;

/** With the verdict that only the batch knows. */
export function predicateJudgedAt({ predicate }: HasPredicate, place: Place | null): UnplacedPredicate {
  const clientGap = place?.clientGap ?? null;
  if (clientGap === null) return predicate;
  return { ...predicate, verdicts: { ...predicate.verdicts, client_gap: clientGap } };
}

/** Predicate to sign, with the position in its agent's record. */
function predicateAt(item: HasPredicate, place: Place | null): ActionPredicate {
  return { ...predicateJudgedAt(item, place), record: requirePlace(place).record };
}

/** The proof is over the payload, which has its place in it: made off this thread, before the batch. */
function prepareProof(item: AttestationItem, keyPair: ZkKeyPair): Preparation {
  const share = shareOf("other", { organization: item.caller.organizationId });
  let preparedFor: Place | null = null;
  return {
    get place() {
      return preparedFor;
    },
    make: async (place) => {
      const payload = buildActionStatement(predicateAt(item, place));
      item.zk = await item.context.pool.run("issueZkProof", { keyPair, payload }, share);
      preparedFor = place;
    },
  };
}

/** Throws SigningKeyChanged if the keys at hand are not those that the statement names. */
export async function toItem(context: Context, facts: AttestationFacts): Promise<AttestationItem> {
  const { signer } = context.keys;
  const zkKeyPair = facts.zkKeyId === undefined ? null : await context.keys.zkKeyPair();
  const isKeyAtHand = zkKeyPair === null || zkKeyId(zkKeyPair.publicKey) === facts.zkKeyId;
  if (signer.keyId !== facts.keyId || !isKeyAtHand) throw new SigningKeyChanged();
  // Not by spreading: an object that is spread and gets ten more properties takes V8 sixty times as long.
  const item: AttestationItem = Object.assign(factsOf(facts), {
    context,
    zk: null,
    isListed: facts.predicate.is_public,
    owner: facts.caller.organizationId,
    client: clientNumberOf(facts.predicate.request),
    seal: (place: Place | null) => sealStatement(signer, buildActionStatement(predicateAt(facts, place))),
    forget: () => {
      context.callers.forget(facts.caller.keyId);
      context.agents.delete(slugKey(slugOf(facts)));
    },
  });
  if (zkKeyPair !== null) item.preparation = prepareProof(item, zkKeyPair);
  return item;
}

export function factsOf(item: AttestationFacts): AttestationFacts {
  const { caller, hold, predicate, keyId, zkKeyId, agentId, authorization, agent, isKeyUnproven } = item;
  return { caller, hold, predicate, keyId, zkKeyId, agentId, authorization, agent, isKeyUnproven };
}

/** Only verified signatures count: anyone can send bytes that verify under nothing. */
export function agentSignatureHash({ predicate }: AttestationItem): Uint8Array | null {
  const { agent_signature, verdicts } = predicate;
  return agent_signature !== undefined && verdicts.agent_authenticated
    ? sha256(base64Decode(agent_signature))
    : null;
}

export const slugOf = ({ predicate }: Pick<AttestationFacts, "predicate">) =>
  String(predicate.request["agent_slug"]);
