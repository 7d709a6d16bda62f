/**
 * Checks that a passkey assertion is by an enrolled approver who may decide this request. The signature is judged from
 * its bytes; its owner's identity, from the database: once when it arrives, and again in the transaction that counts
 * it, so that somebody who was removed in between counts for nothing.
 */
import { eq, inArray } from "drizzle-orm";
import type { SentAssertion } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { apiKeys, approverGroups, approvers } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import {
  type ApprovalRequest,
  isPasskeyApproval,
  listPeople,
  type PasskeyApproval,
  requestHash,
} from "#lib/protocol/approval/approval";
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  approvalChallenge,
  checkAssertion,
  type ListBranch,
  loadAlgorithms,
  type PasskeyDecision,
  parseAuthenticatorData,
  toRelyingParty,
} from "#lib/protocol/passkey/assertion";
import { holdPeople } from "#lib/services/accounts/approvers";
import { notePasskeyUse, type RosterProof, readRosterProofs } from "#lib/services/accounts/roster-proofs";
import type { Context } from "#lib/services/approvals/context";
import { type AuthorizationRow, parseRequest, readApprovals } from "#lib/services/approvals/rows";

const refuse = (code: "approval_refused" | "approver_not_enrolled" | "passkey_refused") => (why: string) =>
  new AppError(code, `nothing was decided: ${why}`);
const refused = refuse("approval_refused");
const notEnrolled = refuse("approver_not_enrolled");
const passkeyRefused = refuse("passkey_refused");

export const needsPasskey = () =>
  refused("this request is decided by enrolled approvers, and no passkey's answer came with it");

export interface Enrolled {
  approverId: string;
  credentialId: string;
  organizationId: string;
  /** Approver in whose place the person decides; null by their own right. */
  deputyFor: string | null;
  groups: string[];
  passkeyId: string;
  /** Authenticator's state at signing; null if it was noted before, once for a whole list. */
  use: PasskeyUse | null;
}

interface PasskeyUse {
  signCount: number;
  backedUp: boolean;
}

/** A list that was signed in place of the request, and the request's place in it. */
export interface SignedList {
  challenge: Uint8Array;
  branch: ListBranch;
}

export interface ProvenApprover {
  /** Entry of the object without its time of verification. */
  record: Omit<PasskeyApproval, "verified_at">;
  enrolled: Enrolled;
}

async function readRequesterEmail(executor: Executor, keyId: string): Promise<string | null> {
  const [key] = await executor.select({ email: apiKeys.email }).from(apiKeys).where(eq(apiKeys.id, keyId));
  return key?.email.toLowerCase() ?? null;
}

const groupsFor = ({ required_approvers: required }: ApprovalRequest, { groups }: RosterProof) =>
  groups.filter(({ group }) => required.some((one) => one.group === group));

/** Their email's owner made the key that asks, or asked in the portal. */
async function isRequester(
  executor: Executor,
  row: AuthorizationRow,
  { requester_id }: ApprovalRequest,
  person: { id: string; email: string },
): Promise<boolean> {
  return (
    person.id === requester_id ||
    person.email.toLowerCase() === (await readRequesterEmail(executor, row.api_key_id))
  );
}

/** Null if the person may approve this request so. Nobody approves their own by a deputy, nor in another's place. */
async function whyNot(
  executor: Executor,
  row: AuthorizationRow,
  request: ApprovalRequest,
  { approver, deputyFor }: RosterProof,
): Promise<AppError | null> {
  const isOwn = await isRequester(executor, row, request, approver);
  if (deputyFor === null)
    return isOwn && !request.requester_may_approve
      ? refused("the key that asks is yours, so somebody else has to approve")
      : null;
  if (isOwn) return refused("the key that asks is yours, so you can't approve in another's place");
  if (await isRequester(executor, row, request, deputyFor))
    return refused("the key that asks belongs to the person whose deputy you are");
  const counted = (await readApprovals(executor, row.id)).flatMap(({ records }) => records);
  const isCounted = counted.filter(isPasskeyApproval).flatMap(listPeople).includes(deputyFor.id);
  return isCounted ? refused("the person whose deputy you are has approved already") : null;
}

