/**
 * The last number of each client instance (lib/protocol/statement/client-number.ts) while a batch is put together. As heads of
 * records, they change only when the log's head does; `advance_clients` (drizzle/0001_functions.sql) checks them.
 */
import { inArray, sql } from "drizzle-orm";
import type { LRUCache } from "lru-cache";
import { arrayLiteral } from "#lib/db/array-literal";
import type { Database, Executor } from "#lib/db/client";
import { agentClients } from "#lib/db/schema";
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { type ClientNumber, isClientGap } from "#lib/protocol/statement/client-number";
import type { FunctionCall } from "./append";

/** Hex of the instance's id → its last number. */
export type ClientNumbers = LRUCache<string, number>;

/** The name that the caller chose is content, which must not stay behind when that is erased. */
const clientId = (agentId: string, { instance }: ClientNumber): string =>
  hexEncode(sha256(utf8Encode(`${agentId}${instance}`)));

interface StoredClient {
  /** Hex. */
  id: string;
  sequence: number;
}

/** Instances without a row have no number yet. */
export type ReadClientNumbers = (ids: string[]) => Promise<StoredClient[]>;

export function createClientReader(database: Database): ReadClientNumbers {
  const read = database.statement<StoredClient>(
    "SELECT encode(id, 'hex') AS id, sequence FROM agent_clients WHERE id = ANY($1::bytea[])",
  );
  return (ids) => read(arrayLiteral(ids.map(hexDecode)));
}

export async function readClientNumbers(tx: Executor, ids: string[]): Promise<StoredClient[]> {
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

/** From memory, or read together. */
export async function findClientNumbers(
  known: ClientNumbers,
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

/** An instance that has counted on in a batch. */
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

export function countClients(numbers: ReadonlyMap<string, number>): CountingClients {
  const counted = new Map<string, CountedClient>();
  const lastOf = (id: string) => counted.get(id)?.last ?? numbers.get(id) ?? 0;
  return {
    isGap: ({ agentId, client }) => isClientGap(lastOf(clientId(agentId, client)), client),
    count: ({ agentId, client }) => {
      const id = clientId(agentId, client);
      counted.set(id, { id, before: numbers.get(id) ?? 0, last: client.sequence });
    },
    counted: () => [...counted.values()],
  };
}

/** Nothing for a batch without numbers of agents' own, as most are. */
export function describeClients(counted: readonly CountedClient[]): FunctionCall[] {
  if (counted.length === 0) return [];
  const parameters = [
    arrayLiteral(counted.map(({ id }) => hexDecode(id))),
    arrayLiteral(counted.map(({ before }) => before)),
    arrayLiteral(counted.map(({ last }) => last)),
  ];
  return [{ name: "advance_clients", parameters }];
}
