/** Signing, sealing and storing a decision with its leaf: people's decisions, and those made at once. */
import { eq } from "drizzle-orm";
import type { Actor } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { authorizationRequests } from "#lib/db/schema";
import { type LogItem, type Place, type Placed, requirePlace } from "#lib/log/sequencer/item";
import { type SealedStatement, sealStatement } from "#lib/log/sequencer/sign-statement";
import type { Signer } from "#lib/log/signing/signer";
import {
  type ApprovalRequest,
  assembleAuthorization,
  authorizationSigningBytes,
  buildAuthorization,
  type DecisionFacts,
} from "#lib/protocol/approval/approval";
import { buildDecisionStatement, type Decision } from "#lib/protocol/approval/approval-decision";
import { base64Encode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { recordAudit } from "#lib/services/accounts/audit";
import type { Context } from "#lib/services/approvals/context";

/** The signed object's canonical bytes, and until when it can be used. */
export interface SignedApproval {
  object: Uint8Array;
  usableUntil: string | null;
}

export function signApproval(
  signer: Signer,
  request: ApprovalRequest,
  facts: Omit<DecisionFacts, "key_id">,
): SignedApproval {
  const unsigned = buildAuthorization(request, { ...facts, key_id: signer.keyId });
  const signature = base64Encode(signer.sign(authorizationSigningBytes(unsigned)));
  const object = canonicalBytes(assembleAuthorization(unsigned, signature) as unknown as JsonObject);
  return { object, usableUntil: unsigned.usable_until };
}

interface Made {
  decision: Decision["decision"];
  /** Hex. */
  requestHash: string;
  decidedAt: Date;
  /** Canonical bytes of the signed object, for an approval. */
  object: Uint8Array | null;
}

export function sealDecision(
  signer: Signer,
  { decision, requestHash, decidedAt, object }: Made,
  place: Place | null,
): SealedStatement {
  const statement = buildDecisionStatement({
    decision,
    request_hash: requestHash,
    decided_at: decidedAt.toISOString(),
    key_id: signer.keyId,
    authorization_hash: object === null ? null : hexEncode(sha256(object)),
    record: requirePlace(place).record,
  });
  return sealStatement(signer, statement);
}

export interface DecisionLeaf extends LogItem {
  context: Pick<Context, "clock" | "random">;
  organizationId: string;
}

/** Where the decision is in the log, and in the organization's audit log. */
export async function storeDecision(
  tx: Executor,
  { item, logId, receipt, sealed, place }: Placed<DecisionLeaf>,
  { requestId, decision, actor }: Pick<Made, "decision"> & { requestId: string; actor: Actor },
): Promise<void> {
  await tx
    .update(authorizationRequests)
    .set({
      decision_payload: sealed.payload,
      decision_signature: sealed.signature,
      decision_envelope_signature: sealed.envelopeSignature,
      decision_key_id: item.keyId,
      decision_log: JSON.stringify({ ...receipt, record: place?.record ?? null }),
      log_id: logId,
      leaf_index: receipt.index,
    })
    .where(eq(authorizationRequests.id, requestId));
  await recordAudit(item.context, tx, {
    organizationId: item.organizationId,
    actor,
    action: `authorization.${decision}`,
    subject: requestId,
  });
}
