/**
 * Verifies the whole chain of a `human_authorization` from its own bytes, for the service and any outsider: request → request_hash → world_action and signal → public inputs → pairing, and the service's
 * signature. The list of checks is fixed; a check that does not apply says so instead of being left out.
 *
 * What it cannot see: whether the root is World's. The service's signature vouches for what it asked World at
 * `verified_at`, and `anchor` lets anyone ask the chain.
 */
import {
  type Approval,
  authorizationSigningBytes,
  bindRequest,
  type HumanAuthorization,
  isShownContent,
  type ShownContent,
} from "./approval";
import { isEntryOfApproval } from "./approval-decision";
import { base64Decode, hexEncode, sha256 } from "./bytes";
import type { VerificationKey } from "./groth16";
import { semaphoreKeyFor } from "./world-id-keys";
import {
  checkProofV3,
  checkProofV4,
  isCredentialCurrent,
  isLevelSufficient,
  parseFieldElement,
} from "./world-id-proof";

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

export interface AuthorizationCheck {
  name: AuthorizationCheckName;
  status: "pass" | "fail" | "not_applicable";
  detail: string;
}

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

export interface AuthorizationVerifyOptions {
  /** The service's public keys, raw 32 bytes; undefined for a key id that is not the service's. */
  serviceKeys: (keyId: string) => Uint8Array | undefined;
  /** Strict Ed25519. */
  verifySignature: (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean;
  /** World's v4 key; without it v4 proofs are `checked_by_world`. */
  v4Key?: VerificationKey;
  /** The details and names that the approval page showed, from whoever holds them. */
  shown?: ShownContent;
}

type Outcome = Pick<AuthorizationCheck, "status" | "detail">;
const pass = (detail: string): Outcome => ({ status: "pass", detail });
const fail = (detail: string): Outcome => ({ status: "fail", detail });
const verdict = (ok: boolean, passed: string, failed: string) => (ok ? pass(passed) : fail(failed));

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

function checkSignature(authorization: HumanAuthorization, options: AuthorizationVerifyOptions): Outcome {
  const publicKey = options.serviceKeys(authorization.key_id);
  if (publicKey === undefined) return fail("signed with a key that is not the service's");
  if (hexEncode(sha256(publicKey)).slice(0, 16) !== authorization.key_id)
    return fail("the key id is of another key");
  try {
    const signature = base64Decode(authorization.signature);
    const ok =
      signature.length === 64 &&
      options.verifySignature(signature, authorizationSigningBytes(authorization), publicKey);
    return verdict(ok, "the service's signature over the whole object", "the service's signature is wrong");
  } catch {
    return fail("the signature is not base64");
  }
}

function checkBinding(
  { request, binding }: HumanAuthorization,
  ...fields: (keyof HumanAuthorization["binding"])[]
): Outcome {
  const expected = bindRequest(request);
  const ok = fields.every((field) => binding[field] === expected[field]);
  return verdict(ok, "follows from the request", "does not follow from the request");
}

/** The object contains only a salted hash of what the page showed beside the action. */
function checkShown(authorization: HumanAuthorization, shown: ShownContent | undefined): Outcome {
  if (shown === undefined) {
    return {
      status: "not_applicable",
      detail: "the details and names on the approval page are not in this file",
    };
  }
  const passed =
    authorization.version === 1
      ? "the details are those that the approval covers; version 1 covers no names"
      : "the details and names are those that the approval covers";
  return verdict(
    isShownContent(authorization, shown),
    passed,
    "the details or names are not those that the approval covers",
  );
}

function checkCount({ request, approvals }: HumanAuthorization): Outcome {
  const ok = request.approvals_required >= 1 && approvals.length === request.approvals_required;
  return verdict(
    ok,
    `${approvals.length} of ${request.approvals_required} approvals`,
    `${approvals.length} approvals where ${request.approvals_required} are required`,
  );
}

/** v3 and v4 nullifiers of one human cannot be linked, so one version for all. */
function checkDistinct(approvals: Approval[]): Outcome {
  const nullifiers = approvals.map((approval) => parseFieldElement(approval.nullifier_hash));
  if (nullifiers.includes(undefined)) return fail("a nullifier is not a field element");
  if (new Set(approvals.map((approval) => approval.protocol_version)).size !== 1) {
    return fail("approvals of different protocol versions cannot be told apart by human");
  }
  const ok = new Set(nullifiers).size === approvals.length;
  return verdict(ok, "each approval is another human's", "one human counts twice");
}

function checkEnvironment(approvals: Approval[]): Outcome {
  const places = approvals.map(({ environment, app_id, rp_id }) => [environment, app_id, rp_id].join(" "));
  const ok = new Set(places).size === 1;
  return verdict(ok, `${approvals[0]?.environment}`, "approvals from different environments or apps");
}

function checkLevel({ request, approvals }: HumanAuthorization): Outcome {
  const ok =
    approvals.length > 0 &&
    approvals.every((approval) => isLevelSufficient(approval.level, request.required_level));
  const deviceOnly = approvals.some((approval) => approval.level === "device");
  const note = deviceOnly ? "; a device proof's root cannot be looked up on chain" : "";
  return verdict(ok, `at least ${request.required_level}${note}`, `less than ${request.required_level}`);
}

function checkTimes({ request, approvals, approved_at }: HumanAuthorization): Outcome {
  const [from, until, approved] = [request.created_at, request.expires_at, approved_at].map(Date.parse);
  const verified = approvals.map((approval) => Date.parse(approval.verified_at));
  if (from === undefined || until === undefined || approved === undefined) return fail("times are missing");
  const ok =
    from < until &&
    from <= approved &&
    approved <= until &&
    verified.every((t) => from <= t && t <= approved);
  if (!approvals.every((approval) => isCredentialCurrent(approval, request.created_at))) {
    return fail("a credential need not have been valid when the request was made");
  }
  return verdict(ok, "approved while the request was open", "not approved while the request was open");
}

function checkProofs(authorization: HumanAuthorization, v4Key: VerificationKey | undefined): Outcome {
  const outcomes = authorization.approvals.map((approval) => checkProof(approval, authorization, v4Key));
  if (outcomes.length === 0) return fail("no proof");
  return (
    outcomes.find((outcome) => outcome.status === "fail") ??
    outcomes.find((outcome) => outcome.status === "not_applicable") ??
    pass("every zero-knowledge proof verifies over this request")
  );
}

function checkProof(
  approval: Approval,
  { binding }: HumanAuthorization,
  v4Key: VerificationKey | undefined,
): Outcome {
  const signalHash = parseFieldElement(binding.signal_hash);
  if (signalHash === undefined) return fail("signal_hash is not a field element");
  if (approval.protocol_version === "3.0") {
    const key = semaphoreKeyFor(approval.environment);
    const check = checkProofV3(approval, binding.world_action, signalHash, key);
    return check.ok ? pass("") : fail(`a zero-knowledge proof does not verify: ${check.reason}`);
  }
  const { issuer_public_key, oprf_public_key } = approval.anchor ?? {};
  if (v4Key === undefined || issuer_public_key === undefined || oprf_public_key === undefined) {
    return {
      status: "not_applicable",
      detail:
        "checked by World, cannot be checked again independently: World's v4 key or the anchor is missing",
    };
  }
  const keys = { issuer_public_key, oprf_public_key };
  const check = checkProofV4(approval, binding.world_action, signalHash, v4Key, keys);
  return check.ok ? pass("") : fail(`a zero-knowledge proof does not verify: ${check.reason}`);
}

function checkAnchors(approvals: Approval[]): Outcome {
  const anchored = approvals.filter((approval) => approval.anchor !== undefined);
  if (!anchored.every((approval) => approval.anchor?.root === approval.merkle_root)) {
    return fail("an anchor is of another root");
  }
  if (anchored.length < approvals.length || anchored.length === 0) {
    return { status: "not_applicable", detail: "not every root has a recorded place on chain" };
  }
  return pass("every root has a recorded place on chain, which anyone with a node can ask");
}

/** The entry's place in the log is checked where the log's key is at hand (lib/verifier). */
function checkLoggedDecision(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): Outcome {
  if (authorization.log === undefined)
    return { status: "not_applicable", detail: "no log entry stands beside it" };
  const publicKey = options.serviceKeys(authorization.key_id);
  if (publicKey === undefined) return fail("signed with a key that is not the service's");
  return verdict(
    isEntryOfApproval(authorization, publicKey, options.verifySignature),
    "the log entry is that of this very approval",
    "the log entry is not that of this approval",
  );
}
