/**
 * Signed payload (docs/wire.md, Signed payload): an in-toto Statement v1 in RFC 8785 form. `predicate.request` is what
 * the agent asked and what its own signature covers.
 */

import { type ApprovalStop, isApprovalStop } from "#lib/protocol/approval/approval-end";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  isCanonicalText,
  isJsonObject,
  isSameJson,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { isRecordPlace, type RecordPlace } from "#lib/protocol/record/agent-record";
import { isNotBefore, type NotBefore } from "#lib/protocol/time/not-before-shape";
import { isTime } from "#lib/protocol/time/time-words";
import { backedMethods, type HumanApproval, isBacked } from "./human-approval";
import { isChained, isHexId } from "./parent";
import { PRODUCT_URI } from "./product";

/*
 * An agent's own numbers: each instance of it may count its attestations from 1, so that one that was lost on its way to
 * the service shows. docs/wire.md (Attest) has the rule.
 */

export type ClientNumber = {
  /** Writer of the agent to which the number belongs. */
  instance: string;
  /** Counted from 1. */
  sequence: number;
};

function isClientNumber(value: JsonValue | undefined): value is ClientNumber {
  if (!isJsonObject(value)) return false;
  const { instance, sequence, ...others } = value;
  return (
    typeof instance === "string" &&
    Number.isSafeInteger(sequence) &&
    (sequence as number) >= 1 &&
    Object.keys(others).length === 0
  );
}

export function readClientNumber({ client }: JsonObject): ClientNumber | null {
  return isClientNumber(client) ? client : null;
}

/** `last`: the number that the instance's last recorded attestation has, 0 before its first. */
export const isClientGap = (last: number, { sequence }: ClientNumber) => sequence !== last + 1;

export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
export const STATEMENT_MEDIA_TYPE = "application/vnd.in-toto+json";
export const AGENT_ACTION_PREDICATE = `${PRODUCT_URI}/agent-action/v1`;
export const DECISION_PREDICATE = `${PRODUCT_URI}/authorization-decision/v1`;
export const AGENT_CHANGE_PREDICATE = `${PRODUCT_URI}/agent-change/v1`;
export const KEY_EVENT_PREDICATE = `${PRODUCT_URI}/key-event/v1`;
export const EPOCH_PREDICATE = `${PRODUCT_URI}/log-epoch/v1`;
export const RULESET_PREDICATE = `${PRODUCT_URI}/ruleset/v1`;
export const AGENT_HEADS_PREDICATE = `${PRODUCT_URI}/agent-heads/v1`;
export const APPROVER_ROSTER_PREDICATE = `${PRODUCT_URI}/approver-roster/v1`;
export const PLANTED_REQUESTS_PREDICATE = `${PRODUCT_URI}/planted-requests/v1`;

export type Verdict = boolean | null;

export interface Verdicts {
  agent_authenticated: Verdict;
  code_hash_verified: Verdict;
  tools_authorized: Verdict;
  /** Set if the request has a number of the agent's own. */
  client_gap?: boolean;
}

/** Registration of the agent at that moment, which its claims are compared with; null where nothing was registered. */
export interface RegisteredIdentity {
  /** base64 of the raw 32 bytes */
  agent_public_key: string | null;
  code_hash: string | null;
  /** hex SHA-256 of the canonical manifest */
  tool_manifest_hash: string | null;
}

/** Set if a trace reported the action: ids as its exporter sent them, null where a log record has none. */
export type TraceMark = { signal: "span" | "log"; trace_id: string | null; span_id: string | null };

export interface ActionPredicate {
  attestation_id: string;
  timestamp: string;
  key_id: string;
  organization: string;
  is_public: boolean;
  /** base64 of 16 random bytes: it makes payload_hash hiding */
  salt: string;
  zk?: { suite: string; schema: string; kid: string };
  record: RecordPlace;
  request: JsonObject;
  agent_signature?: string;
  registered: RegisteredIdentity;
  agent_frozen_at?: string;
  verdicts: Verdicts;
  human_approval: HumanApproval;
  /** The stop that reached the approval after a run had claimed it; absent if it wasn't. */
  approval_stopped?: ApprovalStop;
  trace?: TraceMark;
  /** Absent if no third party had vouched for the time lately. */
  not_before?: NotBefore;
}

