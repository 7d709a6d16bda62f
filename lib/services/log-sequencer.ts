/**
 * The one sequencer of a database's log. Life of a leaf: `submit` puts an item into the queue; while one batch
 * commits the next gathers, so a lone item waits for nobody; a batch is one transaction that locks the head
 * row (the only lock), admits its items, appends their leaves, signs the checkpoint and stores everything;
 * only after the commit do receipts leave the process.
 */
import { and, eq, isNull, sql } from "drizzle-orm";
import type { LogReceipt } from "#lib/contract/attest";
import type { Database, Executor } from "#lib/db/client";
import { logCheckpoints, logs, logTiles, signingKeys } from "#lib/db/schema";
import { base64Encode, bytesEqual, hexEncode } from "#lib/domain/bytes";
import { signCheckpoint } from "#lib/domain/checkpoint";
import { leafHash } from "#lib/domain/merkle";
import { rightEdgeTiles } from "#lib/domain/tile-path";
import { appendLeafHashes, loadRightEdge, type RightEdge, type Tile } from "#lib/domain/tiles";
import { AppError } from "#lib/errors";
import type { Logger } from "#lib/logger";
import { type ForkGuard, ForkGuardError, type SignedHead } from "./fork-guard";
import type { SigningKeys } from "./signing-keys";

export type LeafKind = "attestation" | "decision" | "key_event" | "epoch";

