/** The checks of the approvals in a `human_authorization`: how many, of whom, from where, when, and their proofs. */

import { fail, type Outcome, pass, skip } from "#lib/core/statement/outcome";
import { checkProofV3, checkProofV4, type ProofCheck } from "#lib/core/world-id/check-world-proof";
import type { VerificationKey } from "#lib/core/world-id/groth16";
import { semaphoreKeyFor } from "#lib/core/world-id/world-id-keys";
import { isCredentialCurrent, isLevelSufficient, parseFieldElement } from "#lib/core/world-id/world-id-proof";
import type { Approval, HumanAuthorization } from "./approval";

export function checkCount({ request, approvals }: HumanAuthorization): Outcome {
  const { approvals_required: required } = request;
  const given = approvals.length;
  return required >= 1 && given === required
    ? pass(`${given} of ${required} approvals`)
    : fail("approval_count_mismatch", { given, required });
}

/** v3 and v4 nullifiers of one human cannot be linked, so one version for all. */
export function checkDistinct(approvals: Approval[]): Outcome {
  const nullifiers = approvals.map((approval) => parseFieldElement(approval.nullifier_hash));
  if (nullifiers.includes(undefined)) return fail("nullifier_out_of_range");
  if (new Set(approvals.map((approval) => approval.protocol_version)).size !== 1)
    return fail("versions_mixed");
  return new Set(nullifiers).size === approvals.length
    ? pass("each approval is another human's")
    : fail("human_repeated");
}

export function checkEnvironment(approvals: Approval[]): Outcome {
  const places = approvals.map(({ environment, app_id, rp_id }) => [environment, app_id, rp_id].join(" "));
  return new Set(places).size === 1 ? pass(`${approvals[0]?.environment}`) : fail("environments_mixed");
}

export function checkLevel({ request, approvals }: HumanAuthorization): Outcome {
  const { required_level: required } = request;
  const isEnough =
    approvals.length > 0 && approvals.every((approval) => isLevelSufficient(approval.level, required));
  if (!isEnough) return fail("level_too_low", { required });
  const isDeviceOnly = approvals.some((approval) => approval.level === "device");
  const note = isDeviceOnly ? "; a device proof's root cannot be looked up on chain" : "";
  return pass(`at least ${required}${note}`);
}

export function checkTimes({ request, approvals, approved_at }: HumanAuthorization): Outcome {
  if (!approvals.every((approval) => isCredentialCurrent(approval, request.created_at)))
    return fail("credential_expired");
  const from = Date.parse(request.created_at);
  const until = Date.parse(request.expires_at);
  const approved = Date.parse(approved_at);
  const verified = approvals.map((approval) => Date.parse(approval.verified_at));
  const isInTime =
    from < until &&
    from <= approved &&
    approved <= until &&
    verified.every((at) => from <= at && at <= approved);
  return isInTime ? pass("approved while the request was open") : fail("not_in_time");
}

export function checkProofs(authorization: HumanAuthorization, v4Key: VerificationKey | undefined): Outcome {
  const { approvals } = authorization;
  const required = authorization.request.approvals_required;
  if (approvals.length === 0) return fail("approval_count_mismatch", { given: 0, required });
  const outcomes = approvals.map((approval) => checkProof(approval, authorization, v4Key));
  return (
    outcomes.find(({ status }) => status === "fail") ??
    outcomes.find(({ status }) => status === "not_applicable") ??
    pass("every zero-knowledge proof verifies over this request")
  );
}

function checkProof(
  approval: Approval,
  { binding }: HumanAuthorization,
  v4Key: VerificationKey | undefined,
): Outcome {
  const signalHash = parseFieldElement(binding.signal_hash);
  if (signalHash === undefined) return fail("binding_mismatch");
  if (approval.protocol_version === "3.0")
    return judge(
      checkProofV3(approval, binding.world_action, signalHash, semaphoreKeyFor(approval.environment)),
    );
  const { issuer_public_key, oprf_public_key } = approval.anchor ?? {};
  if (v4Key === undefined || issuer_public_key === undefined || oprf_public_key === undefined)
    return skip("checked_by_world_only");
  const keys = { issuer_public_key, oprf_public_key };
  return judge(checkProofV4(approval, binding.world_action, signalHash, v4Key, keys));
}

function judge(check: ProofCheck): Outcome {
  return check.ok ? pass("") : fail(check.reason);
}

export function checkAnchors(approvals: Approval[]): Outcome {
  const anchored = approvals.filter((approval) => approval.anchor !== undefined);
  if (!anchored.every((approval) => approval.anchor?.root === approval.merkle_root))
    return fail("anchor_mismatch");
  if (anchored.length < approvals.length || anchored.length === 0) return skip("anchor_absent");
  return pass("every root has a recorded place on chain, which anyone with a node can ask");
}
