/** Row of one agent in the newest snapshot of all records' heads, the row's proof, and the signed root. */
import { and, asc, eq, gt, isNotNull, lt, or, sql } from "drizzle-orm";
import type { RecordSnapshot } from "#lib/api/schemas/record";
import { type Database, type Executor, queryRows } from "#lib/db/client";
import { agentHeads, agentRecords, logLeaves } from "#lib/db/schema";
import { oneAtATime, startInterval } from "#lib/jobs/due-work";
import { type OldEntries, readEntries, readHead, tileReader } from "#lib/log/reading/reader";
import { kindsOfRecords } from "#lib/log/sequencer/append";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { base64Encode, bytesEqual, hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  addsUp,
  agentTag,
  buildHeadsTree,
  decodeHeadRow,
  findRow,
  HEAD_ROW_BYTES,
  headsTileReader,
  isOfStatement,
  parseHeadsStatement,
  rowAt,
  snapshotIntervalSeconds,
} from "#lib/protocol/record/agent-heads";
import { emptyRecord, type RecordHead } from "#lib/protocol/record/agent-record";
import { parseLogLeaf, pathOfLog } from "#lib/protocol/tlog/log-leaf";
import { proveInclusion } from "#lib/protocol/tlog/tiles";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import { walkRecord } from "#lib/verifier/checks/record-checks";
import {
  dropOldRows,
  isStatement,
  makeSnapshot,
  readSinceSnapshot,
  type SnapshotContext,
  SnapshotTaken,
} from "./agent-heads";

interface Reading {
  database: Database;
  settings: { baseUrl: string; WITNESSES?: WitnessPolicySettings | undefined };
  oldEntries: OldEntries | null;
}

interface Row {
  log_id: number;
  covers_size: number;
  leaf_index: number;
  agents: number;
  nodes: Uint8Array;
  payload: Uint8Array;
  signature: Uint8Array;
  envelope_signature: Uint8Array;
  signed_by: string;
  row_index: number | null;
}

/** $1: the agent's tag. */
const findText = `SELECT h.log_id, h.covers_size, h.leaf_index, h.agents, h.nodes, h.payload, h.signature,
    h.envelope_signature, h.signed_by, find_head_row(h.rows, $1) AS row_index
  FROM agent_heads h WHERE h.rows IS NOT NULL ORDER BY h.log_id DESC, h.covers_size DESC LIMIT 1`;

/** $1: log. $2: size. $3: the first row, from 0. $4: how many. */
const rowsText = `SELECT substring(rows FROM $3::int * ${HEAD_ROW_BYTES} + 1 FOR $4::int * ${HEAD_ROW_BYTES}) AS rows
  FROM agent_heads WHERE log_id = $1 AND covers_size = $2`;

/** The leaf under the checkpoint that is shown, or under the newest if that one is older than the leaf. */
async function readLogReceipt({ database, settings, oldEntries }: Reading, logId: number, index: number) {
  const head = await readHead(database.db, logId);
  const shown = await readShownCheckpoint(database.db, head, settings.WITNESSES);
  const { size, note } = shown.size > index ? shown : { size: head.size, note: head.checkpoint };
  const [entry] = await readEntries(database.db, oldEntries, logId, index, 1);
  if (entry === undefined) throw new Error(`leaf ${index} of log ${logId} is missing`);
  const proof = await proveInclusion(index, size, tileReader(database.db, logId));
  return {
    origin: head.origin,
    index,
    tree_size: size,
    entry: base64Encode(entry),
    inclusion_proof: proof.map(base64Encode),
    checkpoint: note,
  };
}

