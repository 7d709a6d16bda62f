/** Where the newest snapshot of all records' heads counts one agent: its row, the row's proof, and the signed root. */
import { eq } from "drizzle-orm";
import type { RecordSnapshot } from "#lib/api/schemas/log";
import type { Database } from "#lib/db/client";
import { agentRecords } from "#lib/db/schema";
import { oneAtATime, startInterval } from "#lib/jobs/due-work";
import type { OldEntries } from "#lib/log/reading/compact";
import { readEntries, readHead, tileReader } from "#lib/log/reading/reader";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  agentTag,
  HEAD_ROW_BYTES,
  headsTileReader,
  snapshotIntervalSeconds,
} from "#lib/protocol/record/agent-heads";
import { pathOfLog } from "#lib/protocol/tlog/log-leaf";
import { proveInclusion } from "#lib/protocol/tlog/tiles";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import {
  dropOldRows,
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
  /** Null if it has no row of this tag. */
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

/** Returns the function that ends the rounds. */
export function startSnapshots(context: SnapshotContext): () => Promise<void> {
  const run = oneAtATime(() => snapshotIfDue(context));
  return startInterval(lookMs, run, (error) =>
    context.logger.error({ err: error }, "no snapshot of the agents' records could be made"),
  );
}
