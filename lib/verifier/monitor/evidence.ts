/** Evidence found by the monitor, in a form that others can check (misbehaviour.ts). */
import { base64Encode, bytesEqual, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import {
  buildHeadsTree,
  countRows,
  decodeHeadRow,
  findRow,
  HEAD_ROW_BYTES,
  headsTileReader,
  rowAt,
} from "#lib/protocol/record/agent-heads";
import { PRODUCT_URI } from "#lib/protocol/statement/product";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { proveConsistency, proveInclusion, rootAtSize, type TileReader } from "#lib/protocol/tlog/tiles";
import { type LogSource, tileReader } from "#lib/verifier/checks/check-log";
import { findMaker, type ListedStatement, leafOf } from "#lib/verifier/checks/check-sum";
import {
  decodeBase64,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  UnreadableError,
} from "#lib/verifier/checks/evidence";
import { MISBEHAVIOUR_TYPE } from "#lib/verifier/checks/misbehaviour";
import { chooseLogKey, type VerifierTrust } from "#lib/verifier/checks/trust";
import type { SeenRoster } from "./monitor";

/* State of the monitor between two runs. */

const MONITOR_TYPE = `${PRODUCT_URI}/monitor/v1`;

export interface RememberedSnapshot {
  /** With its place in the log. */
  statement: JsonObject;
  rows: Uint8Array;
}

export interface Remembered {
  checkpoint: string;
  /** How many statements the list had. */
  statements: number;
  snapshot: RememberedSnapshot | null;
  /** By the organization's id. */
  rosters: Record<string, SeenRoster>;
}

/** From the file that was kept; throws UnreadableError for any other. */
export function parseRemembered(text: string): Remembered {
  const file = readObject(text);
  if (file["type"] !== MONITOR_TYPE) throw new UnreadableError("not a file that the monitor has kept");
  const snapshot = file["snapshot"] === null ? null : requireObject(file, "snapshot");
  const rosters = Object.entries(requireObject(file, "rosters")).map(([id, seen]) => {
    const roster = requireObject({ [id]: seen }, id);
    return [id, { number: requireIndex(roster, "number"), hash: requireText(roster, "hash") }] as const;
  });
  return {
    checkpoint: requireText(file, "checkpoint"),
    statements: requireIndex(file, "statements"),
    snapshot: snapshot && {
      statement: requireObject(snapshot, "statement"),
      rows: decodeBase64(requireText(snapshot, "rows"), "rows"),
    },
    rosters: Object.fromEntries(rosters),
  };
}

export function encodeRemembered({ checkpoint, statements, snapshot, rosters }: Remembered): string {
  const kept = snapshot && { statement: snapshot.statement, rows: base64Encode(snapshot.rows) };
  return `${JSON.stringify({ type: MONITOR_TYPE, checkpoint, statements, snapshot: kept, rosters })}\n`;
}

export interface OpenedLog {
  source: LogSource;
  checkpoint: Checkpoint;
  tiles: TileReader;
}

export function openLog(source: LogSource, trust: VerifierTrust): OpenedLog | null {
  const signed = verifyCheckpoint(source.checkpoint, chooseLogKey(source.checkpoint, trust));
  if (!signed.ok) return null;
  return { source, checkpoint: signed.checkpoint, tiles: tileReader(source, signed.checkpoint.size) };
}

/** Two signed trees of one log of which neither continues the other; null if the log's own files do not show it. */
export async function proveFork(
  older: string,
  { source, checkpoint, tiles }: OpenedLog,
  trust: VerifierTrust,
) {
  const before = verifyCheckpoint(older, chooseLogKey(older, trust));
  if (!before.ok || before.checkpoint.size > checkpoint.size) return null;
  const { size } = before.checkpoint;
  const [prefix, proof] = [
    await rootAtSize(size, tiles),
    await proveConsistency(size, checkpoint.size, tiles),
  ];
  return {
    type: MISBEHAVIOUR_TYPE,
    kind: "fork",
    ...{ older, newer: source.checkpoint },
    prefix_root: base64Encode(prefix),
    consistency_proof: proof.map(base64Encode),
  };
}

/** A listed statement with its leaf's place in the log, as evidence; null if it is not there. */
export async function locate(
  { payload, signature, envelopeSignature, keyId, logOrigin, logIndex }: ListedStatement,
  { checkpoint, source, tiles }: OpenedLog,
  trust: VerifierTrust,
): Promise<JsonObject | null> {
  const key = findMaker({ payload, signature, envelopeSignature, keyId }, trust);
  if (key === undefined || logIndex >= checkpoint.size || logOrigin !== checkpoint.origin) return null;
  const entry = leafOf({ payload, signature, envelopeSignature, keyId }, key);
  const { size, root } = checkpoint;
  const proof = await proveInclusion(logIndex, size, tiles);
  if (!verifyInclusion({ leafHash: leafHash(entry), index: logIndex, size, proof, root })) return null;
  return {
    payload: utf8Decode(payload),
    signature: base64Encode(signature),
    envelope_signature: base64Encode(envelopeSignature),
    key_id: keyId,
    log: {
      origin: logOrigin,
      index: logIndex,
      tree_size: size,
      entry: base64Encode(entry),
      inclusion_proof: proof.map(base64Encode),
      checkpoint: source.checkpoint,
    },
  };
}

/** A row with its proof, or the rows between which it would be. */
export async function showRow({ statement, rows }: RememberedSnapshot, tag: Uint8Array): Promise<JsonObject> {
  const { nodes, agents } = buildHeadsTree(rows);
  const tiles = headsTileReader(agents, nodes, async (start, count) =>
    rows.slice(start * HEAD_ROW_BYTES, (start + count) * HEAD_ROW_BYTES),
  );
  const show = async (index: number) =>
    index < 0 || index >= agents
      ? null
      : {
          row: base64Encode(rowAt(rows, index)),
          row_index: index,
          inclusion_proof: (await proveInclusion(index, agents, tiles)).map(base64Encode),
        };
  const { index, isThere } = findRow(rows, tag);
  return isThere
    ? { statement, ...(await show(index)) }
    : { statement, left: await show(index - 1), right: await show(index) };
}

/** The tag of a record that has become shorter, or another one; null if all have only grown. */
export function findShrunk(before: Uint8Array, now: Uint8Array): Uint8Array | null {
  for (let i = 0; i < countRows(before); i += 1) {
    const { tag, sequence, link } = decodeHeadRow(rowAt(before, i));
    const { index, isThere } = findRow(now, tag);
    const row = isThere ? decodeHeadRow(rowAt(now, index)) : null;
    const hasGrown =
      row !== null && (row.sequence > sequence || (row.sequence === sequence && bytesEqual(row.link, link)));
    if (!hasGrown) return tag;
  }
  return null;
}
