/** Decisions: each is one atomic change of state, a signed statement and a leaf of the log. */

import { and, eq } from "drizzle-orm";
import { type Actor, mayReach, ownsRow, type Principal, toActor } from "#lib/api/http/context";
import type { SentAssertion } from "#lib/api/schemas/approval-view";
import { authorizationRequests } from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { submitSigned } from "#lib/log/sequencer/entry";
import {
  type Approval,
  type ApprovalRequest,
  bindRequest,
  findEnvironment,
  isPasskeyApproval,
  isWorldIdApproval,
  listPeople,
  type PasskeyApproval,
  type WorldIdApproval,
} from "#lib/protocol/approval/approval";
import { fillPlaces } from "#lib/protocol/approval/assign-groups";
import type { DecidedBy } from "#lib/protocol/approval/decided-by";
import type { PlantedOutcome } from "#lib/protocol/approval/planted";
import { hexEncode, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { Derivation } from "#lib/protocol/policy/suggest";
import { recordAudit } from "#lib/services/accounts/audit";
import type { ChangeContext } from "#lib/services/agents/agent-changes";
import { agentFrozen } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import { wakeupName } from "#lib/services/approvals/read";
import { areRulesStill, judgeByRulesNow, RulesMoved } from "#lib/services/approvals/request/rules-now";
import {
  type AuthorizationRow,
  authorizationNotFound,
  findAuthorization,
  hashAsked,
  isOpen,
  parseRequest,
  readApprovals,
  readOriginal,
} from "#lib/services/approvals/rows";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { followsStill } from "#lib/services/policies/describe-request";
import { requireCode } from "./confirmation-code";
import {
  countApprover,
  type Enrolled,
  needsPasskey,
  type ProvenApprover,
  proveApprover,
  readAmenderGroups,
} from "./passkey-approval";
import { openPlanted } from "./planted";
import {
  buildDecision,
  ConcurrentApproval,
  type DecisionItem,
  decisionKind,
  insertApproval,
  isFrozen,
  lockOpen,
  type NewApproval,
  notPending,
  readProtocolVersion,
  signApproval,
  standsBeside,
} from "./store";

type Facts = Pick<
  DecisionItem,
  | "actor"
  | "lockAndRecheckKey"
  | "decision"
  | "decidedAt"
  | "decidedBy"
  | "deniedBy"
  | "denialReason"
  | "approved"
>;

export function makeDecision(
  context: ChangeContext,
  row: Pick<
    AuthorizationRow,
    "id" | "request_hash" | "organization_id" | "agent_id" | "questions" | "context_salt"
  >,
  facts: Facts,
): DecisionItem {
  const { signer } = context.keys;
  const made = {
    ...facts,
    requestHash: hexEncode(row.request_hash),
    object: facts.approved?.object ?? null,
    questionsHash: hashAsked(row),
  };
  return {
    ...facts,
    context,
    requestId: row.id,
    organizationId: row.organization_id,
    agentId: row.agent_id,
    questions: row.questions,
    keyId: signer.keyId,
    build: (place) => buildDecision(signer, made, place),
  };
}

/** Makes the facts again if the signing key was rotated in between: they may hold a signature of their own. */
async function decide(context: Context, row: AuthorizationRow, makeFacts: () => Facts): Promise<void> {
  await submitSigned(context, decisionKind, async () => makeDecision(context, row, makeFacts()));
  await context.wakeups.notify(wakeupName(row.id));
}

/** Decides again if somebody asked or answered a question in between: the decision covers them. */
async function endUnapproved(context: Context, row: AuthorizationRow, facts: Facts): Promise<void> {
  for (let open = row, attempt = 1; ; attempt += 1)
    try {
      return await decide(context, open, () => facts);
    } catch (error) {
      if (!(error instanceof ConcurrentApproval) || attempt === maxAttempts) throw error;
      open = await findOpen(context, row.id);
    }
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

export async function findApprovable(context: Context, requestId: string): Promise<AuthorizationRow> {
  const row = await findOpen(context, requestId);
  if (row.agentFrozenAt !== null) throw agentFrozen();
  return row;
}

/** Stores nothing of who decided, or what they said. */
export async function endPlanted(
  context: Context,
  { id }: AuthorizationRow,
  outcome: PlantedOutcome,
  enrolled: Enrolled | null,
): Promise<void> {
  await openPlanted(context, id, outcome, { enrolled });
  await context.wakeups.notify(wakeupName(id));
}

async function deny(
  context: Context,
  row: AuthorizationRow,
  actor: Actor,
  denialReason: string | null,
  deniedBy: Enrolled | null = null,
): Promise<void> {
  if (row.planted) return endPlanted(context, row, "denied", deniedBy);
  const decidedAt = await readDatabaseTime(context.database.db);
  const decidedBy: DecidedBy = { kind: "people" };
  const facts = { actor, decidedAt, decidedBy, deniedBy, denialReason, approved: null };
  await endUnapproved(context, row, { ...facts, decision: "denied" });
}

export const undecided = { decidedBy: null, deniedBy: null, denialReason: null, approved: null };

/** Cancels; without `lockAndRecheckKey`, as the service. */
export async function cancel(
  context: Context,
  row: AuthorizationRow,
  actor: Actor,
  lockAndRecheckKey?: Facts["lockAndRecheckKey"],
): Promise<void> {
  const decidedAt = await readDatabaseTime(context.database.db);
  const facts = { ...undecided, actor, lockAndRecheckKey, decidedAt };
  await endUnapproved(context, row, { ...facts, decision: "cancelled" });
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

/** Names the actor in the audit log. */
export const nameActor = ({ approver_id, deputy_for }: Pick<PasskeyApproval, "approver_id" | "deputy_for">) =>
  `approver ${approver_id}${deputy_for === undefined ? "" : ` deputy_for ${deputy_for}`}`;

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
  const approver: Actor = { ...actor, id: nameActor(record) };
  await deny(context, row, approver, reason, enrolled);
}

/** Finds a request of the caller's organization: any other id is 404. */
export async function findOwn(
  context: Context,
  requestId: string,
  principal: Principal,
  verb: "answers" | "cancels" | "claims" | "repeats" | "revokes",
): Promise<AuthorizationRow> {
  const row = await findAuthorization(context.database, requestId);
  // A planted one is no agent's: nothing claims, answers or cancels it.
  if (row === null || row.planted || !ownsRow(principal, row)) throw authorizationNotFound();
  if (!mayReach(principal, "authorize", row))
    throw new AppError("insufficient_scope", `a key with the permission hook ${verb} only what it asked for`);
  return row;
}

export async function cancelAuthorization(
  context: Context,
  requestId: string,
  principal: Principal,
): Promise<void> {
  const row = await findOwn(context, requestId, principal, "cancels");
  await cancel(context, requirePending(row), toActor(principal), (tx) =>
    lockAndRecheckKey(tx, principal, "stop"),
  );
}

/* An approval that has been proven: counted beside those before it, and signed with the last one that was needed. */

export const refused = (why: string) => new AppError("approval_refused", `not approved: ${why}`);

/** The first approval fixes the version of World ID. */
export function requireSameVersion({ protocol_version: fixed }: AuthorizationRow, version: string): void {
  if (fixed === null || fixed === version) return;
  throw refused(
    `the first approval used World ID ${fixed}, and a proof of another version could be the same person's`,
  );
}

const alreadyApproved = () =>
  new AppError("already_approved", "this person has already approved this request; nothing was changed");

/** Throws the exact reason why this human may not approve beside those who have. */
function checkHuman(row: AuthorizationRow, present: WorldIdApproval[], record: WorldIdApproval): void {
  const isSameHuman = present.some(
    ({ environment, nullifier_hash }) =>
      environment === record.environment && nullifier_hash === record.nullifier_hash,
  );
  if (isSameHuman) throw alreadyApproved();
  requireSameVersion(row, record.protocol_version);
  const isSamePlace = present.every(
    ({ environment, app_id, rp_id }) =>
      environment === record.environment && app_id === record.app_id && rp_id === record.rp_id,
  );
  if (!isSamePlace) throw refused("the first approval came from another World ID environment or app");
}

/**
 * The same for an enrolled approver: each once, and only while a place of their groups is free. Who changed the request
 * has one.
 */
function checkApprover(
  { required_approvers: required, amends }: ApprovalRequest,
  present: PasskeyApproval[],
  record: PasskeyApproval,
  amenderGroups: readonly string[],
): void {
  const counted = present.flatMap(listPeople);
  if (listPeople(record).some((person) => counted.includes(person))) throw alreadyApproved();
  const given = [...present, record];
  const isAmenderIn = given.some(({ approver_id }) => approver_id === amends?.by);
  const people = given.map(({ groups }) => groups.map(({ group }) => group));
  if (amends?.by !== undefined && !isAmenderIn) people.push([...amenderGroups]);
  const filled = fillPlaces(required, people).reduce((sum, count) => sum + count, 0);
  if (filled === people.length) return;
  throw refused(
    people.length > given.length
      ? "the last approval of your groups is needed from whoever changed the request"
      : "others of your groups have approved already; somebody else is needed",
  );
}

async function storeOneOfMany(
  context: Context,
  row: AuthorizationRow,
  approval: NewApproval,
  actor: Actor,
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    if (!(await lockOpen(tx, approval.requestId))) throw notPending();
    if (await isFrozen(tx, row.agent_id)) throw agentFrozen();
    if (!(await standsBeside(tx, approval))) throw new ConcurrentApproval();
    if (!(await areRulesStill(tx, approval.requestId, approval.rulesVersion))) throw new RulesMoved();
    const { enrolled } = approval;
    const refusal = enrolled && (await countApprover(tx, enrolled));
    if (refusal !== null) throw refusal;
    const changed = await tx
      .update(authorizationRequests)
      .set({ protocol_version: readProtocolVersion(approval) })
      .where(and(eq(authorizationRequests.id, approval.requestId), isOpen))
      .returning({ id: authorizationRequests.id });
    if (changed.length !== 1) throw notPending();
    await insertApproval(tx, approval);
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor,
      action: "authorization.approval_given",
      subject: row.id,
    });
  });
  await context.wakeups.notify(wakeupName(approval.requestId));
}

