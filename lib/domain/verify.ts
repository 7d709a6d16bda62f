/**
 * The verifier's straight list: a receipt and the keys that the verifier trusts → a report with the ten checks
 * of api.md section 4. No I/O, no trust in any verdict that stands in the receipt. The server, the command line
 * and the visitor's browser all run this.
 */
import { bytesEqual, sha256 } from "./bytes";
import { isJsonObject, type JsonObject } from "./canonical-json";
import { verifyCheckpoint } from "./checkpoint";
import { verifyEnvelope } from "./dsse";
import { type VerifyEd25519, verifyEd25519Strict } from "./ed25519";
import { computeDsseKeyId } from "./ed25519-key";
import { checkAgentSignature, checkCodeHash, checkTools } from "./identity-checks";
import { leafMatchesEnvelope, parseLogLeaf } from "./log-leaf";
import { leafHash, verifyInclusion } from "./merkle";
import type { VerifierKey } from "./signed-note";
import {
  type ActionStatement,
  canonicalHash,
  parseActionStatement,
  STATEMENT_MEDIA_TYPE,
  type Verdict,
} from "./statement";

export const attestationChecks = [
  "payload_hash",
  "signature",
  "key_validity",
  "log_inclusion",
  "checkpoint_signature",
  "agent_signature",
  "code_hash",
  "tools",
  "human_authorization",
  "zk_proof",
] as const;
export type AttestationCheckName = (typeof attestationChecks)[number];

export interface AttestationCheck {
  name: AttestationCheckName;
  status: "pass" | "fail" | "not_applicable";
  detail: string;
}

export interface AttestationReport {
  /** False where a check failed; null where none did but some had nothing to read; true only where all held. */
  valid: boolean | null;
  checks: AttestationCheck[];
  /** Checks that the receipt keeps from running: its payload is private or erased, or a part is not in the file. */
  missing: AttestationCheckName[];
  /** What the payload says; null where it is hidden, erased or not a statement. */
  statement: ActionStatement | null;
}

/** Everything in here comes from the one who is to be checked. */
export interface Receipt {
  attestationId: string;
  agentSlug: string;
  /** `hidden`: private, and the verifier is not its owner. */
  payload: Uint8Array | "hidden" | "erased";
  payloadHash: Uint8Array;
  /** Over the payload itself; a Sigstore bundle carries the envelope's signature alone. */
  signature: Uint8Array | "absent";
  envelopeSignature: Uint8Array;
  keyId: string;
  isPublic: boolean;
  log: {
    index: number;
    treeSize: number;
    entry: Uint8Array;
    inclusionProof: Uint8Array[];
    checkpoint: string;
  };
  /** `absent`, here and below: this kind of file does not carry it, so its absence says nothing. */
  toolManifest: Uint8Array | null | "absent";
  humanAuthorization: JsonObject | null | "absent";
  /** As it was sent; null where the attestation has none, or `absent`. */
  zkProof: unknown;
}

export interface TrustedKey {
  keyId: string;
  publicKey: Uint8Array;
  /** The log that the range counts in; a service that began a new log has a range for each. Default: any. */
  logOrigin?: string;
  /** Log indexes for which its signatures are valid: `[from, to)`. */
  validFromIndex: number;
  validToIndex: number | null;
}

export interface Trust {
  keys: TrustedKey[];
  logKey: VerifierKey;
  /** For the service's own keys; default: the strict verifier. */
  verifySignature?: VerifyEd25519;
}

export interface SubReport {
  ok: boolean;
  detail: string;
}

/** The checks that cost a pairing, injected: a worker pool on the server, loaded on demand in the browser. */
export interface CostlyChecks {
  verifyHumanAuthorization(object: JsonObject): Promise<SubReport>;
  verifyZkProof(
    zkProof: unknown,
    expected: { attestationId: string; payload: Uint8Array | null },
  ): Promise<SubReport>;
}

