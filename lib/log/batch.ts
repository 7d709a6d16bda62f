/**
 * One batch of the sequencer: its items get their places, the tree grows and its checkpoint is signed (append.ts), and
 * all of it is stored at once. Under the head's lock the items are judged before by what the database holds.
 */
import type { LogReceipt } from "#lib/contract/attest";
import type { Executor } from "#lib/db/client";
import { bytesEqual, hexEncode } from "#lib/domain/bytes";
import type { RightEdge } from "#lib/domain/tiles";
import { AppError } from "#lib/errors";
import type { SigningKeys } from "#lib/signing/signing-keys";
import {
  type ActiveKeys,
  appendLeaves,
  type FunctionCall,
  type Head,
  type LeafKind,
  loadEdge,
  lockOpenHead,
  type OpenLog,
  readActiveKeyIds,
  storeWithin,
} from "./append";
import { type ForkGuard, requirePrefix, type SignedHead } from "./fork-guard";
import { tileReader } from "./reader";

export interface LogItem {
  /** The leaf's bytes (lib/domain/log-leaf.ts). */
  leaf: Uint8Array;
  /** The key that signed what the leaf is about; refused unless it is the active one under the head's lock. */
  keyId: string;
  /** The BBS key that the leaf's statement names, if it names one: it must be the active one too. */
  zkKeyId?: string | undefined;
  /** The active key that `keyId` takes the place of by this very item. */
  replacesKeyId?: string | undefined;
  /** Who pays for it if it is refused: an owner's items are judged apart from others' for a while. */
  owner?: string | undefined;
  /** Something has changed: what the item was made from must be read again. */
  forget?: () => void;
}

export interface Placed<Item> {
  item: Item;
  logId: number;
  receipt: LogReceipt;
}

/** What one kind of item does in the batch's transaction. */
export interface LogItemKind<Item extends LogItem> {
  kind: LeafKind;
  /** The last checks, under the head's lock; an error for each item that must not be stored. */
  admit(tx: Executor, items: Item[]): Promise<(AppError | null)[]>;
  /** Stores what belongs to the leaves, statement by statement. */
  store?(tx: Executor, placed: Placed<Item>[]): Promise<void>;
  /**
   * Or by a function of the database, in one statement with the leaves. It refuses everything if anything that the
   * items were made from has changed since, so a batch of such items needs no look-ups.
   */
  storedBy?(placed: Placed<Item>[]): FunctionCall;
}

export interface CommittedHead extends SignedHead {
  checkpoint: string;
}

export interface QueuedItem {
  kind: LogItemKind<LogItem>;
  item: LogItem;
  resolve: (receipt: LogReceipt) => void;
  reject: (error: unknown) => void;
}

export interface Outcome {
  queued: QueuedItem;
  result: LogReceipt | Error;
}

/** A key was rotated since the item was signed, or a new log opened: load the keys and sign again. */
export class SigningKeyChanged extends Error {}

/** Made from something that is no longer so (a registration, a setting): to be made again. */
export class Outdated extends AppError {
  constructor() {
    super("service_unavailable", "what this depends on was changed at the same moment; try again");
  }
}

/** The head as this process last left it. Another process may have moved it since. */
export interface KnownHead {
  log: OpenLog;
  edge: RightEdge;
  active: ActiveKeys;
}

export const toSigned = ({ log, edge }: KnownHead): SignedHead => ({
  logId: log.id,
  size: edge.size,
  rootHex: hexEncode(edge.root),
});

/** The edge of the last commit if the head is still that; else it is loaded, and compared with the guard. */
async function findEdge(
  tx: Executor,
  head: Head,
  known: KnownHead | null,
  guard: ForkGuard,
): Promise<RightEdge> {
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  const isCurrent =
    known?.log.id === head.id && known.edge.size === head.size && bytesEqual(known.edge.root, head.root);
  if (isCurrent) return known.edge;
  const edge = await loadEdge(tx, head);
  await requirePrefix(guard, signed, tileReader(tx, head.id));
  return edge;
}