/** Chooses the person's own right if that counts, else the first whose deputy they are. */
async function chooseProof(
  executor: Executor,
  row: AuthorizationRow,
  request: ApprovalRequest,
  proofs: readonly RosterProof[],
  decision: PasskeyDecision,
): Promise<RosterProof> {
  if (proofs.length === 0) throw notEnrolled("this passkey is not enrolled for this organization");
  // A deputy approves and denies; what is asked for is changed by an approver of the group.
  const usable = decision === "amend" ? proofs.filter(({ deputyFor }) => deputyFor === null) : proofs;
  const fit = usable.filter((proof) => groupsFor(request, proof).length > 0);
  const [first] = fit;
  if (first === undefined) throw notEnrolled("you are in none of the groups that decide this request");
  const isForIt = decision === "approve" || decision === "amend";
  if (!isForIt || first.deputyFor === null) {
    const refusal = isForIt ? await whyNot(executor, row, request, first) : null;
    if (refusal !== null) throw refusal;
    return first;
  }
  const refusals: AppError[] = [];
  for (const proof of fit) {
    const refusal = await whyNot(executor, row, request, proof);
    if (refusal === null) return proof;
    refusals.push(refusal);
  }
  throw refusals[0] ?? notEnrolled("you decide for nobody");
}

/** Throws why this passkey doesn't decide. Holds no row: who has the link must not make others wait. */
export async function proveApprover(
  context: Context,
  row: AuthorizationRow,
  sent: SentAssertion,
  decision: PasskeyDecision,
  list: SignedList | null = null,
): Promise<ProvenApprover> {
  const request = parseRequest(row);
  const { credential_id: credentialId, ...assertion } = sent;
  const { db } = context.database;
  const proofs = await readRosterProofs(db, row.organization_id, credentialId, { isHeld: false });
  const proof = await chooseProof(db, row, request, proofs, decision);
  const groups = groupsFor(request, proof);
  const deputyFor = proof.deputyFor?.id ?? null;
  const challenge = list?.challenge ?? approvalChallenge(requestHash(request), decision);
  await loadAlgorithms([proof.entry.public_key]);
  const outcome = checkAssertion(
    { ...assertion, public_key: proof.entry.public_key },
    { challenge, ...toRelyingParty(request.origin) },
    verifyEd25519Strict,
  );
  if (outcome.status !== "pass") throw passkeyRefused(outcome.detail);
  const use = readUse(proof, assertion.authenticator_data);
  const { head, entry, index, proof: path } = proof;
  return {
    record: {
      type: "passkey",
      approver_id: entry.approver_id,
      credential_public_key: entry.public_key,
      ...assertion,
      roster: { head, entry, index, proof: path },
      groups,
      ...(deputyFor !== null && { deputy_for: deputyFor }),
      ...(list && { list: list.branch }),
    },
    enrolled: {
      approverId: entry.approver_id,
      credentialId,
      organizationId: row.organization_id,
      deputyFor,
      groups: groups.map(({ group }) => group),
      passkeyId: proof.passkeyId,
      use,
    },
  };
}

/** Groups of the approver who changed the request, whose place no one else takes; none without one. */
export async function readAmenderGroups(
  executor: Executor,
  { amends, required_approvers: required }: ApprovalRequest,
): Promise<string[]> {
  if (amends?.by === undefined) return [];
  const isTheirs = eq(approverGroups.approver_id, amends.by);
  const rows = await executor.select({ group: approverGroups.group_id }).from(approverGroups).where(isTheirs);
  const own = rows.map(({ group }) => group);
  return required.map(({ group }) => group).filter((group) => own.includes(group));
}

/** Reads the flags; backup eligibility never changes. */
function readUse(proof: RosterProof, authenticatorData: string): PasskeyUse {
  const data = parseAuthenticatorData(base64UrlDecode(authenticatorData));
  if (!data.ok) throw passkeyRefused(data.problem);
  if (data.backupEligible !== proof.backupEligible)
    throw passkeyRefused("the passkey is not the one that was enrolled");
  const { signCount, backedUp } = data;
  return { signCount, backedUp };
}

/** People whom a decision locks until its commit. */
export const listHeldPeople = ({ approverId, deputyFor }: Enrolled): string[] =>
  deputyFor === null ? [approverId] : [approverId, deputyFor];

/** Runs in the decision's transaction: null if the person is still enrolled in those groups, and the passkey no copy. */
export async function countApprover(tx: Executor, enrolled: Enrolled): Promise<AppError | null> {
  const { organizationId, credentialId, deputyFor, groups, passkeyId, use } = enrolled;
  if (deputyFor !== null) await holdPeople(tx, inArray(approvers.id, listHeldPeople(enrolled)));
  const proofs = await readRosterProofs(tx, organizationId, credentialId, { isHeld: true });
  const proof = proofs.find((one) => (one.deputyFor?.id ?? null) === deputyFor);
  const current = proof?.groups.map(({ group }) => group) ?? [];
  if (!groups.every((group) => current.includes(group)))
    return notEnrolled("you are no longer enrolled in the groups that decide this");
  const isCounted = use === null || (await notePasskeyUse(tx, passkeyId, use));
  return isCounted ? null : copied();
}

export const copied = () => passkeyRefused("the passkey's counter didn't grow, so it may be a copy");
