/** A record's row in a snapshot of all records' heads: signed, in the log, and where the record's entries lead. */

import { base64Decode, bytesEqual } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { agentTag, decodeHeadRow, type HeadRow, SALT_BYTES } from "#lib/protocol/record/agent-heads";
import { type AgentHeads, parseHeadsStatement } from "#lib/protocol/record/heads-statement";
import { type Fault, fault } from "#lib/protocol/statement/outcome";
import { HASH_BYTES, leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import {
  decodeBase64,
  requireIndex,
  requireObject,
  requireText,
  requireTexts,
  UnreadableError,
} from "./read-json";
import { isLogged, type LoggedStatement, readLoggedStatement } from "./signed-statement";
import type { VerifierTrust } from "./trust";

export type SignedHeads = AgentHeads & { digestHex: string };

/** As an answer shows it. */
export interface ShownSnapshot extends ShownRow {
  rowsPath: string;
  salt: Uint8Array;
  statement: LoggedStatement;
}

/** The path alone, behind that of the service, and only as it writes it: the address may be another service's. */
function readRowsPath(url: string): string {
  const path = /^https?:\/\/[^?#]+(\/log\/(?:\d+\/)?agent-heads\/\d+)$/.exec(url)?.[1];
  if (path === undefined) throw new UnreadableError("rows_url: not the address of a snapshot");
  return path;
}

export function readRow(shown: JsonObject): ShownRow {
  return {
    row: decodeBase64(requireText(shown, "row"), "row"),
    rowIndex: requireIndex(shown, "row_index"),
    inclusionProof: requireTexts(shown, "inclusion_proof").map((hash) =>
      decodeBase64(hash, "inclusion_proof", 32),
    ),
  };
}

/** Undefined if the answer has none. */
export function readSnapshot({ snapshot }: JsonObject): ShownSnapshot | undefined {
  if (snapshot === undefined) return undefined;
  if (!isJsonObject(snapshot)) throw new UnreadableError("snapshot: expected an object");
  return {
    rowsPath: readRowsPath(requireText(snapshot, "rows_url")),
    salt: decodeBase64(requireText(snapshot, "salt"), "snapshot.salt", SALT_BYTES),
    ...readRow(snapshot),
    statement: readLoggedStatement(requireObject(snapshot, "statement")),
  };
}

type Found<Value> = ({ ok: true } & Value) | Fault;

/** The statement under a trusted key, and its leaf under a trusted checkpoint, not before what it covers. */
export function checkHeadsStatement(
  statement: LoggedStatement,
  trust: VerifierTrust,
): Found<{ heads: SignedHeads }> {
  const heads = parseHeadsStatement(statement.payload);
  if (heads === null) return fault("snapshot_malformed");
  const isSigned =
    isLogged(statement, trust) &&
    statement.logOrigin === heads.log_origin &&
    statement.log.index >= heads.covers_size;
  return isSigned ? { ok: true, heads } : fault("snapshot_unsigned");
}

export interface ShownRow {
  row: Uint8Array;
  rowIndex: number;
  inclusionProof: Uint8Array[];
}

/** The row, if it is one and in the signed root. */
export function checkRow(
  { row, rowIndex, inclusionProof: proof }: ShownRow,
  heads: SignedHeads,
): Found<{ row: HeadRow }> {
  const decoded = decodeRow(row);
  if (decoded === null) return fault("snapshot_malformed");
  const claim = {
    leafHash: leafHash(row),
    index: rowIndex,
    size: heads.agents,
    proof,
    root: readRoot(heads),
  };
  return verifyInclusion(claim) ? { ok: true, row: decoded } : fault("snapshot_proof_invalid");
}

function decodeRow(row: Uint8Array): HeadRow | null {
  try {
    return decodeHeadRow(row);
  } catch {
    return null;
  }
}

function readRoot({ root }: AgentHeads): Uint8Array {
  try {
    return base64Decode(root);
  } catch {
    return new Uint8Array();
  }
}

export function checkSnapshot(
  shown: ShownSnapshot,
  agentId: string,
  trust: VerifierTrust,
): Found<{ heads: SignedHeads; row: HeadRow }> {
  const signed = checkHeadsStatement(shown.statement, trust);
  if (!signed.ok) return signed;
  const { heads } = signed;
  const isOfAgent = bytesEqual(shown.row.subarray(0, HASH_BYTES), agentTag(shown.salt, agentId));
  if (!isOfAgent) return fault("snapshot_malformed");
  const found = checkRow(shown, heads);
  return found.ok ? { ok: true, heads, row: found.row } : found;
}
