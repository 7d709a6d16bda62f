/** Every agent's record again from its entries: numbers without a gap, links, places in the log, and the head. */
import { and, asc, eq, gt, isNotNull } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { agentRecords, logLeaves } from "#lib/db/schema";
import { bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { emptyRecord, type RecordHead } from "#lib/protocol/record/agent-record";
import { parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { walkRecord } from "#lib/verifier/checks/record-walk";

export interface RecordsCheck {
  agents: number;
  entries: number;
  /** Null if all is as it must be. */
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
  // One that the store has was compared when it was read for the log's own check.
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
