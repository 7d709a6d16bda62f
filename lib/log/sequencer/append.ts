/**
 * Appending to the log: the tree grows in memory, its new checkpoint is signed, and the database's function
 * `append_leaves` (drizzle/0001_functions.sql) stores both if the head is still the one that was built on.
 */
import { and, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { LogReceipt } from "#lib/api/schemas/attest";
import { arrayLiteral } from "#lib/db/array-literal";
import type { Executor } from "#lib/db/client";
import { planSettings } from "#lib/db/postgres/plan-settings";
import { logs, logTiles, signingKeys } from "#lib/db/schema";
import type { Signer } from "#lib/log/signing/signer";
import { base64Encode, bytesEqual, hexDecode, sha256 } from "#lib/protocol/encoding/bytes";
import type { RecordPlace } from "#lib/protocol/record/agent-record";
import { signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import { makeVerifierKey } from "#lib/protocol/tlog/signed-note";
import { rightEdgeTiles } from "#lib/protocol/tlog/tile-path";
import { appendLeafHashes, loadRightEdge, type RightEdge, type Tile } from "#lib/protocol/tlog/tiles";
import type { SealedStatement } from "./sign-statement";

export type LeafKind =
  | "attestation"
  | "decision"
  | "agent_change"
  | "key_event"
  | "epoch"
  | "agent_heads"
  | "ruleset"
  | "approver_roster";

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

/** Which log is appended to, and whose key signs it. */
export type OpenLog = Pick<Head, "id" | "origin" | "key_id">;

export interface ActiveKeys {
  attestation: string | null;
  zk: string | null;
}

/** Read under the head's lock, so that a rotation is before or after a batch, never inside. */
export async function readActiveKeyIds(tx: Executor): Promise<ActiveKeys> {
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
  /** In the order of the leaves. */
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

/** The tree with the leaves, signed; nothing is stored yet. */
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

/** A call of one of the database's functions. */
export interface FunctionCall {
  name: string;
  parameters: readonly unknown[];
}

/** The one statement that stores a batch: the leaves first, then what belongs to them. */
export function describeStore(append: readonly unknown[], besides: readonly FunctionCall[]) {
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
