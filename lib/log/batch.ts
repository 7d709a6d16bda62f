/**
 * One batch of the sequencer, in its transaction: under the head's lock the items are admitted, their leaves appended
 * (append.ts) and their rows stored.
 */
import type { LogReceipt } from "#lib/contract/attest";
import type { Executor } from "#lib/db/client";
import { bytesEqual, hexEncode } from "#lib/domain/bytes";
import type { RightEdge } from "#lib/domain/tiles";
import { AppError } from "#lib/errors";
import type { SigningKeys } from "#lib/signing/signing-keys";
import { appendLeaves, type Head, type LeafKind, loadEdge, lockOpenHead, readActiveKeyIds } from "./append";
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
  store(tx: Executor, placed: Placed<Item>[]): Promise<void>;
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

/** Made for another registration than the one that holds now: to be made again. */
export class RegistrationChanged extends AppError {
  constructor() {
    super("service_unavailable", "the agent's registration was changed at the same moment; try again");
  }
}

export type CachedEdge = { logId: number; edge: RightEdge } | null;

/** The edge of the last commit if the head is still that one; otherwise it is loaded and compared with the guard. */
async function findEdge(tx: Executor, head: Head, cached: CachedEdge, guard: ForkGuard): Promise<RightEdge> {
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  const isCurrent =
    cached?.logId === head.id && cached.edge.size === head.size && bytesEqual(cached.edge.root, head.root);
  if (isCurrent) return cached.edge;
  const edge = await loadEdge(tx, head);
  await requirePrefix(guard, signed, tileReader(tx, head.id));
  return edge;
}

function groupByKind(queued: QueuedItem[]): Map<LogItemKind<LogItem>, QueuedItem[]> {
  const groups = new Map<LogItemKind<LogItem>, QueuedItem[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

/** The checks of every kind, on the items whose keys are still the active ones. */
async function admitAll(
  tx: Executor,
  batch: QueuedItem[],
): Promise<{ admitted: QueuedItem[]; refused: Outcome[] }> {
  const active = await readActiveKeyIds(tx);
  const isSignedByActive = ({ item }: QueuedItem) =>
    (item.replacesKeyId ?? item.keyId) === active.attestation &&
    (item.zkKeyId === undefined || item.zkKeyId === active.zk);
  const admitted: QueuedItem[] = [];
  const refused: Outcome[] = batch
    .filter((queued) => !isSignedByActive(queued))
    .map((queued) => ({ queued, result: new SigningKeyChanged() }));
  for (const [kind, members] of groupByKind(batch.filter(isSignedByActive))) {
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

export interface Sequenced {
  outcomes: Outcome[];
  /** Null if every item was refused. */
  head: (CommittedHead & { edge: RightEdge }) | null;
}

export async function sequenceBatch(
  tx: Executor,
  batch: QueuedItem[],
  cached: CachedEdge,
  { keys, guard }: { keys: Pick<SigningKeys, "logSigner">; guard: ForkGuard },
): Promise<Sequenced> {
  const head = await lockOpenHead(tx);
  if (head.key_id !== keys.logSigner.keyId) throw new SigningKeyChanged();
  const before = await findEdge(tx, head, cached, guard);
  const { admitted, refused } = await admitAll(tx, batch);
  if (admitted.length === 0) return { outcomes: refused, head: null };
  const leaves = admitted.map(({ kind, item }) => ({ kind: kind.kind, leaf: item.leaf }));
  const { edge, note, receipts } = await appendLeaves(tx, head, before, leaves, keys.logSigner);
  const placed = admitted.map((queued, i) => ({ queued, receipt: receipts[i] as LogReceipt }));
  for (const kind of new Set(admitted.map((queued) => queued.kind))) {
    const own = placed.filter(({ queued }) => queued.kind === kind);
    await kind.store(
      tx,
      own.map(({ queued, receipt }) => ({ item: queued.item, logId: head.id, receipt })),
    );
  }
  return {
    outcomes: [...refused, ...placed.map(({ queued, receipt }) => ({ queued, result: receipt }))],
    head: { logId: head.id, size: edge.size, rootHex: hexEncode(edge.root), checkpoint: note, edge },
  };
}
