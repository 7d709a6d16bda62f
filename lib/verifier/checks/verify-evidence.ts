/**
 * Evidence + keys → report, by a fixed list of checks for each kind. No network, no clock, and no verdict in the file
 * is believed. The pairing checks (BBS, Groth16) are loaded only if one of them runs.
 */

import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { Certificate } from "#lib/protocol/encoding/certificate";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import type { Fact } from "#lib/protocol/record/facts";
import { fail, firstFailure, pass } from "#lib/protocol/statement/outcome";
import type { CostlyChecks, Receipt, Trust } from "#lib/protocol/statement/receipt";
import type { ActionStatement } from "#lib/protocol/statement/statement";
import type { Warning, WarningCode, WarningFacts } from "#lib/protocol/statement/warnings";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";
import { parseTlogProof } from "#lib/protocol/tlog/tlog-proof";
import type { Verdict, VerifierCheck, VerifierReport } from "#lib/verifier/report/report";
import { checkTlogProof } from "./check-log-entry";
import { checkPostQuantum } from "./check-post-quantum";
import { type Evidence, parseEvidence, UnreadableError } from "./evidence";
import {
  checkBundleHints,
  checkRestatedFields,
  checkRestatedRequest,
  listUnprovenBounds,
} from "./redundant-fields";
import type { RestatedWarnings } from "./redundant-warnings";
import type { TimeBound } from "./time-checks";
import { chooseLogKey, type VerifierTrust } from "./trust";
import type { AuthorizationReport } from "./verify-human-authorization";
import { type AttestationReport, verifyAttestation } from "./verify-statement";

/* Builds the report from what was found. */

interface Findings {
  missing?: readonly string[];
  unproven?: string[];
  statement?: ActionStatement | null;
  warnings?: Warning[];
  statedWarnings?: WarningCode[];
  disclosed?: VerifierReport["disclosed"];
  madeAfter?: TimeBound | null;
  madeBefore?: TimeBound | null;
  presentationHeader?: VerifierReport["presentationHeader"];
  authorization?: AuthorizationReport | null;
  authorizationObject?: JsonObject | null;
  isErased?: boolean;
  claimed?: boolean | null;
  /** `opening` of the file; null if it has none. */
  opening?: JsonValue;
  wantsFacts?: boolean | undefined;
}

/** Overrides in the report of a file that failed a check. */
export const nothingProven = {
  unproven: [],
  statement: null,
  warnings: [],
  statedWarnings: [],
  disclosed: [],
  madeAfter: null,
  madeBefore: null,
  presentationHeader: null,
  authorization: null,
  facts: [],
} satisfies Partial<VerifierReport>;

async function finish(
  kind: Evidence["kind"],
  checks: VerifierCheck[],
  findings: Findings = {},
): Promise<VerifierReport> {
  const { missing = [], unproven = [], statedWarnings = [], authorization = null, claimed = null } = findings;
  const { statement = null, presentationHeader = null, madeAfter = null, madeBefore = null } = findings;
  const failed =
    checks.length === 0 || checks.some(({ status }) => status === "fail" || status === "not_run");
  const whole: Verdict = missing.length === 0 ? "valid" : "incomplete";
  const verdict: Verdict = failed ? "invalid" : findings.isErased ? "erased" : whole;
  const disclosed = (findings.disclosed ?? []).map(({ name, value }) => ({ name, value }));
  const warnings = failed ? [] : await gatherWarnings(findings);
  const isTest = authorization?.grade === "test" || warnings.some(({ code }) => code === "approval_test");
  return {
    kind,
    verdict,
    checks,
    missing: [...missing],
    unproven,
    statement,
    warnings,
    statedWarnings,
    disclosed,
    madeAfter,
    madeBefore,
    presentationHeader,
    authorization,
    facts: failed || findings.wantsFacts === false ? [] : await gatherFacts(findings),
    ...(failed && nothingProven),
    isTest,
    claimed,
    disagrees: claimed !== null && claimed !== (verdict !== "invalid"),
  };
}

