/** The entries of an evidence pack: each receipt and decision checked by itself, and taken for what it proves. */
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  CHANGE_FILE_TYPE,
  DECISION_FILE_TYPE,
  type PackEntry,
  readPackEntry,
} from "#lib/protocol/pack/pack-entries";
import { filesIn, numberOf, packFiles } from "#lib/protocol/pack/pack-files";
import { isEndShown, type PackFacts, type PackPeriod } from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import { countOf } from "#lib/protocol/text/count";
import { readableTime } from "#lib/protocol/time/time-words";
import { readDecided } from "#lib/verifier/checks/check-record";
import { parseReceipt } from "#lib/verifier/checks/parse-receipt";
import { UnreadableError } from "#lib/verifier/checks/read-json";
import type { SignedEntry } from "#lib/verifier/checks/record-walk";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import type { OpenPack } from "./archive";
import { type CheckedEntry, checkDecisionFile } from "./decision";

export interface ReadPack {
  before: PackEntry | null;
  after: PackEntry | null;
  /** In the order of the record. */
  entries: PackEntry[];
  /** Attestation id → its file. */
  answers: Map<string, string>;
  /** Number → hash of the payload, of all that is in the pack. */
  hashes: Map<number, Uint8Array>;
  held: Map<number, SignedEntry>;
  /** Number → hash of the payload, of the decisions that attestations are backed by. */
  decided: [number, Uint8Array][];
}

function listDecided({ human_authorization: object }: JsonObject): [number, Uint8Array][] {
  const decided = isJsonObject(object) ? readDecided(object) : null;
  return decided === null ? [] : [[decided.place.sequence, decided.payloadHash]];
}

