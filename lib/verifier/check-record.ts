/**
 * An agent's whole record as an outsider follows it: every number from 1 to the head, every link computed again, the
 * newest public attestation, whose signature covers all links before it, and the receipts that the reader holds.
 */
import type { RecordHead } from "#lib/domain/agent-record";
import { bytesEqual, hexEncode } from "#lib/domain/bytes";
import { isJsonObject } from "#lib/domain/canonical-json";
import { fail, failBy, type Outcome, pass, skip } from "#lib/domain/outcome";
import { type RecordWalk, type SignedEntry, walkRecord } from "#lib/domain/record-walk";
import type { Counted } from "./check-counted";
import type { SumSource } from "./check-sum";
import { parseReceipt } from "./parse-receipt";
import { readObject, UnreadableError } from "./read-json";
import { type RecordEntry, type RecordMark, type RecordPage, readRecordPage } from "./record-pages";
import type { VerifierCheck } from "./report";
import type { VerifierTrust } from "./trust";
import { verifyEvidence } from "./verify-evidence";

export interface RecordSource extends SumSource {
  /** GET /v1/agent/:slug/record from this number on, as text or parsed. */
  readPage(from: number): Promise<unknown>;
  /** GET /v1/verify/:id, as text. */
  readAnswer(attestationId: string): Promise<string>;
}

export interface RecordRequest {
  /** Texts of receipts that must be in the record. */
  receipts?: readonly string[];
  /** What somebody can prove of entries besides. */
  held?: ReadonlyMap<number, SignedEntry>;
  onProgress?: (checked: number, total: number) => void;
  /** All rows of the snapshot are fetched too, 72 bytes for each agent of the service, if it has no more than this. */
  sumUpTo?: number;
}

export interface RecordReport {
  slug: string;
  agentId: string;
  /** As far as the entries lead. */
  head: { sequence: number; link: string };
  /** How many the service says there are. */
  claimed: number;
  checks: VerifierCheck[];
  /** The newest snapshot that counts it, if that is what it must be. */
  snapshot: { coversSize: number; at: string; agents: number; counted: number } | null;
  /** In the order of the record, up to a fault. */
  marks: RecordMark[];
  ok: boolean;
}

export interface ReadReceipt {
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
  entries: RecordEntry[];
  first: RecordPage;
  last: RecordPage;
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
  let page = readRecordPage(await source.readPage(1), 1);
  const { agentId } = page;
  const walk = walkRecord(agentId);
  const first = page;
  const counting = first.snapshot === undefined ? null : await import("./check-counted");
  const counted = counting?.countedBy(first) ?? null;
  const nothing = { marks: [], entries: [], newest: null, atSnapshot: null, fault: null };
  const followed: Followed = { ...nothing, walk, first, last: page };
  for (;;) {
    for (const entry of page.entries) {
      const before = walk.head();
      const fault = walk.add(entry, held.get(entry.sequence));
      if (fault !== null) return { ...followed, fault: failBy(fault) };
      followed.marks.push(entry.mark);
      followed.entries.push(entry);
      if (entry.sequence === counted) followed.atSnapshot = walk.head();
      if (entry.mark === "public") followed.newest = { entry, before };
    }
    onProgress?.(walk.head().sequence, page.head.sequence);
    if (page.next === null) return followed;
    const from = page.next;
    page = readRecordPage(await source.readPage(from), from);
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

/** Whether the service lists a snapshot. What checks one is loaded then and not before. */
async function listsSnapshot(source: RecordSource): Promise<boolean> {
  for (let from: unknown = 1; typeof from === "number"; ) {
    const { statements, next } = readObject(await source.readStatements(from));
    const listed = Array.isArray(statements) ? statements.filter(isJsonObject) : [];
    if (listed.some(({ kind }) => kind === "agent_heads")) return true;
    from = typeof next === "number" && next > from ? next : null;
  }
  return false;
}

async function checkCount(
  followed: Followed,
  source: RecordSource,
  trust: VerifierTrust,
  sumUpTo: number,
): Promise<Counted> {
  const notMade = skip("snapshot_not_made");
  if (followed.first.snapshot === undefined && !(await listsSnapshot(source)))
    return { snapshot: notMade, sum: notMade, heads: null };
  const { checkCounted } = await import("./check-counted");
  return checkCounted(followed, source, trust, sumUpTo);
}

/** Browsers have none, and load nothing for it. */
async function compareReceipts(
  { walk, last }: Followed,
  read: readonly ReadReceipt[],
  held: ReadonlyMap<number, SignedEntry>,
): Promise<Outcome> {
  if (read.length === 0) return skip("record_no_receipts");
  const { checkReceipts } = await import("./check-receipts");
  return checkReceipts(last.agentId, walk.head().sequence, read, held);
}

/** Throws UnreadableError for what is no record at all. */
export async function checkRecord(
  source: RecordSource,
  trust: VerifierTrust,
  {
    receipts = [],
    held: known = new Map(),
    onProgress,
    sumUpTo = Number.POSITIVE_INFINITY,
  }: RecordRequest = {},
): Promise<RecordReport> {
  const read = await Promise.all(receipts.map((text) => readReceipt(text, trust)));
  const held = new Map([
    ...known,
    ...read.flatMap(({ signed }) => (signed ? [[signed.place.sequence, signed] as const] : [])),
  ]);
  const followed = await follow(source, held, onProgress);
  const { walk, marks, last, fault } = followed;
  const head = walk.head();
  const ended = fault === null ? walk.end(last.head) : null;
  const entries = fault ?? pass(`numbers 1 to ${head.sequence}, without a gap and in the order of the log`);
  const notRun = { ...skip("earlier_check_failed"), status: "not_run" } as const;
  const isWhole = fault === null && ended === null;
  const { heads, ...counted } = isWhole
    ? await checkCount(followed, source, trust, sumUpTo)
    : { heads: null, snapshot: notRun, sum: notRun };
  const checks: VerifierCheck[] = [
    { name: "entries", ...entries },
    {
      name: "head",
      ...(fault !== null ? notRun : ended ? failBy(ended) : pass("the entries lead to the head")),
    },
    { name: "newest_signed", ...(isWhole ? await checkNewest(followed, source, trust) : notRun) },
    { name: "snapshot", ...counted.snapshot },
    { name: "sum", ...counted.sum },
    { name: "receipts", ...(isWhole ? await compareReceipts(followed, read, held) : notRun) },
  ];
  return {
    slug: last.slug,
    agentId: last.agentId,
    head: { sequence: head.sequence, link: hexEncode(head.link) },
    claimed: last.head.sequence,
    checks,
    snapshot: heads && {
      coversSize: heads.covers_size,
      at: heads.at,
      agents: heads.agents,
      counted: followed.atSnapshot?.sequence ?? 0,
    },
    marks,
    ok: checks.every(({ status }) => status !== "fail"),
  };
}