/** Undefined while no snapshot has counted an entry of it. */
export async function readRecordSnapshot(
  reading: Reading,
  agentId: string,
): Promise<RecordSnapshot | undefined> {
  const { database, settings } = reading;
  const [record] = await database.db
    .select({ salt: agentRecords.salt })
    .from(agentRecords)
    .where(eq(agentRecords.agent_id, agentId));
  if (!record?.salt) return undefined;
  const [found] = await database.statement<Row>(findText)(agentTag(record.salt, agentId));
  const row_index = found?.row_index ?? null;
  if (found === undefined || row_index === null) return undefined;
  const { log_id, covers_size, agents, ...snapshot } = found;
  const readRows = async (start: number, count: number) => {
    const [part] = await database.statement<{ rows: Uint8Array }>(rowsText)(
      log_id,
      covers_size,
      start,
      count,
    );
    if (part === undefined) throw new Error(`the snapshot at ${covers_size} of log ${log_id} is gone`);
    return part.rows;
  };
  const proof = await proveInclusion(row_index, agents, headsTileReader(agents, snapshot.nodes, readRows));
  return {
    rows_url: `${settings.baseUrl}${pathOfLog(log_id)}/agent-heads/${covers_size}`,
    salt: base64Encode(record.salt),
    row: base64Encode(await readRows(row_index, 1)),
    row_index,
    inclusion_proof: proof.map(base64Encode),
    statement: {
      payload: utf8Decode(snapshot.payload),
      signature: base64Encode(snapshot.signature),
      envelope_signature: base64Encode(snapshot.envelope_signature),
      key_id: snapshot.signed_by,
      log: await readLogReceipt(reading, log_id, snapshot.leaf_index),
    },
  };
}

/* A snapshot every hour, or after 100,000 leaves, in the background of one process. */

const keepRowsMs = 31 * 86_400_000;

const lookMs = 60_000;
const everyMs = snapshotIntervalSeconds * 1_000;
const everyLeaves = 100_000;

export async function snapshotIfDue(context: SnapshotContext): Promise<boolean> {
  const { leaves, at } = await readSinceSnapshot(context.database.db);
  const ageMs = context.clock().getTime() - at.getTime();
  if (ageMs < everyMs && leaves < everyLeaves) return false;
  try {
    await makeSnapshot(context);
  } catch (error) {
    if (error instanceof SnapshotTaken) return false;
    throw error;
  }
  await dropOldRows(context.database.db, new Date(context.clock().getTime() - keepRowsMs));
  return true;
}

export function startSnapshots(context: SnapshotContext): () => Promise<void> {
  const run = oneAtATime(() => snapshotIfDue(context));
  return startInterval(lookMs, run, (error) =>
    context.logger.error({ err: error }, "no snapshot of the agents' records could be made"),
  );
}

/* Recomputes every agent's record from its entries: numbers without a gap, links, places in the log, and the head. */

export interface RecordsCheck {
  agents: number;
  entries: number;
  problem: string | null;
}

type Leaf = typeof logLeaves.$inferSelect;

const entriesAtOnce = 1000;

function readEntriesAfter(executor: Executor, agentId: string, sequence: number): Promise<Leaf[]> {
  return executor
    .select()
    .from(logLeaves)
    .where(
      and(eq(logLeaves.agent_id, agentId), isNotNull(logLeaves.agent_id), gt(logLeaves.sequence, sequence)),
    )
    .orderBy(asc(logLeaves.sequence))
    .limit(entriesAtOnce);
}

function readLeaf({ sequence, payload_hash, log_id, leaf_index, agent_id, previous, data }: Leaf) {
  if (sequence === null || agent_id === null || previous === null) return null;
  // Entries in the store were compared when they were read for the log's own check.
  if (data !== null && !bytesEqual(parseLogLeaf(data).payloadHash, payload_hash)) return null;
  return {
    listed: { sequence, payloadHash: payload_hash, logOrigin: String(log_id), logIndex: leaf_index },
    signed: { place: { agent_id, sequence, previous: hexEncode(previous) }, payloadHash: payload_hash },
  };
}