interface Outcome extends Omit<AttestationCheck, "name"> {
  isMissing?: true;
}
const pass = (detail: string): Outcome => ({ status: "pass", detail });
const fail = (detail: string): Outcome => ({ status: "fail", detail });
const skip = (detail: string): Outcome => ({ status: "not_applicable", detail });
const miss = (detail: string): Outcome => ({ status: "not_applicable", detail, isMissing: true });

interface Subject {
  receipt: Receipt;
  trust: Trust;
  payload: Uint8Array | null;
  statement: ActionStatement | null;
  key: TrustedKey | undefined;
  verify: VerifyEd25519;
}

function withoutPayload({ receipt }: Subject): Outcome {
  return miss(receipt.payload === "erased" ? "the payload was erased" : "the payload is private");
}

function checkPayloadHash(subject: Subject): Outcome {
  const { receipt, payload, statement } = subject;
  if (payload === null) return withoutPayload(subject);
  if (!bytesEqual(sha256(payload), receipt.payloadHash))
    return fail("the payload does not have the hash that was recorded");
  if (statement === null) return fail("the payload is not a canonical statement about an agent's action");
  const { predicate } = statement;
  if (predicate.attestation_id !== receipt.attestationId)
    return fail("the payload is that of another attestation");
  if (String(predicate.request["agent_slug"]).toLowerCase() !== receipt.agentSlug.toLowerCase()) {
    return fail("the payload is about another agent");
  }
  if (predicate.key_id !== receipt.keyId) return fail("the payload names another signing key");
  if (predicate.is_public !== receipt.isPublic) return fail("the payload has another visibility");
  return pass("SHA-256 of the signed bytes is payload_hash, and they are this attestation's statement");
}

function checkSignature(subject: Subject): Outcome {
  const { receipt, payload, key, verify } = subject;
  if (payload === null) return withoutPayload(subject);
  if (key === undefined) return fail(`key ${receipt.keyId} is not one of the service's keys`);
  if (receipt.signature !== "absent" && !verify(receipt.signature, payload, key.publicKey))
    return fail("the Ed25519 signature does not verify");
  if (!verifyEnvelope(envelopeOf(payload, receipt, key), key.publicKey, verify))
    return fail("the envelope's signature does not verify");
  const over = receipt.signature === "absent" ? ", over the envelope" : "";
  return pass(`Ed25519 by key ${key.keyId}${over}`);
}

function envelopeOf(payload: Uint8Array, receipt: Receipt, key: TrustedKey) {
  return {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload,
    keyId: computeDsseKeyId(key.publicKey),
    signature: receipt.envelopeSignature,
  };
}

function checkKeyValidity({ receipt, key }: Subject): Outcome {
  if (key === undefined) return fail(`key ${receipt.keyId} is not one of the service's keys`);
  const { index } = receipt.log;
  const isWithin = index >= key.validFromIndex && (key.validToIndex === null || index < key.validToIndex);
  const range = `log indexes ${key.validFromIndex} to ${key.validToIndex === null ? "now" : key.validToIndex - 1}`;
  return isWithin
    ? pass(`key ${key.keyId} signs for ${range}`)
    : fail(`index ${index} is outside the key's ${range}`);
}

function checkLogInclusion({ receipt, trust, payload, key }: Subject): Outcome {
  const { log } = receipt;
  const checkpoint = verifyCheckpoint(log.checkpoint, trust.logKey, trust.verifySignature);
  if (!checkpoint.ok) return fail(checkpoint.problem);
  const { size, root } = checkpoint.checkpoint;
  if (size !== log.treeSize) return fail("the checkpoint is of another size than the proof");
  let entry: ReturnType<typeof parseLogLeaf>;
  try {
    entry = parseLogLeaf(log.entry);
  } catch {
    return fail("the log entry is malformed");
  }
  if (!bytesEqual(entry.payloadHash, receipt.payloadHash))
    return fail("the log entry is about another payload");
  if (!bytesEqual(entry.signature, receipt.envelopeSignature))
    return fail("the log entry has another signature");
  if (key === undefined || !bytesEqual(entry.publicKey, key.publicKey))
    return fail("the log entry names another key");
  if (payload !== null && !leafMatchesEnvelope(log.entry, envelopeOf(payload, receipt, key), key.publicKey)) {
    return fail("the log entry is not that of the signed envelope");
  }
  const claim = { leafHash: leafHash(log.entry), index: log.index, size, proof: log.inclusionProof, root };
  return verifyInclusion(claim)
    ? pass(`leaf ${log.index} of ${size}`)
    : fail("the inclusion proof does not lead to the root");
}

