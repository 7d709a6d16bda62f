/** The entries of an evidence pack: each receipt and decision checked by itself, and taken for what it proves. */
import { base64Decode, bytesEqual } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import {
  filesIn,
  isEndShown,
  type PackFacts,
  type PackPeriod,
  packFiles,
  readNumber,
} from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import { requireString } from "#lib/protocol/statement/dsse";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import type { SignedEntry } from "#lib/verifier/checks/record-checks";
import { chooseLogKey, type VerifierTrust } from "#lib/verifier/checks/trust";
import type { OpenPack } from "./archive";
import type { EntryFindings, PackMark } from "./read-entry";

export interface ReadPack {
  before: PackMark | null;
  after: PackMark | null;
  entries: PackMark[];
  /** Attestation id → its file, of the newest in the period and those beside: a record needs one of these. */
  answers: Map<string, string>;
  newestId: string;
  hashes: Map<number, Uint8Array>;
  held: Map<number, SignedEntry>;
  /** Number → hash of the payload, of the decisions that attestations are backed by. */
  decided: [number, Uint8Array][];
}

/** Copies hashes into buffers of many: with a buffer of its own, one takes three times the memory. */
function createHashStore() {
  let room = new Uint8Array();
  return (hash: Uint8Array): Uint8Array => {
    if (room.length < hash.length) room = new Uint8Array(1_000 * hash.length);
    const kept = room.subarray(0, hash.length);
    kept.set(hash);
    room = room.subarray(hash.length);
    return kept;
  };
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

type ReadFiles = (names: readonly string[], isBeside: boolean) => AsyncIterable<EntryFindings>;

const entryFiles = ({ names }: OpenPack) =>
  [...filesIn("attestations", names), ...filesIn("decisions", names)].sort(
    (a, b) => readNumber(a) - readNumber(b),
  );

const chooseFolder = ({ isDecision }: PackMark) => (isDecision ? "decisions/" : "attestations/");

/**
 * The entries of an agent: those beside the period, then the others in their order. `onEntry` sees every one that holds,
 * and may find a fault of its own in it. `fault` is the first; nothing is read after it.
 */
export async function readEntries(
  pack: OpenPack,
  readFiles: ReadFiles,
  onEntry: (found: EntryFindings, isBeside: boolean) => PackCheck | null,
  onProgress: () => void,
): Promise<{ read: ReadPack; fault: PackCheck | null }> {
  const read: ReadPack = {
    before: null,
    after: null,
    entries: [],
    answers: new Map(),
    newestId: "",
    hashes: new Map(),
    held: new Map(),
    decided: [],
  };
  const keepHash = createHashStore();
  const beside = [packFiles.before, packFiles.after, packFiles.newest].filter(pack.has);
  for (const files of [beside, entryFiles(pack)]) {
    const isBeside = files === beside;
    let i = 0;
    const names = files.map((file) => `${pack.folder}${file}`);
    for await (const one of readFiles(names, isBeside)) {
      // The archive's own string, instead of another thread's.
      one.entry.file = String(names[i]);
      const { slug = null } = read.entries.at(-1) ?? {};
      if (one.entry.slug === slug) one.entry.slug = slug;
      const fault = addEntry(read, String(files[i]), one, keepHash) ?? onEntry(one, isBeside);
      if (fault !== null) return { read, fault };
      i += 1;
      if (!isBeside) onProgress();
    }
  }
  return { read, fault: null };
}

function addEntry(
  read: ReadPack,
  file: string,
  found: EntryFindings,
  keepHash: (hash: Uint8Array) => Uint8Array,
): PackCheck | null {
  const { entry, checked, attestationId, decided } = found;
  const name = entry.isDecision ? "decisions" : "attestations";
  const reportForeign = () => packFault(name, "entry_foreign", { file });
  if (!checked.ok) return packFault(name, "entry_invalid", { file, problem: checked.problem });
  const isBeside = !file.includes("/");
  if (!isBeside && !(readNumber(file) === entry.sequence && file.startsWith(chooseFolder(entry))))
    return reportForeign();
  const known = read.hashes.get(entry.sequence);
  if (known !== undefined && !bytesEqual(known, checked.payloadHash)) return reportForeign();
  const payloadHash = keepHash(checked.payloadHash);
  read.hashes.set(entry.sequence, payloadHash);
  if (checked.signed !== null) {
    const { agent_id, sequence, previous } = checked.signed.place;
    const before = read.held.get(sequence - 1)?.place.agent_id;
    const place = { agent_id: before === agent_id ? before : agent_id, sequence, previous };
    read.held.set(entry.sequence, { place, payloadHash });
  }
  if (attestationId !== null && (isBeside || entry.state === "public")) {
    if (!isBeside) read.answers.delete(read.newestId);
    if (!isBeside) read.newestId = attestationId;
    read.answers.set(attestationId, file);
  }
  read.decided.push(...decided);
  if (!isBeside) read.entries.push(entry);
  if (file === packFiles.before) read.before = entry;
  if (file === packFiles.after) read.after = entry;
  return null;
}

export function describeEntries({ entries }: ReadPack): PackCheck[] {
  const of = (name: string, wanted: boolean, one: string): PackCheck => {
    const all = entries.filter(({ isDecision }) => isDecision === wanted);
    const gone = all.filter(({ state }) => state === "withheld" || state === "erased");
    return gone.length > 0
      ? packGap(name, "content_absent", { entries: formatCount(gone.length, "entry", "entries") })
      : packPass(name, `${formatCount(all.length, one)}, each verified`);
  };
  return [of("attestations", false, "attestation"), of("decisions", true, "decision")];
}

/** The record's pages are unsigned, and they alone would name the agent. */
export function checkAgent({ before, after, entries }: ReadPack, slug: string, isShown: boolean): PackCheck {
  const slugs = [before, ...entries, after].flatMap((entry) => entry?.slug ?? []);
  const other = slugs.find((one) => one.toLowerCase() !== slug.toLowerCase());
  if (other !== undefined) return packFault("agent", "agent_foreign", { slug: other });
  return isShown || slugs.length > 0
    ? packPass("agent", `${formatCount(slugs.length, "signed entry names", "signed entries name")} it`)
    : packGap("agent", "agent_unnamed");
}

/** Milliseconds within which concurrent requests may be recorded in another order than they came. */
const disorderMs = 60_000;

function findPadding(entries: readonly PackMark[], { from, to }: PackPeriod): PackMark | undefined {
  const [first, last] = [Date.parse(from) - disorderMs, Date.parse(to) + disorderMs];
  return entries.find(({ time }) => time !== null && !(Date.parse(time) >= first && Date.parse(time) < last));
}

function findMisplaced({ before, after }: ReadPack, { from, to }: PackPeriod): PackCheck | null {
  const isReversed = before !== null && after !== null && before.sequence >= after.sequence;
  if (Date.parse(from) >= Date.parse(to) || isReversed) return packFault("period", "period_reversed");
  const cut = [before, after].find(
    (entry) => entry?.time != null && (entry === before ? entry.time >= from : entry.time < to),
  );
  return cut ? packFault("period", "period_cut", { number: cut.sequence, time: String(cut.time) }) : null;
}

/**
 * Checks that every number from the first to the last is there, that the entries just outside are of other times, and, where
 * none comes after, that a signed count that was made later ends with the last. `isCounted`: the count of the facts is the
 * service's own.
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

/* Checks all checkpoints in an evidence pack: each signed by its log, and each log the same, only larger. */

/** `add` answers the fault of the first checkpoint in a file that is none of this log. */
export function createCheckpointList(trust: VerifierTrust) {
  const notes = new Set<string>();
  const logs = new Map<string, Map<number, Checkpoint>>();
  function addOne(file: string, note: string): PackCheck | null {
    if (notes.has(note)) return null;
    notes.add(note);
    const signed = verifyCheckpoint(note, chooseLogKey(note, trust));
    if (!signed.ok) return packFault("log", "checkpoint_invalid", { file, problem: signed.problem });
    const { checkpoint } = signed;
    const { origin, size, root } = checkpoint;
    const sizes = logs.get(origin) ?? new Map<number, Checkpoint>();
    logs.set(origin, sizes);
    const known = sizes.get(size);
    if (known !== undefined && !bytesEqual(known.root, root))
      return packFault("log", "checkpoints_differ", { origin, size });
    sizes.set(size, checkpoint);
    return null;
  }
  return {
    add(file: string, found: readonly string[]): PackCheck | null {
      for (const note of found) {
        const fault = addOne(file, note);
        if (fault !== null) return fault;
      }
      return null;
    },
    judge: (proofs: JsonObject) => judgeGrowth(logs, proofs),
  };
}

function readProof(shown: JsonValue | undefined): Uint8Array[] | null {
  try {
    return Array.isArray(shown) ? shown.map((hash) => base64Decode(requireString(hash))) : null;
  } catch {
    return null;
  }
}

function judgeGrowth(logs: ReadonlyMap<string, ReadonlyMap<number, Checkpoint>>, log: JsonObject): PackCheck {
  const listed = Array.isArray(log["consistency"]) ? log["consistency"].filter(isJsonObject) : [];
  const proofs = new Map(
    listed.map(({ origin, from, to, proof }) => [JSON.stringify([origin, from, to]), proof]),
  );
  let count = 0;
  for (const [origin, checkpoints] of logs) {
    const sorted = [...checkpoints.values()].sort((a, b) => a.size - b.size);
    count += sorted.length;
    for (const [i, newer] of sorted.entries()) {
      const older = sorted[i - 1];
      if (older === undefined) continue;
      const proof = readProof(proofs.get(JSON.stringify([origin, older.size, newer.size])));
      const claim = { oldSize: older.size, oldRoot: older.root, newSize: newer.size, newRoot: newer.root };
      if (proof === null || !verifyConsistency({ ...claim, proof }))
        return packFault("log", "consistency_unproven", { origin, from: older.size, to: newer.size });
    }
  }
  return packPass(
    "log",
    `${formatCount(count, "checkpoint")} of ${formatCount(logs.size, "log")}, each extends the one before`,
  );
}