/** The number of an entry, or of a decision that backs one, which the record lists with another hash or not at all. */
export function findForeign(
  { hashes, decided }: Pick<ReadPack, "hashes" | "decided">,
  listed: ReadonlyMap<number, Uint8Array>,
): number | undefined {
  const isListed = ([number, hash]: [number, Uint8Array]) => {
    const own = listed.get(number);
    return own !== undefined && bytesEqual(own, hash);
  };
  return [...hashes, ...decided].find((one) => !isListed(one))?.[0];
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
  const { payloadHash } = parseReceipt(json);
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

/** By their numbers, attestations and decisions together. */
const entryFiles = ({ names }: OpenPack) =>
  [...filesIn("attestations", names), ...filesIn("decisions", names)].sort(
    (a, b) => numberOf(a) - numberOf(b),
  );

const folderOf = ({ isDecision }: PackEntry) => (isDecision ? "decisions/" : "attestations/");

/** `onEntry` sees every entry that was read, with its file, and may find a fault of its own in it. */
export async function readEntries(
  pack: OpenPack,
  trust: VerifierTrust,
  onEntry: (entry: PackEntry, json: JsonObject) => PackCheck | null,
  onProgress: (done: number, total: number) => void,
): Promise<{ read: ReadPack; fault: PackCheck | null }> {
  const read: ReadPack = {
    before: null,
    after: null,
    entries: [],
    answers: new Map(),
    hashes: new Map(),
    held: new Map(),
    decided: [],
  };
  const files = entryFiles(pack);
  const beside = [packFiles.before, packFiles.after, packFiles.newest].filter(pack.has);
  for (const [i, file] of [...files, ...beside].entries()) {
    const json = pack.readJson(file);
    const entry = readPackEntry(file, json);
    const name = entry.isDecision ? "decisions" : "attestations";
    const checked = await checkEntry(json, trust);
    if (!checked.ok)
      return { read, fault: packFault(name, "entry_invalid", { file, problem: checked.problem }) };
    const isOutside = i >= files.length;
    const isNamed = isOutside || (numberOf(file) === entry.sequence && file.startsWith(folderOf(entry)));
    if (!isNamed) return { read, fault: packFault(name, "entry_foreign", { file }) };
    if (checked.signed !== null) read.held.set(entry.sequence, checked.signed);
    const known = read.hashes.get(entry.sequence);
    if (known !== undefined && !bytesEqual(known, checked.payloadHash))
      return { read, fault: packFault(name, "entry_foreign", { file }) };
    read.hashes.set(entry.sequence, checked.payloadHash);
    if (!entry.isDecision) read.answers.set(String(json["attestation_id"]), file);
    if (!entry.isDecision) read.decided.push(...listDecided(json));
    if (!isOutside) read.entries.push(entry);
    if (file === packFiles.before) read.before = entry;
    if (file === packFiles.after) read.after = entry;
    const fault = onEntry(entry, json);
    if (fault !== null) return { read, fault };
    onProgress(i + 1, files.length + beside.length);
  }
  return { read, fault: null };
}

/** Checks `attestations` and `decisions`, with what has no content. */
export function describeEntries({ entries }: ReadPack): PackCheck[] {
  const of = (name: string, wanted: boolean, what: string): PackCheck => {
    const all = entries.filter(({ isDecision }) => isDecision === wanted);
    const gone = all.filter(({ state }) => state === "withheld" || state === "erased");
    return gone.length > 0
      ? packGap(name, "content_absent", { entries: countOf(gone.length, "entry", "entries") })
      : packPass(name, `${all.length} ${what}, each verified`);
  };
  return [of("attestations", false, "attestations"), of("decisions", true, "decisions")];
}

/** The record's pages are unsigned, and they alone would name the agent. */
export function checkAgent({ before, after, entries }: ReadPack, slug: string, isShown: boolean): PackCheck {
  const slugs = [before, ...entries, after].flatMap((entry) => entry?.slug ?? []);
  const other = slugs.find((one) => one.toLowerCase() !== slug.toLowerCase());
  if (other !== undefined) return packFault("agent", "agent_foreign", { slug: other });
  return isShown || slugs.length > 0
    ? packPass("agent", `${slugs.length} signed entries name it`)
    : packGap("agent", "agent_unnamed");
}

/** Within it, requests that come at once may be recorded in another order than they came. */
const disorderMs = 60_000;

/** An entry that would be counted with the period and is of another time. */
function findPadding(entries: readonly PackEntry[], { from, to }: PackPeriod): PackEntry | undefined {
  const [first, last] = [Date.parse(from) - disorderMs, Date.parse(to) + disorderMs];
  return entries.find(({ time }) => time !== null && !(Date.parse(time) >= first && Date.parse(time) < last));
}

/** Finds entries outside the period, or out of the order of the record and of time. */
function findMisplaced({ before, after }: ReadPack, { from, to }: PackPeriod): PackCheck | null {
  const isReversed = before !== null && after !== null && before.sequence >= after.sequence;
  if (Date.parse(from) >= Date.parse(to) || isReversed) return packFault("period", "period_reversed");
  const cut = [before, after].find(
    (entry) => entry?.time != null && (entry === before ? entry.time >= from : entry.time < to),
  );
  return cut ? packFault("period", "period_cut", { number: cut.sequence, time: String(cut.time) }) : null;
}

/**
 * Every number from the first to the last, the entries just outside are of other times, and where none comes after, a
 * signed count that was made later ends with the last. `isCounted`: the count of the facts is the service's own.
 */
export function checkPeriod(read: ReadPack, facts: PackFacts, isCounted: boolean): PackCheck {
  const { before, after, entries } = read;
  const { record, period } = facts;
  const { first, last, head } = record;
  for (let number = first; number <= last; number += 1) {
    const found = entries[number - first];
    if (found?.sequence !== number) return packFault("period", "entry_absent", { number });
  }
  const more = entries[Math.max(0, last - first + 1)];
  if (more !== undefined) return packFault("period", "entry_foreign", { file: more.file });
  const padding = findPadding(entries, period);
  if (padding !== undefined)
    return packFault("period", "period_padded", { number: padding.sequence, time: String(padding.time) });
  const misplaced = findMisplaced(read, period);
  if (misplaced !== null) return misplaced;
  const unknown = [before, after].find((entry) => entry !== null && entry.time === null);
  if (unknown) return packGap("period", "period_unproven", { number: unknown.sequence });
  if (after === null && !(isCounted && isEndShown(facts)))
    return packGap("period", "period_not_counted", { number: last, to: readableTime(period.to) });
  return packPass(
    "period",
    last < first ? "no entry is of this period" : `numbers ${first} to ${last} of ${head}, none missing`,
  );
}