async function gatherFacts({
  statement = null,
  authorizationObject: object = null,
  opening = null,
}: Findings): Promise<Fact[]> {
  if (statement === null && object === null) return [];
  const { factsOfApproval, factsOfReceipt, listFacts } = await import("#lib/protocol/record/facts");
  const opened =
    opening === null || object === null ? null : (await loadOpenings()).readOpening(opening, object);
  const { names, ...shown } = opened ?? {};
  if (statement !== null)
    return listFacts({ ...factsOfReceipt(statement.predicate, object, names), ...shown });
  return object === null ? [] : listFacts({ ...factsOfApproval(object, names), ...shown });
}

/** Loaded only where a file has an opening. */
const loadOpenings = () => import("#lib/protocol/approval/opening");

/** A check of its own, in files that open something. `object`: the approval, whose own checks ran. */
async function checkOpened(opening: JsonValue, object: JsonObject | null): Promise<VerifierCheck[]> {
  if (opening === null) return [];
  const outcome =
    object === null ? fail("opening_without_approval") : (await loadOpenings()).checkOpening(opening, object);
  return [{ name: "opening", ...outcome }];
}

/** A disclosed value is as good as the payload's; an authorization by itself is a TEST or none. */
async function gatherWarnings({
  warnings = [],
  disclosed = [],
  authorization,
}: Findings): Promise<Warning[]> {
  if (disclosed.length === 0 && authorization?.grade !== "test") return warnings;
  const { findWarnings, describeWarning } = await import("#lib/protocol/statement/warnings");
  const shown: WarningFacts = Object.fromEntries(disclosed.map(({ name, value }) => [name, value]));
  const test: WarningCode[] = authorization?.grade === "test" ? ["approval_test"] : [];
  const known = warnings.map(({ code }) => code);
  const more = new Set([...findWarnings(shown), ...test].filter((code) => !known.includes(code)));
  return [...warnings, ...[...more].map(describeWarning)];
}

/** Expectations of the verifier: all optional, nothing of it from the file. */
export interface Expectation {
  /** The id that was asked for: a service could answer with another attestation that is valid. */
  attestationId?: string;
  /** Expectations of a presentation: whom it must have been made for, the nonce that was sent, and the time to judge by. */
  audience?: string;
  nonce?: string;
  nowSeconds?: number;
  payload?: Uint8Array;
  /** False for a reader who shows none of {@link VerifierReport.facts}: they are empty then. */
  wantsFacts?: false;
  /** See {@link Trust.verifyPayload}. */
  verifyPayload?: VerifyEd25519 | undefined;
}

/** `input`: text or a parsed JSON value. Throws UnreadableError for what cannot be verified at all. */
export async function verifyEvidence(
  input: unknown,
  trust: VerifierTrust,
  expected: Expectation = {},
): Promise<VerifierReport> {
  return verifyParsed(parseEvidence(input), trust, expected);
}

async function verifyParsed(
  evidence: Evidence,
  trust: VerifierTrust,
  expected: Expectation = {},
): Promise<VerifierReport> {
  const { attestationId, payload, audience, nonce } = expected;
  if (evidence.kind === "human_authorization" && (attestationId !== undefined || payload !== undefined))
    throw new UnreadableError("a human_authorization, where an attestation was asked for");
  if (evidence.kind === "tlog_proof" && attestationId !== undefined)
    throw new UnreadableError("a tlog-proof, where an attestation was asked for");
  if (evidence.kind !== "presentation" && (audience !== undefined || nonce !== undefined))
    throw new UnreadableError("no zero-knowledge presentation, where one was asked for");
  switch (evidence.kind) {
    case "attestation":
    case "bundle":
      return verifyReceipt(evidence, trust, expected);
    case "human_authorization":
      return verifyAuthorization(evidence, trust);
    case "presentation":
      return verifyZkPresentation(evidence.object, trust, expected);
    case "tlog_proof":
      return verifyTlogProof(evidence.file, trust, expected.payload);
  }
}

async function verifyTlogProof(file: string, trust: VerifierTrust, payload: Uint8Array | undefined) {
  const checks = checkTlogProof(file, trust, payload);
  const { checkpoint } = parseTlogProof(file);
  return finish("tlog_proof", [...checks, ...(await checkLogAgain(checkpoint, checks, trust))]);
}

