/** The checks of the approvals in a `human_authorization`: how many, of whom, from where, when, and their proofs. */

import {
  type HumanAuthorization,
  isPasskeyApproval,
  isWorldIdApproval,
  type WorldIdApproval,
} from "#lib/protocol/approval/approval";
import { findEnvironment } from "#lib/protocol/approval/environment";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { VerificationKey } from "#lib/protocol/world-id/groth16";
import { semaphoreKeyFor } from "#lib/protocol/world-id/world-id-keys";
import {
  isCredentialCurrent,
  isLevelSufficient,
  parseFieldElement,
} from "#lib/protocol/world-id/world-id-proof";
import { checkProofV3, checkProofV4, type ProofCheck } from "./check-world-proof";

const worldIdsOf = ({ approvals }: HumanAuthorization) => approvals.filter(isWorldIdApproval);

/** With required approvers each of them has a passkey, and a World ID proof beside it if a level is required. */
export function checkCount({ request, decided_by, approvals }: HumanAuthorization): Outcome {
  if (decided_by.kind !== "people") return skip("nobody_asked");
  const { approvals_required: required, required_approvers: groups, required_level: level } = request;
  const passkeys = approvals.filter(isPasskeyApproval).length;
  const proofs = approvals.length - passkeys;
  if (groups.length === 0 && passkeys > 0) return fail("passkey_unexpected");
  const counted = groups.length === 0 ? proofs : passkeys;
  const isPaired = groups.length === 0 || proofs === (level === "none" ? 0 : required);
  const isSum = groups.length === 0 || groups.reduce((sum, { count }) => sum + count, 0) === required;
  if (counted !== required || !isSum) return fail("approval_count_mismatch", { given: counted, required });
  return isPaired ? pass(`${counted} of ${required} approvals`) : fail("nullifier_unpaired");
}

/** v3 and v4 nullifiers of one human cannot be linked, so one version for all. */
export function checkDistinct(authorization: HumanAuthorization): Outcome {
  const proofs = worldIdsOf(authorization);
  const nullifiers = proofs.map(({ nullifier_hash }) => nullifier_hash);
  const passkeys = authorization.approvals.filter(isPasskeyApproval);
  const paired = passkeys.flatMap(({ nullifier_hash }) => nullifier_hash ?? []);
  if (passkeys.length > 0 && [...paired].sort().join() !== [...nullifiers].sort().join())
    return fail("nullifier_unpaired");
  if (proofs.length === 0) return skip("no_world_id");
  if (nullifiers.some((text) => parseFieldElement(text) === undefined)) return fail("nullifier_out_of_range");
  if (new Set(proofs.map((proof) => proof.protocol_version)).size !== 1) return fail("versions_mixed");
  return new Set(nullifiers).size === proofs.length
    ? pass("each approval is another human's")
    : fail("human_repeated");
}

/** A standing approval may have been given in another environment than this follows from: it can only be a TEST more. */
export function checkEnvironment(authorization: HumanAuthorization): Outcome {
  const { request, approvals, decided_by, environment } = authorization;
  const places = worldIdsOf(authorization).map(({ environment, app_id, rp_id }) =>
    [environment, app_id, rp_id].join(" "),
  );
  if (new Set(places).size > 1) return fail("environments_mixed");
  const found = findEnvironment(request.origin, approvals);
  const fits = environment === found || (decided_by.kind === "grant" && environment !== "production");
  return fits ? pass(environment) : fail("environment_mismatch");
}

export function checkLevel(authorization: HumanAuthorization): Outcome {
  const { request, decided_by } = authorization;
  const { required_level: required, required_approvers: groups } = request;
  if (required === "none")
    return groups.length > 0 ? skip("level_not_required") : fail("level_too_low", { required: "device" });
  if (decided_by.kind !== "people") return skip("nobody_asked");
  const approvals = worldIdsOf(authorization);
  const isEnough =
    approvals.length > 0 && approvals.every((approval) => isLevelSufficient(approval.level, required));
  if (!isEnough) return fail("level_too_low", { required });
  const isDeviceOnly = approvals.some((approval) => approval.level === "device");
  const note = isDeviceOnly ? "; a device proof's root cannot be looked up on chain" : "";
  return pass(`at least ${required}${note}`);
}

export function checkTimes(authorization: HumanAuthorization): Outcome {
  const { request, approvals, approved_at } = authorization;
  if (!worldIdsOf(authorization).every((approval) => isCredentialCurrent(approval, request.created_at)))
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
  const approvals = worldIdsOf(authorization);
  if (approvals.length === 0) return skip("no_world_id");
  const outcomes = approvals.map((approval) => checkProof(approval, authorization, v4Key));
  return (
    outcomes.find(({ status }) => status === "fail") ??
    outcomes.find(({ status }) => status === "not_applicable") ??
    pass("every zero-knowledge proof verifies over this request")
  );
}

function checkProof(
  approval: WorldIdApproval,
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

export function checkAnchors(authorization: HumanAuthorization): Outcome {
  const approvals = worldIdsOf(authorization);
  if (approvals.length === 0) return skip("no_world_id");
  const anchored = approvals.filter((approval) => approval.anchor !== undefined);
  if (!anchored.every((approval) => approval.anchor?.root === approval.merkle_root))
    return fail("anchor_mismatch");
  if (anchored.length < approvals.length) return skip("anchor_absent");
  return pass("every root has a recorded place on chain, which anyone with a node can ask");
}
