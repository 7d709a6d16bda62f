/**
 * What a decision does in the sequencer's transaction: the one atomic statement that changes the state, under the
 * request's row lock, then its leaf's place. Whoever comes second finds the request not open.
 */

import { and, asc, eq } from "drizzle-orm";
import { recordAudit } from "#lib/accounts/audit";
import type { Approval } from "#lib/core/approval/approval";
import type { Decision } from "#lib/core/approval/approval-decision";
import type { Executor } from "#lib/db/client";
import { approvals, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Actor } from "#lib/http/principal";
import type { LogItem, LogItemKind, Placed } from "#lib/log/sequencer/item";
import type { Context } from "./context";
import { isOpen } from "./rows";

export interface NewApproval {
  id: string;
  requestId: string;
  worldAction: string;
  record: Approval;
  /** The approvals that were there when this one was judged; any other set means judging again. */
  besides: readonly string[];
}

export interface DecisionItem extends LogItem {
  context: Context;
  requestId: string;
  organizationId: string;
  actor: Actor;
  decision: Decision["decision"];
  decidedAt: Date;
  denialReason: string | null;
  /** The last approval and the signed object's canonical bytes. */
  approved: { approval: NewApproval; object: Uint8Array } | null;
}

/** Another approval came in between. */
export class ApprovalsMoved extends AppError {
  constructor() {
    super("service_unavailable", "another approval was being stored at the same moment; try again");
  }
}

export const notPending = (what = "is no longer pending") =>
  new AppError("authorization_not_pending", `this authorization request ${what}`);

export async function readApprovals(executor: Executor, requestId: string) {
  const rows = await executor
    .select()
    .from(approvals)
    .where(eq(approvals.request_id, requestId))
    .orderBy(asc(approvals.created_at), asc(approvals.id));
  return rows.map((row) => ({ id: row.id, record: JSON.parse(row.record) as Approval }));
}

/** Locks the request if it can still be decided. */
export async function lockOpen(tx: Executor, requestId: string): Promise<boolean> {
  const rows = await tx
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .where(and(eq(authorizationRequests.id, requestId), isOpen))
    .for("update");
  return rows.length === 1;
}

/** False if the approvals are not those that the new one was judged beside. Needs the row's lock. */
export async function standsBeside(tx: Executor, approval: NewApproval): Promise<boolean> {
  const present = await readApprovals(tx, approval.requestId);
  return present.map(({ id }) => id).join() === approval.besides.join();
}

/** The unique index on environment, action and nullifier is the last word on "each human once". */
export async function insertApproval(tx: Executor, approval: NewApproval): Promise<void> {
  const { record } = approval;
  await tx.insert(approvals).values({
    id: approval.id,
    request_id: approval.requestId,
    environment: record.environment,
    world_action: approval.worldAction,
    nullifier_hash: record.nullifier_hash,
    record: JSON.stringify(record),
    created_at: new Date(record.verified_at),
  });
}

async function admitOne(tx: Executor, item: DecisionItem): Promise<AppError | null> {
  if (!(await lockOpen(tx, item.requestId))) return notPending();
  if (item.approved !== null && !(await standsBeside(tx, item.approved.approval)))
    return new ApprovalsMoved();
  const changed = await tx
    .update(authorizationRequests)
    .set({
      status: item.decision,
      decided_at: item.decidedAt,
      denial_reason: item.denialReason,
      ...(item.approved === null
        ? {}
        : {
            human_authorization: item.approved.object,
            protocol_version: item.approved.approval.record.protocol_version,
          }),
    })
    .where(and(eq(authorizationRequests.id, item.requestId), isOpen))
    .returning({ id: authorizationRequests.id });
  if (changed.length !== 1) return notPending();
  if (item.approved !== null) await insertApproval(tx, item.approved.approval);
  return null;
}

async function admit(tx: Executor, items: DecisionItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const item of items) verdicts.push(await admitOne(tx, item));
  return verdicts;
}

async function store(tx: Executor, placed: Placed<DecisionItem>[]): Promise<void> {
  for (const { item, logId, receipt, sealed, place } of placed) {
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
      .where(eq(authorizationRequests.id, item.requestId));
    await recordAudit(item.context, tx, {
      organizationId: item.organizationId,
      actor: item.actor,
      action: `authorization.${item.decision}`,
      subject: item.requestId,
    });
  }
}

export const decisionKind: LogItemKind<DecisionItem> = { kind: "decision", admit, store };
