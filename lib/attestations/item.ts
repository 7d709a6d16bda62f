/** An attestation on its way into the log: built and signed, but without an index yet. */
import { slugKey } from "#lib/agents/agents";
import type { Context } from "#lib/approvals/context";
import { base64Decode, sha256 } from "#lib/domain/bytes";
import type { ZkCredential, ZkProof } from "#lib/domain/presentation";
import type { ActionPredicate } from "#lib/domain/statement";
import type { IdempotencyHold } from "#lib/door/idempotency";
import type { KeyPrincipal } from "#lib/door/principal";
import type { LogItem } from "#lib/log/batch";

export interface AttestationItem extends LogItem {
  context: Context;
  caller: KeyPrincipal;
  hold: IdempotencyHold | null;
  predicate: ActionPredicate;
  payload: Uint8Array;
  payloadHash: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  authorization: { requestId: string; object: Uint8Array } | null;
  /** The public proof, and the credential that goes to the caller alone. */
  zk: { zkProof: ZkProof; credential: ZkCredential } | null;
  /** Whose it is, as it was looked up; null for a slug that nobody has claimed. */
  agent: { id: string; version: string } | null;
  /** The agent's registered key has not verified anything before. */
  isKeyUnproven: boolean;
}

/** What the item is besides the process that it is in; structured clone can carry it. */
export type AttestationFacts = Omit<AttestationItem, "context" | "forget">;

/** Refused because something has changed: what the item was made from is looked up again. */
export function toItem(context: Context, facts: AttestationFacts): AttestationItem {
  const forget = () => {
    context.callers.forget(facts.caller.keyId);
    context.agents.forget(slugKey(slugOf(facts)));
  };
  return { ...facts, context, forget };
}

export function factsOf({ context: _, forget: __, ...facts }: AttestationItem): AttestationFacts {
  return facts;
}

/** Only verified signatures count: anyone can send bytes that verify under nothing. */
export function agentSignatureHash({ predicate }: AttestationItem): Uint8Array | null {
  const { agent_signature, verdicts } = predicate;
  return agent_signature !== undefined && verdicts.agent_authenticated
    ? sha256(base64Decode(agent_signature))
    : null;
}

export const slugOf = ({ predicate }: Pick<AttestationItem, "predicate">) =>
  String(predicate.request["agent_slug"]);

export function daysOf(items: AttestationItem[]): Map<string, { organizationId: string; day: string }> {
  return new Map(
    items.map(({ caller, predicate }) => {
      const day = predicate.timestamp.slice(0, 10);
      return [`${caller.organizationId} ${day}`, { organizationId: caller.organizationId, day }];
    }),
  );
}

export function usageKey({ caller, predicate }: AttestationItem): string {
  return `${caller.organizationId} ${predicate.timestamp.slice(0, 10)}`;
}
