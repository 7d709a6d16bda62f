/**
 * The sum over a snapshot: every leaf below it is in some agent's row or is a statement that the service lists
 * (docs/wire.md, Record of an agent).
 */
import { base64Decode, bytesEqual, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { computeDsseKeyId, verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import {
  type AgentHeads,
  addsUp,
  agentTag,
  buildHeadsTree,
  decodeHeadRow,
  type HeadRow,
  isOfStatement,
  parseHeadsStatement,
  SALT_BYTES,
} from "#lib/protocol/record/agent-heads";
import { verifyEnvelope } from "#lib/protocol/statement/dsse";
import { type Fault, fail, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import {
  AGENT_ACTION_PREDICATE,
  AGENT_CHANGE_PREDICATE,
  AGENT_HEADS_PREDICATE,
  APPROVER_ROSTER_PREDICATE,
  DECISION_PREDICATE,
  EPOCH_PREDICATE,
  KEY_EVENT_PREDICATE,
  PLANTED_REQUESTS_PREDICATE,
  parseCanonical,
  RULESET_PREDICATE,
  STATEMENT_MEDIA_TYPE,
} from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { checkLogEntry } from "./check-log-entry";
import {
  decodeBase64,
  readLogReceipt,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  requireTexts,
  UnreadableError,
} from "./evidence";
import type { VerifierTrust } from "./trust";

/* A statement of the service about its log (lib/protocol/statement/statement.ts), under the keys that the reader trusts. */

export interface SignedStatement {
  payload: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  keyId: string;
}

function readSignedStatement(json: JsonObject): SignedStatement {
  return {
    payload: utf8Encode(requireText(json, "payload")),
    signature: decodeBase64(requireText(json, "signature"), "signature", 64),
    envelopeSignature: decodeBase64(requireText(json, "envelope_signature"), "envelope_signature", 64),
    keyId: requireText(json, "key_id"),
  };
}

const buildEnvelope = (
  { payload, envelopeSignature }: SignedStatement,
  { publicKey }: Pick<TrustedKey, "publicKey">,
) => ({
  payloadType: STATEMENT_MEDIA_TYPE,
  payload,
  keyId: computeDsseKeyId(publicKey),
  signature: envelopeSignature,
});

const hasSigned = ({ publicKey }: TrustedKey, statement: SignedStatement): boolean =>
  verifyEd25519Strict(statement.signature, statement.payload, publicKey) &&
  verifyEnvelope(buildEnvelope(statement, { publicKey }), publicKey);

/** The trusted key that signs for this place of the log and has signed both forms; undefined if there is none. */
export function findSigner(
  statement: SignedStatement,
  logOrigin: string,
  logIndex: number,
  trust: Pick<VerifierTrust, "keys">,
): TrustedKey | undefined {
  const key = trust.keys.find(
    ({ keyId, logOrigin: origin = logOrigin, validFromIndex: from, validToIndex: to }) =>
      keyId === statement.keyId && origin === logOrigin && logIndex >= from && (to === null || logIndex < to),
  );
  return key !== undefined && hasSigned(key, statement) ? key : undefined;
}

/**
 * The key of the service that has signed both forms, even if it was revoked since: enough to count a statement as the
 * service's own, not to believe what it says.
 */
export function findMaker(
  statement: SignedStatement,
  trust: Pick<VerifierTrust, "keys">,
): TrustedKey | undefined {
  return trust.keys.find((key) => key.keyId === statement.keyId && hasSigned(key, statement));
}

export const buildLeaf = (statement: SignedStatement, key: TrustedKey): Uint8Array =>
  encodeLogLeaf(makeLogLeaf(buildEnvelope(statement, key), key.publicKey));

export interface LoggedStatement extends SignedStatement {
  log: ReturnType<typeof readLogReceipt>;
  logOrigin: string;
}

export function readLoggedStatement(json: JsonObject): LoggedStatement {
  const log = requireObject(json, "log");
  return { ...readSignedStatement(json), log: readLogReceipt(log), logOrigin: requireText(log, "origin") };
}

/** Signed by a trusted key, and its leaf under a trusted checkpoint of the log that it names. */
export function isLogged(statement: LoggedStatement, trust: VerifierTrust): boolean {
  const { log, logOrigin } = statement;
  const key = findSigner(statement, logOrigin, log.index, trust);
  const { checks, checkpoint } = checkLogEntry(log, trust);
  return (
    key !== undefined &&
    bytesEqual(buildLeaf(statement, key), log.entry) &&
    checks.every(({ status }) => status === "pass") &&
    checkpoint?.origin === logOrigin &&
    checkpoint.size === log.treeSize
  );
}

/* A record's row in a snapshot of all records' heads: signed, in the log, and where the record's entries lead. */

export type SignedHeads = AgentHeads & { digestHex: string };

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

export interface ListedStatement extends SignedStatement {
  kind: string;
  logOrigin: string;
  logIndex: number;
}

export interface SumSource {
  /** GET /log/agent-heads/:covers_size, by the path that the snapshot names; null if a kept record has none. */
  readRows(path: string): Promise<Uint8Array | null>;
  readStatements(from: number): Promise<unknown>;
}

/** Kind of statements that an agent's record already counts. */
const ofRecord = "of_record";

const kinds: Record<string, string> = {
  [KEY_EVENT_PREDICATE]: "key_event",
  [EPOCH_PREDICATE]: "epoch",
  [AGENT_HEADS_PREDICATE]: "agent_heads",
  [RULESET_PREDICATE]: "ruleset",
  [APPROVER_ROSTER_PREDICATE]: "approver_roster",
  [PLANTED_REQUESTS_PREDICATE]: "planted_requests",
  [AGENT_ACTION_PREDICATE]: ofRecord,
  [DECISION_PREDICATE]: ofRecord,
  [AGENT_CHANGE_PREDICATE]: ofRecord,
};

/** Takes the kind from the signed bytes: a snapshot under another name would be overlooked. */
function readListed(json: JsonObject): ListedStatement {
  const signed = readSignedStatement(json);
  const kind = kinds[String(parseCanonical(signed.payload)?.["predicateType"])] ?? "unknown";
  return {
    ...signed,
    kind,
    logOrigin: requireText(json, "log_origin"),
    logIndex: requireIndex(json, "log_index"),
  };
}

export interface ListEnd {
  logOrigin: string;
  logIndex: number;
  atMost: number;
}

/**
 * Reads all statements, or those up to the end, in the order of the log and numbered without a gap. The server may never want
 * to end, so each page must bring one and lead on.
 */
export async function readStatementList(
  source: Pick<SumSource, "readStatements">,
  end?: ListEnd,
): Promise<ListedStatement[] | Fault> {
  const all: ListedStatement[] = [];
  for (let from = 1; ; ) {
    const { statements, next } = readObject(await source.readStatements(from));
    if (!Array.isArray(statements) || !statements.every(isJsonObject))
      throw new UnreadableError("statements: expected a list of objects");
    for (const statement of statements) {
      const listed = readListed(statement);
      if (requireIndex(statement, "number") !== all.length + 1 || all.length === end?.atMost)
        return fault("page_unending", { from });
      all.push(listed);
      if (listed.logOrigin === end?.logOrigin && listed.logIndex >= end.logIndex) return all;
    }
    if (next === null) return all;
    if (next !== all.length + 1 || statements.length === 0) return fault("page_unending", { from });
    from = next;
  }
}

/** Selects those of earlier logs and of the snapshot's own below its size. */
function statementsBelow(
  all: readonly ListedStatement[],
  { log_origin, covers_size }: SignedHeads,
): ListedStatement[] {
  const begin = all.findIndex(({ logOrigin }) => logOrigin === log_origin);
  return all.filter(({ logOrigin, logIndex }, i) =>
    logOrigin === log_origin ? logIndex < covers_size : i < begin,
  );
}

/** Number of leaves of a closed log, by the statement that began the next one. */
function heldBefore({ kind, payload }: ListedStatement): number {
  if (kind !== "epoch") return 0;
  const statement = parseCanonical(payload);
  const predicate = statement?.["predicateType"] === EPOCH_PREDICATE ? statement["predicate"] : null;
  const held = isJsonObject(predicate) ? predicate["held"] : null;
  return isJsonObject(held) ? requireIndex(held, "size") : Number.NaN;
}

/**
 * Finds a broken statement. Only the monitor looks where a statement is in the log, so its bytes count once: each has a time or
 * a number of its own.
 */
function findBroken(all: readonly ListedStatement[], trust: VerifierTrust): number {
  const seen = new Set<string>();
  return all.findIndex((statement) => {
    const { logIndex, logOrigin, payload, kind } = statement;
    const names = [`${logIndex} ${logOrigin}`, hexEncode(sha256(payload))];
    const isNew = names.every((name) => !seen.has(name));
    for (const name of names) seen.add(name);
    return !isNew || kind === ofRecord || findMaker(statement, trust) === undefined;
  });
}

/** `rows`: the file of the snapshot, if it is there; `all`: the list of statements, as it is shown, or to the snapshot. */
export function checkSum(
  heads: SignedHeads,
  rows: Uint8Array | null,
  all: readonly ListedStatement[],
  trust: VerifierTrust,
): Outcome {
  if (rows !== null && !isSignedTree(rows, heads)) return fail("sum_rows_mismatch");
  const broken = findBroken(all, trust);
  if (broken >= 0) return fail("sum_statement_invalid", { number: broken + 1 });
  const below = statementsBelow(all, heads);
  const found = {
    ...heads,
    statements: below.length,
    earlier_size: below.reduce((sum, one) => sum + heldBefore(one), 0),
  };
  if (!addsUp(found) || !addsUp(heads))
    return fail("sum_mismatch", {
      leaves: found.earlier_size + heads.covers_size,
      counted: heads.entries + below.length,
    });
  if (rows === null) return skip("sum_not_run");
  return pass(
    `${formatCount(found.earlier_size + heads.covers_size, "leaf", "leaves")}: ${heads.entries.toLocaleString("en")} in ${formatCount(heads.agents, "record")}, ${formatCount(below.length, "statement")} of the service`,
  );
}

/** Rows of which no tree can be made are of none. */
export function isSignedTree(rows: Uint8Array, heads: SignedHeads): boolean {
  try {
    return isOfStatement(buildHeadsTree(rows), heads);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
