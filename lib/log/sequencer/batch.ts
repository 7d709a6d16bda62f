/**
 * One batch of the sequencer: its items get their places, the tree grows and its checkpoint is signed (append.ts), and
 * all of it is stored at once.
 */
import type { LogReceipt } from "#lib/api/schemas/attest";
import type { Executor } from "#lib/db/client";
import { isRefusedByServer } from "#lib/db/postgres/failures";
import { AppError } from "#lib/errors";
import type { SigningKeys } from "#lib/log/signing/signing-keys";
import { type ActiveKeys, appendLeaves, type FunctionCall, type NewLeaf, storeWithin } from "./append";
import { Refused } from "./batch-failures";
import { describeClients } from "./client-numbers";
import type { ForkGuard } from "./fork-guard";
import type { HeadLock } from "./head-lock";
import {
  isSamePosition,
  type LogItem,
  type LogItemKind,
  type Outcome,
  type Place,
  type Placed,
  type QueuedItem,
  SigningKeyChanged,
} from "./item";
import { type KnownHead, lockHead, toSigned } from "./known-head";
import { describeRecords } from "./record-heads";
import {
  type GivingPlaces,
  type GrownPlaces,
  givePlaces,
  type PlaceReaders,
  placeReadersWithin,
} from "./sequence-positions";
import type { SealedStatement } from "./sign-statement";

function groupByKind(queued: readonly QueuedItem[]): Map<LogItemKind<LogItem>, QueuedItem[]> {
  const groups = new Map<LogItemKind<LogItem>, QueuedItem[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

export const isSignedByActive = ({ item }: QueuedItem, active: ActiveKeys) =>
  (item.replacesKeyId ?? item.keyId) === active.attestation &&
  (item.zkKeyId === undefined || item.zkKeyId === active.zk);

/**
 * A transaction that makes a request locks its organization first, and then reads the agent. One that changes who approves
 * locks the person, and its triggers the mark of the roster last.
 */
const lockOrderOf = ({ kind, locksOrganizations, locksAgents }: LogItemKind<LogItem>) =>
  locksOrganizations ? 0 : locksAgents ? 1 : kind === "approver_roster" ? 3 : 2;

async function refuseCaller(tx: Executor, { item }: QueuedItem): Promise<AppError | null> {
  try {
    await item.holdCaller?.(tx);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** The checks of every kind, on the items whose keys are still the active ones. */
async function admitAll(
  tx: Executor,
  batch: QueuedItem[],
  active: ActiveKeys,
): Promise<{ admitted: QueuedItem[]; refused: Outcome[] }> {
  const isSigned = (queued: QueuedItem) => isSignedByActive(queued, active);
  const admitted: QueuedItem[] = [];
  const refused: Outcome[] = batch
    .filter((queued) => !isSigned(queued))
    .map((queued) => ({ queued, result: new SigningKeyChanged() }));
  const allowed: QueuedItem[] = [];
  for (const queued of batch.filter(isSigned)) {
    const error = await refuseCaller(tx, queued);
    if (error) refused.push({ queued, result: error });
    else allowed.push(queued);
  }
  const byKind = [...groupByKind(allowed)];
  const inOrder = byKind.toSorted(([a], [b]) => lockOrderOf(a) - lockOrderOf(b));
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

/** A batch with its places in the log and everything signed, but not stored. */
export interface Sequenced {
  outcomes: Outcome[];
  /** As it is after the commit, but for the places. */
  head: KnownHead;
  grown: GrownPlaces;
  note: string;
  /** Parameters of `append_leaves`. */
  append: readonly unknown[];
  byKind: Map<LogItemKind<LogItem>, Placed<LogItem>[]>;
}

/** Signs each item in its place, in the order of the items. */
async function sealAll(items: readonly QueuedItem[], places: GivingPlaces) {
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

export async function sequence(
  before: KnownHead,
  items: readonly QueuedItem[],
  { keys, random }: Pick<Signing, "keys" | "random">,
  read: PlaceReaders,
): Promise<Sequenced> {
  const places = await givePlaces(
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
  const namesZkKey = items.some(({ item }) => item.zkKeyId !== undefined);
  const active = { ...before.active, zk: namesZkKey ? before.active.zk : null };
  const grown = places.grown();
  const append = [...parameters(active), ...describeRecords(grown.records)];
  return { outcomes, head: { ...before, edge }, grown, note, append, byKind };
}

/** Calls of the database's own functions; the other kinds' rows follow in the same transaction. */
export function callsBesides({ byKind, grown }: Sequenced): FunctionCall[] {
  const calls = [...byKind].flatMap(([kind, placed]) => kind.storedBy?.(placed) ?? []);
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
const byRules = (a: QueuedItem, b: QueuedItem) =>
  Number(a.kind.kind === "ruleset") - Number(b.kind.kind === "ruleset");

/** Under the head's lock: what the active keys signed, and their kinds admit, is stored. */
export async function sequenceLocked(
  tx: Executor,
  batch: QueuedItem[],
  known: KnownHead | null,
  signing: Signing,
): Promise<{ refused: Outcome[]; sequenced: Sequenced | null }> {
  const before = await lockHead(tx, known, signing);
  const { admitted, refused } = await admitAll(tx, batch, before.active);
  if (admitted.length === 0) return { refused, sequenced: null };
  const sequenced = await sequence(before, admitted.toSorted(byRules), signing, placeReadersWithin(tx));
  await storeSequenced(sequenced, () => storeWithin(tx, sequenced.append, callsBesides(sequenced)));
  for (const [kind, placed] of sequenced.byKind) await kind.store?.(tx, placed);
  // Under the head's lock and before the commit: see docs/decisions/0046-one-lock-for-all-machines.md.
  await signing.lock?.intend(toSigned(before), toSigned(sequenced.head));
  return { refused, sequenced };
}