async function verifyReceipt(
  evidence: Extract<Evidence, { receipt: unknown }>,
  trust: VerifierTrust,
  expected: Expectation,
): Promise<VerifierReport> {
  const { kind, receipt } = evidence;
  const costly = loadCostlyChecks(trust);
  const logKey = chooseLogKey(receipt.log.checkpoint, trust);
  const { keys, witnesses = [] } = trust;
  const timeAuthorities = await readTimeAuthorities(receipt, trust);
  if (witnesses.some(({ type }) => type === 6)) await loadMlDsa();
  const report = await verifyAttestation(
    receipt,
    { keys, logKey, witnesses, timeAuthorities, verifyPayload: expected.verifyPayload },
    costly.checks,
  );
  const restated =
    kind === "attestation"
      ? checkRestatedFields(evidence.object, receipt, report, trust.keys, expected.attestationId)
      : checkBundleHints(evidence, report, trust.keys, logKey, expected);
  const { unproven = [], disclosed = [], outcome } = restated;
  const isForeign = kind === "attestation" && !(await isCredentialOwn(evidence));
  const warned = await compareWarnings(evidence, report, disclosed);
  const opening = kind === "attestation" ? (evidence.object["opening"] ?? null) : null;
  const mismatch = isForeign ? "zk.credential" : warned.differs && `warnings (${warned.differs})`;
  const checks: VerifierCheck[] = [
    ...report.checks,
    mismatch === undefined || outcome.status === "fail"
      ? { name: "restated_fields", ...outcome }
      : { name: "restated_fields", ...fail("field_mismatch", { field: mismatch }) },
    ...comparePayload(receipt, expected.payload),
    ...(await checkLogAgain(receipt.log.checkpoint, report.checks, trust)),
    ...(await checkOpened(opening, costly.object())),
  ];
  return finish(kind, checks, {
    missing: report.missing,
    unproven:
      kind === "attestation" ? [...unproven, ...listUnprovenBounds(evidence.object, report)] : unproven,
    disclosed,
    warnings: report.warnings,
    statedWarnings: warned.stated,
    statement: report.statement,
    madeAfter: report.madeAfter,
    madeBefore: report.madeBefore,
    authorization: costly.authorization(),
    authorizationObject: costly.object(),
    opening,
    wantsFacts: expected.wantsFacts,
    isErased: receipt.payload === "erased",
    claimed: kind === "attestation" ? readClaim(evidence.object) : null,
  });
}

/** A checkpoint that the log's Ed25519 key has signed, by its key for the time of quantum computers. */
async function checkLogAgain(
  checkpoint: string,
  checks: readonly VerifierCheck[],
  trust: VerifierTrust,
): Promise<VerifierCheck[]> {
  const isSigned = checks.some(({ name, status }) => name === "checkpoint_signature" && status === "pass");
  return isSigned ? checkPostQuantum(checkpoint, trust) : [];
}

/** Compares hashes, of which the log has a hidden payload's too. */
function comparePayload({ payloadHash }: Receipt, payload: Uint8Array | undefined): VerifierCheck[] {
  if (payload === undefined) return [];
  const isSame = bytesEqual(payloadHash, sha256(payload));
  const outcome = isSame ? pass("its payload_hash is the hash of this payload") : fail("payload_mismatch");
  return [{ name: "payload", ...outcome }];
}

/** Read where there is a stamp to check: every page would else carry the code for it. */
async function readTimeAuthorities(
  { time }: Receipt,
  { timeAuthorities = [] }: VerifierTrust,
): Promise<Certificate[]> {
  const isStamped = time !== "absent" && time.anchors.some(({ timeStamps }) => timeStamps.length > 0);
  if (!isStamped || timeAuthorities.length === 0) return [];
  const { parseCertificates } = await import("#lib/protocol/encoding/certificate");
  try {
    return timeAuthorities.flatMap(parseCertificates);
  } catch {
    throw new UnreadableError("a certificate of a time-stamp authority: not X.509 in PEM");
  }
}

