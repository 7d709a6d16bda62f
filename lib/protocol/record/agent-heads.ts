/**
 * A snapshot of the heads of all agents' records: one row of 72 bytes for each agent that has entries, in the order of
 * their tags, and the RFC 6962 root over the rows, which a statement of the log signs (./agent-heads.ts). A tag needs
 * the agent's salt, which its public record shows, so the file tells volumes and no names.
 *
 *     row = tag(32) || u64be(sequence) || link(32)
 *     tag = SHA-256("countersign/agent-tag/v1\n" || salt(16) || agent_id)
 */
import {
  base64Encode,
  bytesEqual,
  concatBytes,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalHash, isHash, isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  AGENT_CHANGE_PREDICATE,
  AGENT_HEADS_PREDICATE,
  buildStatement,
  parseCanonical,
  parseStatement,
  STATEMENT_TYPE,
} from "#lib/protocol/statement/statement";
import { isTime } from "#lib/protocol/time/time-words";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import { appendLeafHashes, emptyRightEdge, TILE_WIDTH, type TileReader } from "#lib/protocol/tlog/tiles";
import { isRecordPlace, type RecordHead, type RecordPlace } from "./agent-record";

/** The service signs one at least this often, also if nothing was added: its time says until when nothing was. */
export const snapshotIntervalSeconds = 3_600;

export const SALT_BYTES = 16;
export const HEAD_ROW_BYTES = HASH_BYTES + 8 + HASH_BYTES;

const label = utf8Encode("countersign/agent-tag/v1\n");

/** `agentId`: the 36 characters of a UUID in lower case. */
export const agentTag = (salt: Uint8Array, agentId: string): Uint8Array =>
  sha256(label, salt, utf8Encode(agentId));

export interface HeadRow extends RecordHead {
  tag: Uint8Array;
}

/** Throws RangeError for anything but the bytes of one row. */
export function decodeHeadRow(row: Uint8Array): HeadRow {
  if (row.length !== HEAD_ROW_BYTES) throw new RangeError(`a row has ${HEAD_ROW_BYTES} bytes`);
  const sequence = Number(new DataView(row.buffer, row.byteOffset + HASH_BYTES).getBigUint64(0));
  if (!Number.isSafeInteger(sequence) || sequence < 1) throw new RangeError("a row's sequence is from 1");
  return { tag: row.slice(0, HASH_BYTES), sequence, link: row.slice(HASH_BYTES + 8) };
}

export const countRows = (rows: Uint8Array): number => Math.floor(rows.length / HEAD_ROW_BYTES);

export const rowAt = (rows: Uint8Array, index: number): Uint8Array =>
  rows.subarray(index * HEAD_ROW_BYTES, (index + 1) * HEAD_ROW_BYTES);

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Index of the tag's row, or the index at which it would be. */
export function findRow(rows: Uint8Array, tag: Uint8Array): { index: number; isThere: boolean } {
  let low = 0;
  let high = countRows(rows);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (compareBytes(rowAt(rows, middle).subarray(0, HASH_BYTES), tag) < 0) low = middle + 1;
    else high = middle;
  }
  return { index: low, isThere: bytesEqual(rowAt(rows, low).subarray(0, HASH_BYTES), tag) };
}

export interface HeadsSummary {
  agents: number;
  entries: number;
  root: Uint8Array;
  /** SHA-256 of all rows, the digest of the statement's subject. */
  digest: Uint8Array;
}

/** Hashes of the tree above the rows: the roots of full bundles of 256 rows, then of 256 of those, and so on. */
export interface HeadsTree extends HeadsSummary {
  nodes: Uint8Array;
}

/** Throws RangeError unless they are whole rows, each tag once and in order. */
export function buildHeadsTree(rows: Uint8Array): HeadsTree {
  if (rows.length % HEAD_ROW_BYTES !== 0) throw new RangeError("not whole rows");
  const agents = countRows(rows);
  let edge = emptyRightEdge();
  let entries = 0;
  let before: Uint8Array | null = null;
  const levels: Uint8Array[][] = [];
  for (let start = 0; start < agents; start += TILE_WIDTH) {
    const hashes: Uint8Array[] = [];
    for (let index = start; index < Math.min(agents, start + TILE_WIDTH); index += 1) {
      const row = rowAt(rows, index);
      const { tag, sequence } = decodeHeadRow(row);
      if (before !== null && compareBytes(before, tag) >= 0)
        throw new RangeError("the rows are not in order");
      before = tag;
      entries += sequence;
      hashes.push(leafHash(row));
    }
    const appended = appendLeafHashes(edge, hashes);
    edge = appended.edge;
    for (const { level, index, hashes: tile } of appended.changedTiles) {
      if (level === 0) continue;
      levels[level - 1] ??= [];
      (levels[level - 1] as Uint8Array[])[index] = tile;
    }
  }
  const nodes = concatBytes(...levels.map((tiles) => concatBytes(...tiles)));
  return { agents, entries, root: edge.root, digest: sha256(rows), nodes };
}

