/**
 * Verifies the whole chain of a `human_authorization` from its own bytes, for the service and any outsider: request →
 * request_hash → world_action and signal → public inputs → pairing, and the service's
 * signature. The list of checks is fixed; a check that does not apply says so instead of being left out.
 *
 * What it cannot see: whether the root is World's. The service's signature vouches for what it asked World at
 * `verified_at`, and `anchor` lets anyone ask the chain.
 */

import type { Outcome } from "#lib/core/statement/outcome";
import type { HumanAuthorization } from "./approval";
import {
  checkAnchors,
  checkCount,
  checkDistinct,
  checkEnvironment,
  checkLevel,
  checkProofs,
  checkTimes,
} from "./approval-checks";
import {
  type AuthorizationVerifyOptions,
  checkBinding,
  checkLoggedDecision,
  checkShown,
  checkSignature,
} from "./authorization-checks";

export const authorizationCheckNames = [
  "service_signature",
  "request_hash",
  "world_action",
  "signal",
  "shown_content",
  "approval_count",
  "distinct_humans",
  "environment",
  "level",
  "times",
  "proofs",
  "anchors",
  "logged_decision",
] as const;

export type AuthorizationCheckName = (typeof authorizationCheckNames)[number];

export type AuthorizationCheck = Outcome & { name: AuthorizationCheckName };

/**
 * `checked_by_world`: valid, but at least one proof cannot be checked again without World.
 * `test`: valid, and made with the stand-in or on World's staging network.
 */
export type AuthorizationGrade = "invalid" | "test" | "checked_by_world" | "proven";

export const gradeTexts: Record<AuthorizationGrade, string> = {
  invalid: "Not proven: a check failed",
  test: "TEST: not a World ID proof",
  checked_by_world: "Proof of personhood, checked by World, cannot be checked again independently",
  proven: "Proof of personhood",
};

export interface AuthorizationReport {
  ok: boolean;
  grade: AuthorizationGrade;
  grade_text: string;
  checks: AuthorizationCheck[];
}

/** `authorization` has passed the schema of lib/contract; nothing in it is trusted beyond its shape. */
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
    approval_count: () => checkCount(authorization),
    distinct_humans: () => checkDistinct(authorization.approvals),
    environment: () => checkEnvironment(authorization.approvals),
    level: () => checkLevel(authorization),
    times: () => checkTimes(authorization),
    proofs: () => checkProofs(authorization, options.v4Key),
    anchors: () => checkAnchors(authorization.approvals),
    logged_decision: () => checkLoggedDecision(authorization, options),
  };
  const checks = authorizationCheckNames.map((name) => ({ name, ...run[name]() }));
  const ok = checks.every((check) => check.status !== "fail");
  const grade = gradeOf(ok, authorization, checks);
  return { ok, grade, grade_text: gradeTexts[grade], checks };
}

function gradeOf(
  ok: boolean,
  { approvals }: HumanAuthorization,
  checks: AuthorizationCheck[],
): AuthorizationGrade {
  if (!ok) return "invalid";
  if (approvals.some((approval) => approval.environment !== "production")) return "test";
  const proofs = checks.find((check) => check.name === "proofs");
  return proofs?.status === "pass" ? "proven" : "checked_by_world";
}
