/** Checks that a followed record is the one that the newest snapshot counts, and that the snapshot adds up. */

import { bytesEqual } from "#lib/protocol/encoding/bytes";
import {
  decodeHeadRow,
  parseHeadsStatement,
  snapshotIntervalSeconds,
} from "#lib/protocol/record/agent-heads";
import { isSameHead, type RecordHead } from "#lib/protocol/record/agent-record";
import { fail, failBy, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { formatCount } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import type { RecordEntry, RecordPage } from "./check-record";
import {
  checkSnapshot,
  checkSum,
  findSigner,
  readSnapshot,
  readStatementList,
  type ShownSnapshot,
  type SignedHeads,
  type SumSource,
} from "./check-sum";
import type { VerifierTrust } from "./trust";

export interface FollowedRecord {
  first: RecordPage;
  entries: readonly RecordEntry[];
  atSnapshot: RecordHead | null;
}

type Checked = Outcome<"fail" | "not_applicable" | "not_run">;

export interface Counted {
  snapshot: Checked;
  sum: Checked;
  /** Passes if the snapshot is fresh and counts every entry shown. */
  counted: Checked;
  heads: SignedHeads | null;
}

/** The number of an entry that the snapshot should have counted and has not, or the other way round. */
function findMiscounted(
  entries: readonly RecordEntry[],
  { log_origin, covers_size }: SignedHeads,
  counted: number,
): number | undefined {
  const ofLog = entries.filter(({ logOrigin }) => logOrigin === log_origin);
  return ofLog.find(({ logIndex, sequence }) => logIndex < covers_size !== sequence <= counted)?.sequence;
}

/** A service may not leave out the snapshot that would show what is missing. */
async function checkAbsence(
  { entries }: FollowedRecord,
  source: SumSource,
  trust: VerifierTrust,
): Promise<Checked> {
  const all = await readStatementList(source);
  if (!Array.isArray(all)) return failBy(all);
  const newest = all.findLast(({ kind }) => kind === "agent_heads");
  const heads = newest === undefined ? null : parseHeadsStatement(newest.payload);
  if (newest === undefined || heads === null) return skip("snapshot_not_made");
  if (findSigner(newest, newest.logOrigin, newest.logIndex, trust) === undefined)
    return fail("snapshot_unsigned");
  const number = findMiscounted(entries, heads, 0);
  return number === undefined
    ? skip("snapshot_not_made")
    : fail("snapshot_count_mismatch", { counted: 0, number });
}

/** The list of statements reaches the snapshot itself, and has as many before it as the snapshot says. */
async function checkSnapshotSum(
  { rowsPath, statement }: ShownSnapshot,
  heads: SignedHeads,
  source: SumSource,
  trust: VerifierTrust,
): Promise<Checked> {
  const { logOrigin, log, payload } = statement;
  const end = { logOrigin, logIndex: log.index, atMost: heads.earlier_size + log.index + 1 };
  const [rows, all] = await Promise.all([source.readRows(rowsPath), readStatementList(source, end)]);
  if (!Array.isArray(all)) return failBy(all);
  const own = all.at(-1);
  const isThere = own?.logIndex === log.index && bytesEqual(own.payload, payload);
  return isThere ? checkSum(heads, rows, all, trust) : fail("sum_list_cut", { index: log.index });
}

/** A service that is late by one snapshot has left none out. */
const freshHours = (2 * snapshotIntervalSeconds) / 3_600;
/** Seconds that this machine's clock may be behind. */
const aheadSeconds = 300;

/** A snapshot doesn't count later entries, so it must be fresh. */
export function checkFresh({ at }: SignedHeads, nowSeconds: number): Checked {
  const age = nowSeconds - Date.parse(at) / 1_000;
  return age > -aheadSeconds && age <= freshHours * 3_600
    ? pass(`as of ${readableTime(at)}`)
    : skip("count_not_fresh", { time: readableTime(at), hours: freshHours });
}

/** Checks that the newest signed count ends with the head, and is fresh. */
function checkHead(head: number, counted: number, heads: SignedHeads, nowSeconds: number | null): Checked {
  if (counted < head)
    return skip("record_tail_not_counted", { counted, number: head, time: readableTime(heads.at) });
  const fresh = nowSeconds === null ? null : checkFresh(heads, nowSeconds);
  if (fresh !== null && fresh.status !== "pass") return fresh;
  return pass(`to number ${head} of ${head}, as of ${readableTime(heads.at)}`);
}

const readShown = ({ snapshot }: RecordPage) =>
  snapshot === undefined ? undefined : readSnapshot({ snapshot });

/** The number that the answer's snapshot names; null if it names none. Not checked yet. */
export function countedBy(page: RecordPage): number | null {
  const shown = readShown(page);
  try {
    return shown === undefined ? null : decodeHeadRow(shown.row).sequence;
  } catch {
    return null;
  }
}

export interface CountRequest {
  sumUpTo: number;
  /** Null for a record that was kept. */
  nowSeconds: number | null;
}

const notRun = { ...skip("earlier_check_failed"), status: "not_run" } as const;
const broken = (snapshot: Checked): Counted => ({ snapshot, sum: notRun, counted: notRun, heads: null });

/** An empty record has no row. That it has none cannot be shown: only the service says what its tag would be. */
async function checkUncounted(
  followed: FollowedRecord,
  source: SumSource,
  trust: VerifierTrust,
): Promise<Counted> {
  const snapshot = await checkAbsence(followed, source, trust);
  if (snapshot.status === "fail") return broken(snapshot);
  const number = followed.first.head.sequence;
  const counted = skip("record_not_counted", { number });
  return { snapshot, sum: skip("snapshot_not_made"), counted, heads: null };
}

export async function checkCounted(
  followed: FollowedRecord,
  source: SumSource,
  trust: VerifierTrust,
  { sumUpTo, nowSeconds }: CountRequest,
): Promise<Counted> {
  const { first, entries, atSnapshot } = followed;
  const shown = readShown(first);
  if (shown === undefined) return checkUncounted(followed, source, trust);
  const found = checkSnapshot(shown, first.agentId, trust);
  if (!found.ok) return broken(failBy(found));
  const { heads, row } = found;
  if (atSnapshot === null || !isSameHead(atSnapshot, row))
    return broken(fail("snapshot_mismatch", { number: row.sequence }));
  const counted = row.sequence;
  const number = findMiscounted(entries, heads, counted);
  if (number !== undefined) return broken(fail("snapshot_count_mismatch", { counted, number }));
  return {
    snapshot: pass(
      `number ${counted} is in the snapshot of ${readableTime(heads.at)}, at ${formatCount(heads.covers_size, "leaf", "leaves")}`,
    ),
    sum: heads.agents <= sumUpTo ? await checkSnapshotSum(shown, heads, source, trust) : skip("sum_not_run"),
    counted: checkHead(first.head.sequence, counted, heads, nowSeconds),
    heads,
  };
}
