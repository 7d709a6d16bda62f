/**
 * What happens inside the sequencer's transaction: the head's row is locked (the only lock), the right edge of
 * the tree loaded, and leaves, tiles, checkpoint and head are written in one statement each.
 */
import { and, eq, inArray, isNull, or, sql } from "drizzle-orm";
import type { LogReceipt } from "#lib/contract/attest";
import { type Executor, rowsOf } from "#lib/db/client";
import { logCheckpoints, logs, logTiles, signingKeys } from "#lib/db/schema";
import { together } from "#lib/db/together";
import { base64Encode, bytesEqual, hexEncode } from "#lib/domain/bytes";
import { signCheckpoint } from "#lib/domain/checkpoint";
import { leafHash } from "#lib/domain/merkle";
import { makeVerifierKey } from "#lib/domain/signed-note";
import { rightEdgeTiles } from "#lib/domain/tile-path";
import { appendLeafHashes, loadRightEdge, type RightEdge, type Tile } from "#lib/domain/tiles";
import type { Signer } from "#lib/signing/signer";

export type LeafKind = "attestation" | "decision" | "key_event" | "epoch";

export interface NewLeaf {
  kind: LeafKind;
  /** The leaf's bytes (lib/domain/log-leaf.ts). */
  leaf: Uint8Array;
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

/** Read under the head's lock, so that a rotation is before or after a batch, never inside. */
export async function readActiveKeyIds(
  tx: Executor,
): Promise<{ attestation: string | null; zk: string | null }> {
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

async function insertLeaves(
  tx: Executor,
  logId: number,
  from: number,
  leaves: NewLeaf[],
  hashes: Uint8Array[],
) {
  const rows = leaves.map(({ kind, leaf }, i) => ({
    leaf_index: from + i,
    kind,
    leaf_hash: hexEncode(hashes[i] ?? new Uint8Array()),
    data: hexEncode(leaf),
  }));
  await tx.execute(sql`INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data)
    SELECT ${logId}::int, r.leaf_index, r.kind, decode(r.leaf_hash, 'hex'), decode(r.data, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS r(leaf_index bigint, kind text, leaf_hash text, data text)`);
}

/** A tile's row only ever grows, and begins with what it was: anything else ends the transaction. */
async function growTiles(tx: Executor, logId: number, tiles: Tile[]): Promise<void> {
  const rows = tiles.map(({ level, index, hashes }) => ({
    level,
    tile_index: index,
    hashes: hexEncode(hashes),
  }));
  const written = await rowsOf(
    tx,
    sql`INSERT INTO log_tiles (log_id, level, tile_index, hashes)
    SELECT ${logId}::int, r.level, r.tile_index, decode(r.hashes, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS r(level int, tile_index bigint, hashes text)
    ON CONFLICT (log_id, level, tile_index) DO UPDATE SET hashes = EXCLUDED.hashes
    WHERE length(EXCLUDED.hashes) > length(log_tiles.hashes)
      AND substring(EXCLUDED.hashes FOR length(log_tiles.hashes)) = log_tiles.hashes
    RETURNING level`,
  );
  if (written.length !== tiles.length)
    throw new Error("a stored tile is not the beginning of its longer one");
}

async function moveHead(tx: Executor, head: Head, edge: RightEdge, note: string): Promise<void> {
  const [, updated] = await together(
    tx.insert(logCheckpoints).values({ log_id: head.id, size: edge.size, root: edge.root, note }),
    tx
      .update(logs)
      .set({ size: edge.size, root: edge.root, checkpoint: note, updated_at: sql`now()` })
      .where(and(eq(logs.id, head.id), eq(logs.size, head.size)))
      .returning({ id: logs.id }),
  );
  if (updated.length !== 1) throw new Error("the head moved under its own lock");
}

export interface Appended {
  edge: RightEdge;
  /** The signed checkpoint that covers the leaves. It must not leave the process before the commit. */
  note: string;
  /** In the order of the leaves. */
  receipts: LogReceipt[];
  /** Writes leaves, tiles, checkpoint and head. */
  write(tx: Executor): Promise<void>;
}

/** The tree with the leaves, signed; nothing is written yet. */
export async function appendLeaves(
  head: Head,
  before: RightEdge,
  leaves: NewLeaf[],
  logSigner: Signer,
): Promise<Appended> {
  const hashes = leaves.map(({ leaf }) => leafHash(leaf));
  const { edge, changedTiles, proveAppended } = appendLeafHashes(before, hashes);
  const checkpoint = { origin: head.origin, size: edge.size, root: edge.root };
  const logKey = makeVerifierKey(head.origin, 1, logSigner.publicKey);
  const note = await signCheckpoint(checkpoint, logKey, (bytes) => logSigner.sign(bytes));
  const receipts = leaves.map(({ leaf }, i): LogReceipt => {
    const index = before.size + i;
    return {
      origin: head.origin,
      index,
      tree_size: edge.size,
      entry: base64Encode(leaf),
      inclusion_proof: proveAppended(index).map(base64Encode),
      checkpoint: note,
    };
  });
  const write = async (tx: Executor) => {
    await together(
      insertLeaves(tx, head.id, before.size, leaves, hashes),
      growTiles(tx, head.id, changedTiles),
      moveHead(tx, head, edge, note),
    );
  };
  return { edge, note, receipts, write };
}