function checkCheckpointSignature({ receipt, trust }: Subject): Outcome {
  const verdict = verifyCheckpoint(receipt.log.checkpoint, trust.logKey, trust.verifySignature);
  return verdict.ok
    ? pass(`checkpoint of ${verdict.checkpoint.origin} at size ${verdict.checkpoint.size}`)
    : fail(verdict.problem);
}

const verdictWords = { true: "true", false: "false", null: "nothing to compare" } as const;

/** A recorded false that is still false passes: the record is honest about it. */
function compareVerdict(signed: Verdict, recomputed: Verdict): Outcome {
  if (signed !== recomputed)
    return fail(`recorded ${verdictWords[`${signed}`]}, recomputed ${verdictWords[`${recomputed}`]}`);
  return signed === null ? skip("nothing to compare") : pass(`recorded ${signed}, recomputed ${signed}`);
}

function recheckIdentity(subject: Subject, recheck: (statement: ActionStatement) => Outcome): Outcome {
  if (subject.payload === null) return withoutPayload(subject);
  return subject.statement === null ? fail("the payload is not a statement") : recheck(subject.statement);
}

/** `agent_signature` is of a key that anyone may have registered, so only the strict verifier judges it. */
function checkAgent(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate }) => {
    const { request, agent_signature, registered, verdicts } = predicate;
    const recomputed = checkAgentSignature(
      request,
      agent_signature,
      registered.agent_public_key,
      verifyEd25519Strict,
    );
    return compareVerdict(verdicts.agent_authenticated, recomputed);
  });
}

function checkCode(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) =>
    compareVerdict(verdicts.code_hash_verified, checkCodeHash(request, registered.code_hash)),
  );
}

function checkToolsUsed(subject: Subject): Outcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) => {
    const { toolManifest } = subject.receipt;
    const manifest = toolManifest === "absent" ? null : toolManifest;
    const recomputed = checkTools(request, registered.tool_manifest_hash, manifest);
    if (recomputed !== null && toolManifest === "absent")
      return miss("the registered tool manifest is not in this file");
    return compareVerdict(verdicts.tools_authorized, recomputed);
  });
}

/** What the payload says of the authorization against the embedded object; null where they fit. */
function findMisfit(statement: ActionStatement, object: JsonObject): string | null {
  const { request, human_approval: approval } = statement.predicate;
  if (approval.method !== "proof_of_personhood") return "the payload records no authorization";
  const { request: asked, binding, approvals } = object;
  if (!isJsonObject(asked) || !isJsonObject(binding) || !Array.isArray(approvals))
    return "the authorization is malformed";
  const given = approvals.filter(isJsonObject);
  const hash = canonicalHash(object);
  const facts: [string, boolean][] = [
    ["hash", hash === approval.authorization_hash && hash === request["human_authorization_hash"]],
    ["request hash", binding["request_hash"] === approval.request_hash],
    ["nullifiers", given.map((one) => one["nullifier_hash"]).join() === approval.nullifier_hashes.join()],
    ["environment", given.length > 0 && given.every((one) => one["environment"] === approval.environment)],
    ["organization", asked["organization"] === statement.predicate.organization],
    ["agent", String(asked["agent_slug"]).toLowerCase() === String(request["agent_slug"]).toLowerCase()],
    ["action", asked["action"] === request["action"]],
    ["inputs", asked["inputs_hash"] === undefined || asked["inputs_hash"] === request["inputs_hash"]],
    ["binding to inputs", (asked["inputs_hash"] !== undefined) === approval.inputs_bound],
    ["level", approval.level === weakestLevel(given)],
  ];
  const misfit = facts.find(([, fits]) => !fits);
  return misfit ? `the authorization does not fit the attestation: ${misfit[0]}` : null;
}

