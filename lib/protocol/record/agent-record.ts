/**
 * The record of an agent: its attestations, the decisions on its requests and the changes of what it may do, numbered without a gap and chained by
 * the hashes of their signed payloads. A link needs no payload, so what is private or erased keeps its place.
 *
 *     link_0 = SHA-256("countersign/agent-record/v1\n" || agent_id)
 *     link_n = SHA-256("countersign/agent-record/v1\n" || link_{n-1} || u64be(n) || payload_hash_n)
 */
import { bytesEqual, hexEncode, isUuid, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { HASH_BYTES } from "#lib/protocol/tlog/merkle";

const label = utf8Encode("countersign/agent-record/v1\n");

export type RecordPlace = {
  agent_id: string;
  /** Counted from 1. */
  sequence: number;
  /** Hex; the link of the entry before. */
  previous: string;
};

export interface RecordHead {
  sequence: number;
  link: Uint8Array;
}

export interface RecordNeighbour {
  previous: Uint8Array;
  payloadHash: Uint8Array;
}

export interface RecordNeighbours {
  before: RecordNeighbour | null;
  after: RecordNeighbour | null;
  head: RecordHead;
}

export interface ShownRecord {
  place: RecordPlace;
  neighbours: RecordNeighbours | "absent";
}

export function encodeUint64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(value / 2 ** 32));
  view.setUint32(4, value % 2 ** 32);
  return bytes;
}

/** The head of a record without entries. `agentId`: the 36 characters of a UUID in lower case. */
export function emptyRecord(agentId: string): RecordHead {
  return { sequence: 0, link: sha256(label, utf8Encode(agentId)) };
}

export function extendRecord({ sequence, link }: RecordHead, payloadHash: Uint8Array): RecordHead {
  if (link.length !== HASH_BYTES || payloadHash.length !== HASH_BYTES)
    throw new RangeError("a link and a payload hash have 32 bytes");
  const next = sequence + 1;
  return { sequence: next, link: sha256(label, link, encodeUint64(next), payloadHash) };
}

export const nextPlace = (agentId: string, { sequence, link }: RecordHead): RecordPlace => ({
  agent_id: agentId,
  sequence: sequence + 1,
  previous: hexEncode(link),
});

export function isSamePlace(a: RecordPlace, b: RecordPlace): boolean {
  return a.agent_id === b.agent_id && a.sequence === b.sequence && a.previous === b.previous;
}

export const isSameHead = (a: RecordHead, b: RecordHead) =>
  a.sequence === b.sequence && bytesEqual(a.link, b.link);

export function isRecordPlace(value: unknown): value is RecordPlace {
  if (typeof value !== "object" || value === null) return false;
  const { agent_id, sequence, previous, ...others } = value as Record<string, unknown>;
  return (
    typeof agent_id === "string" &&
    isUuid(agent_id) &&
    Number.isSafeInteger(sequence) &&
    (sequence as number) >= 1 &&
    typeof previous === "string" &&
    /^[0-9a-f]{64}$/.test(previous) &&
    Object.keys(others).length === 0
  );
}
