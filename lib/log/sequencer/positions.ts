/**
 * The place of each item of a batch: its number in its agent's record, and whether the number that the agent gave it
 * follows that instance's last one. Both are known only in the order in which the batch is stored.
 */
import { inArray, sql } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import { arrayLiteral, type Database, type Executor } from "#lib/db/client";
import { agentClients, agentRecords } from "#lib/db/schema";
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { SALT_BYTES } from "#lib/protocol/record/agent-heads";
import {
  emptyRecord,
  extendRecord,
  nextPlace,
  type RecordHead,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { type ClientNumber, isClientGap } from "#lib/protocol/statement/statement";
import type { FunctionCall, LogEntry, Parameter, Place } from "./entry";

/*
 * The last number of each client instance (lib/protocol/statement/statement.ts) while a batch is put together. As heads of
 * records, they change only when the log's head does; `advance_clients` (drizzle/0001_functions.sql) checks them.
 */

/** Hex of the instance's id → its last number. */
export type ClientNumbers = LRUCache<string, number>;

/** The name that the caller chose is content, which must not stay behind when that is erased. */
const clientId = (agentId: string, { instance }: ClientNumber): string =>
  hexEncode(sha256(utf8Encode(`${agentId}${instance}`)));

interface StoredClient {
  id: string;
  sequence: number;
}

export type ReadClientNumbers = (ids: string[]) => Promise<StoredClient[]>;

function createClientReader(database: Database): ReadClientNumbers {
  const read = database.statement<StoredClient>(
    "SELECT encode(id, 'hex') AS id, sequence FROM agent_clients WHERE id = ANY($1::bytea[])",
  );
  return (ids) => read(arrayLiteral(ids.map(hexDecode)));
}

async function readClientNumbers(tx: Executor, ids: string[]): Promise<StoredClient[]> {
  const { id, sequence } = agentClients;
  return tx
    .select({ id: sql<string>`encode(${id}, 'hex')`, sequence })
    .from(agentClients)
    .where(inArray(id, ids.map(hexDecode)));
}

export interface NumberedItem {
  agentId: string;
  client: ClientNumber;
}

async function findClientNumbers(
  known: ReadablePlaces["clients"],
  items: readonly NumberedItem[],
  read: ReadClientNumbers,
): Promise<Map<string, number>> {
  const ids = new Set(items.map(({ agentId, client }) => clientId(agentId, client)));
  const numbers = new Map<string, number>();
  for (const id of ids) {
    const number = known.get(id);
    if (number !== undefined) numbers.set(id, number);
  }
  const unknown = [...ids].filter((id) => !numbers.has(id));
  if (unknown.length === 0) return numbers;
  for (const { id, sequence } of await read(unknown)) numbers.set(id, sequence);
  return numbers;
}

export interface CountedClient {
  id: string;
  /** 0 if there was none. */
  before: number;
  last: number;
}

export interface CountingClients {
  /** True if the number does not follow the instance's last one. */
  isGap(item: NumberedItem): boolean;
  count(item: NumberedItem): void;
  counted(): CountedClient[];
}

function countClients(numbers: ReadonlyMap<string, number>): CountingClients {
  const counted = new Map<string, CountedClient>();
  const findLast = (id: string) => counted.get(id)?.last ?? numbers.get(id) ?? 0;
  return {
    isGap: ({ agentId, client }) => isClientGap(findLast(clientId(agentId, client)), client),
    count: ({ agentId, client }) => {
      const id = clientId(agentId, client);
      counted.set(id, { id, before: numbers.get(id) ?? 0, last: client.sequence });
    },
    counted: () => [...counted.values()],
  };
}

export function describeClients(counted: readonly CountedClient[]): FunctionCall[] {
  if (counted.length === 0) return [];
  const parameters = [
    counted.map(({ id }) => hexDecode(id)),
    counted.map(({ before }) => before),
    counted.map(({ last }) => last),
  ];
  return [{ name: "advance_clients", parameters }];
}

/*
 * The heads of agents' records (lib/protocol/record/agent-record.ts) while a batch is put together. They change only when the
 * log's head does, so what was read at a head holds for as long as it is the head; `append_leaves` checks both.
 */

export type RecordHeads = LRUCache<string, RecordHead>;

/**
 * Takes some 4 MB when full. It is made under the lock of the log's head: with `max` in place of `maxSize` all of it would be
 * allocated then, which takes 1.6 ms.
 */
const maxRemembered = 20_000;
const createRemembered = <Value extends object | number>() =>
  new LRUCache<string, Value>({ maxSize: maxRemembered, sizeCalculation: () => 1 });

interface StoredRecordHead {
  agent_id: string;
  sequence: number;
  /** Null before the first entry. */
  link: Uint8Array | null;
}

export type ReadRecordHeads = (agentIds: string[]) => Promise<StoredRecordHead[]>;

function createRecordReader(database: Database): ReadRecordHeads {
  const read = database.statement<StoredRecordHead>(
    "SELECT agent_id, sequence, link FROM agent_records WHERE agent_id = ANY($1::uuid[])",
  );
  return (agentIds) => read(arrayLiteral(agentIds));
}

async function readRecordHeads(tx: Executor, agentIds: string[]): Promise<StoredRecordHead[]> {
  const { agent_id, sequence, link } = agentRecords;
  return tx.select({ agent_id, sequence, link }).from(agentRecords).where(inArray(agent_id, agentIds));
}

const toHead = ({ agent_id, sequence, link }: StoredRecordHead): RecordHead =>
  link === null ? emptyRecord(agent_id) : { sequence, link };

async function findRecordHeads(
  known: ReadablePlaces["records"],
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
  before: number;
  head: RecordHead;
  /** Number of the new entries that its feed shows. */
  listed: number;
  /** 16 bytes for its tag in snapshots, drawn with the first entry. */
  salt: Uint8Array | null;
}

export interface GrowingRecords {
  nextPlace(agentId: string): RecordPlace;
  extend(agentId: string, payloadHash: Uint8Array, isListed: boolean): void;
  grown(): GrownRecord[];
}

function growRecords(
  heads: ReadonlyMap<string, RecordHead>,
  random: (bytes: number) => Uint8Array,
): GrowingRecords {
  const grown = new Map<string, GrownRecord>();
  const findHead = (agentId: string): RecordHead => {
    const head = grown.get(agentId)?.head ?? heads.get(agentId);
    if (head === undefined) throw new Error(`the record of agent ${agentId} was not read`);
    return head;
  };
  return {
    nextPlace: (agentId) => nextPlace(agentId, findHead(agentId)),
    extend: (agentId, payloadHash, isListed) => {
      const head = findHead(agentId);
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

export function describeRecords(grown: readonly GrownRecord[]): Parameter[] {
  return [
    grown.map(({ agentId }) => agentId),
    grown.map(({ before }) => before),
    grown.map(({ head }) => head.sequence),
    grown.map(({ head }) => head.link),
    grown.map(({ listed }) => listed),
    grown.map(({ salt }) => salt),
  ];
}

/** Positions read at a head, valid as long as it is the head. */
export interface KnownPlaces {
  records: RecordHeads;
  clients: ClientNumbers;
}

export type ReadablePlaces = { [Name in keyof KnownPlaces]: Pick<KnownPlaces[Name], "get"> };

export const createKnownPlaces = (): KnownPlaces => ({
  records: createRemembered(),
  clients: createRemembered(),
});

export interface PlaceReaders {
  records: ReadRecordHeads;
  clients: ReadClientNumbers;
}

/** Outside of a transaction by prepared statements: of agents that aren't remembered, a fifth more attestations than by drizzle. */
export const createPlaceReaders = (database: Database): PlaceReaders => ({
  records: createRecordReader(database),
  clients: createClientReader(database),
});

export const placeReadersWithin = (tx: Executor): PlaceReaders => ({
  records: (agentIds) => readRecordHeads(tx, agentIds),
  clients: (ids) => readClientNumbers(tx, ids),
});

export interface GrownPlaces {
  records: GrownRecord[];
  clients: CountedClient[];
}

export interface GivingPlaces {
  next(item: LogEntry): Place | null;
  take(item: LogEntry, payloadHash: Uint8Array): void;
  grown(): GrownPlaces;
}

const numbered = ({ agentId, client }: LogEntry): NumberedItem | null =>
  agentId === undefined || !client ? null : { agentId, client };

export async function assignPositions(
  known: ReadablePlaces,
  items: readonly LogEntry[],
  read: PlaceReaders,
  random: (bytes: number) => Uint8Array,
): Promise<GivingPlaces> {
  const agentIds = items.flatMap(({ agentId }) => agentId ?? []);
  const own = items.flatMap((item) => numbered(item) ?? []);
  const records = growRecords(await findRecordHeads(known.records, agentIds, read.records), random);
  const clients = countClients(await findClientNumbers(known.clients, own, read.clients));
  return {
    next: (item) => {
      if (item.agentId === undefined) return null;
      const counted = numbered(item);
      return { record: records.nextPlace(item.agentId), clientGap: counted && clients.isGap(counted) };
    },
    take: (item, payloadHash) => {
      if (item.agentId === undefined) return;
      records.extend(item.agentId, payloadHash, item.isListed ?? false);
      const counted = numbered(item);
      if (counted !== null) clients.count(counted);
    },
    grown: () => ({ records: records.grown(), clients: clients.counted() }),
  };
}

export function rememberPlaces(known: KnownPlaces, { records, clients }: GrownPlaces): void {
  for (const { agentId, head } of records) known.records.set(agentId, head);
  for (const { id, last } of clients) known.clients.set(id, last);
}

/** Positions as they are once the batch that grows them is stored. */
export function foreseePlaces(known: ReadablePlaces, grown: GrownPlaces): ReadablePlaces {
  const records = new Map(grown.records.map(({ agentId, head }) => [agentId, head]));
  const clients = new Map(grown.clients.map(({ id, last }) => [id, last]));
  return {
    records: { get: (id) => records.get(id) ?? known.records.get(id) },
    clients: { get: (id) => clients.get(id) ?? known.clients.get(id) },
  };
}

export async function readNextPlace(
  item: LogEntry,
  known: ReadablePlaces | undefined,
  read: PlaceReaders,
  random: (bytes: number) => Uint8Array,
): Promise<Place> {
  const place = (await assignPositions(known ?? createKnownPlaces(), [item], read, random)).next(item);
  if (place === null) throw new Error("an item without an agent has no place in a record");
  return place;
}
