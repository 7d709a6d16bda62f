/**
 * Verifies the whole chain of a `human_authorization` from its own bytes, for the service and any outsider: request →
 * request_hash → world_action and signal → public inputs → pairing; request_hash → challenge → passkey → roster → group;
 * and the service's signature. The list of checks is fixed; a check that does not apply says so instead of being left out.
 *
 * What it cannot see: whether the root is World's. The service's signature vouches for what it asked World at
 * `verified_at`, and `anchor` lets anyone ask the chain.
 */

import type { HumanAuthorization } from "#lib/protocol/approval/approval";
import { chooseMethod } from "#lib/protocol/approval/assign-groups";
import type { BackedMethod } from "#lib/protocol/statement/human-approval";
import type { Outcome } from "#lib/protocol/statement/outcome";
import {
  type AuthorizationVerifyOptions,
  checkAmendment,
  checkAnchors,
  checkBinding,
  checkCount,
  checkDecidedBy,
  checkDistinct,
  checkEnvironment,
  checkLevel,
  checkLoggedDecision,
  checkPasskeys,
  checkProofs,
  checkQuorum,
  checkRoster,
  checkShown,
  checkSignature,
  checkTimes,
  checkUsable,
} from "./approval-checks";

export const authorizationCheckNames = [
  "service_signature",
  "request_hash",
  "world_action",
  "signal",
  "shown_content",
  "amendment",
  "decided_by",
  "approval_count",
  "quorum",
  "passkeys",
  "roster",
  "distinct_humans",
  "environment",
  "level",
  "times",
  "usable",
  "proofs",
  "anchors",
  "logged_decision",
] as const;

export type AuthorizationCheckName = (typeof authorizationCheckNames)[number];

export type AuthorizationCheck = Outcome & { name: AuthorizationCheckName };

/**
 * `checked_by_world`: valid, but at least one proof cannot be checked again without World.
 * `test`: valid, and made with the stand-in, on World's staging network or on a loopback address.
 * Else who decided, as an attestation says it.
 */
export type AuthorizationGrade = "invalid" | "test" | "checked_by_world" | BackedMethod;

const gradeTexts: Record<AuthorizationGrade, string> = {
  invalid: "Not proven: a check failed",
  test: "TEST: nothing about a real person is proven",
  checked_by_world: "Proof of personhood, checked by World, cannot be checked again independently",
  proof_of_personhood: "Proof of personhood",
  enrolled_proof_of_personhood: "Enrolled approvers, each with a proof of personhood",
  enrolled_approver: "Enrolled approvers, by passkey",
  standing_approval: "Covered by a standing approval; no human was asked",
  rule: "Allowed by a rule; no human was asked",
};

export interface AuthorizationReport {
  ok: boolean;
  grade: AuthorizationGrade;
  grade_text: string;
  checks: AuthorizationCheck[];
}

/** `authorization` has passed the schema of lib/api/schemas; nothing in it is trusted beyond its shape. */
export function verifyHumanAuthorization(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): AuthorizationReport {
  const run: Record<AuthorizationCheckName, () => Outcome> = {
    service_signature: () => checkSignature(authorization, options),
    request_hash: () => checkBinding(authorization, "request_hash"),
    world_action: () => checkBinding(authorization, "world_action"),
    signal: () => checkBinding(authorization, "signal", "signal_hash"),
    shown_content: () => checkShown(authorization, options.shown),
    amendment: () => checkAmendment(authorization),
    decided_by: () => checkDecidedBy(authorization),
    approval_count: () => checkCount(authorization),
    quorum: () => checkQuorum(authorization),
    passkeys: () => checkPasskeys(authorization, options),
    roster: () => checkRoster(authorization),
    distinct_humans: () => checkDistinct(authorization),
    environment: () => checkEnvironment(authorization),
    level: () => checkLevel(authorization),
    times: () => checkTimes(authorization),
    usable: () => checkUsable(authorization),
    proofs: () => checkProofs(authorization, options.v4Key),
    anchors: () => checkAnchors(authorization),
    logged_decision: () => checkLoggedDecision(authorization, options),
  };
  const checks = authorizationCheckNames.map((name) => ({ name, ...run[name]() }));
  const ok = checks.every((check) => check.status !== "fail");
  const grade = chooseGrade(ok, authorization, checks);
  return { ok, grade, grade_text: gradeTexts[grade], checks };
}

function chooseGrade(
  ok: boolean,
  { decided_by, approvals, environment }: HumanAuthorization,
  checks: AuthorizationCheck[],
): AuthorizationGrade {
  if (!ok) return "invalid";
  if (environment !== "production") return "test";
  const types = approvals.map(({ type }) => type);
  const proofs = checks.find((check) => check.name === "proofs");
  const isOnWorldsWord = types.includes("world_id") && proofs?.status !== "pass";
  return isOnWorldsWord ? "checked_by_world" : chooseMethod(decided_by.kind, types);
}