function toRecords({ proof, approver }: ProvenPerson, verified_at: string): Approval[] {
  const worldId: WorldIdApproval[] = proof === null ? [] : [{ ...proof, verified_at }];
  const pair = proof === null ? {} : { nullifier_hash: proof.nullifier_hash };
  return approver === null ? worldId : [...worldId, { ...approver.record, ...pair, verified_at }];
}

function checkBeside(
  row: AuthorizationRow,
  present: Approval[],
  records: Approval[],
  amenderGroups: readonly string[],
): void {
  const request = parseRequest(row);
  for (const record of records)
    if (isWorldIdApproval(record)) checkHuman(row, present.filter(isWorldIdApproval), record);
    else checkApprover(request, present.filter(isPasskeyApproval), record, amenderGroups);
}

const describeActor = ({ proof, approver }: ProvenPerson, ip: string | null): Actor => ({
  kind: "human",
  id: approver === null ? `nullifier ${proof?.nullifier_hash}` : nameActor(approver.record),
  ip,
});

async function isDerivedStill(
  context: Context,
  { derivation, organization_id: id }: AuthorizationRow,
  request: ApprovalRequest,
): Promise<boolean> {
  return derivation !== null && followsStill(context, id, JSON.parse(derivation) as Derivation, request);
}

async function tryAccept(
  context: Context,
  requestId: string,
  person: ProvenPerson,
  ip: string | null,
): Promise<void> {
  const { db } = context.database;
  // Read before the request: what a decision counted is never seen beside a request that looks open.
  const present = await readApprovals(db, requestId);
  const row = await findApprovable(context, requestId);
  if (row.planted) return endPlanted(context, row, "approved", person.approver?.enrolled ?? null);
  const rules = await judgeByRulesNow(context, requestId);
  if (rules.stop !== null) throw new AppError(rules.stop.reason, rules.stop.words);
  const request = parseRequest(row);
  if (request.grant?.derived !== undefined && !(await isDerivedStill(context, row, request)))
    throw refused(
      "it no longer follows from the organization's decisions, one of which was refused, changed or erased meanwhile: deny it",
    );
  const now = await readDatabaseTime(db);
  const before = present.flatMap((one) => one.records);
  const records = toRecords(person, now.toISOString());
  checkBeside(row, before, records, await readAmenderGroups(db, request));
  const approvals = [...before, ...records];
  const environment = findEnvironment(request.origin, approvals);
  const approval: NewApproval = {
    id: uuidV7(now.getTime(), context.random(16)),
    requestId,
    worldAction: bindRequest(request).world_action,
    environment,
    records,
    enrolled: person.approver?.enrolled ?? null,
    besides: present.map(({ id }) => id),
    rulesVersion: rules.version,
  };
  const actor = describeActor(person, ip);
  if (present.length + 1 < row.approvals_required) return storeOneOfMany(context, row, approval, actor);
  const decidedBy = { kind: "people" } as const;
  const original = await readOriginal(db, row);
  const questionsHash = hashAsked(row);
  const facts = {
    decided_by: decidedBy,
    approvals,
    environment,
    approved_at: now.toISOString(),
    ...(original && { original_request: original.request }),
    ...(questionsHash !== undefined && { questions_hash: questionsHash }),
  };
  await decide(context, row, () => ({
    actor,
    decision: "approved",
    decidedAt: now,
    decidedBy,
    deniedBy: null,
    denialReason: null,
    approved: { approval, ...signApproval(context.keys.signer, request, facts) },
  }));
}

/** Evidence from one visit of one person: a required approver's passkey assertion, a World ID proof, or both. */
export interface ProvenPerson {
  proof: ProvenApproval | null;
  approver: ProvenApprover | null;
}

/** A proof that every check has passed, not yet counted. */
export type ProvenApproval = WorldIdApproval extends infer One
  ? One extends WorldIdApproval
    ? Omit<One, "verified_at">
    : never
  : never;

const maxAttempts = 10;

/**
 * Counts the approval; judged again if another one was counted, or rules were saved, in between. Counting the same proof
 * twice does nothing.
 */
export async function acceptApproval(
  context: Context,
  requestId: string,
  person: ProvenPerson,
  ip: string | null,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryAccept(context, requestId, person, ip);
    } catch (error) {
      const isMoved = error instanceof ConcurrentApproval || error instanceof RulesMoved;
      if (!isMoved || attempt === maxAttempts) throw error;
    }
  }
}