async function checkRecord(executor: Executor, agentId: string, claimed: RecordHead): Promise<string | null> {
  const walk = walkRecord(agentId);
  for (;;) {
    const leaves = await readEntriesAfter(executor, agentId, walk.head().sequence);
    for (const leaf of leaves) {
      const read = readLeaf(leaf);
      if (read === null) return `leaf ${leaf.leaf_index} of log ${leaf.log_id} is not that of its payload`;
      const fault = walk.add(read.listed, read.signed);
      if (fault !== null) return fault.problem;
    }
    if (leaves.length < entriesAtOnce) return walk.end(claimed)?.problem ?? null;
  }
}

export async function checkStoredRecords(executor: Executor): Promise<RecordsCheck> {
  const records = await executor.select().from(agentRecords).orderBy(asc(agentRecords.agent_id));
  let entries = 0;
  for (const { agent_id, sequence, link } of records) {
    const claimed = link === null ? emptyRecord(agent_id) : { sequence, link };
    const problem = await checkRecord(executor, agent_id, claimed);
    if (problem !== null)
      return { agents: records.length, entries, problem: `agent ${agent_id}: ${problem}` };
    entries += sequence;
  }
  const numbered = await executor.$count(logLeaves, isNotNull(logLeaves.agent_id));
  const problem =
    numbered === entries ? null : `${numbered} leaves are in records whose heads count ${entries}`;
  return { agents: records.length, entries, problem };
}

/* Recomputes every snapshot of the records' heads: its rows, its sum, and each row by the leaves that it counts. */

export interface SnapshotsCheck {
  snapshots: number;
  problem: string | null;
}

type Stored = typeof agentHeads.$inferSelect;

/** Below it: leaves of earlier logs, and of its own below its size. */
const isBelow = ({ log_id, covers_size }: Stored) =>
  or(lt(logLeaves.log_id, log_id), and(eq(logLeaves.log_id, log_id), lt(logLeaves.leaf_index, covers_size)));

/** The heads of all records as the leaves below the snapshot lead to them. */
async function readHeadsBelow(executor: Executor, snapshot: Stored) {
  return queryRows<{ agent_id: string; salt: Uint8Array; sequence: number; link: Uint8Array }>(
    executor,
    sql`SELECT r.agent_id::text AS agent_id, r.salt, counted.sequence::int AS sequence,
        coalesce(next.previous, r.link) AS link
      FROM (SELECT agent_id, max(sequence) AS sequence FROM log_leaves
        WHERE agent_id IS NOT NULL AND ${isBelow(snapshot)} GROUP BY agent_id) AS counted
      JOIN ${agentRecords} r ON r.agent_id = counted.agent_id
      LEFT JOIN log_leaves next ON next.agent_id = counted.agent_id AND next.sequence = counted.sequence + 1`,
  );
}

async function findSnapshotProblem(
  executor: Executor,
  snapshot: Stored,
  rows: Uint8Array,
): Promise<string | null> {
  const heads = parseHeadsStatement(snapshot.payload);
  if (heads === null || heads.covers_size !== snapshot.covers_size)
    return "its statement is not that of a snapshot";
  if (!addsUp(heads)) return "its numbers do not add up";
  if (!isOfStatement(buildHeadsTree(rows), heads)) return "its rows are not those of its statement";
  const statements = await executor.$count(logLeaves, and(isStatement, isBelow(snapshot)));
  if (statements !== heads.statements)
    return `${statements} statements are below it, and it counts ${heads.statements}`;
  const below = await readHeadsBelow(executor, snapshot);
  if (below.length !== heads.agents)
    return `${below.length} records are below it, and it has ${heads.agents}`;
  for (const { agent_id, salt, sequence, link } of below) {
    const { index, isThere } = findRow(rows, agentTag(new Uint8Array(salt), agent_id));
    const row = isThere ? decodeHeadRow(rowAt(rows, index)) : null;
    if (row?.sequence !== sequence || !bytesEqual(row.link, new Uint8Array(link)))
      return `it does not have agent ${agent_id} at number ${sequence}`;
  }
  return null;
}

