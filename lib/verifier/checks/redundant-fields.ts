/**
 * The answers of the service repeat fields of the signed payload for convenience. A reader believes what it reads
 * there, so each must say what the payload says; if the payload is not shown, what the zero-knowledge proof discloses,
 * and nothing beyond that may be claimed.
 */

import { confirmationCode } from "#lib/protocol/approval/approval";
import { bytesEqual, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import {
  isJsonObject,
  isSameJson,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { computeDsseKeyId, encodePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { computeLogId } from "#lib/protocol/statement/bundle";
import { isHumanApproved } from "#lib/protocol/statement/human-approval";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import type { Receipt, TrustedKey } from "#lib/protocol/statement/receipt";
import {
  type ActionPredicate,
  type ActionStatement,
  STATEMENT_MEDIA_TYPE,
} from "#lib/protocol/statement/statement";
import { readOrigin, type VerifierKey } from "#lib/protocol/tlog/checkpoint";
import type { Evidence } from "./evidence";
import type { AttestationReport } from "./verify-statement";

export interface Restatement {
  outcome: Outcome<"fail">;
  unproven?: string[];
  /** Values that the public proof discloses of a payload that is not there. */
  disclosed?: { name: string; value: JsonValue }[];
}

/** Fields that a private attestation hides and an erased one has lost. */
const contentFields = [
  "action",
  "inputs_hash",
  "metadata",
  "code_hash",
  "model_id",
  "tools_used",
  "client",
  "human_approval",
  "human_authorization",
  "tool_manifest",
];

export function checkRestatedFields(
  object: JsonObject,
  receipt: Receipt,
  report: AttestationReport,
  keys: readonly TrustedKey[],
  asked: string | undefined,
): Restatement {
  if (asked !== undefined && receipt.attestationId !== asked)
    return { outcome: fail("attestation_mismatch") };
  const wrong = findWrongSurroundings(object, receipt, keys);
  if (wrong !== null) return { outcome: wrong };
  const { statement } = report;
  if (statement === null) return checkWithoutPayload(object, receipt, report);
  const mismatch =
    findMismatch(object, restate(statement.predicate)) ?? findForeignManifest(receipt, statement);
  return {
    outcome:
      mismatch === null
        ? pass("the fields beside the payload say what the payload says")
        : fail("field_mismatch", { field: mismatch }),
  };
}

/** Seconds by which the clocks of the service and of its database may differ. */
const clockSlackSeconds = 600;

/**
 * A bundle repeats which key and which log to look for, and says when the log took the entry in. Nothing signs that
 * time: it proves nothing, and is only held against the signed timestamp and, where it is known, the time now.
 */
export function checkBundleHints(
  { bundle, receipt }: Extract<Evidence, { kind: "bundle" }>,
  { statement }: AttestationReport,
  keys: readonly TrustedKey[],
  logKey: VerifierKey,
  {
    attestationId: asked,
    nowSeconds = Number.POSITIVE_INFINITY,
  }: { attestationId?: string; nowSeconds?: number },
): Restatement {
  const key = keys.find(({ keyId }) => keyId === receipt.keyId);
  const fits =
    key !== undefined &&
    bundle.envelope.payloadType === STATEMENT_MEDIA_TYPE &&
    bundle.envelope.keyId === computeDsseKeyId(key.publicKey) &&
    bytesEqual(bundle.logId, computeLogId(logKey)) &&
    (asked === undefined || receipt.attestationId === asked);
  if (!fits) return { outcome: fail("bundle_hint_mismatch") };
  const outcome = pass("the bundle names this key and this log");
  const at = bundle.integratedAtSeconds;
  if (at === null) return { outcome };
  const madeAtSeconds = statement === null ? 0 : Date.parse(statement.predicate.timestamp) / 1000;
  if (at < madeAtSeconds - clockSlackSeconds) return { outcome: fail("bundle_time_too_early") };
  if (at > nowSeconds + clockSlackSeconds) return { outcome: fail("bundle_time_in_future") };
  return { outcome, unproven: ["integratedTime"] };
}

/** The fields of an answer that follow from the payload. */
function restate({ request, verdicts, ...predicate }: ActionPredicate): JsonObject {
  const asked = (name: string): JsonValue => request[name] ?? null;
  return {
    attestation_id: predicate.attestation_id,
    agent_slug: asked("agent_slug"),
    action: asked("action"),
    inputs_hash: asked("inputs_hash"),
    timestamp: predicate.timestamp,
    key_id: predicate.key_id,
    is_public: predicate.is_public,
    ...verdicts,
    client_gap: verdicts.client_gap ?? null,
    human_approved: isHumanApproved(predicate.human_approval),
    human_approval: predicate.human_approval,
    metadata: asked("metadata"),
    code_hash: asked("code_hash"),
    model_id: asked("model_id"),
    tools_used: asked("tools_used"),
    client: asked("client"),
    has_zk_proof: predicate.zk !== undefined,
    record: predicate.record ?? null,
  };
}

/** The first field that the object shows otherwise than is expected; null if there is none. */
function findMismatch(object: JsonObject, expected: JsonObject): string | null {
  const differs = (name: string) => {
    const [shown, own = null] = [object[name], expected[name]];
    return shown !== undefined && !isSameJson(shown, own);
  };
  return Object.keys(expected).find(differs) ?? null;
}

/** A manifest must be the one that was registered, even where no tool was used. */
function findForeignManifest({ toolManifest }: Receipt, { predicate }: ActionStatement): string | null {
  if (toolManifest === null || toolManifest === "absent") return null;
  const isNamed = hexEncode(sha256(toolManifest)) === predicate.registered.tool_manifest_hash;
  return isNamed ? null : "tool_manifest";
}

const contradicts = (field: string, source: string) => fail("field_contradicted", { field, source });

function findWrongSurroundings(object: JsonObject, receipt: Receipt, keys: readonly TrustedKey[]) {
  const { log, has_zk_proof: hasProof, independent_verification: repeat } = object;
  if (
    isJsonObject(log) &&
    log["origin"] !== undefined &&
    log["origin"] !== readOrigin(receipt.log.checkpoint)
  )
    return contradicts("log.origin", "the checkpoint");
  if (hasProof !== undefined && receipt.zkProof !== "absent" && hasProof !== (receipt.zkProof !== null))
    return contradicts("has_zk_proof", "what is there");
  if (!isJsonObject(repeat)) return null;
  const { recreate_payload: payload, public_key_pem: pem } = repeat;
  const shown = object["payload"] ?? null;
  if (payload !== undefined && payload !== shown)
    return fail("field_mismatch", { field: "independent_verification.recreate_payload" });
  const key = keys.find(({ keyId }) => keyId === receipt.keyId);
  if (key !== undefined && pem !== undefined && pem !== encodePublicKeyPem(key.publicKey))
    return contradicts("independent_verification.public_key_pem", "the key");
  return null;
}

/** The bounds of time that the answer states and that do not follow from what this reader trusts. */
export function listUnprovenBounds(
  { time_bounds: bounds }: JsonObject,
  { madeAfter, madeBefore }: AttestationReport,
): string[] {
  if (!isJsonObject(bounds)) return [];
  const own = { made_after: madeAfter, made_before: madeBefore };
  return Object.entries(own).flatMap(([name, bound]) => {
    const stated = bounds[name] ?? null;
    const proven = bound && { at: new Date(bound.timeMs).toISOString(), by: bound.by };
    return stated === null || isSameJson(stated, proven) ? [] : [`time_bounds.${name}`];
  });
}

/** Claims that nothing in the answer backs up are listed; content is not shown without the bytes that contain it. */
function checkWithoutPayload(object: JsonObject, receipt: Receipt, report: AttestationReport): Restatement {
  const gone = receipt.payload === "hidden" ? contentFields : [...contentFields, ...claimFields];
  const shown = gone.find((name) => (object[name] ?? null) !== null);
  if (shown !== undefined) return { outcome: fail("field_unbacked", { field: shown }) };
  const isProofGood = report.checks.some(({ name, status }) => name === "zk_proof" && status === "pass");
  const disclosed = isProofGood ? readDisclosed(receipt.zkProof) : {};
  const mismatch = findMismatch(object, disclosed);
  const contradicted = (field: string) => ({ outcome: contradicts(field, "the zero-knowledge proof") });
  if (mismatch !== null) return contradicted(mismatch);
  const month = disclosed["issued_month"];
  const { timestamp } = object;
  if (typeof month === "string" && typeof timestamp === "string" && !timestamp.startsWith(month))
    return contradicted("timestamp");
  const claims = ["attestation_id", "agent_slug", "is_public", "record", "erased_at", ...claimFields];
  const unproven = claims.filter((name) => (object[name] ?? null) !== null && !(name in disclosed));
  return {
    outcome: pass("nothing is claimed beyond what is listed as unproven"),
    unproven,
    disclosed: Object.entries(disclosed).map(([name, value]) => ({ name, value })),
  };
}

/** Shown of a private attestation, not of an erased one. */
const claimFields = [
  "timestamp",
  "agent_authenticated",
  "code_hash_verified",
  "tools_authorized",
  "client_gap",
  "human_approved",
];

/** Name → value of a proof that has verified. */
function readDisclosed(zkProof: unknown): JsonObject {
  if (!isJsonObject(zkProof) || !isJsonObject(zkProof["disclosed"])) return {};
  const pairs = Object.values(zkProof["disclosed"]).map(
    (text) => JSON.parse(String(text)) as [string, JsonValue],
  );
  return Object.fromEntries(pairs);
}

const askedFields = [
  "request_id",
  "agent_slug",
  "action",
  "tool",
  "amount",
  "grant",
  "inputs_hash",
  "required_level",
  "created_at",
  "expires_at",
  "amendable",
];
const decidedFields = ["decided_by", "environment", "usable_until"];

/** Checked together against the request's context_hash. */
const shownFields = [
  "context",
  "context_salt",
  "agent_name",
  "organization_name",
  "requested_by",
  "before",
  "questions",
];
/** The object itself, and words of the service about the fields beside them. */
const ownWords = ["human_authorization", "guidance", "denial_reason_note", "opening"];

/** The group names are the answer's: they are among what context_hash covers. */
function listGroups(answer: JsonObject, request: JsonObject): JsonObject[] {
  const signed = Array.isArray(request["required_approvers"]) ? request["required_approvers"] : [];
  const shown = Array.isArray(answer["required_approvers"]) ? answer["required_approvers"] : [];
  return signed.filter(isJsonObject).map((group, i) => {
    const named = shown[i];
    return { ...group, name: (isJsonObject(named) ? named["name"] : null) ?? null };
  });
}

function readAmends({ amends }: JsonObject, original: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(amends) || !isJsonObject(original)) return null;
  const { fields = null, by = null } = amends;
  return { request_id: original["request_id"] ?? null, fields, by };
}

/**
 * The answer of GET /v1/authorize/{id} repeats fields of the object in it: each must be the same in both. What has
 * happened since (revoked_at, used_at …) no signature of this file says: it is named.
 */
export function checkRestatedRequest(answer: JsonObject, object: JsonObject): Restatement {
  const request = isJsonObject(object["request"]) ? object["request"] : {};
  const binding = isJsonObject(object["binding"]) ? object["binding"] : {};
  const expected: JsonObject = {
    ...Object.fromEntries(askedFields.map((name) => [name, request[name] ?? null])),
    ...Object.fromEntries(decidedFields.map((name) => [name, object[name] ?? null])),
    status: "approved",
    decided_at: object["approved_at"] ?? null,
    required_approvers: listGroups(answer, request),
    amends: readAmends(request, object["original_request"]),
    approvals: { required: request["approvals_required"] ?? null, given: countApprovals(object) },
    confirmation_code: confirmationCode(String(binding["request_hash"])),
  };
  const mismatch = findMismatch(answer, expected);
  if (mismatch !== null) return { outcome: fail("field_mismatch", { field: mismatch }) };
  const isShown = "context" in answer || "context_salt" in answer;
  const known = [...Object.keys(expected), ...ownWords, ...(isShown ? shownFields : [])];
  return {
    outcome: pass("the fields beside the object say what the object says"),
    unproven: Object.keys(answer).filter((name) => answer[name] !== null && !known.includes(name)),
  };
}

/** People, each of whom gives a passkey's answer if groups are required, with World ID or without. */
function countApprovals({ approvals }: JsonObject): number {
  const types = Array.isArray(approvals) ? approvals.map((one) => isJsonObject(one) && one["type"]) : [];
  return types.filter((type) => type === "passkey").length || types.length;
}
