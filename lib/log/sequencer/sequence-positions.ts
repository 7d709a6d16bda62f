/**
 * The place of each item of a batch: its number in its agent's record, and whether the number that the agent gave it
 * follows that instance's last one. Both are known only in the order in which the batch is stored.
 */
import type { Database, Executor } from "#lib/db/client";
import {
  type ClientNumbers,
  type CountedClient,
  countClients,
  createClientReader,
  findClientNumbers,
  type NumberedItem,
  type ReadClientNumbers,
  readClientNumbers,
} from "./client-numbers";
import type { LogItem, Place } from "./item";
import {
  createRecordReader,
  createRemembered,
  findRecordHeads,
  type GrownRecord,
  growRecords,
  type ReadRecordHeads,
  type RecordHeads,
  readRecordHeads,
} from "./record-heads";

/** Positions read at a head, valid as long as it is the head. */
export interface KnownPlaces {
  records: RecordHeads;
  clients: ClientNumbers;
}

export const createKnownPlaces = (): KnownPlaces => ({
  records: createRemembered(),
  clients: createRemembered(),
});

export interface PlaceReaders {
  records: ReadRecordHeads;
  clients: ReadClientNumbers;
}

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
  /** Null for an item that is in no agent's record. */
  next(item: LogItem): Place | null;
  /** The item has taken its place. */
  take(item: LogItem, payloadHash: Uint8Array): void;
  grown(): GrownPlaces;
}

const numbered = ({ agentId, client }: LogItem): NumberedItem | null =>
  agentId === undefined || !client ? null : { agentId, client };

export async function givePlaces(
  known: KnownPlaces,
  items: readonly LogItem[],
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

/** Once the batch is stored. */
export function rememberPlaces(known: KnownPlaces, { records, clients }: GrownPlaces): void {
  for (const { agentId, head } of records) known.records.set(agentId, head);
  for (const { id, last } of clients) known.clients.set(id, last);
}

/** As far as is known now: another process may take the place. */
export async function readNextPlace(
  item: LogItem,
  known: KnownPlaces | undefined,
  read: PlaceReaders,
  random: (bytes: number) => Uint8Array,
): Promise<Place> {
  const place = (await givePlaces(known ?? createKnownPlaces(), [item], read, random)).next(item);
  if (place === null) throw new Error("an item without an agent has no place in a record");
  return place;
}
