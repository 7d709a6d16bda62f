/**
 * Appending to the log: the tree grows in memory, its new checkpoint is signed, and the database's function
 * `append_leaves` (drizzle/0001_functions.sql) stores both if the head is still the one that was built on.
 */
import { and, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { LogReceipt } from "#lib/api/schemas/attest";
import { type ArrayElement, arrayLiteral, type Executor, packList, pipeline } from "#lib/db/client";
import { isRefusedByServer, type Refusal, readRefusal } from "#lib/db/postgres/failures";
import { planSettings } from "#lib/db/postgres/time-limits";
import { logs, logTiles, signingKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { tileReader } from "#lib/log/reading/reader";
import type { Signer, SigningKeys } from "#lib/log/signing/signing-keys";
import { base64Encode, bytesEqual, hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { RecordPlace } from "#lib/protocol/record/agent-record";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import type { SealedStatement } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import {
  appendLeafHashes,
  loadRightEdge,
  type RightEdge,
  rightEdgeTiles,
  type Tile,
} from "#lib/protocol/tlog/tiles";
import {
  type FunctionCall,
  type HashedStatement,
  isSamePosition,
  type LeafKind,
  type LogEntry,
  type LogEntryKind,
  type Outcome,
  type Parameter,
  type Place,
  type Placed,
  type QueuedEntry,
  type Rejection,
  SigningKeyChanged,
  type SigningThread,
  signBatch,
  type Verdict,
} from "./entry";
import { type ForkGuard, requirePrefix, type SignedHead } from "./fork-guard";
import type { HeadLock } from "./head-lock";
import {
  assignPositions,
  createKnownPlaces,
  describeClients,
  describeRecords,
  type GivingPlaces,
  type GrownPlaces,
  type KnownPlaces,
  type PlaceReaders,
  placeReadersWithin,
  type ReadablePlaces,
} from "./positions";

/** SQL of the kinds that are in an agent's record; the others are the service's own statements. */
export const kindsOfRecords = "('attestation', 'decision', 'agent_change')";

export interface NewLeaf {
  kind: LeafKind;
  sealed: Pick<SealedStatement, "leaf" | "payloadHash">;
  /** Position in its agent's record; null for the service's own statements. */
  place: RecordPlace | null;
}

/** Undefined if a new epoch closed the log that was waited for. */
async function lockHeadOnce(tx: Executor) {
  const { id, origin, key_id, size, root } = logs;
  const open = tx.select({ id, origin, key_id, size, root }).from(logs).where(isNull(logs.closed_at));
  const [head] = await open.for("update");
  return head;
}

/** The head of the open log: the newer one's if an epoch closed the log that was waited for. */
export async function lockOpenHead(tx: Executor) {
  const head = (await lockHeadOnce(tx)) ?? (await lockHeadOnce(tx));
  if (head === undefined) throw new Error("the database has no open log");
  return head;
}

export type Head = Awaited<ReturnType<typeof lockOpenHead>>;

export type OpenLog = Pick<Head, "id" | "origin" | "key_id">;

export interface ActiveKeys {
  attestation: string | null;
  zk: string | null;
}

/** Read under the head's lock, so that a rotation is before or after a batch, never inside. */
async function readActiveKeyIds(tx: Executor): Promise<ActiveKeys> {
  const rows = await tx
    .select({ purpose: signingKeys.purpose, keyId: signingKeys.key_id })
    .from(signingKeys)
    .where(and(eq(signingKeys.status, "active"), inArray(signingKeys.purpose, ["attestation", "zk"])));
  const find = (purpose: string) => rows.find((row) => row.purpose === purpose)?.keyId ?? null;
  return { attestation: find("attestation"), zk: find("zk") };
}

/** Throws if the stored tiles do not have the root of the head. */
export async function loadEdge(
  executor: Executor,
  head: Pick<Head, "id" | "size" | "root">,
): Promise<RightEdge> {
  const wanted = rightEdgeTiles(head.size).map(({ level, index }) =>
    and(eq(logTiles.level, level), eq(logTiles.tile_index, index)),
  );
  const rows =
    wanted.length === 0
      ? []
      : await executor
          .select()
          .from(logTiles)
          .where(and(eq(logTiles.log_id, head.id), or(...wanted)));
  const edge = loadRightEdge(
    head.size,
    rows.map(({ level, tile_index, hashes }): Tile => ({ level, index: tile_index, hashes })),
  );
  if (!bytesEqual(edge.root, head.root)) throw new Error("the log's tiles do not have the root of its head");
  return edge;
}

export interface Appended {
  edge: RightEdge;
  /** The signed checkpoint that covers the leaves. It must not leave the process before the commit. */
  note: string;
  receipts: LogReceipt[];
  /** Parameters of `append_leaves`, without the records: a tile only grows, behind its earlier content. */
  parameters: (active: ActiveKeys) => Parameter[];
}

function describeGrowth(before: RightEdge, changed: readonly Tile[]): Parameter[] {
  const held = changed.map(({ level, index }) => {
    const tile = before.tiles[level];
    return tile?.index === index ? (tile.rows[0] ?? []).length * HASH_BYTES : 0;
  });
  return [
    changed.map(({ level }) => level),
    changed.map(({ index }) => index),
    changed.map(({ hashes }, i) => (held[i] ? sha256(hashes.subarray(0, held[i])) : null)),
    changed.map(({ hashes }, i) => hashes.subarray(held[i])),
  ];
}

export async function appendLeaves(
  log: OpenLog,
  before: RightEdge,
  leaves: readonly NewLeaf[],
  logSigner: Signer,
): Promise<Appended> {
  const hashes = leaves.map(({ sealed }) => leafHash(sealed.leaf));
  const { edge, changedTiles, proveAppended } = appendLeafHashes(before, hashes);
  const checkpoint = { origin: log.origin, size: edge.size, root: edge.root };
  const logKey = makeVerifierKey(log.origin, 1, logSigner.publicKey);
  const note = await signCheckpoint(checkpoint, logKey, (bytes) => logSigner.sign(bytes));
  const receipts = leaves.map(({ sealed: { leaf } }, i): LogReceipt => {
    const index = before.size + i;
    return {
      origin: log.origin,
      index,
      tree_size: edge.size,
      entry: base64Encode(leaf),
      inclusion_proof: proveAppended(index).map(base64Encode),
      checkpoint: note,
    };
  });
  const parameters = ({ attestation, zk }: ActiveKeys): Parameter[] => [
    ...[log.id, before.size, before.root, log.key_id, attestation, zk, edge.size, edge.root, note],
    leaves.map(({ kind }) => kind),
    hashes,
    leaves.map(({ sealed }) => sealed.leaf),
    leaves.map(({ sealed }) => sealed.payloadHash),
    leaves.map(({ place }) => place?.agent_id),
    leaves.map(({ place }) => place?.sequence),
    leaves.map(({ place }) => place && hexDecode(place.previous)),
    ...describeGrowth(before, changedTiles),
  ];
  return { edge, note, receipts, parameters };
}

/** A column without any value is null: the function passes over what would be done with it. */
function encode<Column>(value: Parameter, write: (column: readonly ArrayElement[]) => Column) {
  if (!Array.isArray(value)) return (value as ArrayElement) ?? null;
  const column = value as readonly ArrayElement[];
  const isWithoutValues = column.length > 0 && column.every((one) => one === null || one === undefined);
  return isWithoutValues ? null : write(column);
}

/** Null for several entries, and for one that fills a tile: the level above grows with it. */
function describeAlone(append: readonly Parameter[], besides: readonly FunctionCall[]) {
  const [first, ...others] = besides;
  if (first?.alone === undefined) return null;
  const values = [...append, ...first.parameters];
  if (values.some((value) => Array.isArray(value) && value.length !== 1)) return null;
  return { call: { name: first.alone, parameters: values.flat() as ArrayElement[] }, others };
}

export function describeStore(append: readonly Parameter[], besides: readonly FunctionCall[]) {
  const { call, others } = describeAlone(append, besides) ?? {
    call: { name: "append_leaves", parameters: append },
    others: besides,
  };
  const all: unknown[] = [];
  const write = ({ name, parameters }: FunctionCall) =>
    `${name}(${parameters.map((value) => `$${all.push(encode(value, packList))}`).join(", ")})`;
  const selected = others.map(write).join(", ") || "1";
  return { text: `SELECT ${selected} FROM ${write(call)}`, parameters: all };
}

const plans = Object.entries(planSettings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`);
/**
 * Plans once in a transaction of drizzle's, whose connection has other uses: left alone, it plans each statement again, as the
 * functions do theirs, which takes longer than to run them.
 */
export const planOnce = sql`SELECT ${sql.join(plans, sql`, `)}`;

/** The same inside a transaction of drizzle's, after {@link planOnce}; it has no type for packed lists. */
export async function storeWithin(
  tx: Executor,
  append: readonly Parameter[],
  besides: readonly FunctionCall[],
): Promise<void> {
  const call = ({ name, parameters }: FunctionCall): SQL =>
    sql`${sql.raw(name)}(${sql.join(
      parameters.map((value) => sql`${sql.param(encode(value, arrayLiteral))}`),
      sql`, `,
    )})`;
  const selected = besides.length === 0 ? sql`1` : sql.join(besides.map(call), sql`, `);
  await tx.execute(sql`SELECT ${selected} FROM ${call({ name: "append_leaves", parameters: append })}`);
}

/* The log's head in this process's memory, and under its lock in the database. */

/** The head as this process last left it. Another process may have moved it since. */
export interface KnownHead {
  log: OpenLog;
  edge: RightEdge;
  active: ActiveKeys;
  /** Valid while the log's head is this one. */
  places: KnownPlaces;
}

export const toSigned = ({ log, edge }: Pick<KnownHead, "log" | "edge">): SignedHead => ({
  logId: log.id,
  size: edge.size,
  rootHex: hexEncode(edge.root),
});

/** Edge of the last commit if the head is still that; else the edge is loaded, and compared with the guard. */
async function findEdge(
  tx: Executor,
  head: Head,
  known: KnownHead | null,
  guard: ForkGuard,
): Promise<Pick<KnownHead, "edge" | "places">> {
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  const isCurrent =
    known?.log.id === head.id && known.edge.size === head.size && bytesEqual(known.edge.root, head.root);
  if (isCurrent) return known;
  const [edge] = await Promise.all([
    loadEdge(tx, head),
    requirePrefix(guard, signed, tileReader(tx, head.id)),
  ]);
  return { edge, places: createKnownPlaces() };
}

/** Locks the head: no other process appends until the transaction ends. */
async function lockHead(
  tx: Executor,
  known: KnownHead | null,
  { keys, guard }: { keys: Pick<SigningKeys, "logSigner">; guard: ForkGuard },
): Promise<KnownHead> {
  // Checks sent behind a known head lock rows too: no newer head is waited for under their locks.
  const [head, active] =
    known === null
      ? [await lockOpenHead(tx), await readActiveKeyIds(tx)]
      : await pipeline(
          () => lockHeadOnce(tx),
          () => readActiveKeyIds(tx),
        );
  if (head === undefined) throw new BuiltOnOther();
  if (head.key_id !== keys.logSigner.keyId) throw new SigningKeyChanged();
  const { edge, places } = await findEdge(tx, head, known, guard);
  const { id, origin, key_id } = head;
  return { log: { id, origin, key_id }, edge, places, active };
}

/** Nothing was stored, because the head that the batch was built on changed or was never stored: rebuild it. */
export class BuiltOnOther extends Error {}

function judge(outcomes: readonly Outcome[], { reason, detail }: Refusal): Map<QueuedEntry, Rejection> {
  if (reason !== "verdicts") return new Map();
  const byIndex = new Map((JSON.parse(detail) as Verdict[]).map((one) => [one.leaf_index, one]));
  const judged = new Map<QueuedEntry, Rejection>();
  for (const { queued, result } of outcomes) {
    const verdict = result instanceof Error ? undefined : byIndex.get(result.receipt.index);
    if (verdict === undefined) continue;
    if (queued.kind.toRejection === undefined) throw new Error(`nothing judges items of ${queued.kind.kind}`);
    judged.set(queued, queued.kind.toRejection(queued.item, verdict));
  }
  return judged;
}

export class Refused extends Error {
  readonly reason: string | null;
  readonly judged: Map<QueuedEntry, Rejection>;
  constructor(cause: unknown, outcomes: readonly Outcome[]) {
    super("the batch was refused", { cause });
    const refusal = readRefusal(cause);
    this.reason = refusal?.reason ?? null;
    this.judged = refusal === null ? new Map() : judge(outcomes, refusal);
  }
}

/*
 * One batch: assign positions, sign, grow the tree. Under the head's lock, the active keys and each kind's `admit` are checked
 * and the rows stored too; without it the committer sends them (committer.ts).
 */

function groupByKind(queued: readonly QueuedEntry[]): Map<LogEntryKind<LogEntry>, QueuedEntry[]> {
  const groups = new Map<LogEntryKind<LogEntry>, QueuedEntry[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

export const isSignedByActive = ({ item }: QueuedEntry, active: ActiveKeys) =>
  (item.replacesKeyId ?? item.keyId) === active.attestation &&
  (item.zkKeyId === undefined || item.zkKeyId === active.zk);

/**
 * A transaction that makes a request locks its organization first, and then reads the agent. One that changes who approves
 * locks the person, and its triggers the mark of the roster last.
 */
const rankLocks = ({ kind, locksOrganizations, locksAgents }: LogEntryKind<LogEntry>) =>
  locksOrganizations ? 0 : locksAgents ? 1 : kind === "approver_roster" ? 3 : 2;

async function refuseCaller(tx: Executor, { item }: QueuedEntry): Promise<AppError | null> {
  try {
    await item.lockAndRecheckKey?.(tx);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** The checks of every kind, on the items whose keys are still the active ones. */
async function admitAll(
  tx: Executor,
  batch: QueuedEntry[],
  active: ActiveKeys,
): Promise<{ admitted: QueuedEntry[]; refused: Outcome[] }> {
  const isSigned = (queued: QueuedEntry) => isSignedByActive(queued, active);
  const admitted: QueuedEntry[] = [];
  const refused: Outcome[] = batch
    .filter((queued) => !isSigned(queued))
    .map((queued) => ({ queued, result: new SigningKeyChanged() }));
  const allowed: QueuedEntry[] = [];
  for (const queued of batch.filter(isSigned)) {
    const error = await refuseCaller(tx, queued);
    if (error) refused.push({ queued, result: error });
    else allowed.push(queued);
  }
  const byKind = [...groupByKind(allowed)];
  const inOrder = byKind.toSorted(([a], [b]) => rankLocks(a) - rankLocks(b));
  for (const [kind, members] of inOrder) {
    const items = members.map(({ item }) => item);
    const errors = (await kind.admit?.(tx, items)) ?? [];
    for (const [i, queued] of members.entries()) {
      const error = errors[i];
      if (error) refused.push({ queued, result: error });
      else admitted.push(queued);
    }
  }
  return { admitted, refused };
}

export interface Sequenced {
  outcomes: Outcome[];
  head: Omit<KnownHead, "places">;
  grown: GrownPlaces;
  note: string;
  append: readonly Parameter[];
  byKind: Map<LogEntryKind<LogEntry>, Placed<LogEntry>[]>;
}

/** Chains each entry to the payload before it, so all are built before the first is signed. */
async function sealAll(
  items: readonly QueuedEntry[],
  places: GivingPlaces,
  thread: SigningThread | undefined,
) {
  const given: (Place | null)[] = [];
  const unsigned: HashedStatement[] = [];
  for (const { item } of items) {
    const { preparation } = item;
    const place = places.next(item);
    if (preparation && place && !(preparation.place && isSamePosition(preparation.place, place)))
      await preparation.make(place);
    const built = item.build(place);
    const payloadHash = sha256(built.payload);
    places.take(item, payloadHash);
    given.push(place);
    unsigned.push({ ...built, payloadHash });
  }
  const sealed = await signBatch(unsigned, thread);
  return sealed.map((one, i) => ({ place: given[i] ?? null, sealed: one }));
}

export async function sequence(
  before: Omit<KnownHead, "places"> & { places: ReadablePlaces },
  items: readonly QueuedEntry[],
  { keys, random, thread }: Pick<Signing, "keys" | "random" | "thread">,
  read: PlaceReaders,
): Promise<Sequenced> {
  const places = await assignPositions(
    before.places,
    items.map(({ item }) => item),
    read,
    random,
  );
  const sealed = await sealAll(items, places, thread);
  const leaves = items.map(({ kind }, i): NewLeaf => {
    const { place, sealed: statement } = sealed[i] as (typeof sealed)[number];
    return { kind: kind.kind, sealed: statement, place: place?.record ?? null };
  });
  const { edge, note, receipts, parameters } = await appendLeaves(
    before.log,
    before.edge,
    leaves,
    keys.logSigner,
  );
  const byKind: Sequenced["byKind"] = new Map();
  const outcomes = items.map((queued, i): Outcome => {
    const { place, sealed: statement } = sealed[i] as (typeof sealed)[number];
    const receipt = receipts[i] as LogReceipt;
    const placed = { item: queued.item, logId: before.log.id, place, sealed: statement, receipt };
    const own = byKind.get(queued.kind);
    if (own === undefined) byKind.set(queued.kind, [placed]);
    else own.push(placed);
    return { queued, result: placed };
  });
  const { log, active } = before;
  const namesZkKey = items.some(({ item }) => item.zkKeyId !== undefined);
  const grown = places.grown();
  const append = [
    ...parameters({ ...active, zk: namesZkKey ? active.zk : null }),
    ...describeRecords(grown.records),
  ];
  return { outcomes, head: { log, edge, active }, grown, note, append, byKind };
}

/** Calls of the database's own functions; the other kinds' rows follow in the same transaction. */
export function callsBesides({ byKind, grown }: Sequenced): FunctionCall[] {
  const calls = [...byKind].flatMap(([kind, placed]) => kind.insertStatements?.(placed) ?? []);
  return [...calls, ...describeClients(grown.clients)];
}

export interface Signing {
  keys: Pick<SigningKeys, "logSigner">;
  guard: ForkGuard;
  /** Null without a store. */
  lock: HeadLock | null;
  random: (bytes: number) => Uint8Array;
  /** Signs large batches. */
  thread?: SigningThread;
}

/** Throws Refused if the database refuses the statement that stores the batch. */
export async function storeSequenced(
  { outcomes }: Pick<Sequenced, "outcomes">,
  store: () => Promise<unknown>,
): Promise<void> {
  try {
    await store();
  } catch (error) {
    throw isRefusedByServer(error) ? new Refused(error, outcomes) : error;
  }
}

/** Rules come last: what is in their batch was judged by those before them. */
const byRules = (a: QueuedEntry, b: QueuedEntry) =>
  Number(a.kind.kind === "ruleset") - Number(b.kind.kind === "ruleset");

/** Stores, under the head's lock, what the active keys signed and its kind admits. */
export async function sequenceLocked(
  tx: Executor,
  batch: QueuedEntry[],
  known: KnownHead | null,
  signing: Signing,
): Promise<{ refused: Outcome[]; sequenced: Sequenced | null; places: KnownPlaces }> {
  // Sends the checks behind the lock, for the log and the keys of the last batch: under others they would not count.
  const [, before, early] = await pipeline(
    () => tx.execute(planOnce),
    () => lockHead(tx, known, signing),
    async () => known && admitAll(tx, batch, known.active),
  );
  const { log, places, active } = before;
  const isAsForeseen =
    known?.log.id === log.id &&
    known.active.attestation === active.attestation &&
    known.active.zk === active.zk;
  if (early && !isAsForeseen) throw new BuiltOnOther();
  const { admitted, refused } = early ?? (await admitAll(tx, batch, active));
  if (admitted.length === 0) return { refused, sequenced: null, places };
  const sequenced = await sequence(before, admitted.toSorted(byRules), signing, placeReadersWithin(tx));
  await pipeline(
    () => storeSequenced(sequenced, () => storeWithin(tx, sequenced.append, callsBesides(sequenced))),
    async () => {
      for (const [kind, placed] of sequenced.byKind) await kind.store?.(tx, placed);
    },
  );
  // Runs under the head's lock and before the commit: see docs/decisions/0046-one-lock-for-all-machines.md.
  await signing.lock?.intend(toSigned(before), toSigned(sequenced.head));
  return { refused, sequenced, places };
}
