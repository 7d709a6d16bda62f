/**
 * An agent's whole record as an outsider follows it: every number from 1 to the head, every link computed again, the
 * newest public attestation, whose signature covers all links before it, and the receipts that the reader holds.
 */

import type { Decision } from "#lib/protocol/approval/approval-decision";
import { base64Decode, bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { decodeHeadRow } from "#lib/protocol/record/agent-heads";
import { emptyRecord, extendRecord, isRecordPlace, type RecordHead } from "#lib/protocol/record/agent-record";
import { requireString } from "#lib/protocol/statement/dsse";
import { type Fault, fail, failBy, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import { parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import type { RecordSummary, VerifierCheck } from "#lib/verifier/report/report";
import type { SumSource } from "./check-sum";
import {
  decodeHash,
  parseReceipt,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "./evidence";
import { checkMisbehaviour, MISBEHAVIOUR_TYPE } from "./misbehaviour";
import { type ListedEntry, type RecordWalk, type SignedEntry, walkRecord } from "./record-checks";
import type { VerifierTrust } from "./trust";
import { verifyEvidence } from "./verify-evidence";

/* The pages of an agent's record, as an outsider reads them. */

export type RecordMark = "public" | "private" | "erased" | "decision" | "agent_change";

export interface RecordEntry extends ListedEntry {
  mark: RecordMark;
  attestationId: string | null;
}

export interface RecordPage {
  slug: string;
  agentId: string;
  entries: RecordEntry[];
  head: RecordHead;
  /** Unchecked: check-counted.ts reads it. */
  snapshot: JsonValue | undefined;
  next: number | null;
}

function readMark(entry: JsonObject): RecordMark {
  const { kind, visibility } = entry;
  if (kind === "decision" || kind === "agent_change") return kind;
  if (
    kind === "attestation" &&
    (visibility === "public" || visibility === "private" || visibility === "erased")
  )
    return visibility;
  throw new UnreadableError("entries: an unknown kind or visibility");
}

let lastOrigin = "";
/** Shares one string among all entries of a log. */
function internOrigin(origin: string): string {
  if (origin !== lastOrigin) lastOrigin = origin;
  return lastOrigin;
}

function readEntry(entry: unknown): RecordEntry {
  if (!isJsonObject(entry)) throw new UnreadableError("entries: expected objects");
  const mark = readMark(entry);
  return {
    sequence: requireIndex(entry, "sequence"),
    payloadHash: decodeHash(requireText(entry, "payload_hash"), "payload_hash"),
    logOrigin: internOrigin(requireText(entry, "log_origin")),
    logIndex: requireIndex(entry, "log_index"),
    mark,
    attestationId: mark === "public" ? requireText(entry, "attestation_id") : null,
  };
}

export function readRecordPage(json: unknown): RecordPage {
  const page = readObject(json);
  const { entries, next } = page;
  const head = requireObject(page, "head");
  if (!Array.isArray(entries)) throw new UnreadableError("entries: expected a list");
  if (next !== null && typeof next !== "number") throw new UnreadableError("next: expected a number or null");
  return {
    slug: requireText(page, "slug"),
    agentId: requireText(page, "agent_id"),
    entries: entries.map(readEntry),
    head: {
      sequence: requireIndex(head, "sequence"),
      link: decodeHash(requireText(head, "link"), "head.link"),
    },
    snapshot: page["snapshot"],
    next,
  };
}

/**
 * Page after page, to the head that the first one states: what comes later is for a later run. The server may never want
 * to end, so each page must bring an entry and name the one after its last.
 */
async function* readRecordPages(
  readPage: (from: number) => Promise<unknown>,
): AsyncGenerator<RecordPage | Fault> {
  let page = readRecordPage(await readPage(1));
  const { agentId, head } = page;
  for (let from = 1; ; ) {
    if (page.agentId !== agentId) throw new UnreadableError("agent_id: differs from page to page");
    yield page;
    const end = from + page.entries.length;
    if (page.next === null || end > head.sequence) return;
    if (page.next !== end || end === from) {
      yield fault("page_unending", { from });
      return;
    }
    from = end;
    page = readRecordPage(await readPage(from));
  }
}

export interface RecordSource extends SumSource {
  /** GET /v1/agent/:slug/record from this number on, as text or parsed. */
  readPage(from: number): Promise<unknown>;
  /** Null for one that the reader of a saved record doesn't hold. */
  readAnswer(attestationId: string): Promise<string | null>;
}

export interface RecordRequest {
  /** Against which the last signed count is fresh or old; null for a record that was kept. */
  nowSeconds: number | null;
  /** Slug that the record must have; without it, the answer's own word is taken. */
  slug?: string;
  receipts?: readonly string[];
  /** Further entries that somebody can prove. */
  held?: ReadonlyMap<number, SignedEntry>;
  onProgress?: (checked: number, total: number) => void;
  /** Number of agents up to which all rows of the snapshot are fetched too, 72 bytes each. */
  sumUpTo?: number;
}

export interface RecordReport extends RecordSummary {
  marks: RecordMark[];
}

export interface ReadReceipt {
  /** Place in the record; null if its content is missing. */
  signed: SignedEntry | null;
  decided: SignedEntry | null;
  /** Cancellation of the request that an approver changed into the one that was approved; null without one. */
  cancelled: Omit<Decision, "record"> | null;
  slug: string;
  /** True if nothing fails: the answer to POST /v1/attest lacks the tool list, and is signed all the same. */
  ok: boolean;
}

async function readReceipt(text: string, trust: VerifierTrust): Promise<ReadReceipt> {
  const report = await verifyEvidence(text, trust, {});
  const { record: place, request } = report.statement?.predicate ?? {};
  const { payloadHash, humanAuthorization } = parseReceipt(text);
  const signed = place ? { place, payloadHash } : null;
  const decided = signed && isJsonObject(humanAuthorization) ? readDecided(humanAuthorization) : null;
  const cancelled = decided && (await loadReceiptChecks()).readCancelled(humanAuthorization);
  return {
    signed,
    decided,
    cancelled,
    slug: String(request?.["agent_slug"] ?? ""),
    ok: report.verdict !== "invalid",
  };
}

/**
 * Reads the decision behind a receipt, whose log entry the receipt's checks compare. Throws {@link UnreadableError} for an
 * entry that is none.
 */
export function readDecided(object: JsonObject): SignedEntry | null {
  const { record: place, entry } = isJsonObject(object["log"]) ? object["log"] : {};
  if (!isRecordPlace(place)) return null;
  try {
    return { place, payloadHash: parseLogLeaf(base64Decode(requireString(entry))).payloadHash };
  } catch {
    throw new UnreadableError("human_authorization.log.entry: not an entry of a log");
  }
}

const isSameSlug = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Loaded with the record, not with the page: few records need them. */
const loadCounting = () => import("./check-counted");
const loadReceiptChecks = () => import("./check-receipts");

interface Followed {
  walk: RecordWalk;
  marks: RecordMark[];
  entries: RecordEntry[];
  first: RecordPage;
  /** The head at the number that the snapshot names; null if the entries do not lead there. */
  atSnapshot: RecordHead | null;
  /** The newest public attestation, and the head before it. */
  newest: { entry: RecordEntry; before: RecordHead } | null;
  fault: Outcome<"fail"> | null;
}

async function follow(
  source: RecordSource,
  held: ReadonlyMap<number, SignedEntry>,
  onProgress: RecordRequest["onProgress"],
): Promise<Followed> {
  const { countedBy } = await loadCounting();
  let followed: Followed | null = null;
  let counted: number | null = null;
  for await (const page of readRecordPages(source.readPage)) {
    if ("problem" in page) return { ...(followed as Followed), fault: failBy(page) };
    if (followed === null) {
      const nothing = { marks: [], entries: [], newest: null, atSnapshot: null, fault: null };
      followed = { ...nothing, walk: walkRecord(page.agentId), first: page };
      counted = countedBy(page);
    }
    const { walk, first } = followed;
    for (const entry of page.entries) {
      const before = walk.head();
      if (before.sequence === first.head.sequence) break;
      const own = held.get(entry.sequence);
      const fault = walk.add(entry, own);
      if (fault !== null) return { ...followed, fault: failBy(fault) };
      // The same bytes, once for all that is kept of an entry.
      if (own !== undefined && bytesEqual(own.payloadHash, entry.payloadHash))
        entry.payloadHash = own.payloadHash;
      followed.marks.push(entry.mark);
      followed.entries.push(entry);
      if (entry.sequence === counted) followed.atSnapshot = walk.head();
      if (entry.mark === "public") followed.newest = { entry, before };
    }
    onProgress?.(walk.head().sequence, first.head.sequence);
  }
  return followed as Followed;
}

/** A signature over the newest public attestation is one over every link before it. */
async function checkNewest(
  { newest, entries, first }: Followed,
  source: RecordSource,
  trust: VerifierTrust,
  read: readonly ReadReceipt[],
): Promise<Outcome> {
  if (newest === null) return skip("record_nothing_public");
  const { entry, before } = newest;
  const number = entry.sequence;
  const answer = await source.readAnswer(String(entry.attestationId));
  if (answer === null) return skip("record_no_receipts");
  const own = await readReceipt(answer, trust);
  const { signed, decided, slug, ok } = own;
  const isEntry = signed?.place.sequence === number && bytesEqual(signed.payloadHash, entry.payloadHash);
  if (!ok || !isEntry) return fail("record_entry_mismatch", { number });
  if (!isSameSlug(slug, first.slug)) return fail("record_of_another", { slug });
  const foreign = decided?.place.sequence ?? 0;
  const listed = entries[foreign - 1]?.payloadHash;
  if (decided && !(listed && bytesEqual(listed, decided.payloadHash)))
    return fail("record_entry_mismatch", { number: foreign });
  if (decided) {
    const { findReused, findAmendedOpen } = await loadReceiptChecks();
    const wrong = findReused([...read, own]) ?? findAmendedOpen(first.agentId, entries, [own]);
    if (wrong) return wrong;
  }
  return signed.place.previous === hexEncode(before.link)
    ? pass(`number ${number} is signed, and with it every number before it`)
    : fail("record_broken", { number: number - 1 });
}

/** Browsers have none, and load nothing for it. */
async function compareReceipts(
  { walk, first, entries }: Followed,
  read: readonly ReadReceipt[],
  held: ReadonlyMap<number, SignedEntry>,
): Promise<Outcome> {
  if (read.length === 0) return skip("record_no_receipts");
  const { checkReceipts } = await loadReceiptChecks();
  return checkReceipts({ agentId: first.agentId, length: walk.head().sequence, entries }, read, held);
}

const isOpen = ({ name, status, reason }: VerifierCheck) =>
  (name === "counted" && status !== "pass") || (name === "newest_signed" && reason === "record_no_receipts");

function judge(checks: readonly VerifierCheck[]): RecordReport["verdict"] {
  if (checks.some(({ status }) => status === "fail")) return "invalid";
  return checks.some(isOpen) ? "incomplete" : "valid";
}

export async function checkRecord(
  source: RecordSource,
  trust: VerifierTrust,
  {
    nowSeconds,
    slug,
    receipts = [],
    held: known = new Map(),
    onProgress,
    sumUpTo = Number.POSITIVE_INFINITY,
  }: RecordRequest,
): Promise<RecordReport> {
  const read = await Promise.all(receipts.map((text) => readReceipt(text, trust)));
  const proven = read.flatMap(({ signed, decided }) =>
    [signed, decided].flatMap((one) => (one ? [[one.place.sequence, one] as const] : [])),
  );
  const held = proven.length === 0 ? known : new Map([...known, ...proven]);
  const followed = await follow(source, held, onProgress);
  const { walk, marks, first } = followed;
  const isOther = slug !== undefined && !isSameSlug(slug, first.slug);
  const fault = isOther ? fail("record_of_another", { slug: first.slug }) : followed.fault;
  const head = walk.head();
  const ended = fault === null ? walk.end(first.head) : null;
  const entries = fault ?? pass(`numbers 1 to ${head.sequence}, without a gap and in the order of the log`);
  const notRun = { ...skip("earlier_check_failed"), status: "not_run" } as const;
  const isWhole = fault === null && ended === null;
  const { checkCounted } = await loadCounting();
  const { heads, ...counted } = isWhole
    ? await checkCounted(followed, source, trust, { sumUpTo, nowSeconds })
    : { heads: null, snapshot: notRun, sum: notRun, counted: notRun };
  const checks: VerifierCheck[] = [
    { name: "entries", ...entries },
    {
      name: "head",
      ...(fault !== null ? notRun : ended ? failBy(ended) : pass("the entries lead to the head")),
    },
    { name: "newest_signed", ...(isWhole ? await checkNewest(followed, source, trust, read) : notRun) },
    { name: "snapshot", ...counted.snapshot },
    { name: "sum", ...counted.sum },
    { name: "counted", ...counted.counted },
    { name: "receipts", ...(isWhole ? await compareReceipts(followed, read, held) : notRun) },
  ];
  return {
    slug: first.slug,
    agentId: first.agentId,
    head: { sequence: head.sequence, link: hexEncode(head.link) },
    claimed: first.head.sequence,
    checks,
    snapshot: heads && {
      coversSize: heads.covers_size,
      at: heads.at,
      agents: heads.agents,
      counted: followed.atSnapshot?.sequence ?? 0,
    },
    marks,
    verdict: judge(checks),
  };
}

/* Derives, from a record that does not hold, what of it can be proven to others. */

const names = ["payload", "signature", "envelope_signature", "key_id", "log"] as const;

/** Extracts the part of an answer that others need: the payload as its owner has it, signed and in the log. */
const toEvidence = (answer: JsonObject): JsonObject =>
  Object.fromEntries(names.map((name) => [name, answer[name] ?? null]));

interface Listed {
  agentId: string;
  entries: RecordEntry[];
  snapshot: JsonObject | null;
}

async function readAll(source: RecordSource): Promise<Listed> {
  const entries: RecordEntry[] = [];
  let first: RecordPage | null = null;
  for await (const page of readRecordPages(source.readPage)) {
    if ("problem" in page) throw new UnreadableError(page.problem);
    first ??= page;
    entries.push(...page.entries);
  }
  if (first === null) throw new UnreadableError("there is no record");
  const { agentId, snapshot } = first;
  return { agentId, entries, snapshot: isJsonObject(snapshot) ? snapshot : null };
}

function headBefore(agentId: string, entries: readonly RecordEntry[], sequence: number): RecordHead {
  let head = emptyRecord(agentId);
  for (const entry of entries.slice(0, sequence - 1)) head = extendRecord(head, entry.payloadHash);
  return head;
}

/** The last number that the snapshot counts; what is no row counts nothing. */
function countedBy({ row }: JsonObject): number {
  try {
    return decodeHeadRow(base64Decode(requireString(row))).sequence;
  } catch {
    return 0;
  }
}

/** Yields every way in which the service may have signed another record than the receipt's; whichever holds is the proof. */
async function* candidates(
  receipt: JsonObject,
  { agentId, entries, snapshot }: Listed,
  source: RecordSource,
): AsyncGenerator<JsonObject> {
  const { payload, payloadHash } = parseReceipt(receipt);
  const place = typeof payload === "string" ? undefined : parseActionStatement(payload)?.predicate.record;
  if (!isRecordPlace(place)) return;
  const { sequence } = place;
  const listed = entries[sequence - 1];
  const readAnswer = async ({ attestationId }: RecordEntry) =>
    toEvidence(readObject(await source.readAnswer(String(attestationId))));
  if (listed?.attestationId && !bytesEqual(listed.payloadHash, payloadHash))
    yield { kind: "same_number", one: toEvidence(receipt), other: await readAnswer(listed) };
  const rest = entries.slice(sequence - 1);
  const chained = (count: number, commitment: JsonObject): JsonObject => ({
    kind: "not_in_record",
    receipt: toEvidence(receipt),
    link_before: hexEncode(headBefore(agentId, entries, sequence).link),
    payload_hashes: rest.slice(0, count).map((entry) => hexEncode(entry.payloadHash)),
    commitment,
  });
  if (snapshot !== null) yield chained(Math.max(0, countedBy(snapshot) - sequence + 1), { snapshot });
  const newest = entries.findLast(({ attestationId }) => attestationId !== null);
  if (newest !== undefined && newest.sequence > sequence)
    yield chained(newest.sequence - sequence, { attestation: await readAnswer(newest) });
}

/** A proof that others can check, if one of the receipts is proof of something; null if none is. */
export async function proveByReceipts(
  source: RecordSource,
  receipts: readonly string[],
  trust: VerifierTrust,
): Promise<JsonObject | null> {
  const held = receipts.map((receipt) => readObject(receipt));
  const prove = (candidate: JsonObject): JsonObject | null => {
    const file = { type: MISBEHAVIOUR_TYPE, ...candidate };
    return checkMisbehaviour(file, trust).status === "pass" ? file : null;
  };
  for (const [i, one] of held.entries())
    for (const other of held.slice(0, i)) {
      const file = prove({ kind: "same_number", one: toEvidence(one), other: toEvidence(other) });
      if (file !== null) return file;
    }
  const listed = await readAll(source);
  for (const receipt of held)
    for await (const candidate of candidates(receipt, listed, source)) {
      const file = prove(candidate);
      if (file !== null) return file;
    }
  return null;
}