/** The tiles of a snapshot's tree for proofs of its rows; `readRows` answers rows from `start` on. */
export function headsTileReader(
  agents: number,
  nodes: Uint8Array,
  readRows: (start: number, count: number) => Promise<Uint8Array>,
): TileReader {
  return async (level, index) => {
    if (level === 0) {
      const rows = await readRows(index * TILE_WIDTH, TILE_WIDTH);
      return concatBytes(...Array.from({ length: countRows(rows) }, (_, i) => leafHash(rowAt(rows, i))));
    }
    let start = 0;
    for (let below = 1; below < level; below += 1) start += Math.floor(agents / TILE_WIDTH ** below);
    const end = start + Math.floor(agents / TILE_WIDTH ** level);
    return nodes.subarray(start * HASH_BYTES, end * HASH_BYTES).subarray(index * TILE_WIDTH * HASH_BYTES);
  };
}

/** A head as the database hands it to {@link mergeHeads}: salt(16), agent id (36 characters), sequence, link. */
const GIVEN_BYTES = SALT_BYTES + 36 + 8 + HASH_BYTES;

/** Sorts by tag. */
function toRows(given: Uint8Array): Uint8Array {
  const count = given.length / GIVEN_BYTES;
  if (!Number.isInteger(count)) throw new RangeError("not whole heads");
  const unsorted = new Uint8Array(count * HEAD_ROW_BYTES);
  for (let i = 0; i < count; i += 1) {
    const one = given.subarray(i * GIVEN_BYTES, (i + 1) * GIVEN_BYTES);
    unsorted.set(sha256(label, one.subarray(0, SALT_BYTES + 36)), i * HEAD_ROW_BYTES);
    unsorted.set(one.subarray(SALT_BYTES + 36), i * HEAD_ROW_BYTES + HASH_BYTES);
  }
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  order.sort((a, b) => compareBytes(rowAt(unsorted, a), rowAt(unsorted, b)));
  const rows = new Uint8Array(unsorted.length);
  for (const [i, from] of order.entries()) rows.set(rowAt(unsorted, from), i * HEAD_ROW_BYTES);
  return rows;
}

/** The rows of the snapshot before (none: empty) with those that have changed since, and their tree. */
export function mergeHeads(before: Uint8Array, given: Uint8Array): HeadsTree & { rows: Uint8Array } {
  const changed = toRows(given);
  const merged = new Uint8Array(before.length + changed.length);
  let length = 0;
  const add = (bytes: Uint8Array) => {
    merged.set(bytes, length);
    length += bytes.length;
  };
  let at = 0;
  for (let i = 0; i < countRows(changed); i += 1) {
    const row = rowAt(changed, i);
    const { index, isThere } = findRow(before, row.subarray(0, HASH_BYTES));
    add(before.subarray(at * HEAD_ROW_BYTES, index * HEAD_ROW_BYTES));
    add(row);
    at = isThere ? index + 1 : index;
  }
  add(before.subarray(at * HEAD_ROW_BYTES));
  const rows = merged.slice(0, length);
  return { ...buildHeadsTree(rows), rows };
}

/*
 * Statement that logs a snapshot of all agents' heads. Every leaf below `covers_size` is counted, in an agent's row or
 * as a statement of the service.
 *
 *     entries + statements = earlier_size + covers_size
 */

export type AgentHeads = {
  log_origin: string;
  /** The size of that log for which the rows are complete. */
  covers_size: number;
  agents: number;
  entries: number;
  /** Statements of the service below it, in this log and the closed ones before. */
  statements: number;
  /** Leaves of the closed logs together. */
  earlier_size: number;
  /** base64 */
  root: string;
  /** ISO 8601 */
  at: string;
  signed_by: string;
};

const SUBJECT = "agent-heads";

