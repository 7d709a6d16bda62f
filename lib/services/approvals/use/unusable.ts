/** Why an approval can't be claimed or used, in words: the database's function `why_unusable` names the reasons. */
import { sql } from "drizzle-orm";
import { authorizationRequests } from "#lib/db/schema";
import { AppError, type ErrorName, fieldError } from "#lib/errors";
import type { ApprovalStop } from "#lib/protocol/approval/approval-end";
import type { RuleStop } from "#lib/services/approvals/request/rules-now";

/** Null for an approval that can be used. */
export const whyUnusable = sql<string | null>`why_unusable(${authorizationRequests})`;
/** Null if the standing approval that it rests on can be used, and without one. */
export const whyStopped = sql<ApprovalStop["reason"] | null>`why_stopped(${authorizationRequests})`;

const reasons: Record<string, readonly [ErrorName, string]> = {
  standing: ["authorization_mismatch", "is a standing approval: make a request for each use of it"],
  used: ["authorization_already_used", "already backs another attestation; ask for a new authorization"],
  revoked: ["authorization_revoked", "was taken back, so no action may run on it"],
  ended: ["authorization_ended", "could be used for a while, which is over; ask for a new authorization"],
  other_key: ["authorization_mismatch", "is for another agent key than the one registered now"],
  frozen: ["agent_frozen", "is of an agent that its organization has frozen"],
  grant_revoked: ["authorization_revoked", "is a use of a standing approval that was taken back"],
  grant_ended: ["authorization_ended", "is a use of a standing approval that is over"],
  code_changed: [
    "authorization_mismatch",
    "is a use of a standing approval for another code hash than the one registered now",
  ],
};

/** For a caller that wants to attest with it. */
export function unusable(why: unknown): AppError {
  const [code, words] = reasons[String(why)] ?? [];
  if (code === undefined || words === undefined) throw new Error(`an approval that can't be used: ${why}`);
  return fieldError(code, "human_authorization", words);
}

/** For a caller that wants to attest with what rules don't allow any more. */
export const overruled = ({ reason, words }: RuleStop): AppError =>
  fieldError(
    reason === "rule_forbids" ? "authorization_forbidden" : "authorization_insufficient",
    "human_authorization",
    `can't be used: ${words}`,
  );

/** For a caller that wants to claim it; null for what is no matter of its use. */
export function unclaimable(why: string | null): AppError | null {
  const [code, words] = reasons[String(why)] ?? [];
  return code === undefined ? null : new AppError(code, `this approval ${words}; do not run the action`);
}