/** The level that all of the approvals reach. */
export function weakestLevel(approvals: readonly JsonObject[]): string {
  return approvals.every(({ level }) => level === "orb" || level === "proof_of_human") ? "orb" : "device";
}

async function checkHumanAuthorization(subject: Subject, costly: CostlyChecks): Promise<Outcome> {
  const { receipt, statement } = subject;
  if (subject.payload === null) return withoutPayload(subject);
  if (statement === null) return fail("the payload is not a statement");
  const approval = statement.predicate.human_approval;
  const object = receipt.humanAuthorization;
  if (approval.method !== "proof_of_personhood") {
    if (object !== null && object !== "absent")
      return fail("an authorization stands beside a payload that records none");
    return skip(
      approval.method === "hash" ? "asserted by the caller, not proven" : "no human approval was recorded",
    );
  }
  if (object === "absent") return miss("the authorization that the payload names is not in this file");
  if (object === null) return fail("the authorization that the payload names is missing");
  const misfit = findMisfit(statement, object);
  if (misfit !== null) return fail(misfit);
  const { ok, detail } = await costly.verifyHumanAuthorization(object);
  return ok ? pass(detail) : fail(detail);
}

async function checkZkProof(subject: Subject, costly: CostlyChecks): Promise<Outcome> {
  const { receipt, payload, statement } = subject;
  const isNamed = statement?.predicate.zk !== undefined;
  if (receipt.zkProof === "absent" && isNamed) return miss("the zero-knowledge proof is not in this file");
  if (receipt.zkProof === "absent" || receipt.zkProof === null || receipt.zkProof === undefined) {
    return isNamed
      ? fail("the zero-knowledge proof that the payload names is missing")
      : skip("no zero-knowledge proof was asked for");
  }
  if (statement !== null && !isNamed)
    return fail("a zero-knowledge proof stands beside a payload that names none");
  const expected = { attestationId: receipt.attestationId, payload };
  const { ok, detail } = await costly.verifyZkProof(receipt.zkProof, expected);
  return ok ? pass(detail) : fail(detail);
}

/** Never throws for what stands in the receipt. */
export async function verifyAttestation(
  receipt: Receipt,
  trust: Trust,
  costly: CostlyChecks,
): Promise<AttestationReport> {
  const payload = typeof receipt.payload === "string" ? null : receipt.payload;
  const subject: Subject = {
    receipt,
    trust,
    payload,
    statement: payload === null ? null : parseActionStatement(payload),
    key: trust.keys.find(
      ({ keyId, logOrigin = trust.logKey.name }) =>
        keyId === receipt.keyId && logOrigin === trust.logKey.name,
    ),
    verify: trust.verifySignature ?? verifyEd25519Strict,
  };
  const run: Record<AttestationCheckName, () => Outcome | Promise<Outcome>> = {
    payload_hash: () => checkPayloadHash(subject),
    signature: () => checkSignature(subject),
    key_validity: () => checkKeyValidity(subject),
    log_inclusion: () => checkLogInclusion(subject),
    checkpoint_signature: () => checkCheckpointSignature(subject),
    agent_signature: () => checkAgent(subject),
    code_hash: () => checkCode(subject),
    tools: () => checkToolsUsed(subject),
    human_authorization: () => checkHumanAuthorization(subject, costly),
    zk_proof: () => checkZkProof(subject, costly),
  };
  const checks: AttestationCheck[] = [];
  const missing: AttestationCheckName[] = [];
  for (const name of attestationChecks) {
    const { isMissing, ...outcome } = await run[name]();
    checks.push({ name, ...outcome });
    if (isMissing) missing.push(name);
  }
  const isWhole =
    checks.length === attestationChecks.length && checks.every(({ status }) => status !== "fail");
  const valid = isWhole && missing.length > 0 ? null : isWhole;
  return { valid, checks, missing, statement: subject.statement };
}