/** Locks the head; nobody else appends until the transaction ends. */
async function lockHead(tx: Executor, known: KnownHead | null, { keys, guard }: Signing): Promise<KnownHead> {
  const head = await lockOpenHead(tx);
  if (head.key_id !== keys.logSigner.keyId) throw new SigningKeyChanged();
  const edge = await findEdge(tx, head, known, guard);
  const { id, origin, key_id } = head;
  return { log: { id, origin, key_id }, edge, active: await readActiveKeyIds(tx) };
}

function groupByKind(queued: QueuedItem[]): Map<LogItemKind<LogItem>, QueuedItem[]> {
  const groups = new Map<LogItemKind<LogItem>, QueuedItem[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

export const isSignedByActive = ({ item }: QueuedItem, active: ActiveKeys) =>
  (item.replacesKeyId ?? item.keyId) === active.attestation &&
  (item.zkKeyId === undefined || item.zkKeyId === active.zk);

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
  for (const [kind, members] of groupByKind(batch.filter(isSigned))) {
    const items = members.map(({ item }) => item);
    const errors = await kind.admit(tx, items);
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
  /** As it is after the commit. */
  head: KnownHead;
  note: string;
  /** Parameters of `append_leaves`. */
  append: readonly unknown[];
  byKind: Map<LogItemKind<LogItem>, Placed<LogItem>[]>;
}

export async function sequence(
  before: KnownHead,
  items: readonly QueuedItem[],
  { keys }: Pick<Signing, "keys">,
): Promise<Sequenced> {
  const leaves = items.map(({ kind, item }) => ({ kind: kind.kind, leaf: item.leaf }));
  const { edge, note, receipts, parameters } = await appendLeaves(
    before.log,
    before.edge,
    leaves,
    keys.logSigner,
  );
  const byKind: Sequenced["byKind"] = new Map();
  const outcomes = items.map((queued, i): Outcome => {
    const receipt = receipts[i] as LogReceipt;
    const placed = { item: queued.item, logId: before.log.id, receipt };
    const own = byKind.get(queued.kind);
    if (own === undefined) byKind.set(queued.kind, [placed]);
    else own.push(placed);
    return { queued, result: receipt };
  });
  const namesZkKey = items.some(({ item }) => item.zkKeyId !== undefined);
  const append = parameters({ ...before.active, zk: namesZkKey ? before.active.zk : null });
  return { outcomes, head: { ...before, edge }, note, append, byKind };
}

/** What is stored by a function of the database; the other kinds' rows follow in the same transaction. */
export function callBesides({ byKind }: Sequenced): FunctionCall | null {
  const calls = [...byKind].flatMap(([kind, placed]) => kind.storedBy?.(placed) ?? []);
  if (calls.length > 1) throw new Error("a statement has room for one kind's function");
  return calls[0] ?? null;
}

export interface Signing {
  keys: Pick<SigningKeys, "logSigner">;
  guard: ForkGuard;
}

/** Under the head's lock: the items are judged by what the database holds now, if `isJudged`, and stored. */
export async function sequenceLocked(
  tx: Executor,
  batch: QueuedItem[],
  known: KnownHead | null,
  signing: Signing,
  isJudged: boolean,
): Promise<{ refused: Outcome[]; sequenced: Sequenced | null }> {
  const before = await lockHead(tx, known, signing);
  const mustJudge = isJudged || !batch.every((queued) => isSignedByActive(queued, before.active));
  const { admitted, refused } = mustJudge
    ? await admitAll(tx, batch, before.active)
    : { admitted: batch, refused: [] };
  if (admitted.length === 0) return { refused, sequenced: null };
  const sequenced = await sequence(before, admitted, signing);
  await storeWithin(tx, sequenced.append, callBesides(sequenced));
  for (const [kind, placed] of sequenced.byKind) await kind.store?.(tx, placed);
  return { refused, sequenced };
}