/** Predicate before the batch adds its position in the agent's record. */
export type UnplacedPredicate = Omit<ActionPredicate, "record">;

export interface ActionStatement {
  _type: typeof STATEMENT_TYPE;
  subject: [{ name: "inputs"; digest: Record<string, string> }];
  predicateType: typeof AGENT_ACTION_PREDICATE;
  predicate: ActionPredicate;
}

/** `sha256` if the value is 64 hex digits, bare or after `sha256:`; otherwise the value itself. */
export function subjectDigest(inputsHash: string): Record<string, string> {
  const match = /^(?:sha256:)?([0-9a-fA-F]{64})$/.exec(inputsHash);
  return match?.[1] ? { sha256: match[1].toLowerCase() } : { inputs_hash: inputsHash };
}

export function buildActionStatement(predicate: ActionPredicate): Uint8Array {
  const inputsHash = predicate.request["inputs_hash"];
  if (typeof inputsHash !== "string") throw new TypeError("inputs_hash missing");
  const statement: ActionStatement = {
    _type: STATEMENT_TYPE,
    subject: [{ name: "inputs", digest: subjectDigest(inputsHash) }],
    predicateType: AGENT_ACTION_PREDICATE,
    predicate,
  };
  return canonicalBytes(statement as unknown as JsonObject);
}

/** Statements about something other than an action: key events, decisions, log epochs. `digest` is hex SHA-256. */
export function buildStatement(
  predicateType: string,
  subjectName: string,
  digestHex: string,
  predicate: JsonObject,
): Uint8Array {
  return canonicalBytes({
    _type: STATEMENT_TYPE,
    subject: [{ name: subjectName, digest: { sha256: digestHex } }],
    predicateType,
    predicate,
  });
}

/** Predicate and subject's digest of what {@link buildStatement} makes; null for other bytes, of another type too. */
export function parseStatement(
  bytes: Uint8Array,
  predicateType: string,
): { predicate: JsonObject; digest: JsonValue | undefined } | null {
  const statement = parseCanonical(bytes);
  if (statement?.["predicateType"] !== predicateType) return null;
  const { predicate, subject } = statement;
  const [first] = Array.isArray(subject) ? subject : [];
  const digests = isJsonObject(first) ? first["digest"] : null;
  return isJsonObject(predicate) && isJsonObject(digests) ? { predicate, digest: digests["sha256"] } : null;
}

/**
 * The JSON of canonical bytes; null for anything that is not the one canonical spelling of an object. `isOwn`: our key
 * has signed them, so they are canonical if they are JSON.
 */
export function parseCanonical(bytes: Uint8Array, isOwn?: boolean): JsonObject | null {
  const text = decodeOrNull(bytes);
  return text === null ? null : parseCanonicalText(text, isOwn);
}

function decodeOrNull(bytes: Uint8Array): string | null {
  try {
    return utf8Decode(bytes);
  } catch {
    return null;
  }
}

function parseCanonicalText(text: string, isOwn?: boolean): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && (isOwn || isCanonicalText(text, value)) ? value : null;
  } catch {
    return null;
  }
}

const isVerdict = (value: unknown): value is Verdict => value === null || typeof value === "boolean";
const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === "string";
const isTextList = (value: unknown) =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

function isHumanApproval(value: unknown): value is HumanApproval {
  if (!isJsonObject(value)) return false;
  if (value["method"] === "none") return true;
  if (value["method"] === "hash") return isTextOrNull(value["approver_hash"]);
  return (
    backedMethods.some((method) => method === value["method"]) &&
    ["level", "request_hash", "authorization_hash", "environment"].every(
      (name) => typeof value[name] === "string",
    ) &&
    typeof value["inputs_bound"] === "boolean" &&
    isTextList(value["nullifier_hashes"]) &&
    isTextList(value["approver_ids"])
  );
}

