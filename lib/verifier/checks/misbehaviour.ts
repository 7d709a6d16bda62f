/**
 * Proofs that the service did what it must not: each rests on its own signatures, so that a reader of the file can check
 * it offline with the keys alone (`verify.mjs proof FILE`). What only its writer saw is no proof, and is said to be none.
 */

import { bytesEqual, hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { addsUp, compareBytes } from "#lib/protocol/record/agent-heads";
import {
  extendRecord,
  isRecordPlace,
  isSameHead,
  type RecordHead,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { PRODUCT_URI } from "#lib/protocol/statement/product";
import { parseCanonical } from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import {
  checkHeadsStatement,
  checkRow,
  checkSnapshot,
  isLogged,
  isSignedTree,
  readLoggedStatement,
  readRow,
  readSnapshot,
  type SignedHeads,
} from "./check-sum";
import { decodeBase64, decodeHash, requireObject, requireText, requireTexts } from "./evidence";
import { chooseLogKey, type VerifierTrust } from "./trust";

export const MISBEHAVIOUR_TYPE = `${PRODUCT_URI}/misbehaviour/v1`;

interface NumberedPayload {
  place: RecordPlace;
  payloadHash: Uint8Array;
  logOrigin: string;
  logIndex: number;
}

/** A payload with a number, signed and in the log; null if it is not that. */
function readNumbered(json: JsonObject, trust: VerifierTrust): NumberedPayload | null {
  const statement = readLoggedStatement(json);
  const predicate = parseCanonical(statement.payload)?.["predicate"];
  const place = isJsonObject(predicate) ? predicate["record"] : null;
  if (!isRecordPlace(place) || !isLogged(statement, trust)) return null;
  const { logOrigin, log } = statement;
  return { place, payloadHash: sha256(statement.payload), logOrigin, logIndex: log.index };
}

/** A service that lost entries and openly began a new log gives their numbers again: the reader must know. */
const acrossLogs = (one: string, other: string) =>
  one === other
    ? ""
    : `, in the logs ${one} and ${other}: ask whether the service has said that it lost entries in between`;

function checkSameNumber(file: JsonObject, trust: VerifierTrust): Outcome {
  const one = readNumbered(requireObject(file, "one"), trust);
  const other = readNumbered(requireObject(file, "other"), trust);
  if (one === null || other === null) return fail("proof_unsigned");
  const { agent_id, sequence } = one.place;
  const isSame = agent_id === other.place.agent_id && sequence === other.place.sequence;
  return isSame && !bytesEqual(one.payloadHash, other.payloadHash)
    ? pass(
        `two payloads were signed as number ${sequence} of agent ${agent_id}${acrossLogs(one.logOrigin, other.logOrigin)}`,
      )
    : fail("proof_shows_nothing");
}

interface Commitment {
  head: RecordHead;
  heads: SignedHeads | null;
  logOrigin: string;
}

/** A head that the service has signed: in a snapshot, or as what a later entry follows. */
function readCommitment(file: JsonObject, agentId: string, trust: VerifierTrust): Commitment | null {
  if (file["attestation"] !== undefined) {
    const later = readNumbered(requireObject(file, "attestation"), trust);
    if (later === null || later.place.agent_id !== agentId) return null;
    const { sequence, previous } = later.place;
    const head = { sequence: sequence - 1, link: hexDecode(previous) };
    return { head, heads: null, logOrigin: later.logOrigin };
  }
  const shown = readSnapshot(file);
  const found = shown === undefined ? null : checkSnapshot(shown, agentId, trust);
  return found?.ok ? { head: found.row, heads: found.heads, logOrigin: found.heads.log_origin } : null;
}

function checkNotInRecord(file: JsonObject, trust: VerifierTrust): Outcome {
  const receipt = readNumbered(requireObject(file, "receipt"), trust);
  const commitment =
    receipt && readCommitment(requireObject(file, "commitment"), receipt.place.agent_id, trust);
  if (receipt === null || commitment === null) return fail("proof_unsigned");
  const { sequence, previous, agent_id } = receipt.place;
  const { head, heads } = commitment;
  if (head.sequence < sequence) {
    const wasLogged = heads?.log_origin === receipt.logOrigin && receipt.logIndex < heads.covers_size;
    return wasLogged
      ? pass(
          `number ${sequence} of agent ${agent_id} was in the log, and the later snapshot counts ${head.sequence}`,
        )
      : fail("proof_shows_nothing");
  }
  const before = decodeHash(requireText(file, "link_before"), "link_before");
  const hashes = requireTexts(file, "payload_hashes").map((hash) => decodeHash(hash, "payload_hashes"));
  let end: RecordHead = { sequence: sequence - 1, link: before };
  for (const hash of hashes) end = extendRecord(end, hash);
  const isOther = hexEncode(before) !== previous || !bytesEqual(hashes[0] ?? before, receipt.payloadHash);
  return isSameHead(end, head) && isOther
    ? pass(
        `agent ${agent_id} has another number ${sequence} in the record that the service signed later${acrossLogs(receipt.logOrigin, commitment.logOrigin)}`,
      )
    : fail("proof_shows_nothing");
}

function checkFork(file: JsonObject, trust: VerifierTrust): Outcome {
  const notes = [requireText(file, "older"), requireText(file, "newer")];
  const [older, newer] = notes.map((note) => verifyCheckpoint(note, chooseLogKey(note, trust)));
  if (!older?.ok || !newer?.ok || older.checkpoint.origin !== newer.checkpoint.origin)
    return fail("proof_unsigned");
  const prefixRoot = decodeBase64(requireText(file, "prefix_root"), "prefix_root", 32);
  const proof = requireTexts(file, "consistency_proof").map((hash) =>
    decodeBase64(hash, "consistency_proof", 32),
  );
  const { size: oldSize, root: oldRoot, origin } = older.checkpoint;
  const { size: newSize, root: newRoot } = newer.checkpoint;
  const isPrefix = verifyConsistency({ oldSize, oldRoot: prefixRoot, newSize, newRoot, proof });
  return isPrefix && !bytesEqual(prefixRoot, oldRoot)
    ? pass(`${origin} had two trees of ${formatCount(oldSize, "leaf", "leaves")}, both signed`)
    : fail("proof_shows_nothing");
}

/** Checks both sides: each a row of a snapshot, or (the newer) its absence between two neighbours. */
function checkCountedLess(file: JsonObject, trust: VerifierTrust): Outcome {
  const [older, newer] = [requireObject(file, "older"), requireObject(file, "newer")];
  const first = checkHeadsStatement(readLoggedStatement(requireObject(older, "statement")), trust);
  const second = checkHeadsStatement(readLoggedStatement(requireObject(newer, "statement")), trust);
  if (!first.ok || !second.ok) return fail("proof_unsigned");
  const isLater =
    first.heads.log_origin === second.heads.log_origin && first.heads.covers_size < second.heads.covers_size;
  const before = checkRow(readRow(older), first.heads);
  if (!before.ok || !isLater) return fail("proof_shows_nothing");
  const { tag, sequence } = before.row;
  const name = `the record with tag ${hexEncode(tag).slice(0, 16)}…`;
  if (newer["row"] === undefined)
    return isAbsent(newer, tag, second.heads)
      ? pass(`${name} had ${formatCount(sequence, "entry", "entries")}, and is not in the later snapshot`)
      : fail("proof_shows_nothing");
  const after = checkRow(readRow(newer), second.heads);
  if (!after.ok || !bytesEqual(after.row.tag, tag)) return fail("proof_shows_nothing");
  if (after.row.sequence < sequence)
    return pass(
      `${name} had ${formatCount(sequence, "entry", "entries")}, and ${after.row.sequence.toLocaleString("en")} in the later snapshot`,
    );
  const isRewritten = after.row.sequence === sequence && !bytesEqual(after.row.link, before.row.link);
  return isRewritten
    ? pass(`${name} has another number ${sequence} in the later snapshot`)
    : fail("proof_shows_nothing");
}

/** True if its neighbours stand side by side: sorted rows have a tag in one place. */
function isAbsent(file: JsonObject, tag: Uint8Array, heads: SignedHeads): boolean {
  const neighbour = (name: string) => {
    const shown = file[name];
    if (shown === null) return { index: null, tag: null };
    const row = readRow(requireObject(file, name));
    const found = checkRow(row, heads);
    return found.ok ? { index: row.rowIndex, tag: found.row.tag } : null;
  };
  const [left, right] = [neighbour("left"), neighbour("right")];
  if (left === null || right === null) return false;
  const isBeside = (left.index ?? -1) + 1 === (right.index ?? heads.agents);
  const isAfter = left.tag === null || compareBytes(left.tag, tag) < 0;
  return isBeside && isAfter && (right.tag === null || compareBytes(right.tag, tag) > 0);
}

function checkWrongSum(file: JsonObject, trust: VerifierTrust): Outcome {
  const signed = checkHeadsStatement(readLoggedStatement(requireObject(file, "statement")), trust);
  if (!signed.ok) return fail("proof_unsigned");
  const { heads } = signed;
  if (!addsUp(heads)) return pass(`the snapshot at size ${heads.covers_size} does not add up`);
  const rows = decodeBase64(requireText(file, "rows"), "rows");
  const areSigned = hexEncode(sha256(rows)) === heads.digestHex;
  return areSigned && !isSignedTree(rows, heads)
    ? pass(`the rows of the snapshot at size ${heads.covers_size} are not those that it describes`)
    : fail("proof_shows_nothing");
}

const kinds: Record<string, (file: JsonObject, trust: VerifierTrust) => Outcome> = {
  same_number: checkSameNumber,
  not_in_record: checkNotInRecord,
  fork: checkFork,
  counted_less: checkCountedLess,
  wrong_sum: checkWrongSum,
  observation: () => skip("proof_is_testimony"),
};

/** Pass: the misbehaviour is proven. Throws UnreadableError for what is no such file. */
export function checkMisbehaviour(file: JsonObject, trust: VerifierTrust): Outcome {
  const check = file["type"] === MISBEHAVIOUR_TYPE ? kinds[requireText(file, "kind")] : undefined;
  return check === undefined ? fail("proof_unknown") : check(file, trust);
}
