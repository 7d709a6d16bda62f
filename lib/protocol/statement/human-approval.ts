/** People's approval in a signed payload, `predicate.human_approval`: apart from the payload, whose parser pages don't need. */

/** Deciders, read from the authorization that backs the attestation; the last two are never counted as a human. */
export const backedMethods = [
  "proof_of_personhood",
  "enrolled_proof_of_personhood",
  "enrolled_approver",
  "standing_approval",
  "rule",
] as const;
export type BackedMethod = (typeof backedMethods)[number];
export const approvalMethods = ["none", "hash", ...backedMethods] as const;
export type ApprovalMethod = (typeof approvalMethods)[number];

export function isApprovalMethod(value: unknown): value is ApprovalMethod {
  return approvalMethods.some((known) => known === value);
}

export type BackedApproval = {
  method: BackedMethod;
  /** The weakest of the World ID proofs; `none` without any. */
  level: string;
  request_hash: string;
  authorization_hash: string;
  nullifier_hashes: string[];
  approver_ids: string[];
  environment: string;
  inputs_bound: boolean;
};

export type HumanApproval =
  | { method: "none" }
  | { method: "hash"; approver_hash: string | null }
  | BackedApproval;

export function isBacked(approval: HumanApproval): approval is BackedApproval {
  return approval.method !== "none" && approval.method !== "hash";
}

/** `human_approved` means that a human approved this very request, asserted or proven. */
export function isHumanApproved({ method }: HumanApproval): boolean {
  return method !== "none" && method !== "standing_approval" && method !== "rule";
}