/** A number of the agent's own and its verdict go together. */
function isClientJudged({ client }: JsonObject, { client_gap: gap }: JsonObject): boolean {
  return client === undefined ? gap === undefined : isClientNumber(client) && typeof gap === "boolean";
}

function isTraceMark(value: JsonValue): value is TraceMark {
  if (!isJsonObject(value)) return false;
  const { signal, trace_id, span_id, ...others } = value;
  const isId = (id: JsonValue | undefined, digits: number) =>
    isHexId(id, digits) || (signal === "log" && id === null);
  const isKnown = signal === "span" || signal === "log";
  return isKnown && isId(trace_id, 32) && isId(span_id, 16) && Object.keys(others).length === 0;
}

/** No agent signs what a trace reports, and no approval backs it. */
function isReported({ trace, agent_signature, human_approval }: JsonObject): boolean {
  if (trace === undefined) return true;
  const isBare = agent_signature === undefined && isJsonObject(human_approval);
  return isBare && human_approval["method"] === "none" && isTraceMark(trace);
}

function isActionPredicate(value: JsonValue | undefined): boolean {
  if (!isJsonObject(value) || !isJsonObject(value["request"]) || !isJsonObject(value["registered"]))
    return false;
  const { request, registered, verdicts } = value;
  return (
    ["attestation_id", "key_id", "organization", "salt"].every((name) => typeof value[name] === "string") &&
    isTime(value["timestamp"]) &&
    typeof value["is_public"] === "boolean" &&
    ["agent_slug", "action", "inputs_hash"].every(
      (name) => isJsonObject(request) && typeof request[name] === "string",
    ) &&
    isRecordPlace(value["record"]) &&
    (value["agent_signature"] === undefined || typeof value["agent_signature"] === "string") &&
    ["agent_public_key", "code_hash", "tool_manifest_hash"].every(
      (name) => isJsonObject(registered) && isTextOrNull(registered[name]),
    ) &&
    (value["agent_frozen_at"] === undefined || isTime(value["agent_frozen_at"])) &&
    isJsonObject(verdicts) &&
    ["agent_authenticated", "code_hash_verified", "tools_authorized"].every((name) =>
      isVerdict(verdicts[name]),
    ) &&
    isClientJudged(request, verdicts) &&
    isChained(request) &&
    isHumanApproval(value["human_approval"]) &&
    (value["approval_stopped"] === undefined ||
      (isBacked(value["human_approval"]) && isApprovalStop(value["approval_stopped"]))) &&
    isReported(value) &&
    (value["not_before"] === undefined || isNotBefore(value["not_before"]))
  );
}

/** The last payload that was parsed: several checks read each receipt's. */
let lastParsed: { text: string; statement: ActionStatement | null } | undefined;

/**
 * Null for what is not the canonical form of an action statement with a subject that fits; see parseCanonical. `payload`:
 * bytes, or their text, which is well-formed.
 */
export function parseActionStatement(payload: Uint8Array | string, isOwn?: boolean): ActionStatement | null {
  const text = typeof payload === "string" ? payload : decodeOrNull(payload);
  if (text !== null && isOwn) return toActionStatement(parseCanonicalText(text, isOwn));
  if (text === null) return null;
  if (lastParsed?.text !== text)
    lastParsed = { text, statement: toActionStatement(parseCanonicalText(text)) };
  return lastParsed.statement;
}

function toActionStatement(statement: JsonObject | null): ActionStatement | null {
  if (statement === null || statement["_type"] !== STATEMENT_TYPE) return null;
  if (statement["predicateType"] !== AGENT_ACTION_PREDICATE || !isActionPredicate(statement["predicate"]))
    return null;
  const typed = statement as unknown as ActionStatement;
  const digest = subjectDigest(String(typed.predicate.request["inputs_hash"]));
  return isSameJson(statement["subject"] ?? null, [{ digest, name: "inputs" }]) ? typed : null;
}