async function compareWarnings(
  evidence: Extract<Evidence, { receipt: unknown }>,
  report: AttestationReport,
  disclosed: VerifierReport["disclosed"],
): Promise<RestatedWarnings> {
  const { warnings = [] } = evidence.kind === "attestation" ? evidence.object : {};
  const isQuiet = Array.isArray(warnings) && warnings.length === 0 && report.warnings.length === 0;
  if (evidence.kind === "bundle" || (isQuiet && report.statement !== null))
    return { differs: undefined, stated: [] };
  const { restateWarnings } = await import("./redundant-warnings");
  return restateWarnings(evidence.object, report, disclosed);
}

/** Checks the credential in POST's answer, which must follow from the payload beside it. */
async function isCredentialOwn({
  object,
  receipt: { payload },
}: Extract<Evidence, { kind: "attestation" }>): Promise<boolean> {
  const { zk } = object;
  const credential = isJsonObject(zk) ? zk["credential"] : undefined;
  if (credential === undefined || typeof payload === "string") return true;
  const { isOwnCredential } = await import("./check-presentation");
  return isOwnCredential(credential, payload);
}

/** POST's answer claims nothing; GET's claims `valid`. */
function readClaim(object: JsonObject): boolean | null {
  return typeof object["valid"] === "boolean" ? object["valid"] : null;
}

function loadCostlyChecks(trust: VerifierTrust) {
  let authorization: AuthorizationReport | null = null;
  let shown: JsonObject | null = null;
  const checks: CostlyChecks = {
    verifyHumanAuthorization: async (object) => {
      const { checkAuthorization } = await import("./check-authorization");
      const checked = await checkAuthorization(object, trust);
      if (checked === null) return fail("authorization_malformed");
      authorization = checked.report;
      shown = object;
      return (
        firstFailure([...checked.report.checks, ...checked.logChecks]) ?? pass(checked.report.grade_text)
      );
    },
    verifyBeacon: async (bound) => {
      const { verifyBeacon } = await import("./verify-beacon");
      return verifyBeacon(bound);
    },
    verifyZkProof: async (zkProof, expected) => {
      const { checkPublicProof } = await import("./check-presentation");
      return checkPublicProof(zkProof, trust, expected);
    },
  };
  return { checks, authorization: () => authorization, object: () => shown };
}

async function verifyAuthorization(
  { object, answer, shown }: Extract<Evidence, { kind: "human_authorization" }>,
  trust: VerifierTrust,
): Promise<VerifierReport> {
  const { checkAuthorization } = await import("./check-authorization");
  const checked = await checkAuthorization(object, trust, shown);
  if (checked === null) throw new UnreadableError("a malformed human_authorization");
  const checks: VerifierCheck[] = [...checked.report.checks, ...checked.logChecks];
  const restated = answer && checkRestatedRequest(answer, object);
  if (restated) checks.push({ name: "restated_fields", ...restated.outcome });
  const opening = answer?.["opening"] ?? null;
  checks.push(...(await checkOpened(opening, object)));
  // The service gives none out without it: such an approval is perhaps in no record.
  const missing = object["log"] === undefined ? ["decision_log"] : [];
  const { unproven = [] } = restated ?? {};
  return finish("human_authorization", checks, {
    authorization: checked.report,
    authorizationObject: object,
    opening,
    missing,
    unproven,
  });
}

async function verifyZkPresentation(
  object: JsonObject,
  trust: VerifierTrust,
  { audience, nonce, nowSeconds, attestationId, payload }: Expectation,
): Promise<VerifierReport> {
  const { checkLonePresentation } = await import("./check-presentation");
  const { checks, disclosed, presentationHeader } = await checkLonePresentation(object, trust, {
    ...(audience !== undefined && { audience }),
    ...(nonce !== undefined && { nonce }),
    ...(nowSeconds !== undefined && { nowSeconds }),
    ...(attestationId !== undefined && { attestationId }),
    ...(payload !== undefined && { payload }),
  });
  return finish("presentation", checks, { disclosed, presentationHeader });
}
