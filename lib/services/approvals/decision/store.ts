/**
 * Stores a decision in the sequencer's transaction: one atomic statement changes the state, under the request's row
 * lock, then its leaf's place is stored. The second of two finds the request not open.
 */
import { and, eq, inArray, isNotNull } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { agents, approvals, approvers, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import {
  type LogEntry,
  type LogEntryKind,
  type Place,
  type Placed,
  requirePlace,
  type UnsignedStatement,
} from "#lib/log/sequencer/entry";
import type { Signer } from "#lib/log/signing/signing-keys";
import {
  type Approval,
  type ApprovalRequest,
  assembleAuthorization,
  authorizationSigningBytes,
  buildAuthorization,
  type DecisionFacts,
  isPasskeyApproval,
  isWorldIdApproval,
} from "#lib/protocol/approval/approval";
import { buildDecisionStatement, type Decision } from "#lib/protocol/approval/approval-decision";
import type { DecidedBy } from "#lib/protocol/approval/decided-by";
import { base64Encode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { holdPeople } from "#lib/services/accounts/approvers";
import { recordAudit } from "#lib/services/accounts/audit";
import { agentFrozen } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import { openGrant } from "#lib/services/approvals/request/evaluate-policy";
import { areRulesStill, RulesMoved } from "#lib/services/approvals/request/rules-now";
import { isOpen, readApprovals } from "#lib/services/approvals/rows";
import { countApprover, type Enrolled, listHeldPeople } from "./passkey-approval";

/* Signing, sealing and storing a decision with its leaf: people's decisions, and those made at once. */

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
  requestHash: string;
  decidedAt: Date;
  /** Canonical bytes of the signed object, for an approval. */
  object: Uint8Array | null;
  questionsHash?: string | undefined;
}

export function buildDecision(
  signer: Signer,
  { decision, requestHash, decidedAt, object, questionsHash }: Made,
  place: Place | null,
): UnsignedStatement {
  const payload = buildDecisionStatement({
    decision,
    request_hash: requestHash,
    decided_at: decidedAt.toISOString(),
    key_id: signer.keyId,
    authorization_hash: object === null ? null : hexEncode(sha256(object)),
    ...(questionsHash !== undefined && { questions_hash: questionsHash }),
    record: requirePlace(place).record,
  });
  return { signer, payload };
}

export interface DecisionLeaf extends LogEntry {
  context: Pick<Context, "clock" | "random">;
  organizationId: string;
}

export async function storeDecision(
  tx: Executor,
  { item, logId, receipt, sealed, place }: Placed<DecisionLeaf>,
  { requestId, decision, actor }: Pick<Made, "decision"> & { requestId: string; actor: Actor },
  isRead = false,
): Promise<typeof authorizationRequests.$inferSelect | null> {
  const deciding = tx
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
  const audited = recordAudit(item.context, tx, {
    organizationId: item.organizationId,
    actor,
    action: `authorization.${decision}`,
    subject: requestId,
  });
  const [[row = null]] = await Promise.all([
    isRead ? deciding.returning() : deciding.then(() => []),
    audited,
  ]);
  return row;
}

/** Approval of one person: a World ID proof, an enrolled approver's passkey, or both. */
export interface NewApproval {
  id: string;
  requestId: string;
  worldAction: string;
  environment: WorldEnvironment;
  records: Approval[];
  enrolled: Enrolled | null;
  /** The approvals that were there when this one was judged; any other set means judging again. */
  besides: readonly string[];
  /** The newest version of the rules then; any other means judging again too. */
  rulesVersion: number;
}

export interface DecisionItem extends DecisionLeaf {
  requestId: string;
  agentId: string;
  actor: Actor;
  decision: Decision["decision"];
  decidedAt: Date;
  denialReason: string | null;
  /** Questions as hashed; any other ones mean deciding again. */
  questions: string | null;
  deniedBy: Enrolled | null;
  decidedBy: DecidedBy | null;
  /** Set with the last approval. */
  approved: (SignedApproval & { approval: NewApproval }) | null;
}

export class ConcurrentApproval extends AppError {
  constructor() {
    super("service_unavailable", "another approval was being stored at the same moment; try again");
  }
}

export const notPending = (what = "is no longer pending") =>
  new AppError("authorization_not_pending", `this authorization request ${what}`);

export async function hasApproved(
  executor: Executor,
  requestId: string,
  approverId: string,
): Promise<boolean> {
  const isTheirs = and(eq(approvals.request_id, requestId), eq(approvals.approver_id, approverId));
  return (await executor.select({ id: approvals.id }).from(approvals).where(isTheirs)).length > 0;
}

/** Null if it isn't open. */
export async function lockOpen(
  tx: Executor,
  requestId: string,
): Promise<{ questions: string | null } | null> {
  const [row] = await tx
    .select({ questions: authorizationRequests.questions })
    .from(authorizationRequests)
    .where(and(eq(authorizationRequests.id, requestId), isOpen))
    .for("update");
  return row ?? null;
}

/** False if the approvals are not those that the new one was judged beside. Needs the row's lock. */
export async function standsBeside(tx: Executor, approval: NewApproval): Promise<boolean> {
  const present = await readApprovals(tx, approval.requestId);
  return present.map(({ id }) => id).join() === approval.besides.join();
}

/** The unique indexes on environment, action and nullifier, and on the approver, are the last word on "each human once". */
export async function insertApproval(tx: Executor, approval: NewApproval): Promise<void> {
  const { records } = approval;
  const [first] = records;
  if (first === undefined) throw new Error("an approval of nobody");
  await tx.insert(approvals).values({
    id: approval.id,
    request_id: approval.requestId,
    environment: approval.environment,
    world_action: approval.worldAction,
    nullifier_hash: records.find(isWorldIdApproval)?.nullifier_hash ?? null,
    approver_id: records.find(isPasskeyApproval)?.approver_id ?? null,
    records: JSON.stringify(records),
    created_at: new Date(first.verified_at),
  });
}

/** Certain under the log head's lock, which a freeze takes too. */
export async function isFrozen(tx: Executor, agentId: string): Promise<boolean> {
  const isIt = and(eq(agents.id, agentId), isNotNull(agents.frozen_at));
  return (await tx.select({ id: agents.id }).from(agents).where(isIt)).length === 1;
}

/** Fixed by the first World ID proof. */
export const readProtocolVersion = ({ records }: NewApproval) =>
  records.find(isWorldIdApproval)?.protocol_version ?? null;

const findEnrolled = ({ approved, deniedBy }: DecisionItem) => approved?.approval.enrolled ?? deniedBy;

async function admitOne(tx: Executor, item: DecisionItem): Promise<AppError | null> {
  const open = await lockOpen(tx, item.requestId);
  if (open === null) return notPending();
  if (open.questions !== item.questions) return new ConcurrentApproval();
  if (item.approved !== null && (await isFrozen(tx, item.agentId))) return agentFrozen();
  if (item.approved !== null && !(await standsBeside(tx, item.approved.approval)))
    return new ConcurrentApproval();
  if (
    item.approved !== null &&
    !(await areRulesStill(tx, item.requestId, item.approved.approval.rulesVersion))
  )
    return new RulesMoved();
  const enrolled = findEnrolled(item);
  const refusal = enrolled && (await countApprover(tx, enrolled));
  if (refusal !== null) return refusal;
  const changed = await tx
    .update(authorizationRequests)
    .set({
      status: item.decision,
      decided_at: item.decidedAt,
      decided_by: item.decidedBy && JSON.stringify(item.decidedBy),
      denial_reason: item.denialReason,
      denied_by: item.deniedBy?.approverId ?? null,
      ...(item.approved === null
        ? {}
        : {
            human_authorization: item.approved.object,
            usable_until: item.approved.usableUntil === null ? null : new Date(item.approved.usableUntil),
            protocol_version: readProtocolVersion(item.approved.approval),
          }),
    })
    .where(and(eq(authorizationRequests.id, item.requestId), isOpen))
    .returning({ id: authorizationRequests.id });
  if (changed.length !== 1) return notPending();
  if (item.approved !== null) {
    await insertApproval(tx, item.approved.approval);
    await openGrant(tx, item.agentId, item.approved.object);
  }
  return null;
}

/** Requests before people, of the whole batch: who gives one approval of several has a request, and waits for the person. */
async function lockAll(tx: Executor, items: DecisionItem[]): Promise<void> {
  const { id } = authorizationRequests;
  const areThey = inArray(
    id,
    items.map(({ requestId }) => requestId),
  );
  await tx.select({ id }).from(authorizationRequests).where(and(areThey, isOpen)).orderBy(id).for("update");
  const people = items.flatMap((item) => {
    const enrolled = findEnrolled(item);
    return enrolled ? listHeldPeople(enrolled) : [];
  });
  if (people.length > 0) await holdPeople(tx, inArray(approvers.id, people));
}

async function admit(tx: Executor, items: DecisionItem[]): Promise<(AppError | null)[]> {
  if (items.length > 1) await lockAll(tx, items);
  const verdicts: (AppError | null)[] = [];
  for (const item of items) verdicts.push(await admitOne(tx, item));
  return verdicts;
}

async function store(tx: Executor, placed: Placed<DecisionItem>[]): Promise<void> {
  for (const one of placed) await storeDecision(tx, one, one.item);
}

export const decisionKind: LogEntryKind<DecisionItem> = { kind: "decision", admit, store };
