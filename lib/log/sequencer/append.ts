/**
 * Appending to the log: the tree grows in memory, its new checkpoint is signed, and the database's function
 * `append_leaves` (drizzle/0001_functions.sql) stores both if the head is still the one that was built on.
 */
import { and, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { LogReceipt } from "#lib/api/schemas/attest";
import { arrayLiteral, type Database, type Executor, pipeline } from "#lib/db/client";
import {
  isRefusedByServer,
  isSurelyNotStored,
  isUnreachable,
  type Refusal,
  readRefusal,
} from "#lib/db/postgres/failures";
import { planSettings } from "#lib/db/postgres/time-limits";
import { logs, logTiles, signingKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { holdsCheckpoints, tileReader } from "#lib/log/reading/reader";
import type { Signer, SigningKeys } from "#lib/log/signing/signing-keys";
import { base64Encode, bytesEqual, hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { RecordPlace } from "#lib/protocol/record/agent-record";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import {
  appendLeafHashes,
  loadRightEdge,
  type RightEdge,
  rightEdgeTiles,
  type Tile,
} from "#lib/protocol/tlog/tiles";
import {
  isSamePosition,
  type LogEntry,
  type LogEntryKind,
  type Outcome,
  type Place,
  type Placed,
  type QueuedEntry,
  type Rejection,
  type SealedStatement,
  SigningKeyChanged,
  type Verdict,
} from "./entry";
import { type ForkGuard, ForkGuardError, requirePrefix, type SignedHead } from "./fork-guard";
import { type HeadLock, HeadLockAway } from "./head-lock";
import {
  assignPositions,
  createKnownPlaces,
  type createPlaceReaders,
  describeClients,
  describeRecords,
  foreseePlaces,
  type GivingPlaces,
  type GrownPlaces,
  type KnownPlaces,
  type PlaceReaders,
  placeReadersWithin,
  type ReadablePlaces,
  rememberPlaces,
} from "./positions";

export type LeafKind =
  | "attestation"
  | "decision"
  | "agent_change"
  | "key_event"
  | "epoch"
  | "agent_heads"
  | "ruleset"
  | "approver_roster"
  | "planted_requests";

/** SQL of the kinds that are in an agent's record; the others are the service's own statements. */
export const kindsOfRecords = "('attestation', 'decision', 'agent_change')";

export interface NewLeaf {
  kind: LeafKind;
  sealed: Pick<SealedStatement, "leaf" | "payloadHash">;
  /** In its agent's record; null for the service's own statements. */
  place: RecordPlace | null;
}

/** The head of the open log. A new epoch may close the one that was waited for: then the newer one is locked. */
export async function lockOpenHead(tx: Executor) {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const [head] = await tx.select().from(logs).where(isNull(logs.closed_at)).for("update");
    if (head) return head;
  }
  throw new Error("the database has no open log");
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
  parameters: (active: ActiveKeys) => unknown[];
}

function describeGrowth(before: RightEdge, changed: readonly Tile[]) {
  const held = changed.map(({ level, index }) => {
    const tile = before.tiles[level];
    return tile?.index === index ? (tile.rows[0] ?? []).length * HASH_BYTES : 0;
  });
  return [
    arrayLiteral(changed.map(({ level }) => level)),
    arrayLiteral(changed.map(({ index }) => index)),
    arrayLiteral(changed.map(({ hashes }, i) => (held[i] ? sha256(hashes.subarray(0, held[i])) : null))),
    arrayLiteral(changed.map(({ hashes }, i) => hashes.subarray(held[i]))),
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
  const parameters = ({ attestation, zk }: ActiveKeys) => [
    ...[log.id, before.size, before.root, log.key_id, attestation, zk, edge.size, edge.root, note],
    arrayLiteral(leaves.map(({ kind }) => kind)),
    arrayLiteral(hashes),
    arrayLiteral(leaves.map(({ sealed }) => sealed.leaf)),
    arrayLiteral(leaves.map(({ sealed }) => sealed.payloadHash)),
    arrayLiteral(leaves.map(({ place }) => place?.agent_id)),
    arrayLiteral(leaves.map(({ place }) => place?.sequence)),
    arrayLiteral(leaves.map(({ place }) => place && hexDecode(place.previous))),
    ...describeGrowth(before, changedTiles),
  ];
  return { edge, note, receipts, parameters };
}

export interface FunctionCall {
  name: string;
  parameters: readonly unknown[];
}

function describeStore(append: readonly unknown[], besides: readonly FunctionCall[]) {
  const all: unknown[] = [];
  const write = ({ name, parameters }: FunctionCall) =>
    `${name}(${parameters.map((value) => `$${all.push(value)}`).join(", ")})`;
  const selected = besides.map(write).join(", ") || "1";
  return {
    text: `SELECT ${selected} FROM ${write({ name: "append_leaves", parameters: append })}`,
    parameters: all,
  };
}

const plans = Object.entries(planSettings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`);
const planOnce = sql`SELECT ${sql.join(plans, sql`, `)}`;

/**
 * The same inside a transaction of drizzle's, whose connection has other uses: left alone, the function plans each of its
 * statements again, which takes longer than to run them.
 */
export async function storeWithin(
  tx: Executor,
  append: readonly unknown[],
  besides: readonly FunctionCall[],
): Promise<void> {
  const call = ({ name, parameters }: FunctionCall): SQL =>
    sql`${sql.raw(name)}(${sql.join(
      parameters.map((value) => sql`${sql.param(value)}`),
      sql`, `,
    )})`;
  const selected = besides.length === 0 ? sql`1` : sql.join(besides.map(call), sql`, `);
  await Promise.all([
    tx.execute(planOnce),
    tx.execute(sql`SELECT ${selected} FROM ${call({ name: "append_leaves", parameters: append })}`),
  ]);
}

/* The log's head in this process's memory, and under its lock in the database. */

export interface CommittedHead extends SignedHead {
  checkpoint: string;
}

/** The head as this process last left it. Another process may have moved it since. */
export interface KnownHead {
  log: OpenLog;
  edge: RightEdge;
  active: ActiveKeys;
  /** As they are if the log's head is this one. */
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
  const [head, active] = await pipeline(
    () => lockOpenHead(tx),
    () => readActiveKeyIds(tx),
  );
  if (head.key_id !== keys.logSigner.keyId) throw new SigningKeyChanged();
  const { edge, places } = await findEdge(tx, head, known, guard);
  const { id, origin, key_id } = head;
  return { log: { id, origin, key_id }, edge, places, active };
}

/* Explains a failed batch to the sequencer, and to the callers that wait. */

/** The commit was sent and its outcome is unknown: nothing may be reported, and nothing tried a second time. */
class UncertainCommit extends Error {}

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

/** The error for the caller if a whole batch failed; null: its items may be tried separately. */
export function wholeFailure(error: unknown): AppError | SigningKeyChanged | null {
  if (error instanceof SigningKeyChanged) return error;
  if (error instanceof ForkGuardError) {
    const detail = "the log cannot be extended until its operator has investigated";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof HeadLockAway) {
    const detail = "the log's store did not respond, so nothing was recorded; try again shortly";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof UncertainCommit) {
    const detail =
      "the database did not respond, so this may or may not have been recorded; send it again with the same Idempotency-Key to record it once";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (!isUnreachable(error)) return null;
  return new AppError("service_unavailable", "the database is unreachable; try again shortly", {
    cause: error,
  });
}

/*
 * One batch of the sequencer: its items get their places, the tree grows and its checkpoint is signed (append.ts), and
 * all of it is stored at once.
 */

function groupByKind(queued: readonly QueuedEntry[]): Map<LogEntryKind<LogEntry>, QueuedEntry[]> {
  const groups = new Map<LogEntryKind<LogEntry>, QueuedEntry[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

const isSignedByActive = ({ item }: QueuedEntry, active: ActiveKeys) =>
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
  append: readonly unknown[];
  byKind: Map<LogEntryKind<LogEntry>, Placed<LogEntry>[]>;
}

async function sealAll(items: readonly QueuedEntry[], places: GivingPlaces) {
  const sealed: { place: Place | null; sealed: SealedStatement }[] = [];
  for (const { item } of items) {
    const { preparation } = item;
    const place = places.next(item);
    if (preparation && place && !(preparation.place && isSamePosition(preparation.place, place)))
      await preparation.make(place);
    const one = item.seal(place);
    places.take(item, one.payloadHash);
    sealed.push({ place, sealed: one });
  }
  return sealed;
}

async function sequence(
  before: Omit<KnownHead, "places"> & { places: ReadablePlaces },
  items: readonly QueuedEntry[],
  { keys, random }: Pick<Signing, "keys" | "random">,
  read: PlaceReaders,
): Promise<Sequenced> {
  const places = await assignPositions(
    before.places,
    items.map(({ item }) => item),
    read,
    random,
  );
  const sealed = await sealAll(items, places);
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
function callsBesides({ byKind, grown }: Sequenced): FunctionCall[] {
  const calls = [...byKind].flatMap(([kind, placed]) => kind.insertStatements?.(placed) ?? []);
  return [...calls, ...describeClients(grown.clients)];
}

export interface Signing {
  keys: Pick<SigningKeys, "logSigner">;
  guard: ForkGuard;
  /** Null without a store. */
  lock: HeadLock | null;
  random: (bytes: number) => Uint8Array;
}

/** Throws Refused if the database refuses the statement that stores the batch. */
async function storeSequenced(
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

/** Under the head's lock: what the active keys signed, and their kinds admit, is stored. */
export async function sequenceLocked(
  tx: Executor,
  batch: QueuedEntry[],
  known: KnownHead | null,
  signing: Signing,
): Promise<{ refused: Outcome[]; sequenced: Sequenced | null; places: KnownPlaces }> {
  const before = await lockHead(tx, known, signing);
  const { places } = before;
  const { admitted, refused } = await admitAll(tx, batch, before.active);
  if (admitted.length === 0) return { refused, sequenced: null, places };
  const sequenced = await sequence(before, admitted.toSorted(byRules), signing, placeReadersWithin(tx));
  await pipeline(
    () => storeSequenced(sequenced, () => storeWithin(tx, sequenced.append, callsBesides(sequenced))),
    async () => {
      for (const [kind, placed] of sequenced.byKind) await kind.store?.(tx, placed);
    },
  );
  // Under the head's lock and before the commit: see docs/decisions/0046-one-lock-for-all-machines.md.
  await signing.lock?.intend(toSigned(before), toSigned(sequenced.head));
  return { refused, sequenced, places };
}

/*
 * Commits a batch in one of two ways:
 * - direct: on top of the head in memory, in one statement that stores nothing if anything has changed. While it is under
 *   way the next batch may be built on the head that it leaves, and sent behind it on the same connection: if the first isn't
 *   stored, the second's head is none, and the same statement refuses it;
 * - locked: the head is locked first, because other processes keep moving it, an item's kind needs a transaction, or
 *   machines share a lock in the store (head-lock.ts).
 */

/** After another process has moved the head, so many batches lock it before they are signed. */
const lockedBatches = 64;

/** Nothing was stored, because what the batch was built on has changed or was never stored: it is built again. */
export class BuiltOnOther extends Error {}

export interface Committer {
  /** Begins when nothing is under way. `isAnew`: from the database alone. Throws Refused if nothing was stored because something had changed. */
  commit(batch: QueuedEntry[], isAnew: boolean, isGroup?: boolean): Promise<Outcome[]>;
  /** Rejects with BuiltOnOther too; null if the batch can't go directly. `isBehind`: behind the one under way, of which there is one. */
  send(batch: QueuedEntry[], isBehind: boolean): Promise<Outcome[]> | null;
  /** The places that are known with the head; undefined if it isn't. */
  places(): KnownHead["places"] | undefined;
  count(): number;
}

/** `onCommit`: called with each head after its commit, and after the lock's and the fork guard's note of it. */
export function createCommitter(
  dependencies: Signing & { database: Database },
  readers: ReturnType<typeof createPlaceReaders>,
  onCommit: (head: CommittedHead) => void,
): Committer {
  const { database, guard, lock } = dependencies;
  let known: KnownHead | null = null;
  /** The batch that was sent last, if nothing after it has failed. */
  let sent: Sequenced | null = null;
  /** True once all that was sent is stored and noted. */
  let underway: Promise<boolean> = Promise.resolve(true);
  let batches = 0;
  let lockedUntil = 0;

  async function finish({ head, grown, note }: Sequenced, places: KnownPlaces): Promise<void> {
    rememberPlaces(places, grown);
    known = { ...head, places };
    await lock?.confirm(toSigned(head), (heads) => holdsCheckpoints(database.db, heads));
    await guard.advance(toSigned(head));
    onCommit({ ...toSigned(head), checkpoint: note });
  }

  /** Base of a batch: the head as it is, or as the batch under way leaves it. */
  function findBase(isBehind: boolean) {
    if (known === null || !isBehind) return known;
    return sent && { ...sent.head, places: foreseePlaces(known.places, sent.grown) };
  }

  async function sendSequenced(sequenced: Sequenced, before: typeof underway): Promise<void> {
    const { text, parameters } = describeStore(sequenced.append, callsBesides(sequenced));
    // A pooler gives each statement a connection of its own, so nothing keeps their order.
    if (database.isPooled && !(await before)) throw new BuiltOnOther();
    try {
      await storeSequenced(sequenced, () => database.statement(text, "write")(...parameters));
    } catch (error) {
      sent = null;
      const isJudged = error instanceof Refused && error.judged.size > 0;
      if (!isJudged && error instanceof Refused && !(await before)) throw new BuiltOnOther();
      // Judged after the head as it is known.
      if (!isJudged) known = null;
      if (isJudged || isSurelyNotStored(error)) throw error;
      if (!(error instanceof Refused))
        throw new UncertainCommit("the statement has no answer", { cause: error });
      if (error.reason === "head") lockedUntil = batches + lockedBatches;
      throw new BuiltOnOther();
    }
  }

  async function commitDirectly(
    base: NonNullable<ReturnType<typeof findBase>>,
    batch: QueuedEntry[],
    before: typeof underway,
    mayBeFollowed: boolean,
  ): Promise<Outcome[]> {
    sent = null;
    guard.check(toSigned(base));
    const sequenced = await sequence(base, batch, dependencies, readers);
    if (mayBeFollowed) sent = sequenced;
    await sendSequenced(sequenced, before);
    // The head before is noted before this one is.
    await before;
    await finish(sequenced, known?.places ?? createKnownPlaces()).catch((error: unknown) => {
      known = null;
      sent = null;
      throw new UncertainCommit("the commit could not be noted", { cause: error });
    });
    return sequenced.outcomes;
  }

  async function commitLocked(batch: QueuedEntry[], isGroup: boolean): Promise<Outcome[]> {
    const before = known;
    known = null;
    let isCommitting = false;
    try {
      const { refused, sequenced, places } = await database.db.transaction(async (tx) => {
        const locked = await sequenceLocked(tx, batch, before, dependencies);
        if (isGroup && locked.refused[0] !== undefined) throw locked.refused[0].result;
        // The point of no return: from here on a failure does not say that nothing was stored.
        isCommitting = locked.sequenced !== null;
        return locked;
      });
      if (sequenced === null) return refused;
      await finish(sequenced, places);
      // It changes what the next batch must be signed with.
      if (batch.some(({ kind }) => kind.kind === "key_event")) known = null;
      return [...refused, ...sequenced.outcomes];
    } catch (error) {
      known = null;
      if (isCommitting) throw new UncertainCommit("the commit failed", { cause: error });
      throw error;
    }
  }

  /** Made from memory, signed with the keys that were active, and stored by the database's own function. */
  const mayGoDirectly = (batch: QueuedEntry[], { log, active }: Pick<KnownHead, "log" | "active">) =>
    lock === null &&
    log.key_id === dependencies.keys.logSigner.keyId &&
    batches > lockedUntil &&
    batch.every((queued) => queued.kind.insertStatements !== undefined && isSignedByActive(queued, active));

  function begin(batch: QueuedEntry[], isBehind: boolean, mayBeFollowed: boolean): Promise<Outcome[]> | null {
    const base = findBase(isBehind);
    if (base === null || !mayGoDirectly(batch, base)) return null;
    batches += 1;
    const before = isBehind ? underway : Promise.resolve(true);
    const outcomes = commitDirectly(base, batch, before, mayBeFollowed);
    underway = outcomes.then(
      () => true,
      () => false,
    );
    return outcomes;
  }

  async function commit(batch: QueuedEntry[], isAnew: boolean, isGroup = false): Promise<Outcome[]> {
    await underway;
    if (isAnew) known = null;
    try {
      // Later batches wait: its items may have to be tried again, in their order.
      const outcomes = begin(batch, false, false);
      if (outcomes !== null) return await outcomes;
    } catch (error) {
      if (!(error instanceof BuiltOnOther)) throw error;
    }
    batches += 1;
    return commitLocked(batch, isGroup);
  }

  return {
    commit,
    send: (batch, isBehind) => begin(batch, isBehind, true),
    places: () => known?.places,
    count: () => batches,
  };
}
