/** POST /v1/authorizations/{id}/revoke: from the commit on, nothing can use what was approved. */
import { and, asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import { type Actor, type Principal, toActor } from "#lib/api/http/context";
import type { SentAssertion } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { authorizationRequests, grants } from "#lib/db/schema";
import { databaseNow, readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import type { LogEntry, LogEntryKind } from "#lib/log/sequencer/entry";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import {
  type ChangeContext,
  type ChangeFacts,
  changeAgent,
  changeKind,
  makeChange,
  Unchanged,
} from "#lib/services/agents/agent-changes";
import type { Context } from "#lib/services/approvals/context";
import { wakeupName } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  authorizationNotFound,
  findAuthorization,
  isOpen,
  isRevocable,
  markExpired,
  parseRequest,
} from "#lib/services/approvals/rows";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { requireCodeToRevoke } from "./confirmation-code";
import { type Denial, findOwn, makeDecision, undecided } from "./decide";
import { countApprover, type Enrolled, needsPasskey, proveApprover } from "./passkey-approval";
import { decisionKind, hasApproved } from "./store";

const { id, attestation_id } = authorizationRequests;

const alreadyUsed = () =>
  new AppError("already_used", "an attestation has used this approval already; it can't be taken back");

/** Runs under the row's lock: an attestation that uses it comes before, or finds it revoked. */
async function setRevoked(
  tx: Executor,
  requestId: string,
  at: Date,
  enrolled: Enrolled | null,
): Promise<AppError | null> {
  const refusal = enrolled && (await countApprover(tx, enrolled));
  if (refusal !== null) return refusal;
  const changed = await tx
    .update(authorizationRequests)
    .set({ revoked_at: at })
    .where(and(eq(id, requestId), isRevocable))
    .returning({ id });
  if (changed.length === 1) return null;
  const [row] = await tx.select({ attestation_id }).from(authorizationRequests).where(eq(id, requestId));
  return row?.attestation_id === null ? new Unchanged() : alreadyUsed();
}

function isTakenBack(row: AuthorizationRow): boolean {
  if (row.status !== "approved")
    throw new AppError(
      row.status === "pending" ? "authorization_pending" : `authorization_${row.status}`,
      `this authorization request is ${row.status}: there is no approval to take back`,
    );
  if (row.attestation_id !== null) throw alreadyUsed();
  return row.revoked_at !== null;
}

type Revocable = Pick<
  AuthorizationRow,
  "id" | "agent_id" | "organization_id" | "request_hash" | "callback_url"
>;

const describeRevocation = (
  row: Revocable,
  by: Pick<ChangeFacts, "actor" | "lockAndRecheckKey">,
  reason: string | null,
  enrolled: Enrolled | null = null,
): ChangeFacts => ({
  ...by,
  change: "authorization_revoked",
  agentId: row.agent_id,
  organizationId: row.organization_id,
  reason,
  request: { id: row.id, hash: hexEncode(row.request_hash) },
  apply: (tx, at) => setRevoked(tx, row.id, at, enrolled),
  subject: row.id,
  event: "authorization.revoked",
  announced: (changedAt) => ({ request_id: row.id, status: "approved", revoked_at: changedAt }),
  callbackUrl: row.callback_url,
});

async function revoke(
  context: Context,
  row: AuthorizationRow,
  by: Pick<ChangeFacts, "actor" | "lockAndRecheckKey">,
  reason: string | null,
  enrolled: Enrolled | null = null,
): Promise<void> {
  if (isTakenBack(row)) return;
  await changeAgent(context, describeRevocation(row, by, reason, enrolled));
  await context.wakeups.notify(wakeupName(row.id));
}

export async function revokeAuthorization(
  context: Context,
  requestId: string,
  principal: Principal,
  reason: string | null,
): Promise<void> {
  const row = await findOwn(context, requestId, principal, "revokes");
  const by = {
    actor: toActor(principal),
    lockAndRecheckKey: (tx: Executor) => lockAndRecheckKey(tx, principal, "stop"),
  };
  await revoke(context, row, by, reason);
}

async function proveOwnApproval(
  context: Context,
  row: AuthorizationRow,
  passkey: SentAssertion | null | undefined,
) {
  // A stranger with the link could neither approve nor deny this one, so the link alone takes nothing back either.
  if (!passkey) throw needsPasskey();
  const { record, enrolled } = await proveApprover(context, row, passkey, "revoke");
  if (!(await hasApproved(context.database.db, row.id, record.approver_id)))
    throw new AppError("forbidden", "only who approved this takes it back here");
  return { approverId: record.approver_id, enrolled };
}

export async function revokeByLink(
  context: Context,
  requestId: string,
  { code, ip, reason, passkey }: Denial,
): Promise<void> {
  const row = await findAuthorization(context.database, requestId);
  if (row === null) throw authorizationNotFound();
  const actor: Actor = { kind: "human", id: "approval link", ip };
  // First: a code that is asked for where there is nothing to take back would be the wrong answer.
  if (isTakenBack(row)) return;
  await requireCodeToRevoke(context, row, code, actor);
  if (parseRequest(row).required_approvers.length === 0) return revoke(context, row, { actor }, reason);
  const { approverId, enrolled } = await proveOwnApproval(context, row, passkey);
  const approver: Actor = { ...actor, id: `approver ${approverId}` };
  await revoke(context, row, { actor: approver }, reason, enrolled);
}

/*
 * Ends approvals whose fate isn't known. A restored backup has them as they were: used, taken back or denied since, they
 * would work again. The new log begins with their ends (lib/log/keys/new-epoch.ts), which agents' records hold like others.
 */

const isGrant = sql<boolean>`EXISTS (SELECT FROM ${grants} WHERE ${grants.request_id} = ${authorizationRequests.id})`;
const isOverGrant = sql`EXISTS (SELECT FROM ${grants}
  WHERE ${grants.request_id} = ${authorizationRequests.id} AND ${grants.expires_at} <= ${databaseNow})`;

/** Lapsed approvals don't come back; a claimed one can be attested later. */
const isUnknown = and(
  isRevocable,
  sql`(${authorizationRequests.claimed_at} IS NOT NULL OR ${authorizationRequests.usable_until} IS NULL
    OR ${authorizationRequests.usable_until} > ${databaseNow})`,
  sql`NOT ${isOverGrant}`,
);

export interface UnknownApprovals {
  approvals: number;
  grants: number;
  /** Number that nobody has decided, as far as this database knows. */
  waiting: number;
}

/** Approvals that {@link findUnknownApprovals} would end. */
export async function countUnknownApprovals(executor: Executor): Promise<UnknownApprovals> {
  const count = (condition: SQL | undefined) =>
    sql<number>`count(*) FILTER (WHERE ${condition})`.mapWith(Number);
  const [row] = await executor
    .select({
      approvals: count(and(isUnknown, sql`NOT ${isGrant}`)),
      grants: count(and(isUnknown, isGrant)),
      waiting: count(isOpen),
    })
    .from(authorizationRequests)
    .where(inArray(authorizationRequests.status, ["approved", "pending"]));
  return row ?? { approvals: 0, grants: 0, waiting: 0 };
}

const operator: Actor = { kind: "system", id: "new-epoch", ip: null };
const reason =
  "The service's database was restored from an older copy, so nobody knows whether this approval was used or taken back since.";

/** Approvals that end in one transaction, which holds the new log's head. */
const batchSize = 200;

interface Ending {
  kind: LogEntryKind<LogEntry>;
  item: LogEntry;
}

export async function findUnknownApprovals(context: ChangeContext, tx: Executor): Promise<Ending[]> {
  const { id, status, created_at } = authorizationRequests;
  const find = (condition: SQL | undefined) =>
    tx
      .select()
      .from(authorizationRequests)
      .where(condition)
      .orderBy(asc(created_at), asc(id))
      .limit(batchSize);
  const approved = await find(isUnknown);
  if (approved.length > 0)
    return approved.map((row) => ({
      kind: changeKind as LogEntryKind<LogEntry>,
      item: makeChange(context, describeRevocation(row, { actor: operator }, reason)),
    }));
  await markExpired(tx, eq(status, "pending"));
  const decidedAt = await readDatabaseTime(tx);
  return (await find(isOpen)).map((row) => ({
    kind: decisionKind as LogEntryKind<LogEntry>,
    item: makeDecision(context, row, { ...undecided, actor: operator, decidedAt, decision: "cancelled" }),
  }));
}
