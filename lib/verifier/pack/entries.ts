/** The entries of an evidence pack: each receipt and decision checked by itself, and taken for what it proves. */
import { base64Decode, bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  CHANGE_FILE_TYPE,
  DECISION_FILE_TYPE,
  type PackEntry,
  readPackEntry,
} from "#lib/protocol/pack/pack-entries";
import {
  filesIn,
  findCheckpoints,
  isEndShown,
  type PackFacts,
  type PackPeriod,
  packFiles,
  readNumber,
} from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import { parseChangeStatement } from "#lib/protocol/record/agent-heads";
import {
  type ActionPredicate,
  isClientGap,
  parseActionStatement,
  readClientNumber,
} from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import { readDecided } from "#lib/verifier/checks/check-record";
import { parseReceipt, UnreadableError } from "#lib/verifier/checks/evidence";
import type { SignedEntry } from "#lib/verifier/checks/record-checks";
import { chooseLogKey, type VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import type { OpenPack } from "./archive";
import { type CheckedEntry, checkDecisionFile } from "./decision";

export interface ReadPack {
  before: PackEntry | null;
  after: PackEntry | null;
  entries: PackEntry[];
  /** Attestation id → its file. */
  answers: Map<string, string>;
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

const entryFiles = ({ names }: OpenPack) =>
  [...filesIn("attestations", names), ...filesIn("decisions", names)].sort(
    (a, b) => readNumber(a) - readNumber(b),
  );

const chooseFolder = ({ isDecision }: PackEntry) => (isDecision ? "decisions/" : "attestations/");

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
    const json = await pack.readJson(file);
    const entry = readPackEntry(`${pack.folder}${file}`, json);
    const name = entry.isDecision ? "decisions" : "attestations";
    const checked = await checkEntry(json, trust);
    if (!checked.ok)
      return { read, fault: packFault(name, "entry_invalid", { file, problem: checked.problem }) };
    const isOutside = i >= files.length;
    const isNamed =
      isOutside || (readNumber(file) === entry.sequence && file.startsWith(chooseFolder(entry)));
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

export function describeEntries({ entries }: ReadPack): PackCheck[] {
  const of = (name: string, wanted: boolean, what: string): PackCheck => {
    const all = entries.filter(({ isDecision }) => isDecision === wanted);
    const gone = all.filter(({ state }) => state === "withheld" || state === "erased");
    return gone.length > 0
      ? packGap(name, "content_absent", { entries: formatCount(gone.length, "entry", "entries") })
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

function findPadding(entries: readonly PackEntry[], { from, to }: PackPeriod): PackEntry | undefined {
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

/* All checkpoints in an evidence pack: each signed by its log, and each log the same, only larger. */

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
    add(file: string, json: JsonObject): PackCheck | null {
      for (const note of findCheckpoints(json)) {
        const fault = addOne(file, note);
        if (fault !== null) return fault;
      }
      return null;
    },
    judge: (proofs: JsonObject) => judgeGrowth(logs, proofs),
  };
}

function readProof(shown: unknown): Uint8Array[] | null {
  try {
    return Array.isArray(shown) ? shown.map((hash) => base64Decode(String(hash))) : null;
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

/*
 * Checks what the attestations of an evidence pack say about the entries before them: that the agent's own number
 * follows its instance's last one, and since when the agent was frozen. Both are signed, and both follow from the
 * record. Also checks that no request was approved while the agent was frozen, and that no signature of the agent's
 * counted twice.
 */

interface Said {
  number: number;
  /** Null for other entries, and for an attestation without content. */
  predicate: ActionPredicate | null;
  /** Since when the agent is frozen, or null if it goes on; undefined if nothing about it was changed. */
  frozen: string | null | undefined;
  isApproval: boolean;
  /** An attestation that may have any number of the agent's own. */
  isUnread: boolean;
}

/** State at an entry, unknown before the pack begins. */
interface Known {
  number: number;
  /** Undefined: unknown. */
  frozen: string | null | undefined;
  /** Instance → its last number. */
  last: Map<string, number>;
  /** Signature that verified → its number. */
  signed: Map<string, number>;
  /** Last number of an instance not in `last`: 0, or undefined if unknown. */
  lastOfOthers: number | undefined;
}

const readPayload = ({ payload }: JsonObject) => (typeof payload === "string" ? utf8Encode(payload) : null);

function read({ sequence: number, isDecision, decision }: PackEntry, json: JsonObject): Said {
  const payload = readPayload(json);
  const isApproval = decision === "approved";
  const nothing = { number, predicate: null, frozen: undefined, isApproval, isUnread: false };
  if (json["type"] === CHANGE_FILE_TYPE) {
    const change = payload && parseChangeStatement(payload);
    if (change?.change === "frozen") return { ...nothing, frozen: change.changed_at };
    return change?.change === "unfrozen" ? { ...nothing, frozen: null } : nothing;
  }
  if (isDecision) return nothing;
  const predicate = (payload && parseActionStatement(payload)?.predicate) ?? null;
  return { ...nothing, predicate, isUnread: predicate === null };
}

/** As far as the clocks of a service's processes may differ. */
const slackMs = 2_000;

/** 1.0.0 didn't say that an agent was frozen if its slug was claimed and frozen while an attestation of it waited. */
const isMadeBefore = ({ timestamp, registered }: ActionPredicate, frozen: string) =>
  Object.values(registered).every((value) => value === null) &&
  Date.parse(timestamp) <= Date.parse(frozen) + slackMs;

function isFrozenAsSaid(predicate: ActionPredicate, frozen: string | null): boolean {
  const { agent_frozen_at: said = null } = predicate;
  return said === frozen || (said === null && frozen !== null && isMadeBefore(predicate, frozen));
}

/** Goes on to the next entry; its fault is what it says otherwise than the entries before it. */
function follow(known: Known, { number, predicate, frozen, isApproval, isUnread }: Said): PackCheck | null {
  if (number !== known.number + 1) {
    known.frozen = undefined;
    known.lastOfOthers = undefined;
    known.last.clear();
  }
  known.number = number;
  if (frozen !== undefined) known.frozen = frozen;
  if (isUnread) {
    known.lastOfOthers = undefined;
    known.last.clear();
  }
  if (isApproval && typeof known.frozen === "string")
    return packFault("verdicts", "approved_while_frozen", { number });
  if (predicate === null) return null;
  if (known.frozen !== undefined && !isFrozenAsSaid(predicate, known.frozen))
    return packFault("verdicts", "frozen_mismatch", { number });
  const { agent_signature: signature, verdicts } = predicate;
  if (signature !== undefined && verdicts.agent_authenticated === true) {
    const earlier = known.signed.get(signature);
    if (earlier !== undefined) return packFault("verdicts", "signature_replayed", { number, earlier });
    known.signed.set(signature, number);
  }
  const client = readClientNumber(predicate.request);
  if (client === null) return null;
  const last = known.last.get(client.instance) ?? known.lastOfOthers;
  known.last.set(client.instance, client.sequence);
  const isAsSaid = last === undefined || isClientGap(last, client) === verdicts.client_gap;
  return isAsSaid ? null : packFault("verdicts", "client_gap_mismatch", { number });
}

export function createVerdictList() {
  const said = new Map<number, Said>();
  return {
    add: (entry: PackEntry, json: JsonObject): void => void said.set(entry.sequence, read(entry, json)),
    judge: (): PackCheck => {
      const known: Known = { number: 0, frozen: null, last: new Map(), signed: new Map(), lastOfOthers: 0 };
      const inOrder = [...said.values()].sort((a, b) => a.number - b.number);
      for (const one of inOrder) {
        const fault = follow(known, one);
        if (fault !== null) return fault;
      }
      const count = inOrder.filter(({ predicate }) => predicate !== null).length;
      return packPass(
        "verdicts",
        `what ${formatCount(count, "attestation")} say about a freeze and about the agent's own numbers fits the entries before them, as far as these are here`,
      );
    },
  };
}
