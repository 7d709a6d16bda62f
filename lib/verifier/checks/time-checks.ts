/** The two checks of when a statement was made: after what it names, and before others saw it in the log. */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { fail, failBy, pass, skip } from "#lib/protocol/statement/outcome";
import type { Anchor, CostlyChecks } from "#lib/protocol/statement/receipt";
import { isLoopbackUrl } from "#lib/protocol/text/host";
import {
  earliest,
  hashNote,
  readCosigners,
  roundTimeMs,
  type Witnessed,
} from "#lib/protocol/time/not-before";
import type { CosignedBound } from "#lib/protocol/time/not-before-shape";
import { readableTime } from "#lib/protocol/time/time-words";
import { parseCheckpoint, parseNote, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { type RecordOutcome, type Subject, withoutPayload } from "./record-checks";

export interface TimeBound {
  timeMs: number;
  by: string[];
}

export interface TimeOutcome {
  outcome: RecordOutcome;
  /** Set if the evidence verifies under keys that are trusted. */
  bound: TimeBound | null;
}

/** Milliseconds by which the clocks of honest machines may differ; witnesses' times are whole seconds. */
const slackMs = 2_000;

const without = (outcome: RecordOutcome): TimeOutcome => ({ outcome, bound: null });
const showTime = (timeMs: number) => readableTime(new Date(timeMs).toISOString());
const listNames = (bound: TimeBound) => bound.by.join(", ");

export async function checkNotBefore(subject: Subject, costly: CostlyChecks): Promise<TimeOutcome> {
  const { receipt, statement, trust } = subject;
  const note = receipt.time === "absent" ? null : receipt.time.checkpoint;
  if (subject.payload === null) {
    // Without the payload, checks only that it is a cosigned note, not that it is the one that the payload names.
    const isNote = note === null || readCosigners(note, trust.witnesses ?? [], subject.verify) !== undefined;
    return without(isNote ? withoutPayload(subject) : fail("cosigned_checkpoint_mismatch"));
  }
  if (statement === null) return without(fail("statement_malformed"));
  const named = statement.predicate.not_before;
  if (note !== null && named?.type !== "tlog-cosignature")
    return without(fail("cosigned_checkpoint_mismatch"));
  if (named === undefined) return without(skip("no_lower_bound"));
  if (named.type === "tlog-cosignature") return judgeCosigned(subject, named, note);
  if (!(await costly.verifyBeacon(named))) return without(fail("beacon_invalid"));
  return judgeAfter(subject, { timeMs: roundTimeMs(named.round), by: ["drand"] });
}

function judgeCosigned(subject: Subject, named: CosignedBound, note: string | null): TimeOutcome {
  const { receipt, trust } = subject;
  if (note === null && receipt.time === "absent") return without(skip("time_evidence_absent"));
  if (note === null || hashNote(note) !== named.checkpoint_hash || !isAbout(note, named))
    return without(fail("cosigned_checkpoint_mismatch"));
  const witnessed = readCosigners(note, trust.witnesses ?? [], subject.verify);
  if (witnessed === undefined) return without(fail("cosignature_invalid"));
  if (witnessed.length === 0) return without(skip("time_untrusted"));
  const by = [...new Set(witnessed.map(({ name }) => name))];
  return judgeAfter(subject, { timeMs: earliest(witnessed), by });
}

function isAbout(note: string, { origin, size }: CosignedBound): boolean {
  try {
    const checkpoint = parseCheckpoint(parseNote(note).text);
    return checkpoint.origin === origin && checkpoint.size === size;
  } catch {
    return false;
  }
}

const readTime = ({ statement }: Subject) => Date.parse(statement?.predicate.timestamp ?? "");

function judgeAfter(subject: Subject, bound: TimeBound): TimeOutcome {
  const stated = readTime(subject);
  const values = { stated: showTime(stated), bound: showTime(bound.timeMs), who: listNames(bound) };
  if (stated < bound.timeMs - slackMs) return without(fail("time_too_early", values));
  return { outcome: pass(`made after ${values.bound} (${values.who})`), bound };
}

/** Requires every anchor to hold; the earliest time of all counts. */
export async function checkNotAfter(subject: Subject): Promise<TimeOutcome> {
  const { receipt } = subject;
  const anchors = receipt.time === "absent" ? [] : receipt.time.anchors;
  if (anchors.length === 0) return without(skip("no_upper_bound"));
  const times: Witnessed[] = [];
  for (const anchor of anchors) {
    const seen = await readAnchor(subject, anchor);
    if (!Array.isArray(seen)) return without(seen);
    times.push(...seen);
  }
  if (times.length === 0) return without(skip("time_untrusted"));
  const timeMs = earliest(times);
  const first = times.filter((time) => time.timeMs === timeMs).map(({ name }) => name);
  const bound = { timeMs, by: [...new Set(first)] };
  if (subject.payload === null) return { outcome: withoutPayload(subject), bound };
  if (subject.statement === null) return without(fail("statement_malformed"));
  const stated = readTime(subject);
  const values = { stated: showTime(stated), bound: showTime(timeMs), who: listNames(bound) };
  if (stated > timeMs + slackMs) return without(fail("time_too_late", values));
  return { outcome: pass(`made before ${values.bound} (${values.who})`), bound };
}

/** An authority on the service's own machine is no third party: it is there for development. */
function markOwn(tsa: string, name: string): string {
  const isOwn = URL.canParse(tsa) && isLoopbackUrl(tsa);
  return isOwn && !/\bTEST\b/.test(name) ? `TEST ${name}` : name;
}

async function readAnchor(subject: Subject, anchor: Anchor): Promise<Witnessed[] | RecordOutcome> {
  const { receipt, trust } = subject;
  const signed = verifyCheckpoint(anchor.checkpoint, trust.logKey, subject.verify);
  if (!signed.ok) return failBy(signed);
  const { size, root } = signed.checkpoint;
  const { index, entry } = receipt.log;
  const claim = { leafHash: leafHash(entry), index, size, proof: anchor.inclusionProof, root };
  if (size !== anchor.treeSize || !verifyInclusion(claim)) return fail("anchor_proof_invalid", { size });
  const witnessed = readCosigners(anchor.checkpoint, trust.witnesses ?? [], subject.verify);
  if (witnessed === undefined) return fail("cosignature_invalid");
  const stamped: Witnessed[] = [];
  for (const { tsa, response } of anchor.timeStamps) {
    // Few records have one, and every page would carry it.
    const verify = trust.verifyTimeStamp ?? (await import("#lib/protocol/time/time-stamp")).verifyTimeStamp;
    const verdict = await verify(response, utf8Encode(signed.note.text), trust.timeAuthorities ?? []);
    if (!verdict.ok && !verdict.isUnknown) return fail("time_stamp_invalid", { problem: verdict.problem });
    if (verdict.ok) stamped.push({ name: markOwn(tsa, verdict.name), timeMs: verdict.timeMs });
  }
  return [...witnessed, ...stamped];
}
