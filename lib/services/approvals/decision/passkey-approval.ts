/**
 * Checks that a passkey assertion is by an enrolled approver who may decide this request. The signature is judged from
 * its bytes; its owner's identity, from the database: once when it arrives, and again in the transaction that counts
 * it, so that somebody who was removed in between counts for nothing.
 */
import { eq } from "drizzle-orm";
import type { SentAssertion } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { apiKeys, approverGroups } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import type { PasskeyApproval } from "#lib/protocol/approval/human-authorization-shape";
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  approvalChallenge,
  checkAssertion,
  type ListBranch,
  type PasskeyDecision,
  parseAuthenticatorData,
  toRelyingParty,
} from "#lib/protocol/passkey/assertion";
import { notePasskeyUse, type RosterProof, readRosterProof } from "#lib/services/accounts/roster";
import type { Context } from "#lib/services/approvals/context";
import { type AuthorizationRow, parseRequest } from "#lib/services/approvals/rows";

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
  /** All of the object's entry but when it was verified. */
  record: Omit<PasskeyApproval, "verified_at">;
  enrolled: Enrolled;
  /** ISO 8601: nothing of it was so before. */
  since: string;
}

async function readRequesterEmail(executor: Executor, keyId: string): Promise<string | null> {
  const [key] = await executor.select({ email: apiKeys.email }).from(apiKeys).where(eq(apiKeys.id, keyId));
  return key?.email.toLowerCase() ?? null;
}

function requireGroups(request: ApprovalRequest, proof: RosterProof): RosterProof["groups"] {
  const wanted = new Set(request.required_approvers.map(({ group }) => group));
  const groups = proof.groups.filter(({ group }) => wanted.has(group));
  if (groups.length === 0) throw notEnrolled("you are in none of the groups that decide this request");
  return groups;
}

async function requireOther(
  executor: Executor,
  row: AuthorizationRow,
  request: ApprovalRequest,
  proof: RosterProof,
): Promise<void> {
  if (request.requester_may_approve) return;
  const isRequester =
    proof.approver.id === request.requester_id ||
    proof.approver.email.toLowerCase() === (await readRequesterEmail(executor, row.api_key_id));
  if (isRequester) throw refused("the key that asks is yours, so somebody else has to approve");
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
  const proof = await readRosterProof(db, row.organization_id, credentialId, { isHeld: false });
  if (proof === null) throw notEnrolled("this passkey is not enrolled for this organization");
  const groups = requireGroups(request, proof);
  if (decision === "approve" || decision === "amend") await requireOther(db, row, request, proof);
  const challenge = list?.challenge ?? approvalChallenge(requestHash(request), decision);
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
      ...(list && { list: list.branch }),
    },
    enrolled: {
      approverId: entry.approver_id,
      credentialId,
      organizationId: row.organization_id,
      groups: groups.map(({ group }) => group),
      passkeyId: proof.passkeyId,
      use,
    },
    since: head.changed_at,
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

/** That a passkey can be backed up never changes. */
function readUse(proof: RosterProof, authenticatorData: string): PasskeyUse {
  const data = parseAuthenticatorData(base64UrlDecode(authenticatorData));
  if (!data.ok) throw passkeyRefused(data.problem);
  if (data.backupEligible !== proof.backupEligible)
    throw passkeyRefused("the passkey is not the one that was enrolled");
  const { signCount, backedUp } = data;
  return { signCount, backedUp };
}

/** In the decision's transaction: null if the person is still enrolled in those groups, and the passkey no copy. */
export async function countApprover(tx: Executor, enrolled: Enrolled): Promise<AppError | null> {
  const { organizationId, credentialId, groups, passkeyId, use } = enrolled;
  const proof = await readRosterProof(tx, organizationId, credentialId, { isHeld: true });
  const current = proof?.groups.map(({ group }) => group) ?? [];
  if (proof === null || !groups.every((group) => current.includes(group)))
    return notEnrolled("you are no longer enrolled in the groups that decide this");
  const isCounted = use === null || (await notePasskeyUse(tx, passkeyId, use));
  return isCounted ? null : copied();
}

export const copied = () => passkeyRefused("the passkey's counter didn't grow, so it may be a copy");