export const addsUp = ({ entries, statements, earlier_size, covers_size }: AgentHeads): boolean =>
  entries + statements === earlier_size + covers_size;

export function buildHeadsStatement(
  { agents, entries, root, digest }: HeadsSummary,
  about: Omit<AgentHeads, "agents" | "entries" | "root">,
): Uint8Array {
  const predicate: AgentHeads = { ...about, agents, entries, root: base64Encode(root) };
  return buildStatement(AGENT_HEADS_PREDICATE, SUBJECT, hexEncode(digest), predicate);
}

const counts = ["covers_size", "agents", "entries", "statements", "earlier_size"] as const;
const texts = ["log_origin", "root", "at", "signed_by"] as const;

/** Null for bytes that are not the canonical form of such a statement. */
export function parseHeadsStatement(payload: Uint8Array): (AgentHeads & { digestHex: string }) | null {
  const statement = parseCanonical(payload);
  const predicate = statement?.["predicate"];
  if (statement === null || !isJsonObject(predicate) || statement["_type"] !== STATEMENT_TYPE) return null;
  if (statement["predicateType"] !== AGENT_HEADS_PREDICATE) return null;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  const isWhole =
    counts.every((name) => isCount(predicate[name])) &&
    texts.every((name) => typeof predicate[name] === "string");
  const digestHex = isWhole ? readDigest(statement) : null;
  return digestHex === null ? null : { ...(predicate as unknown as AgentHeads), digestHex };
}

function readDigest({ subject }: JsonObject): string | null {
  if (!Array.isArray(subject) || subject.length !== 1 || !isJsonObject(subject[0])) return null;
  const { name, digest } = subject[0];
  const hex = isJsonObject(digest) ? digest["sha256"] : null;
  return name === SUBJECT && typeof hex === "string" ? hex : null;
}

export function isOfStatement(tree: HeadsSummary, heads: AgentHeads & { digestHex: string }): boolean {
  return (
    tree.agents === heads.agents &&
    tree.entries === heads.entries &&
    base64Encode(tree.root) === heads.root &&
    hexEncode(tree.digest) === heads.digestHex
  );
}

/*
 * Signed statement in the agent's record that its organization froze or unfroze it, or revoked an approval. Hashes
 * only: the reason stays with the organization, and without the salt nobody can test a guess of it.
 */

export const agentChanges = ["frozen", "unfrozen", "authorization_revoked"] as const;
export type AgentChangeKind = (typeof agentChanges)[number];

export interface AgentChange {
  change: AgentChangeKind;
  changed_at: string;
  key_id: string;
  /** Hex SHA-256 of the canonical `[salt, reason]`; null if none was given. */
  reason_hash: string | null;
  /** Hex SHA-256 of the canonical request whose approval was taken back, else null. */
  request_hash: string | null;
  record: RecordPlace;
}

/** `salt`: base64 of 16 random bytes, which the organization keeps with its reason. */
export const reasonHash = (salt: string, reason: string): string => canonicalHash([salt, reason]);

const agentDigest = (agentId: string) => hexEncode(sha256(utf8Encode(agentId)));

export function buildChangeStatement({ request_hash, ...predicate }: AgentChange): Uint8Array {
  return request_hash === null
    ? buildStatement(AGENT_CHANGE_PREDICATE, "agent", agentDigest(predicate.record.agent_id), predicate)
    : buildStatement(AGENT_CHANGE_PREDICATE, "authorization-request", request_hash, predicate);
}

/** Null for bytes that are not the statement of a change, as {@link buildChangeStatement} writes it. */
export function parseChangeStatement(bytes: Uint8Array): AgentChange | null {
  const statement = parseStatement(bytes, AGENT_CHANGE_PREDICATE);
  if (statement === null) return null;
  const { predicate, digest } = statement;
  const { change, changed_at, key_id, reason_hash, record } = predicate;
  if (!agentChanges.some((one) => one === change) || !isRecordPlace(record)) return null;
  if (!isTime(changed_at) || typeof key_id !== "string") return null;
  if (reason_hash !== null && !isHash(reason_hash)) return null;
  const request_hash = change === "authorization_revoked" ? digest : null;
  if (request_hash !== null && !isHash(request_hash)) return null;
  const read = { change, changed_at, key_id, reason_hash, request_hash, record } as AgentChange;
  return bytesEqual(buildChangeStatement(read), bytes) ? read : null;
}
