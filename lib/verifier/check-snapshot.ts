/** A record's row in a snapshot of all records' heads: signed, in the log, and where the record's entries lead. */
import {
  type AgentHeads,
  agentTag,
  decodeHeadRow,
  type HeadRow,
  parseHeadsStatement,
  SALT_BYTES,
} from "#lib/domain/agent-heads";
import { base64Decode, bytesEqual } from "#lib/domain/bytes";
import { isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import { leafHash, verifyInclusion } from "#lib/domain/merkle";
import { type Fault, fault } from "#lib/domain/outcome";
import { checkLogEntry } from "./check-log-entry";
import { readLogReceipt } from "./parse-receipt";
import {
  decodeBase64,
  requireIndex,
  requireObject,
  requireText,
  requireTexts,
  UnreadableError,
} from "./read-json";
import { findSigner, leafOf, readSignedStatement, type SignedStatement } from "./signed-statement";
import type { VerifierTrust } from "./trust";

export type SignedHeads = AgentHeads & { digestHex: string };

/** As an answer shows it. */
export interface ShownSnapshot {
  rowsPath: string;
  salt: Uint8Array;
  row: Uint8Array;
  rowIndex: number;
  inclusionProof: Uint8Array[];
  statement: LoggedStatement;
}

export interface LoggedStatement extends SignedStatement {
  log: ReturnType<typeof readLogReceipt>;
  logOrigin: string;
}

export function readLoggedStatement(json: JsonObject): LoggedStatement {
  const log = requireObject(json, "log");
  return { ...readSignedStatement(json), log: readLogReceipt(log), logOrigin: requireText(log, "origin") };
}

/** The path alone: the address may be another service's. */
function readRowsPath(url: string): string {
  const { pathname } = URL.canParse(url) ? new URL(url) : { pathname: "" };
  if (!/^\/log\/(?:\d+\/)?agent-heads\/\d+$/.test(pathname))
    throw new UnreadableError("rows_url: not the address of a snapshot");
  return pathname;
}

/** Undefined if the answer has none. */
export function readSnapshot({ snapshot }: JsonObject): ShownSnapshot | undefined {
  if (snapshot === undefined) return undefined;
  if (!isJsonObject(snapshot)) throw new UnreadableError("snapshot: expected an object");
  return {
    rowsPath: readRowsPath(requireText(snapshot, "rows_url")),
    salt: decodeBase64(requireText(snapshot, "salt"), "snapshot.salt", SALT_BYTES),
    row: decodeBase64(requireText(snapshot, "row"), "snapshot.row"),
    rowIndex: requireIndex(snapshot, "row_index"),
    inclusionProof: requireTexts(snapshot, "inclusion_proof").map((hash) =>
      decodeBase64(hash, "snapshot.inclusion_proof", 32),
    ),
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
  const { log, logOrigin } = statement;
  const key = findSigner(statement, logOrigin, log.index, trust);
  const { checks, checkpoint } = checkLogEntry(log, trust);
  const isLogged =
    key !== undefined &&
    bytesEqual(leafOf(statement, key), log.entry) &&
    checks.every(({ status }) => status === "pass") &&
    checkpoint?.origin === heads.log_origin &&
    log.index >= heads.covers_size;
  return isLogged ? { ok: true, heads } : fault("snapshot_unsigned");
}

function decodeRow(row: Uint8Array): HeadRow | null {
  try {
    return decodeHeadRow(row);
  } catch {
    return null;
  }
}

export function checkSnapshot(
  { statement, row, rowIndex, salt, inclusionProof: proof }: ShownSnapshot,
  agentId: string,
  trust: VerifierTrust,
): Found<{ heads: SignedHeads; row: HeadRow }> {
  const signed = checkHeadsStatement(statement, trust);
  if (!signed.ok) return signed;
  const { heads } = signed;
  const decoded = decodeRow(row);
  if (decoded === null || !bytesEqual(decoded.tag, agentTag(salt, agentId)))
    return fault("snapshot_malformed");
  const root = readRoot(heads);
  const claim = { leafHash: leafHash(row), index: rowIndex, size: heads.agents, proof, root };
  return verifyInclusion(claim) ? { ok: true, heads, row: decoded } : fault("snapshot_proof_invalid");
}

export function readRoot({ root }: AgentHeads): Uint8Array {
  try {
    return base64Decode(root);
  } catch {
    return new Uint8Array();
  }
}