export interface LogItem {
  /** The leaf's bytes (lib/domain/log-leaf.ts). */
  leaf: Uint8Array;
  /** The key that signed what the leaf is about; refused unless it is the active one under the head's lock. */
  keyId: string;
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

export interface LogSequencer {
  submit<Item extends LogItem>(kind: LogItemKind<Item>, item: Item): Promise<LogReceipt>;
  /** Called with each head after its commit. */
  onCommit(listener: (head: CommittedHead) => void): void;
  /** Resolves when nothing is queued or running. */
  drain(): Promise<void>;
}

interface QueuedItem {
  kind: LogItemKind<LogItem>;
  item: LogItem;
  resolve: (receipt: LogReceipt) => void;
  reject: (error: unknown) => void;
}

interface Outcome {
  queued: QueuedItem;
  result: LogReceipt | AppError;
}

/** The signing key was rotated since the item was signed: sign again with the active one. */
export class SigningKeyChanged extends Error {}

const maxBatch = 500;

interface Dependencies {
  database: Database;
  keys: SigningKeys;
  guard: ForkGuard;
  logger: Logger;
}

async function lockHead(tx: Executor) {
  const [head] = await tx.select().from(logs).where(isNull(logs.closed_at)).for("update");
  if (!head) throw new Error("the database has no open log");
  const [active] = await tx
    .select({ keyId: signingKeys.key_id })
    .from(signingKeys)
    .where(and(eq(signingKeys.purpose, "attestation"), eq(signingKeys.status, "active")));
  return { ...head, activeKeyId: active?.keyId ?? null };
}

type Head = Awaited<ReturnType<typeof lockHead>>;

async function loadEdge(tx: Executor, head: Head): Promise<RightEdge> {
  const wanted = rightEdgeTiles(head.size);
  const stored: Tile[] = [];
  for (const { level, index } of wanted) {
    const [row] = await tx
      .select({ hashes: logTiles.hashes })
      .from(logTiles)
      .where(and(eq(logTiles.log_id, head.id), eq(logTiles.level, level), eq(logTiles.tile_index, index)));
    if (row) stored.push({ level, index, hashes: row.hashes });
  }
  const edge = loadRightEdge(head.size, stored);
  if (!bytesEqual(edge.root, head.root)) throw new Error("the log's tiles do not have the root of its head");
  return edge;
}

interface LeafRow {
  leaf_index: number;
  kind: LeafKind;
  leaf_hash: string;
  data: string;
}

/** One statement each; a tile's row only ever grows. */
async function writeLog(
  tx: Executor,
  head: Head,
  leaves: LeafRow[],
  tiles: Tile[],
  edge: RightEdge,
  note: string,
): Promise<void> {
  await tx.execute(sql`INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data)
    SELECT ${head.id}::int, r.leaf_index, r.kind, decode(r.leaf_hash, 'hex'), decode(r.data, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(leaves)}::text::jsonb) AS r(leaf_index bigint, kind text, leaf_hash text, data text)`);
  const tileRows = tiles.map((tile) => ({
    level: tile.level,
    tile_index: tile.index,
    hashes: hexEncode(tile.hashes),
  }));
  await tx.execute(sql`INSERT INTO log_tiles (log_id, level, tile_index, hashes)
    SELECT ${head.id}::int, r.level, r.tile_index, decode(r.hashes, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(tileRows)}::text::jsonb) AS r(level int, tile_index bigint, hashes text)
    ON CONFLICT (log_id, level, tile_index) DO UPDATE SET hashes = EXCLUDED.hashes
    WHERE length(EXCLUDED.hashes) > length(log_tiles.hashes)`);
  await tx.insert(logCheckpoints).values({ log_id: head.id, size: edge.size, root: edge.root, note });
  const updated = await tx
    .update(logs)
    .set({ size: edge.size, root: edge.root, checkpoint: note, updated_at: sql`now()` })
    .where(and(eq(logs.id, head.id), eq(logs.size, head.size)))
    .returning({ id: logs.id });
  if (updated.length !== 1) throw new Error("the head moved under its own lock");
}

function groupByKind(queued: QueuedItem[]): Map<LogItemKind<LogItem>, QueuedItem[]> {
  const groups = new Map<LogItemKind<LogItem>, QueuedItem[]>();
  for (const one of queued) groups.set(one.kind, [...(groups.get(one.kind) ?? []), one]);
  return groups;
}

async function admitAll(
  tx: Executor,
  head: Head,
  batch: QueuedItem[],
): Promise<{ admitted: QueuedItem[]; refused: Outcome[] }> {
  const admitted: QueuedItem[] = [];
  const refused: Outcome[] = [];
  if (batch.some(({ item }) => item.keyId !== head.activeKeyId)) throw new SigningKeyChanged();
  for (const [kind, members] of groupByKind(batch)) {
    const errors = await kind.admit(
      tx,
      members.map(({ item }) => item),
    );
    for (const [i, queued] of members.entries()) {
      const error = errors[i];
      if (error) refused.push({ queued, result: error });
      else admitted.push(queued);
    }
  }
  return { admitted, refused };
}

export function createLogSequencer({ database, keys, guard, logger }: Dependencies): LogSequencer {
  const queue: QueuedItem[] = [];
  const listeners: ((head: CommittedHead) => void)[] = [];
  let running: Promise<void> | null = null;
  let cached: { logId: number; edge: RightEdge } | null = null;

  async function commitBatch(batch: QueuedItem[]): Promise<Outcome[]> {
    const done = await database.db.transaction(async (tx) => {
      const head = await lockHead(tx);
      guard.check({ logId: head.id, size: head.size, rootHex: hexEncode(head.root) });
      const { admitted, refused } = await admitAll(tx, head, batch);
      if (admitted.length === 0) return { outcomes: refused, head: null };
      const isCurrent =
        cached?.logId === head.id &&
        cached.edge.size === head.size &&
        bytesEqual(cached.edge.root, head.root);
      const before = isCurrent && cached ? cached.edge : await loadEdge(tx, head);
      const hashes = admitted.map(({ item }) => leafHash(item.leaf));
      const appended = appendLeafHashes(before, hashes);
      const { edge } = appended;
      const checkpoint = { origin: head.origin, size: edge.size, root: edge.root };
      const note = await signCheckpoint(checkpoint, keys.logVerifierKey(head.origin), (bytes) =>
        keys.logSigner.sign(bytes),
      );
      const placed = admitted.map((queued, i): { queued: QueuedItem; placed: Placed<LogItem> } => {
        const index = before.size + i;
        const receipt: LogReceipt = {
          origin: head.origin,
          index,
          tree_size: edge.size,
          entry: base64Encode(queued.item.leaf),
          inclusion_proof: appended.proveAppended(index).map(base64Encode),
          checkpoint: note,
        };
        return { queued, placed: { item: queued.item, logId: head.id, receipt } };
      });
      const rows = admitted.map(({ kind, item }, i) => ({
        leaf_index: before.size + i,
        kind: kind.kind,
        leaf_hash: hexEncode(hashes[i] ?? new Uint8Array()),
        data: hexEncode(item.leaf),
      }));
      await writeLog(tx, head, rows, appended.changedTiles, edge, note);
      for (const kind of new Set(admitted.map((queued) => queued.kind))) {
        await kind.store(
          tx,
          placed.filter(({ queued }) => queued.kind === kind).map((one) => one.placed),
        );
      }
      const outcomes = [
        ...refused,
        ...placed.map(({ queued, placed: { receipt } }) => ({ queued, result: receipt })),
      ];
      return { outcomes, head: { logId: head.id, edge, note } };
    });
    if (done.head === null) return done.outcomes;
    const { logId, edge, note } = done.head;
    cached = { logId, edge };
    const committed = { logId, size: edge.size, rootHex: hexEncode(edge.root), checkpoint: note };
    await guard.advance({ logId, size: committed.size, rootHex: committed.rootHex });
    for (const listener of listeners) listener(committed);
    return done.outcomes;
  }

  /** A batch that fails as a whole is tried item by item, so that one bad item cannot sink its neighbours. */
  async function runBatch(batch: QueuedItem[]): Promise<void> {
    try {
      for (const { queued, result } of await commitBatch(batch)) {
        if (result instanceof AppError) queued.reject(result);
        else queued.resolve(result);
      }
    } catch (error) {
      cached = null;
      if (error instanceof ForkGuardError) {
        logger.error({ err: error }, "the fork guard refused to sign");
        const refusal = new AppError(
          "service_unavailable",
          "the log cannot be extended until its operator has looked at it",
          { cause: error },
        );
        for (const queued of batch) queued.reject(refusal);
      } else if (batch.length === 1) {
        batch[0]?.reject(error);
      } else {
        for (const queued of batch) await runBatch([queued]);
      }
    }
  }

  async function run(): Promise<void> {
    while (queue.length > 0) await runBatch(queue.splice(0, maxBatch));
    running = null;
  }

  return {
    submit: <Item extends LogItem>(kind: LogItemKind<Item>, item: Item) =>
      new Promise<LogReceipt>((resolve, reject) => {
        queue.push({ kind: kind as unknown as LogItemKind<LogItem>, item, resolve, reject });
        running ??= new Promise((started) => setImmediate(started)).then(run);
      }),
    onCommit: (listener) => listeners.push(listener),
    drain: async () => {
      while (running !== null) await running;
    },
  };
}
