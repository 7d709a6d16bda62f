/**
 * An agent's whole record as an outsider follows it: every number from 1 to the head, every link computed again, the
 * newest public attestation, whose signature covers all links before it, and the receipts that the reader holds.
 */
import type { RecordHead } from "#lib/domain/agent-record";
import { bytesEqual, hexEncode } from "#lib/domain/bytes";
import { isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import { fail, failBy, type Outcome, pass, skip } from "#lib/domain/outcome";
import { type ListedEntry, type RecordWalk, type SignedEntry, walkRecord } from "#lib/domain/record-walk";
import { parseReceipt } from "./parse-receipt";
import {
  decodeHex,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "./read-json";
import type { VerifierCheck } from "./report";
import type { VerifierTrust } from "./trust";
import { verifyEvidence } from "./verify-evidence";

export interface RecordSource {
  /** GET /v1/agent/:slug/record from this number on, as text or parsed. */
  readPage(from: number): Promise<unknown>;
  /** GET /v1/verify/:id, as text. */
  readAnswer(attestationId: string): Promise<string>;
}

export interface RecordRequest {
  /** Texts of receipts that must be in the record. */
  receipts?: readonly string[];
  onProgress?: (checked: number, total: number) => void;
}

export type RecordMark = "public" | "private" | "erased" | "decision";

export interface RecordReport {
  slug: string;
  agentId: string;
  /** As far as the entries lead. */
  head: { sequence: number; link: string };
  /** How many the service says there are. */
  claimed: number;
  checks: VerifierCheck[];
  /** In the order of the record, up to a fault. */
  marks: RecordMark[];
  ok: boolean;
}

interface Entry extends ListedEntry {
  mark: RecordMark;
  attestationId: string | null;
}

interface Page {
  slug: string;
  agentId: string;
  entries: Entry[];
  head: RecordHead;
  next: number | null;
}

function readMark(entry: JsonObject): RecordMark {
  const { kind, visibility } = entry;
  if (kind === "decision") return "decision";
  if (
    kind === "attestation" &&
    (visibility === "public" || visibility === "private" || visibility === "erased")
  )
    return visibility;
  throw new UnreadableError("entries: an unknown kind or visibility");
}

function readEntry(entry: unknown): Entry {
  if (!isJsonObject(entry)) throw new UnreadableError("entries: expected objects");
  const mark = readMark(entry);
  return {
    sequence: requireIndex(entry, "sequence"),
    payloadHash: decodeHex(requireText(entry, "payload_hash"), "payload_hash", 32),
    logOrigin: requireText(entry, "log_origin"),
    logIndex: requireIndex(entry, "log_index"),
    mark,
    attestationId: mark === "public" ? requireText(entry, "attestation_id") : null,
  };
}

function readPage(json: unknown, from: number): Page {
  const page = readObject(json);
  const { entries, next } = page;
  const head = requireObject(page, "head");
  if (!Array.isArray(entries)) throw new UnreadableError("entries: expected a list");
  if (next !== null && (typeof next !== "number" || next <= from))
    throw new UnreadableError("next: expected a later number or null");
  return {
    slug: requireText(page, "slug"),
    agentId: requireText(page, "agent_id"),
    entries: entries.map(readEntry),
    head: {
      sequence: requireIndex(head, "sequence"),
      link: decodeHex(requireText(head, "link"), "head.link", 32),
    },
    next,
  };
}

interface ReadReceipt {
  /** What it says about the record; null if it is older than records. */
  signed: SignedEntry | null;
  /** Whether all of it verifies. */
  ok: boolean;
}

async function readReceipt(text: string, trust: VerifierTrust): Promise<ReadReceipt> {
  const report = await verifyEvidence(text, trust, {});
  const place = report.statement?.predicate.record;
  const { payloadHash } = parseReceipt(text);
  return { signed: place ? { place, payloadHash } : null, ok: report.verdict === "valid" };
}

interface Followed {
  walk: RecordWalk;
  marks: RecordMark[];
  last: Page;
  /** The newest public attestation, and the head before it. */
  newest: { entry: Entry; before: RecordHead } | null;
  fault: Outcome<"fail"> | null;
}

async function follow(
  source: RecordSource,
  held: ReadonlyMap<number, SignedEntry>,
  onProgress: RecordRequest["onProgress"],
): Promise<Followed> {
  let page = readPage(await source.readPage(1), 1);
  const { agentId } = page;
  const walk = walkRecord(agentId);
  const followed: Followed = { walk, marks: [], last: page, newest: null, fault: null };
  for (;;) {
    for (const entry of page.entries) {
      const before = walk.head();
      const fault = walk.add(entry, held.get(entry.sequence));
      if (fault !== null) return { ...followed, fault: failBy(fault) };
      followed.marks.push(entry.mark);
      if (entry.mark === "public") followed.newest = { entry, before };
    }
    onProgress?.(walk.head().sequence, page.head.sequence);
    if (page.next === null) return followed;
    const from = page.next;
    page = readPage(await source.readPage(from), from);
    if (page.agentId !== agentId) throw new UnreadableError("agent_id: differs from page to page");
    followed.last = page;
  }
}

/** A signature over the newest public attestation is one over every link before it. */
async function checkNewest(
  { newest }: Followed,
  source: RecordSource,
  trust: VerifierTrust,
): Promise<Outcome> {
  if (newest === null) return skip("record_nothing_public");
  const { entry, before } = newest;
  const number = entry.sequence;
  const { signed, ok } = await readReceipt(await source.readAnswer(String(entry.attestationId)), trust);
  const isEntry = signed?.place.sequence === number && bytesEqual(signed.payloadHash, entry.payloadHash);
  if (!ok || !isEntry) return fail("record_entry_mismatch", { number });
  return signed.place.previous === hexEncode(before.link)
    ? pass(`number ${number} is signed, and with it every number before it`)
    : fail("record_broken", { number: number - 1 });
}

/** Those with a number of the record were compared on the way, one for each number. */
function checkReceipts(
  { walk, last }: Followed,
  read: readonly ReadReceipt[],
  held: ReadonlyMap<number, SignedEntry>,
): Outcome {
  if (read.length === 0) return skip("record_no_receipts");
  for (const { signed, ok } of read) {
    if (!ok || signed === null) return fail("record_receipt_invalid");
    const { agent_id, sequence: number } = signed.place;
    if (number > walk.head().sequence || agent_id !== last.agentId)
      return fail("record_entry_absent", { number });
    const compared = held.get(number);
    if (!compared || !bytesEqual(compared.payloadHash, signed.payloadHash))
      return fail("record_entry_mismatch", { number });
  }
  return pass(
    read.length === 1 ? "the receipt is in the record" : `all ${read.length} receipts are in the record`,
  );
}

/** What was found, in a sentence for people. */
export function describeRecord({ ok, head, claimed }: Pick<RecordReport, "ok" | "head" | "claimed">): string {
  if (!ok && head.sequence < claimed)
    return `The record does NOT hold: it could be followed to number ${head.sequence} of ${claimed}.`;
  if (!ok) return "The record does NOT hold: its entries are not those that were signed.";
  if (claimed === 0) return "The record is empty.";
  return `The record is complete: ${claimed} of ${claimed} entries, none missing, none moved.`;
}

/** Throws UnreadableError for what is no record at all. */
export async function checkRecord(
  source: RecordSource,
  trust: VerifierTrust,
  { receipts = [], onProgress }: RecordRequest = {},
): Promise<RecordReport> {
  const read = await Promise.all(receipts.map((text) => readReceipt(text, trust)));
  const held = new Map(
    read.flatMap(({ signed }) => (signed ? [[signed.place.sequence, signed] as const] : [])),
  );
  const followed = await follow(source, held, onProgress);
  const { walk, marks, last, fault } = followed;
  const head = walk.head();
  const ended = fault === null ? walk.end(last.head) : null;
  const entries = fault ?? pass(`numbers 1 to ${head.sequence}, without a gap and in the order of the log`);
  const notRun = { ...skip("earlier_check_failed"), status: "not_run" } as const;
  const isWhole = fault === null && ended === null;
  const checks: VerifierCheck[] = [
    { name: "entries", ...entries },
    {
      name: "head",
      ...(fault !== null ? notRun : ended ? failBy(ended) : pass("the entries lead to the head")),
    },
    { name: "newest_signed", ...(isWhole ? await checkNewest(followed, source, trust) : notRun) },
    { name: "receipts", ...(isWhole ? checkReceipts(followed, read, held) : notRun) },
  ];
  return {
    slug: last.slug,
    agentId: last.agentId,
    head: { sequence: head.sequence, link: hexEncode(head.link) },
    claimed: last.head.sequence,
    checks,
    marks,
    ok: checks.every(({ status }) => status !== "fail"),
  };
}