export async function checkStoredSnapshots(executor: Executor): Promise<SnapshotsCheck> {
  const places = await executor
    .select({ log_id: agentHeads.log_id, covers_size: agentHeads.covers_size })
    .from(agentHeads)
    .where(isNotNull(agentHeads.rows))
    .orderBy(asc(agentHeads.log_id), asc(agentHeads.covers_size));
  for (const { log_id, covers_size } of places) {
    const [snapshot] = await executor
      .select()
      .from(agentHeads)
      .where(and(eq(agentHeads.log_id, log_id), eq(agentHeads.covers_size, covers_size)));
    if (!snapshot?.rows) continue;
    const problem = await findSnapshotProblem(executor, snapshot, snapshot.rows).catch((error: unknown) => {
      if (error instanceof RangeError) return error.message;
      throw error;
    });
    if (problem !== null)
      return { snapshots: places.length, problem: `snapshot at ${covers_size} of log ${log_id}: ${problem}` };
  }
  return { snapshots: places.length, problem: null };
}

/*
 * Counts leaves that are neither in an agent's record nor a statement of the service's own. The database refuses them
 * (`log_leaves_place`), so there are some only if that constraint was taken away. They keep the sum from ever being
 * right again, and no snapshot can be signed.
 */

const lostLeaves = `(
  SELECT log_id, leaf_index, kind FROM log_leaves
    WHERE agent_id IS NULL AND kind IN ${kindsOfRecords}
)`;

export const countLostText = `SELECT count(*)::int AS lost FROM ${lostLeaves} AS lost`;

const namedAtMost = 10;

async function nameLost(executor: Executor): Promise<string[]> {
  const rows = await queryRows<{ log_id: number; leaf_index: number; kind: string; id: string | null }>(
    executor,
    sql`SELECT lost.log_id, lost.leaf_index::int AS leaf_index, lost.kind, coalesce(a.id::text, r.id) AS id
      FROM ${sql.raw(lostLeaves)} AS lost
      LEFT JOIN attestations a ON a.log_id = lost.log_id AND a.leaf_index = lost.leaf_index
      LEFT JOIN authorization_requests r ON r.log_id = lost.log_id AND r.leaf_index = lost.leaf_index
      ORDER BY lost.log_id, lost.leaf_index LIMIT ${namedAtMost}`,
  );
  return rows.map(
    ({ log_id, leaf_index, kind, id }) => `leaf ${leaf_index} of log ${log_id} (${kind} ${id})`,
  );
}

export interface SumCheck {
  leaves: number;
  entries: number;
  statements: number;
  problem: string | null;
}

async function findUnrecordedProblem(executor: Executor, lost: number, counted: Omit<SumCheck, "problem">) {
  const { leaves, entries, statements } = counted;
  if (lost > 0) {
    const named = await nameLost(executor);
    const more = lost > named.length ? ` and ${lost - named.length} more` : "";
    return `${lost} in no record: ${named.join(", ")}${more}`;
  }
  return entries + statements === leaves ? null : "they don't add up";
}

export async function checkSum(executor: Executor): Promise<SumCheck> {
  const [row] = await queryRows<Omit<SumCheck, "problem"> & { lost: number }>(
    executor,
    sql`SELECT (SELECT coalesce(sum(size), 0)::int FROM logs) AS leaves,
      (SELECT coalesce(sum(sequence), 0)::int FROM agent_records) AS entries,
      (SELECT count(*)::int FROM log_leaves WHERE kind NOT IN ${sql.raw(kindsOfRecords)}) AS statements,
      (${sql.raw(countLostText)}) AS lost`,
  );
  const { lost, ...counted } = row ?? { leaves: 0, entries: 0, statements: 0, lost: 0 };
  return { ...counted, problem: await findUnrecordedProblem(executor, lost, counted) };
}
