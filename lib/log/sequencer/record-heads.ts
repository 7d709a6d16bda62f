/**
 * The heads of agents' records (lib/protocol/record/agent-record.ts) while a batch is put together. They change only when the
 * log's head does, so what was read at a head holds for as long as it is the head; `append_leaves` checks both.
 */
import { inArray } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import { arrayLiteral } from "#lib/db/array-literal";
import type { Database, Executor } from "#lib/db/client";
import { agentRecords } from "#lib/db/schema";
import { SALT_BYTES } from "#lib/protocol/record/agent-heads";
import {
  emptyRecord,
  extendRecord,
  nextPlace,
  type RecordHead,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";

export type RecordHeads = LRUCache<string, RecordHead>;

/**
 * Some 4 MB when full. It is made under the lock of the log's head: with `max` in place of `maxSize` all of it would be
 * allocated then, which takes 1.6 ms.
 */
const maxRemembered = 20_000;
export const createRemembered = <Value extends object | number>() =>
  new LRUCache<string, Value>({ maxSize: maxRemembered, sizeCalculation: () => 1 });

interface StoredRecordHead {
  agent_id: string;
  sequence: number;
  /** Null before the first entry. */
  link: Uint8Array | null;
}

export type ReadRecordHeads = (agentIds: string[]) => Promise<StoredRecordHead[]>;

export function createRecordReader(database: Database): ReadRecordHeads {
  const read = database.statement<StoredRecordHead>(
    "SELECT agent_id, sequence, link FROM agent_records WHERE agent_id = ANY($1::uuid[])",
  );
  return (agentIds) => read(arrayLiteral(agentIds));
}

export async function readRecordHeads(tx: Executor, agentIds: string[]): Promise<StoredRecordHead[]> {
  const { agent_id, sequence, link } = agentRecords;
  return tx.select({ agent_id, sequence, link }).from(agentRecords).where(inArray(agent_id, agentIds));
}

const toHead = ({ agent_id, sequence, link }: StoredRecordHead): RecordHead =>
  link === null ? emptyRecord(agent_id) : { sequence, link };

/** From memory, or read together; an agent without a row has an empty record. */
export async function findRecordHeads(
  known: RecordHeads,
  agentIds: readonly string[],
  read: ReadRecordHeads,
): Promise<Map<string, RecordHead>> {
  const heads = new Map<string, RecordHead>();
  const unknown = new Set<string>();
  for (const id of agentIds) {
    const head = known.get(id);
    if (head === undefined) unknown.add(id);
    else heads.set(id, head);
  }
  if (unknown.size === 0) return heads;
  for (const row of await read([...unknown])) heads.set(row.agent_id, toHead(row));
  for (const id of unknown) if (!heads.has(id)) heads.set(id, emptyRecord(id));
  return heads;
}

export interface GrownRecord {
  agentId: string;
  /** The sequence of the head that it grew from. */
  before: number;
  head: RecordHead;
  /** How many of the new entries its feed shows. */
  listed: number;
  /** 16 bytes for its tag in snapshots, drawn with the first entry. */
  salt: Uint8Array | null;
}

export interface GrowingRecords {
  nextPlace(agentId: string): RecordPlace;
  extend(agentId: string, payloadHash: Uint8Array, isListed: boolean): void;
  grown(): GrownRecord[];
}

/** `heads` has every agent that is asked about. */
export function growRecords(
  heads: ReadonlyMap<string, RecordHead>,
  random: (bytes: number) => Uint8Array,
): GrowingRecords {
  const grown = new Map<string, GrownRecord>();
  const headOf = (agentId: string): RecordHead => {
    const head = grown.get(agentId)?.head ?? heads.get(agentId);
    if (head === undefined) throw new Error(`the record of agent ${agentId} was not read`);
    return head;
  };
  return {
    nextPlace: (agentId) => nextPlace(agentId, headOf(agentId)),
    extend: (agentId, payloadHash, isListed) => {
      const head = headOf(agentId);
      const record = grown.get(agentId) ?? {
        agentId,
        before: head.sequence,
        listed: 0,
        salt: head.sequence === 0 ? random(SALT_BYTES) : null,
      };
      const listed = record.listed + Number(isListed);
      grown.set(agentId, { ...record, head: extendRecord(head, payloadHash), listed });
    },
    grown: () => [...grown.values()].sort((a, b) => (a.agentId < b.agentId ? -1 : 1)),
  };
}

/** The last parameters of `append_leaves`. */
export function describeRecords(grown: readonly GrownRecord[]): string[] {
  return [
    arrayLiteral(grown.map(({ agentId }) => agentId)),
    arrayLiteral(grown.map(({ before }) => before)),
    arrayLiteral(grown.map(({ head }) => head.sequence)),
    arrayLiteral(grown.map(({ head }) => head.link)),
    arrayLiteral(grown.map(({ listed }) => listed)),
    arrayLiteral(grown.map(({ salt }) => salt)),
  ];
}
