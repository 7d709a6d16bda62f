/**
 * Life of a change: whatever changes who may approve leaves a mark in the same statement (drizzle/0001_functions.sql).
 * Here the mark is taken away, the next head is made of what is so now, and its statement goes into the log, all in one
 * transaction of the sequencer, under the log's head lock: heads of an organization have no gap and no fork. A change
 * whose process died is found by its mark.
 */
import { desc, eq, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { rosters, staleRosters } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { LogItem, LogItemKind, Placed } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import { hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import { buildRosterHead, rosterHash } from "#lib/protocol/passkey/roster";
import type { RosterEntry, RosterHead } from "#lib/protocol/passkey/roster-shape";
import { buildRosterStatement } from "#lib/protocol/passkey/roster-statement";
import type { AccountsContext } from "./context";
import {
  describeChanges,
  isSameRoster,
  type RosterChange,
  type RosterDetails,
  type RosterState,
  readRosterState,
} from "./roster-state";

export interface StoredRoster extends RosterState {
  head: RosterHead;
  /** Hex. */
  hash: string;
}

interface RosterItem extends LogItem {
  context: Pick<AccountsContext, "clock" | "random">;
  organizationId: string;
  /** Under the head's lock. */
  made: (RosterState & { head: RosterHead; changes: RosterChange[] }) | null;
}

/** There is nothing to do: the last roster says what is so. */
class RosterCurrent extends AppError {
  constructor() {
    super("idempotency_conflict", "the roster is current");
  }
}

/** The organization's newest; null before its first. */
export async function readLastRoster(
  executor: Executor,
  organizationId: string,
): Promise<StoredRoster | null> {
  const [row] = await executor
    .select()
    .from(rosters)
    .where(eq(rosters.organization_id, organizationId))
    .orderBy(desc(rosters.number))
    .limit(1);
  if (!row) return null;
  return {
    head: JSON.parse(utf8Decode(row.head)) as RosterHead,
    hash: hexEncode(sha256(row.head)),
    entries: JSON.parse(row.entries) as RosterEntry[],
    details: JSON.parse(row.details) as RosterDetails,
  };
}

async function isMarked(tx: Executor, organizationId: string): Promise<boolean> {
  const rows = await tx
    .select({ id: staleRosters.organization_id })
    .from(staleRosters)
    .where(eq(staleRosters.organization_id, organizationId))
    .for("update");
  return rows.length === 1;
}

const unmark = (tx: Executor, organizationId: string) =>
  tx.delete(staleRosters).where(eq(staleRosters.organization_id, organizationId));

async function admitOne(tx: Executor, item: RosterItem): Promise<AppError | null> {
  const { context, organizationId } = item;
  if (!(await isMarked(tx, organizationId))) return new RosterCurrent();
  const last = await readLastRoster(tx, organizationId);
  const state = await readRosterState(context, tx, organizationId, last?.details ?? null);
  if (isSameRoster(state.entries, last?.entries ?? [])) {
    await unmark(tx, organizationId);
    return new RosterCurrent();
  }
  const head = buildRosterHead(state.entries, {
    organization: organizationId,
    number: (last?.head.number ?? 0) + 1,
    previous: last?.hash ?? null,
    changed_at: context.clock().toISOString(),
  });
  item.made = { ...state, head, changes: describeChanges(last, state) };
  return null;
}

async function admit(tx: Executor, items: RosterItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  const seen = new Set<string>();
  for (const item of items) {
    // The first of its batch makes the roster of everything that was committed.
    verdicts.push(seen.has(item.organizationId) ? new RosterCurrent() : await admitOne(tx, item));
    seen.add(item.organizationId);
  }
  return verdicts;
}

function requireMade({ made }: RosterItem): NonNullable<RosterItem["made"]> {
  if (made === null) throw new Error("a roster is sealed before it is made");
  return made;
}

async function store(tx: Executor, placed: Placed<RosterItem>[]): Promise<void> {
  for (const { item, logId, receipt, sealed } of placed) {
    const { organizationId, context } = item;
    const { head, entries, details, changes } = requireMade(item);
    await tx.insert(rosters).values({
      organization_id: organizationId,
      number: head.number,
      head: canonicalBytes({ ...head }),
      entries: JSON.stringify(entries),
      details: JSON.stringify(details),
      changes: JSON.stringify(changes),
      log_id: logId,
      leaf_index: receipt.index,
      receipt: JSON.stringify(receipt),
      payload: sealed.payload,
      signature: sealed.signature,
      envelope_signature: sealed.envelopeSignature,
      signed_by: item.keyId,
      created_at: context.clock(),
    });
    await unmark(tx, organizationId);
    const facts = `"number":${head.number},"roster_hash":"${rosterHash(head)}"`;
    await tx.execute(
      sql`SELECT announce_event(${organizationId}::uuid, 'roster.changed', ${rosterHash(head)}, ${head.changed_at}::timestamptz, ${facts}, NULL)`,
    );
  }
}

const rosterKind: LogItemKind<RosterItem> = { kind: "approver_roster", admit, store };

/** After a change was committed. False if the roster could not be logged now: its mark stays, and a round tries again. */
export async function updateRoster(context: AccountsContext, organizationId: string): Promise<boolean> {
  try {
    await submitSigned(context, rosterKind, async () => {
      const { signer } = context.keys;
      const item: RosterItem = {
        keyId: signer.keyId,
        context,
        organizationId,
        made: null,
        seal: () => sealStatement(signer, buildRosterStatement(requireMade(item).head, signer.keyId)),
      };
      return item;
    });
  } catch (error) {
    if (error instanceof RosterCurrent) return true;
    context.logger.warn({ err: error, organization: organizationId }, "a roster could not be logged yet");
    return false;
  }
  return true;
}
