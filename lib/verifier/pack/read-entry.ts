/**
 * An entry's file in an evidence pack, checked by itself. Nothing of another file is needed for it, so several threads may
 * read a pack; what comes out is plain data.
 */

import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { parseDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { type GroupDecision, readGroupDecision } from "#lib/protocol/approval/attention";
import { checkOpening } from "#lib/protocol/approval/opening";
import { bytesEqual, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
} from "#lib/protocol/encoding/canonical-json";
import { inflateFile, type PlacedFile, ZipError, type ZipTools } from "#lib/protocol/encoding/zip";
import {
  CHANGE_FILE_TYPE,
  DECISION_FILE_TYPE,
  type PackEntry,
  readPackEntry,
} from "#lib/protocol/pack/pack-entries";
import { describeFile, findCheckpoints, type PackedFile } from "#lib/protocol/pack/pack-manifest";
import type { PastRequest } from "#lib/protocol/policy/suggest";
import { type AgentChange, parseChangeStatement, reasonHash } from "#lib/protocol/record/agent-heads";
import { checkLogEntry } from "#lib/verifier/checks/check-log-entry";
import { readDecided } from "#lib/verifier/checks/check-record";
import { isLogged, readLoggedStatement } from "#lib/verifier/checks/check-sum";
import {
  decodeHex,
  readLogReceipt,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/evidence";
import type { SignedEntry } from "#lib/verifier/checks/record-checks";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { parsePackJson } from "./archive";
import { type RuledFacts, readPast, readRuled } from "./ruled";
import { type Ground, readGrounds, readUse, type UseFacts } from "./uses";
import { readSaid, type Said } from "./verdicts";

/** A file that is not there, or not of the service's making. */
export const isUnreadable = (error: unknown): error is Error =>
  error instanceof UnreadableError || error instanceof RangeError || error instanceof ZipError;

type CheckedEntry =
  | { ok: true; payloadHash: Uint8Array; signed: SignedEntry | null }
  | { ok: false; problem: string };

/*
 * A decision's file: the signed statement with its place in the log, the request whose hash it names, and for an approval
 * the whole authorization.
 */

const wrong = (problem: string): CheckedEntry => ({ ok: false, problem });

/** Fields that a decision's file has beside the payload. */
const contentFields = ["request", "human_authorization", "decided_by", "rules", "opening"];
const hasOne = (json: JsonObject, names: readonly string[]) =>
  names.some((name) => (json[name] ?? null) !== null);

/** After erasure nothing but the leaf says that there was a decision, and nothing is shown. A change is never erased. */
function checkErased(json: JsonObject, payloadHash: Uint8Array, trust: VerifierTrust): CheckedEntry {
  if (json["type"] !== DECISION_FILE_TYPE || hasOne(json, [...contentFields, "reason"]))
    return wrong("the payload that was signed is not in the file");
  const { checks, leaf } = checkLogEntry(readLogReceipt(requireObject(json, "log")), trust);
  const failed = checks.find(({ status }) => status !== "pass");
  if (failed !== undefined) return wrong(failed.detail);
  return leaf !== null && bytesEqual(leaf.payloadHash, payloadHash)
    ? { ok: true, payloadHash, signed: null }
    : wrong("the log entry is of another decision");
}

async function findMismatch(
  json: JsonObject,
  payload: Uint8Array,
  trust: VerifierTrust,
): Promise<string | null> {
  const { type, request, human_authorization: authorization } = json;
  const change = parseChangeStatement(payload);
  if ((type === CHANGE_FILE_TYPE) !== (change !== null))
    return "the file is of another kind than its payload";
  if (change !== null) {
    const isForeign = change.request_hash === null && hasOne(json, ["request_id"]);
    if (isForeign || hasOne(json, contentFields)) return "it shows what no change has";
    return findOtherReason(json, change);
  }
  const decision = parseDecisionStatement(payload);
  if (decision === null) return "the payload is not a decision of a record";
  if (isJsonObject(request) && requestHash(request as unknown as ApprovalRequest) !== decision.request_hash)
    return "the request is not the one that was decided";
  const asked = [request, isJsonObject(authorization) ? authorization["request"] : null].filter(isJsonObject);
  if (asked.some(({ request_id: id }) => id !== json["request_id"])) return "request_id is another request's";
  if (!isJsonObject(authorization) && hasOne(json, ["opening"])) return "an opening without its approval";
  if (!isJsonObject(authorization))
    return hasOne(json, ["decided_by"]) && !hasOne(json, ["rules"])
      ? "it names who decided, which nothing in it shows"
      : null;
  const { log: _log, ...signed } = authorization;
  if (canonicalHash(signed) !== decision.authorization_hash)
    return "the authorization is not that of this decision";
  // With rules beside it, rules.ts compares it.
  const { decided_by: by = null, rules = null } = json;
  if (by !== null && rules === null && canonicalJson(by) !== canonicalJson(signed["decided_by"] ?? null))
    return "decided_by is not the one that was signed";
  const report = await verifyEvidence(authorization, trust);
  if (report.verdict === "valid") return findOtherOpening(json, authorization);
  return report.checks.find(({ status }) => status === "fail")?.detail ?? "the authorization does not hold";
}

function findOtherOpening({ opening = null }: JsonObject, authorization: JsonObject): string | null {
  if (opening === null) return null;
  const outcome = checkOpening(opening, authorization);
  return outcome.status === "pass" ? null : outcome.detail;
}

/** The organization's own words, if they are there, are those whose hash was signed. */
function findOtherReason({ reason, reason_salt: salt }: JsonObject, change: AgentChange): string | null {
  if ((reason ?? null) === null) return null;
  const isSigned =
    typeof reason === "string" && typeof salt === "string" && reasonHash(salt, reason) === change.reason_hash;
  return isSigned ? null : "the reason is not the one that was signed";
}

async function checkDecisionFile(json: JsonObject, trust: VerifierTrust): Promise<CheckedEntry> {
  const payloadHash = decodeHex(requireText(json, "payload_hash"), "payload_hash", 32);
  if (json["payload"] === null) return checkErased(json, payloadHash, trust);
  const payload = utf8Encode(requireText(json, "payload"));
  if (!bytesEqual(sha256(payload), payloadHash)) return wrong("payload_hash is not that of the payload");
  const decision = parseDecisionStatement(payload);
  const { record: place } = decision ?? parseChangeStatement(payload) ?? {};
  if (place === undefined) return wrong("the payload is not a decision of a record");
  if (!isLogged(readLoggedStatement(json), trust))
    return wrong("the decision is not signed by a trusted key, or not in the log");
  if (place.sequence !== json["sequence"]) return wrong("the payload has another number");
  if (canonicalJson(requireObject(json, "log")["record"] ?? null) !== canonicalJson({ ...place }))
    return wrong("log.record is not the place in the payload");
  const mismatch = await findMismatch(json, payload, trust);
  return mismatch === null ? { ok: true, payloadHash, signed: { place, payloadHash } } : wrong(mismatch);
}

async function checkReceipt(json: JsonObject, trust: VerifierTrust): Promise<CheckedEntry> {
  const report = await verifyEvidence(json, trust);
  const failed = report.checks.find(({ status }) => status === "fail");
  if (report.verdict === "invalid")
    return {
      ok: false,
      problem: failed === undefined ? "does not hold" : `${failed.name}: ${failed.detail}`,
    };
  // A pack includes everything that the payload names, so it was taken out.
  if (report.verdict === "incomplete" && report.statement !== null)
    return { ok: false, problem: `${report.missing.join(", ")}: not in the file` };
  const payloadHash = decodeHex(requireText(json, "payload_hash"), "payload_hash", 32);
  const place = report.statement?.predicate.record;
  return { ok: true, payloadHash, signed: place ? { place, payloadHash } : null };
}

async function checkEntry(json: JsonObject, trust: VerifierTrust): Promise<CheckedEntry> {
  try {
    return await (json["type"] === DECISION_FILE_TYPE || json["type"] === CHANGE_FILE_TYPE
      ? checkDecisionFile(json, trust)
      : checkReceipt(json, trust));
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { ok: false, problem: error.message };
  }
}

function listDecided({ human_authorization: object }: JsonObject): [number, Uint8Array][] {
  const decided = isJsonObject(object) ? readDecided(object) : null;
  return decided === null ? [] : [[decided.place.sequence, decided.payloadHash]];
}

/** Findings of one file: that it holds, and what the checks over all entries read of it. */
export interface EntryFindings {
  entry: PackEntry;
  checked: CheckedEntry;
  /** Null for a decision. */
  attestationId: string | null;
  /** Number → hash of the payload, of the decision that the attestation is backed by. */
  decided: [number, Uint8Array][];
  /** Notes that this reader has not found before. */
  checkpoints: string[];
  grounds: Ground[];
  use: UseFacts;
  ruled: RuledFacts;
  past: PastRequest | null;
  group: GroupDecision | null;
  said: Said;
}

/** `name`: in the archive. Throws {@link UnreadableError} for what is no entry. */
function createEntryReader(trust: VerifierTrust) {
  const notes = new Set<string>();
  return async (name: string, json: JsonObject): Promise<EntryFindings> => {
    const entry = readPackEntry(name, json);
    const checkpoints = findCheckpoints(json).filter((note) => !notes.has(note));
    for (const note of checkpoints) notes.add(note);
    return {
      entry,
      checked: await checkEntry(json, trust),
      attestationId: entry.isDecision ? null : String(json["attestation_id"]),
      decided: entry.isDecision ? [] : listDecided(json),
      checkpoints,
      grounds: readGrounds(entry, json),
      use: readUse(entry, json),
      ruled: readRuled(entry, json),
      past: readPast(entry, json),
      group: readGroupDecision(entry, json),
      said: readSaid(entry, json),
    };
  };
}

/** `file`: null if it does not inflate. */
export interface ReadFile {
  file: PackedFile | null;
  found: EntryFindings | { problem: string };
}

/** Throws nothing for anything in the file. */
export function createFileReader(bytes: Uint8Array, tools: ZipTools, trust: VerifierTrust) {
  const readEntry = createEntryReader(trust);
  return async (placed: PlacedFile): Promise<ReadFile> => {
    let file: PackedFile | null = null;
    try {
      const content = await inflateFile(bytes, placed, tools);
      file = describeFile(placed.name, content);
      return { file, found: await readEntry(placed.name, parsePackJson(placed.name, content)) };
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return { file, found: { problem: error.message } };
    }
  };
}

/** Reads files of entries, and answers them in their order. */
export interface EntryReaders {
  read(files: readonly PlacedFile[]): AsyncIterable<ReadFile>;
  close(): void;
}

/** Readers of the entries of one archive, with whatever threads there are. */
export type OpenReaders = (bytes: Uint8Array, trust: VerifierTrust, entries: number) => EntryReaders;

/** One after the other, here. */
export const readHere =
  (tools: ZipTools): OpenReaders =>
  (bytes, trust) => {
    const readFile = createFileReader(bytes, tools, trust);
    return {
      read: async function* (files) {
        for (const file of files) yield await readFile(file);
      },
      close: () => undefined,
    };
  };
