/** The checks of the approvals in a `human_authorization`: how many, of whom, from where, when, and their proofs. */

import { hashQuestions, isShownBefore } from "#lib/protocol/approval/amendment";
import { amountUnits } from "#lib/protocol/approval/amount";
import {
  type ApprovalRequest,
  authorizationSigningBytes,
  bindRequest,
  findEnvironment,
  type HumanAuthorization,
  isListable,
  isPasskeyApproval,
  isWorldIdApproval,
  listPeople,
  type PasskeyApproval,
  requestHash,
  type WorldIdApproval,
} from "#lib/protocol/approval/approval";
import { isEntryOfApproval } from "#lib/protocol/approval/approval-decision";
import { describeDomains, fillPlaces } from "#lib/protocol/approval/assign-groups";
import { type DecidedByGrant, usableUntil } from "#lib/protocol/approval/decided-by";
import { describeAmendment } from "#lib/protocol/approval/decided-words";
import { isShownContent, readTypes, type ShownContent } from "#lib/protocol/approval/shown-content";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { computeKeyId } from "#lib/protocol/keys/ed25519";
import {
  approvalChallenge,
  branchChallenge,
  checkAssertion,
  type ListBranch,
  toRelyingParty,
} from "#lib/protocol/passkey/assertion";
import { checkMembership, type RosterHead, rosterHash } from "#lib/protocol/passkey/roster";
import { fail, failBy, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { VerificationKey } from "#lib/protocol/world-id/groth16";
import { semaphoreKeyFor } from "#lib/protocol/world-id/world-id-keys";
import {
  isCredentialCurrent,
  isLevelSufficient,
  parseFieldElement,
} from "#lib/protocol/world-id/world-id-proof";
import { findAmendmentFault } from "./check-amendment";
import { checkProofV3, checkProofV4, type ProofCheck } from "./check-world-proof";

const listWorldIds = ({ approvals }: HumanAuthorization) => approvals.filter(isWorldIdApproval);

/** Checks that each required approver has a passkey, and a World ID proof beside it if a level is required. */
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
  const proofs = listWorldIds(authorization);
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
  const places = listWorldIds(authorization).map(({ environment, app_id, rp_id }) =>
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
  const approvals = listWorldIds(authorization);
  const isEnough =
    approvals.length > 0 && approvals.every((approval) => isLevelSufficient(approval.level, required));
  if (!isEnough) return fail("level_too_low", { required });
  const isDeviceOnly = approvals.some((approval) => approval.level === "device");
  const note = isDeviceOnly ? "; a device proof's root cannot be looked up on chain" : "";
  return pass(`at least ${required}${note}`);
}

export function checkTimes(authorization: HumanAuthorization): Outcome {
  const { request, approvals, approved_at } = authorization;
  if (!listWorldIds(authorization).every((approval) => isCredentialCurrent(approval, request.created_at)))
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
  const approvals = listWorldIds(authorization);
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
  const approvals = listWorldIds(authorization);
  if (approvals.length === 0) return skip("no_world_id");
  const anchored = approvals.filter((approval) => approval.anchor !== undefined);
  if (!anchored.every((approval) => approval.anchor?.root === approval.merkle_root))
    return fail("anchor_mismatch");
  if (anchored.length < approvals.length) return skip("anchor_absent");
  return pass("every root has a recorded place on chain, which anyone with a node can ask");
}

/*
 * The checks of what the service signed: its key, the binding to the request, what the page showed, the logged
 * decision.
 */

export interface AuthorizationVerifyOptions {
  /** The service's public keys, raw 32 bytes; undefined for a key id that is not the service's. */
  serviceKeys: (keyId: string) => Uint8Array | undefined;
  /** Strict Ed25519. */
  verifySignature: (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean;
  /** World's v4 key; without it v4 proofs are `checked_by_world`. */
  v4Key?: VerificationKey;
  /** The details and names that the approval page showed, from a reader who holds them. */
  shown?: ShownContent;
}

export function checkSignature(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): Outcome {
  const { key_id: key } = authorization;
  const publicKey = options.serviceKeys(key);
  if (publicKey === undefined) return fail("key_unknown", { key });
  if (computeKeyId(publicKey) !== key) return fail("key_id_mismatch");
  const signature = decode(authorization.signature);
  const isSigned =
    signature?.length === 64 &&
    options.verifySignature(signature, authorizationSigningBytes(authorization), publicKey);
  return isSigned ? pass("the service's signature over the whole object") : fail("signature_invalid");
}

function decode(text: string): Uint8Array | null {
  try {
    return base64Decode(text);
  } catch {
    return null;
  }
}

export function checkBinding(
  { request, binding }: HumanAuthorization,
  ...fields: (keyof HumanAuthorization["binding"])[]
): Outcome {
  const expected = bindRequest(request);
  const follows = fields.every((field) => binding[field] === expected[field]);
  return follows ? pass("follows from the request") : fail("binding_mismatch");
}

/** The object holds only a salted hash of what was on the page beside the action. */
export function checkShown(authorization: HumanAuthorization, shown: ShownContent | undefined): Outcome {
  if (shown === undefined) return skip("shown_content_absent");
  const { request, original_request: original, questions_hash: asked } = authorization;
  const isTyped = request.details === undefined || readTypes(request.details, shown.context) !== null;
  const isBefore = original === undefined || isShownBefore(request, original, shown);
  const isAsked = hasQuestions(shown)
    ? hashQuestions(shown.context_salt, shown.questions) === asked
    : asked === undefined;
  if (!isTyped || !isBefore || !isAsked || !isShownContent(request, shown))
    return fail("shown_content_mismatch");
  const domains = describeDomains(shown.requested_by);
  return pass(`the details, the names and who asks are those that the approval covers${domains}`);
}

const hasQuestions = (shown: ShownContent): shown is ShownContent & { questions: JsonValue } =>
  shown.questions !== undefined && !(Array.isArray(shown.questions) && shown.questions.length === 0);

/** The chain: asked, changed by whom, approved. */
export function checkAmendment(authorization: HumanAuthorization): Outcome {
  const { request, original_request: before } = authorization;
  if (request.amends === undefined || before === undefined) return skip("not_amended");
  const found = findAmendmentFault(authorization);
  if (found !== null) return failBy(found);
  const { by } = request.amends;
  const change = describeAmendment({ amends: request.amends, before, now: request }, by && `approver ${by}`);
  return pass(`asked at ${before.created_at}, changed at ${request.created_at}: ${change}`);
}

/** Checks the decision's leaf; inclusion in the log is checked where the log's key is known (lib/verifier). */
export function checkLoggedDecision(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): Outcome {
  if (authorization.log === undefined) return skip("entry_absent");
  const { key_id: key } = authorization;
  const publicKey = options.serviceKeys(key);
  if (publicKey === undefined) return fail("key_unknown", { key });
  return isEntryOfApproval(authorization, publicKey, options.verifySignature)
    ? pass("the log entry is that of this very approval")
    : fail("entry_decision_mismatch");
}

/*
 * The checks of how it was decided and how long that counts. What a standing approval or a rule allows is in documents of
 * their own: without them the check says what it can't see.
 */

export function checkDecidedBy({ request, decided_by, approvals }: HumanAuthorization): Outcome {
  if (decided_by.kind === "people") return pass("people decided");
  if (approvals.length > 0) return fail("approvals_unexpected", { kind: decided_by.kind });
  if (request.grant !== null) return fail("grant_needs_people");
  if (decided_by.kind === "rule") return skip("rules_absent");
  return checkUse(request, decided_by) ?? skip("grant_absent");
}

/** The numbers of a use have to fit each other, whatever the terms are. Undefined if they do. */
function checkUse(
  { amount }: ApprovalRequest,
  { use, of, spent, budget, currency }: DecidedByGrant,
): Outcome | undefined {
  if (use > of) return fail("grant_exceeded", { what: `use ${use} of ${of}` });
  if ((currency === null) !== (spent === null) || (currency === null && budget !== null))
    return fail("grant_amounts_mismatch");
  if (budget !== null && amountUnits(spent ?? "0") > amountUnits(budget))
    return fail("grant_exceeded", { what: `${spent} of ${budget} ${currency}` });
  if (amount === undefined) return undefined;
  const isCounted = amount.currency === currency && amountUnits(amount.value) <= amountUnits(spent ?? "0");
  return isCounted ? undefined : fail("grant_amounts_mismatch");
}

export function checkUsable(authorization: HumanAuthorization): Outcome {
  const { usable_until: until } = authorization;
  if (until !== usableUntil(authorization)) return fail("usable_until_mismatch");
  return pass(until === null ? "without an end" : `until ${until}`);
}

/* The checks of enrolled approvers: whose passkeys signed what, who they are to the organization, and of which groups. */

/** The first that does not pass. */
function judgeEach(
  { approvals }: HumanAuthorization,
  judge: (approval: PasskeyApproval) => Outcome,
  passed: string,
): Outcome {
  const passkeys = approvals.filter(isPasskeyApproval);
  if (passkeys.length === 0) return skip("no_passkey");
  return passkeys.map(judge).find(({ status }) => status !== "pass") ?? pass(passed);
}

function findChallenge(request: ApprovalRequest, list: ListBranch | undefined) {
  const hash = requestHash(request);
  if (list === undefined) return { ok: true as const, challenge: approvalChallenge(hash, "approve") };
  return isListable(request) ? branchChallenge(hash, list) : fault("list_not_allowed");
}

/** The challenge follows from the request itself, so that the assertion covers all of it. */
export function checkPasskeys(
  authorization: HumanAuthorization,
  { verifySignature }: Pick<AuthorizationVerifyOptions, "verifySignature">,
): Outcome {
  const { request, approvals } = authorization;
  if (!approvals.some(isPasskeyApproval)) return skip("no_passkey");
  if (!URL.canParse(request.origin)) return fail("passkey_origin_mismatch");
  const party = toRelyingParty(request.origin);
  return judgeEach(
    authorization,
    ({ credential_public_key: public_key, list, ...assertion }) => {
      const signed = findChallenge(request, list);
      return signed.ok
        ? checkAssertion({ public_key, ...assertion }, { ...signed, ...party }, verifySignature)
        : failBy(signed);
    },
    "each passkey signed this request, on this site, unlocked by its user",
  );
}

/** Finds a head that another contradicts: an organization has one roster of each number, and each names the one before. */
function findForked(heads: readonly RosterHead[]): RosterHead | undefined {
  const contradicts = (other: RosterHead, head: RosterHead) =>
    other.number === head.number
      ? rosterHash(other) !== rosterHash(head)
      : other.number === head.number - 1 && rosterHash(other) !== head.previous;
  return heads.find((head) => heads.some((other) => contradicts(other, head)));
}

/**
 * Checks what the object shows of the roster. Its head is the one in the log by the service's signature; the organization's
 * monitor checks that.
 */
export function checkRoster(authorization: HumanAuthorization): Outcome {
  const { organization } = authorization.request;
  const found = judgeEach(
    authorization,
    ({ approver_id, credential_public_key, verified_at, roster, groups, deputy_for }) => {
      const { head, entry } = roster;
      if (head.organization !== organization) return fail("roster_of_another");
      const isTheirs = entry.approver_id === approver_id && entry.deputy_for?.approver_id === deputy_for;
      if (!isTheirs || entry.public_key !== credential_public_key) return fail("roster_entry_mismatch");
      if (entry.since > head.changed_at || head.changed_at > verified_at)
        return fail("roster_time_mismatch", { time: head.changed_at });
      const { from = verified_at, until = "~" } = entry.deputy_for ?? {};
      if (verified_at < from || verified_at >= until) return fail("deputy_out_of_time", { from, until });
      return checkMembership({ ...roster, groups });
    },
    "each passkey is in the organization's roster, in the groups that it says",
  );
  const forked = findForked(
    authorization.approvals.filter(isPasskeyApproval).map(({ roster }) => roster.head),
  );
  return found.status === "pass" && forked ? fail("roster_broken", { number: forked.number }) : found;
}

/** Checks that the required people approved, each person once and for one group; the requester only if that was allowed. */
export function checkQuorum({ request, decided_by, approvals }: HumanAuthorization): Outcome {
  const { required_approvers: required } = request;
  if (required.length === 0) return skip("no_group_required");
  if (decided_by.kind !== "people") return skip("nobody_asked");
  const passkeys = approvals.filter(isPasskeyApproval);
  const deputies = passkeys.filter(({ deputy_for }) => deputy_for !== undefined).flatMap(listPeople);
  const people = passkeys.flatMap(listPeople);
  if (new Set(people).size !== people.length) return fail("approver_repeated");
  if (request.requester_id !== undefined && deputies.includes(request.requester_id))
    return fail("deputy_of_requester");
  if (isRequesterCounted(request, people)) return fail("requester_counted");
  const filled = fillPlaces(
    required,
    passkeys.map(({ groups }) => groups.map(({ group }) => group)),
  );
  for (const [index, { group, count }] of required.entries()) {
    const given = filled[index] ?? 0;
    if (given !== count) return fail("group_not_enough", { given, required: count, group });
  }
  return pass(required.map(({ group, count }) => `${count} of group ${group}`).join(", "));
}

function isRequesterCounted({ requester_id, requester_may_approve }: ApprovalRequest, people: string[]) {
  return !requester_may_approve && requester_id !== undefined && people.includes(requester_id);
}
