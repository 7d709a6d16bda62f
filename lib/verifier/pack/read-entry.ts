/**
 * An entry's file in an evidence pack, checked by itself. Nothing of another file is needed for it, so several threads may
 * read a pack; what comes out is plain data.
 */

import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { parseDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { type GroupDecision, readGroupDecision } from "#lib/protocol/approval/attention";
import { checkOpening } from "#lib/protocol/approval/opening";
import {
  bytesEqual,
  hexEncode,
  type JoinedBytes,
  joinBytes,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
} from "#lib/protocol/encoding/canonical-json";
import {
  type ByteSource,
  inflateFile,
  type PlacedFile,
  ZipError,
  type ZipTools,
} from "#lib/protocol/encoding/zip";
import {
  isFitKey,
  SIGNATURE_BYTES,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import {
  CHANGE_FILE_TYPE,
  DECISION_FILE_TYPE,
  type PackEntry,
  readChangedInto,
  readPackEntry,
} from "#lib/protocol/pack/pack-entries";
import { describeFile, findCheckpoints, type PackedFile } from "#lib/protocol/pack/pack-manifest";
import { type PackTally, type Piece, type RowStyle, tallyEntries } from "#lib/protocol/pack/pack-report";
import type { PackRow } from "#lib/protocol/pack/pack-rows";
import type { PastRequest } from "#lib/protocol/policy/suggest";
import { type AgentChange, parseChangeStatement, reasonHash } from "#lib/protocol/record/agent-heads";
import { checkLogEntry } from "#lib/verifier/checks/check-log-entry";
import { readDecided } from "#lib/verifier/checks/check-record";
import { isLogged, readLoggedStatement } from "#lib/verifier/checks/check-sum";
import {
  decodeHash,
  readLogReceipt,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/evidence";
import type { SignedEntry } from "#lib/verifier/checks/record-checks";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { parsePackJson } from "./archive";
import { type RuledFacts, readPast, readRuled, readStanding, type StandingFacts } from "./ruled";
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
const contentFields = [
  ...["request", "human_authorization", "decided_by", "rules", "derivation", "opening", "changed_into"],
];
const hasOne = (json: JsonObject, names: readonly string[]) =>
  names.some((name) => (json[name] ?? null) !== null);

/** Checks an erased decision: nothing but the leaf says that there was one, and nothing is shown. A change is never erased. */
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
  if (hasOne(json, ["changed_into"]) && readChangedInto(json, decision.decision) === null)
    return "changed_into is not of a cancelled request, or no later number";
  const asked = [request, isJsonObject(authorization) ? authorization["request"] : null].filter(isJsonObject);
  if (asked.some(({ request_id: id }) => id !== json["request_id"])) return "request_id is another request's";
  if (!isJsonObject(authorization) && hasOne(json, ["opening"])) return "an opening without its approval";
  if (hasOne(json, ["derivation"]) && readStanding({ file: "", isDecision: true }, json) === null)
    return "a derivation without its standing approval";
  if (!isJsonObject(authorization))
    return hasOne(json, ["decided_by"]) && !hasOne(json, ["rules"])
      ? "it names who decided, which nothing in it shows"
      : null;
  const { log: _log, ...signed } = authorization;
  if (canonicalHash(signed) !== decision.authorization_hash)
    return "the authorization is not that of this decision";
  // Compared by rules.ts if rules are beside it.
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
  const payloadHash = decodeHash(requireText(json, "payload_hash"), "payload_hash");
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

async function checkReceipt(
  json: JsonObject,
  trust: VerifierTrust,
  verifyPayload: VerifyEd25519 | undefined,
): Promise<CheckedEntry> {
  const report = await verifyEvidence(json, trust, { wantsFacts: false, verifyPayload });
  const failed = report.checks.find(({ status }) => status === "fail");
  if (report.verdict === "invalid")
    return {
      ok: false,
      problem: failed === undefined ? "does not hold" : `${failed.name}: ${failed.detail}`,
    };
  // A pack includes everything that the payload names, so it was taken out.
  if (report.verdict === "incomplete" && report.statement !== null)
    return { ok: false, problem: `${report.missing.join(", ")}: not in the file` };
  const payloadHash = decodeHash(requireText(json, "payload_hash"), "payload_hash");
  const place = report.statement?.predicate.record;
  return { ok: true, payloadHash, signed: place ? { place, payloadHash } : null };
}

async function checkEntry(
  json: JsonObject,
  trust: VerifierTrust,
  verifyPayload: VerifyEd25519 | undefined,
): Promise<CheckedEntry> {
  try {
    return await (json["type"] === DECISION_FILE_TYPE || json["type"] === CHANGE_FILE_TYPE
      ? checkDecisionFile(json, trust)
      : checkReceipt(json, trust, verifyPayload));
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { ok: false, problem: error.message };
  }
}

function listDecided({ human_authorization: object }: JsonObject): [number, Uint8Array][] {
  const decided = isJsonObject(object) ? readDecided(object) : null;
  return decided === null ? [] : [[decided.place.sequence, decided.payloadHash]];
}

/** Fields of each entry that the checks over all entries need. */
export type PackMark = Pick<PackEntry, "sequence" | "file" | "slug" | "state" | "time" | "isDecision">;

/** Findings of one file: that it holds, and what the checks over all entries read of it. */
export interface EntryFindings {
  entry: PackMark;
  checked: CheckedEntry;
  /** Null for a decision. */
  attestationId: string | null;
  /** Number → hash of the payload, of the decision that the attestation is backed by. */
  decided: [number, Uint8Array][];
  /** Notes that this reader has not found before. */
  checkpoints: string[];
  grounds: Ground[];
  use: UseFacts | null;
  ruled: RuledFacts;
  past: PastRequest | null;
  standing: StandingFacts;
  group: GroupDecision | null;
  said: Said;
}

const toMark = ({ sequence, file, slug, state, time, isDecision }: PackEntry): PackMark => ({
  ...{ sequence, file, slug, state, time, isDecision },
});

/** `name`: in the archive. Throws {@link UnreadableError} for what is no entry. */
function createEntryReader(trust: VerifierTrust) {
  const notes = new Set<string>();
  return async (name: string, json: JsonObject, verifyPayload: VerifyEd25519 | undefined) => {
    const entry = readPackEntry(name, json);
    const checkpoints = findCheckpoints(json).filter((note) => !notes.has(note));
    for (const note of checkpoints) notes.add(note);
    const found: EntryFindings = {
      entry: toMark(entry),
      checked: await checkEntry(json, trust, verifyPayload),
      attestationId: entry.isDecision ? null : String(json["attestation_id"]),
      decided: entry.isDecision ? [] : listDecided(json),
      checkpoints,
      grounds: readGrounds(entry, json),
      use: readUse(entry, json),
      ruled: readRuled(entry, json),
      past: readPast(entry, json),
      standing: readStanding(entry, json),
      group: readGroupDecision(entry, json),
      said: readSaid(entry, json),
    };
    return { entry, found };
  };
}

/** `file`: null if it does not inflate. */
export interface ReadFile {
  file: PackedFile | null;
  found: EntryFindings | { problem: string };
}

/** Part of a pack's files, with the report's rows for those that hold. */
export interface ReadPart {
  files: ReadFile[];
  tally: PackTally;
  rows: PackRow[];
}

/** Style of the report's entries; `withRows`: for a reader who shows them too. */
export type ReadStyle = RowStyle & { withRows: boolean };

/** Stands for a part of the report, to compare it with the pack's. */
function toHash(text: string): Piece {
  const bytes = utf8Encode(text);
  return { sha256: hexEncode(sha256(bytes)), bytes: bytes.length };
}

/** Throws nothing for anything in the files. */
export function createPartReader(source: ByteSource, tools: ZipTools, trust: VerifierTrust) {
  const readEntry = createEntryReader(trust);
  return async (
    placed: readonly PlacedFile[],
    style: ReadStyle,
    verifyPayload?: VerifyEd25519,
  ): Promise<ReadPart> => {
    const files: ReadFile[] = [];
    const held: PackEntry[] = [];
    for (const one of placed) {
      let file: PackedFile | null = null;
      try {
        const content = await inflateFile(source, one, tools);
        file = describeFile(one.name, content);
        const { entry, found } = await readEntry(one.name, parsePackJson(one.name, content), verifyPayload);
        files.push({ file, found });
        if (found.checked.ok) held.push(entry);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        files.push({ file, found: { problem: error.message } });
      }
    }
    const { tally, rows } = tallyEntries(held, style, toHash);
    return { files, tally, rows: style.withRows ? rows : [] };
  };
}

/** Reads files of entries, and answers them in their order. */
export interface EntryReaders {
  read(files: readonly PlacedFile[], style: ReadStyle): AsyncIterable<ReadPart>;
  close(): void;
}

/** Readers of the entries of one archive, with whatever threads there are. */
export type OpenReaders = (source: ByteSource, trust: VerifierTrust, entries: number) => EntryReaders;

/** Size of a part: so few files that a fault ends the run soon, and so many that a message costs little. */
const filesPerPart = 64;

const cutInParts = (files: readonly PlacedFile[]) =>
  Array.from({ length: Math.ceil(files.length / filesPerPart) }, (_, i) =>
    files.slice(i * filesPerPart, (i + 1) * filesPerPart),
  );

/** Reads one after the other, in this thread. */
export const readHere =
  (tools: ZipTools): OpenReaders =>
  (source, trust) => {
    const readPart = createPartReader(source, tools, trust);
    return {
      read: async function* (files, style) {
        for (const part of cutInParts(files)) yield await readPart(part, style);
      },
      close: () => undefined,
    };
  };

/** A thread that answers each message with another, in turn. */
export interface Thread<Request, Answer> {
  ask(request: Request): Promise<Answer>;
  end(): void;
}

/** Runs {@link createPartReader}. */
export type EntryThread = Thread<PartRequest, ReadPart>;

export interface PartRequest {
  files: readonly PlacedFile[];
  style: ReadStyle;
}

/** `onAnswer` and `onFailure` are called with what comes. */
export function askThread<Request, Answer>(
  send: (request: Request) => void,
  end: () => void,
): Thread<Request, Answer> & { onAnswer(answer: Answer): void; onFailure(error: Error): void } {
  const waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  return {
    onAnswer: (answer) => waiting.shift()?.resolve(answer),
    onFailure: (error) => {
      for (const { reject } of waiting.splice(0)) reject(error);
    },
    ask: (request) => {
      const found = new Promise<Answer>((resolve, reject) => waiting.push({ resolve, reject }));
      // Awaited in its turn, or not at all after a fault.
      found.catch(() => undefined);
      send(request);
      return found;
    },
    end,
  };
}

/** Number of entries that are read in the time that a thread takes to start. */
export const entriesPerThread = 250;
const partsPerThread = 2;
/** Parts that are read before their turn, or wait to be. */
const partsAhead = 8;

/** Lets the answers of threads in. */
const rest = () =>
  new Promise<void>((done) => ("setImmediate" in globalThis ? setImmediate(() => done()) : setTimeout(done)));

/** A thread for each further processor there is work for; this one reads too while it waits for them. */
export const readInThreads =
  (
    processors: number,
    startThread: (source: ByteSource, trust: VerifierTrust) => EntryThread,
    tools: ZipTools,
  ): OpenReaders =>
  (source, trust, entries) => {
    const count = Math.min(processors - 1, Math.floor(entries / entriesPerThread));
    if (count < 1) return readHere(tools)(source, trust, entries);
    const threads = Array.from({ length: count }, () => ({ ...startThread(source, trust), asked: 0 }));
    const readOwn = createPartReader(source, tools, trust);
    return {
      read: async function* (files, style) {
        const parts = cutInParts(files);
        const asked: Promise<void>[] = [];
        const found: ReadPart[] = [];
        /** Index of the next part that nobody reads. */
        let free = 0;
        const keep = async (i: number, part: Promise<ReadPart>) => {
          found[i] = await part;
        };
        const claim = (read: (part: readonly PlacedFile[]) => Promise<ReadPart>) => {
          const i = free;
          free += 1;
          const done = keep(i, read(parts[i] ?? []));
          // A failure is met in its turn.
          done.catch(() => undefined);
          asked[i] = done;
          return done;
        };
        const isFree = (at: number) =>
          free < Math.min(parts.length, at + count * partsPerThread + partsAhead);
        for (let at = 0; at < parts.length; at += 1) {
          while (found[at] === undefined) {
            for (const thread of threads)
              while (thread.asked < partsPerThread && isFree(at)) {
                thread.asked += 1;
                void claim((part) => thread.ask({ files: part, style }).finally(() => (thread.asked -= 1)));
              }
            if (!isFree(at)) await asked[at];
            else {
              await claim((part) => readOwn(part, style));
              await rest();
            }
          }
          yield found[at] as ReadPart;
          delete found[at];
          delete asked[at];
        }
      },
      close: () => {
        for (const { end } of threads) end();
      },
    };
  };

/** Keys, signatures and messages in turn → whether all signatures hold. */
export type SignatureThread = Thread<JoinedBytes, boolean>;

/** Number of parts that wait for the thread before this one verifies too. */
const partsUnverified = 4;
const maxDeferredBytes = 64 * 1024;

/**
 * Reads here, and verifies the signatures over payloads in a thread: on two processors, because there it needs nothing
 * that has to be loaded and optimized again. A part counts when each of its signatures held, and is read again if not.
 */
export const readWithVerifier =
  (startThread: () => SignatureThread, tools: ZipTools): OpenReaders =>
  (source, trust) => {
    const thread = startThread();
    const readPart = createPartReader(source, tools, trust);
    let unverified = 0;
    const verifyLater = async (
      read: ReadPart,
      signed: readonly Uint8Array[],
      again: () => Promise<ReadPart>,
    ) => {
      unverified += 1;
      const all = await thread.ask(joinBytes(signed));
      unverified -= 1;
      return all ? read : again();
    };
    return {
      read: async function* (files, style) {
        const found: Promise<ReadPart>[] = [];
        for (const part of cutInParts(files)) {
          const signed: Uint8Array[] = [];
          const defer: VerifyEd25519 = (signature, message, publicKey) => {
            if (unverified === partsUnverified || message.length > maxDeferredBytes)
              return verifyEd25519Strict(signature, message, publicKey);
            if (signature.length !== SIGNATURE_BYTES || !isFitKey(publicKey)) return false;
            signed.push(publicKey, signature, message);
            return true;
          };
          const read = await readPart(part, style, defer);
          // Uses a reader of its own, which knows no notes of what was wrong.
          const again = () => createPartReader(source, tools, trust)(part, style);
          const whole = verifyLater(read, signed, again);
          // A failure is met in its turn.
          whole.catch(() => undefined);
          found.push(whole);
          await rest();
          if (found.length > partsUnverified) yield (await found.shift()) as ReadPart;
        }
        for (const part of found) yield await part;
      },
      close: thread.end,
    };
  };
