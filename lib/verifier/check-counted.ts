/** Whether a record that was followed is the one that the newest snapshot counts, and whether the snapshot adds up. */
import { decodeHeadRow, parseHeadsStatement } from "#lib/domain/agent-heads";
import { isSameHead, type RecordHead } from "#lib/domain/agent-record";
import { fail, failBy, type Outcome, pass, skip } from "#lib/domain/outcome";
import { readableTime } from "#lib/domain/time-words";
import { checkSnapshot, readSnapshot, type ShownSnapshot, type SignedHeads } from "./check-snapshot";
import { checkSum, readStatementList, type SumSource } from "./check-sum";
import type { RecordEntry, RecordPage } from "./record-pages";
import { findSigner } from "./signed-statement";
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
  const newest = (await readStatementList(source)).findLast(({ kind }) => kind === "agent_heads");
  const heads = newest === undefined ? null : parseHeadsStatement(newest.payload);
  if (newest === undefined || heads === null) return skip("snapshot_not_made");
  if (findSigner(newest, newest.logOrigin, newest.logIndex, trust) === undefined)
    return fail("snapshot_unsigned");
  const number = findMiscounted(entries, heads, 0);
  return number === undefined
    ? skip("snapshot_not_made")
    : fail("snapshot_count_mismatch", { counted: 0, number });
}

async function checkSumOf(
  { rowsPath }: ShownSnapshot,
  heads: SignedHeads,
  source: SumSource,
  trust: VerifierTrust,
): Promise<Checked> {
  const [rows, all] = await Promise.all([source.readRows(rowsPath), readStatementList(source)]);
  return checkSum(heads, rows, all, trust);
}

/** The number that the answer's snapshot names; null if it names none. Not checked yet. */
export function countedBy({ snapshot }: RecordPage): number | null {
  const shown = readSnapshot({ snapshot: snapshot ?? null });
  try {
    return shown === undefined ? null : decodeHeadRow(shown.row).sequence;
  } catch {
    return null;
  }
}

export async function checkCounted(
  followed: FollowedRecord,
  source: SumSource,
  trust: VerifierTrust,
  sumUpTo: number,
): Promise<Counted> {
  const { first, entries, atSnapshot } = followed;
  const { agentId } = first;
  const shown = first.snapshot === undefined ? undefined : readSnapshot({ snapshot: first.snapshot });
  const notRun = { ...skip("earlier_check_failed"), status: "not_run" } as const;
  if (shown === undefined) {
    const snapshot = await checkAbsence(followed, source, trust);
    return { snapshot, sum: snapshot.status === "fail" ? notRun : skip("snapshot_not_made"), heads: null };
  }
  const found = checkSnapshot(shown, agentId, trust);
  if (!found.ok) return { snapshot: failBy(found), sum: notRun, heads: null };
  const { heads, row } = found;
  if (atSnapshot === null || !isSameHead(atSnapshot, row))
    return { snapshot: fail("snapshot_mismatch", { number: row.sequence }), sum: notRun, heads: null };
  const number = findMiscounted(entries, heads, row.sequence);
  if (number !== undefined) {
    const counted = row.sequence;
    return { snapshot: fail("snapshot_count_mismatch", { counted, number }), sum: notRun, heads: null };
  }
  return {
    snapshot: pass(
      `number ${row.sequence} is in the snapshot of ${readableTime(heads.at)}, at ${heads.covers_size} leaves`,
    ),
    sum: heads.agents <= sumUpTo ? await checkSumOf(shown, heads, source, trust) : skip("sum_not_run"),
    heads,
  };
}
