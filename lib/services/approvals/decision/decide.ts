/** Decisions: each is one atomic change of state, a signed statement and a leaf of the log. */

import { type Actor, actorOf, isOwnerOf, mayReach, type Principal } from "#lib/api/http/principal";
import type { SentAssertion } from "#lib/api/schemas/approval-view";
import { readDatabaseTime } from "#lib/db/database-time";
import { AppError } from "#lib/errors";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import type { DecidedBy } from "#lib/protocol/approval/decided-by";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import type { ChangeContext } from "#lib/services/agents/agent-changes";
import { agentFrozen } from "#lib/services/agents/freeze";
import type { Context } from "#lib/services/approvals/context";
import { wakeupName } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  authorizationNotFound,
  findAuthorization,
  parseRequest,
} from "#lib/services/approvals/rows";
import { holdCaller } from "#lib/services/keys/hold-caller";
import { requireCode } from "./confirmation-code";
import { type Enrolled, needsPasskey, proveApprover } from "./enrolled";
import { sealDecision } from "./logged-decision";
import { type DecisionItem, decisionKind, notPending } from "./store";

type Facts = Pick<
  DecisionItem,
  "actor" | "holdCaller" | "decision" | "decidedAt" | "decidedBy" | "deniedBy" | "denialReason" | "approved"
>;

export function makeDecision(
  context: ChangeContext,
  row: Pick<AuthorizationRow, "id" | "request_hash" | "organization_id" | "agent_id">,
  facts: Facts,
): DecisionItem {
  const { signer } = context.keys;
  const made = { ...facts, requestHash: hexEncode(row.request_hash), object: facts.approved?.object ?? null };
  return {
    ...facts,
    context,
    requestId: row.id,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    keyId: signer.keyId,
    seal: (place) => sealDecision(signer, made, place),
  };
}

/** Makes the facts again if the signing key was rotated in between: they may hold a signature of their own. */
export async function decide(context: Context, row: AuthorizationRow, makeFacts: () => Facts): Promise<void> {
  await submitSigned(context, decisionKind, async () => makeDecision(context, row, makeFacts()));
  await context.wakeups.notify(wakeupName(row.id));
}

function requirePending(row: AuthorizationRow): AuthorizationRow {
  if (row.status !== "pending") throw notPending(`is ${row.status}`);
  return row;
}

/** The request if it can be decided; 409 with its state otherwise. */
export async function findOpen(context: Context, requestId: string): Promise<AuthorizationRow> {
  const row = await findAuthorization(context.database, requestId);
  if (row === null) throw authorizationNotFound();
  return requirePending(row);
}

/** The same for an approval, which a frozen agent doesn't get. */
export async function findApprovable(context: Context, requestId: string): Promise<AuthorizationRow> {
  const row = await findOpen(context, requestId);
  if (row.agentFrozenAt !== null) throw agentFrozen();
  return row;
}

async function deny(
  context: Context,
  row: AuthorizationRow,
  actor: Actor,
  denialReason: string | null,
  deniedBy: Enrolled | null = null,
): Promise<void> {
  const decidedAt = await readDatabaseTime(context.database.db);
  const decidedBy: DecidedBy = { kind: "people" };
  const facts = { actor, decidedAt, decidedBy, deniedBy, denialReason, approved: null };
  await decide(context, row, () => ({ ...facts, decision: "denied" }));
}

export const undecided = { decidedBy: null, deniedBy: null, denialReason: null, approved: null };

/** Without `holdCaller`, it is the service that cancels. */
export async function cancel(
  context: Context,
  row: AuthorizationRow,
  actor: Actor,
  holdCaller?: Facts["holdCaller"],
): Promise<void> {
  const decidedAt = await readDatabaseTime(context.database.db);
  const facts = { ...undecided, actor, holdCaller, decidedAt };
  await decide(context, row, () => ({ ...facts, decision: "cancelled" }));
}

/** The request that somebody with the link may decide; throws if the page must ask for a code and this is not it. */
export async function findDecidable(
  context: Context,
  requestId: string,
  { code, ip }: { code: string | null | undefined; ip: string },
): Promise<{ row: AuthorizationRow; actor: Actor }> {
  const row = await findOpen(context, requestId);
  const actor: Actor = { kind: "human", id: "approval link", ip };
  await requireCode(context, row, code, { actor, cancel: () => cancel(context, row, actor) });
  return { row, actor };
}

export interface Denial {
  reason: string | null;
  code: string | null | undefined;
  passkey: SentAssertion | null | undefined;
  ip: string;
}

export async function denyAuthorization(
  context: Context,
  requestId: string,
  { reason, passkey, ...tried }: Denial,
): Promise<void> {
  const { row, actor } = await findDecidable(context, requestId, tried);
  if (parseRequest(row).required_approvers.length === 0) return deny(context, row, actor, reason);
  // A link that leaks neither approves nor blocks.
  if (!passkey) throw needsPasskey();
  const { record, enrolled } = await proveApprover(context, row, passkey, "deny");
  const approver: Actor = { ...actor, id: `approver ${record.approver_id}` };
  await deny(context, row, approver, reason, enrolled);
}

/** Only its own organization's: any other id is one that does not exist. */
export async function findOwn(
  context: Context,
  requestId: string,
  principal: Principal,
  verb: "cancels" | "claims" | "repeats" | "revokes",
): Promise<AuthorizationRow> {
  const row = await findAuthorization(context.database, requestId);
  if (row === null || !isOwnerOf(principal, row)) throw authorizationNotFound();
  if (!mayReach(principal, "authorize", row))
    throw new AppError("insufficient_scope", `a key with the scope hook ${verb} only what it asked for`);
  return row;
}

export async function cancelAuthorization(
  context: Context,
  requestId: string,
  principal: Principal,
): Promise<void> {
  const row = await findOwn(context, requestId, principal, "cancels");
  await cancel(context, requirePending(row), actorOf(principal), (tx) => holdCaller(tx, principal));
}
